/** An OpenAI-compatible server: a remote service, vLLM, Ollama, LM Studio, llama.cpp. */
import { isRecord, parseJson } from "../../../bytes/json.ts";
import { shortened, thrownText } from "../../../errors.ts";
import { parseEndpoint, redactor } from "./endpoint.ts";
import type { ChatMessage, ChatReply, ChatRequest, JudgeProvider } from "./provider.ts";
import { JudgeFailure } from "./provider.ts";
import { type ServerError, serverError } from "./server-error.ts";

// Reads the reply from a chat answer in the OpenAI format, which servers and models in a tab share.

/** Stop reasons of an incomplete reply, in the words of servers and proxies. */
const CUT: Readonly<Record<string, ChatReply["cut"]>> = {
  length: "limit",
  max_tokens: "limit",
  max_output_tokens: "limit",
  model_length: "limit",
  content_filter: "filter",
  safety: "filter",
};

/** The error in an answer of status 200; null if the answer holds a reply or nothing known. */
function bodyError(answer: unknown): ServerError | null {
  const first = firstChoice(answer);
  if (isRecord(first.message) && !isRecord(first.error)) return null;
  const source = isRecord(first.error) ? first : answer;
  if (!isRecord(source)) return null;
  const failed = Boolean(source.error) || source.object === "error" || source.type === "error";
  return failed ? serverError(source) : null;
}

/**
 * @param raw the response text, for the failure
 * @param limit maximum tokens that the request allowed; less than request.maxTokens if the server allows no more
 * @throws JudgeFailure("wrong-form") without a reply, JudgeFailure("server") when the model was interrupted
 */
export function chatReply(
  answer: unknown,
  raw: string,
  { schema }: Pick<ChatRequest, "schema">,
  limit: number,
): ChatReply {
  const first = firstChoice(answer);
  if (first.finish_reason === "abort") {
    throw new JudgeFailure("server", "The judge's model was interrupted before its reply was complete", { raw });
  }
  const message = isRecord(first.message) ? first.message : {};
  if (typeof message.refusal === "string" && message.refusal !== "") {
    const said = shortened(message.refusal, 100);
    throw new JudgeFailure("wrong-form", `The judge's model refused to answer: ${said}; choose another judgeModel`, {
      raw,
    });
  }
  const reasoning = textOf(message.reasoning_content) || textOf(message.reasoning) || "";
  const reason = first.finish_reason ?? first.stop_reason;
  const ended = typeof reason === "string" ? (CUT[reason.toLowerCase()] ?? null) : null;
  let text = textOf(message.content) ?? (reasoning !== "" || ended !== null ? "" : undefined);
  if (schema !== null && (text ?? "").trim() === "") text = structured(message) ?? text;
  if (text === undefined) {
    const said = isRecord(answer) ? serverError(answer).said : "";
    const why =
      said === ""
        ? ` (${shortened(raw, 80)}); check that judgeUrl is an OpenAI-compatible address, which usually ends in /v1`
        : `: ${shortened(said, 150)}`;
    throw new JudgeFailure("wrong-form", `The judge's answer contains no reply${why}`, { raw });
  }
  // Some servers take a whole structured reply for reasoning.
  if (text.trim() === "" && ended === null && schema !== null && reasoning.includes("{")) text = reasoning;
  const unfinished = text.trim() === "" || /^\s*<think>(?![\s\S]*<\/think>)/.test(text);
  const usage = isRecord(answer) && isRecord(answer.usage) ? answer.usage : {};
  const count = (name: string): number | null => {
    const tokens = usage[name];
    return typeof tokens === "number" && Number.isFinite(tokens) && tokens >= 0 ? tokens : null;
  };
  const completionTokens = count("completion_tokens");
  // Some servers give no reason.
  const isFull = typeof reason !== "string" && completionTokens !== null && completionTokens >= limit;
  return {
    text,
    promptTokens: count("prompt_tokens"),
    completionTokens,
    cut: ended ?? (unfinished || isFull ? "limit" : null),
    limit,
  };
}

function firstChoice(answer: unknown): Record<string, unknown> {
  const choices = isRecord(answer) && Array.isArray(answer.choices) ? (answer.choices as unknown[]) : [];
  return isRecord(choices[0]) ? choices[0] : {};
}

/** A structured reply that stands beside the text: parsed, or as arguments of the only call of a function. */
function structured(message: Record<string, unknown>): string | undefined {
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as unknown[]) : [];
  const [call] = calls;
  const called = calls.length === 1 && isRecord(call) ? call.function : message.function_call;
  return textOf(message.parsed) ?? (isRecord(called) ? textOf(called.arguments) : undefined);
}

/**
 * Text of a reply: the string, an object that the server has parsed already, or the text parts of a list, in which some
 * services separate reasoning.
 */
function textOf(content: unknown): string | undefined {
  if (isRecord(content)) return JSON.stringify(content);
  if (!Array.isArray(content)) return typeof content === "string" ? content : undefined;
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && typeof part.text === "string" ? [part.text] : [],
  );
  return texts.length === 0 ? undefined : texts.join("");
}

// Optional fields of a chat request and how servers refuse them. Only a refusal reveals what a server lacks: the
// field that it names takes its next form from then on, and every other field stays.

type Fields = Readonly<Record<string, unknown>>;

interface Option {
  /** Forms in the order in which they are tried; a field without a next form is left out. */
  readonly forms: readonly ((request: ChatRequest, limit: number) => Fields)[];
  /** Names of the field in the words of servers. */
  readonly said: RegExp;
}

/**
 * The least valuable first: if words name several fields, as for two that exclude each other, only the first is changed
 * before the request is repeated.
 */
const OPTIONS = {
  seed: { forms: [() => ({ seed: 0 })], said: /\b(?:random_)?seed\b/i },
  top_p: { forms: [() => ({ top_p: 1 })], said: /\btop[-_ ]?p\b|\bnucleus/i },
  temperature: { forms: [() => ({ temperature: 0 })], said: /\btemperature\b/i },
  format: {
    forms: [
      ({ schema }) =>
        schema === null
          ? {}
          : { response_format: { type: "json_schema", json_schema: { name: "verdict", strict: true, schema } } },
      ({ schema }) => (schema === null ? {} : { response_format: { type: "json_object" } }),
    ],
    said: /\bresponse[-_ ]?(?:formats?|schema)\b|\bjson[-_ ]?(?:schema|object|mode)\b|\bschemas?\b|\bgrammar\b|\bstructured[-_ ]?outputs?\b|\bguided/i,
  },
  limit: {
    forms: [(_, limit) => ({ max_tokens: limit }), (_, limit) => ({ max_completion_tokens: limit })],
    said: /\bmax[-_ ]?(?:completion[-_ ]?|output[-_ ]?|new[-_ ]?)?tokens\b/i,
  },
  stream: { forms: [() => ({ stream: false })], said: /[`'"]stream[`'"]|\bstream:/i },
} as const satisfies Readonly<Record<string, Option>>;

type Name = keyof typeof OPTIONS;
const NAMES = Object.keys(OPTIONS) as readonly Name[];

/** What a server is known to accept. */
interface Dialect extends Record<Name, number> {
  /** Highest limit of a reply in tokens that the server accepts. */
  cap: number;
}

/** The dialect of a server of which nothing is known: all fields in their first form. */
function fullDialect(): Dialect {
  return { seed: 0, top_p: 0, temperature: 0, format: 0, limit: 0, stream: 0, cap: Number.POSITIVE_INFINITY };
}

/** Maximum tokens of the reply in this dialect. */
function replyLimit(dialect: Dialect, request: ChatRequest): number {
  return Math.min(dialect.cap, request.maxTokens);
}

/** The optional fields of a request. */
function optionalFields(dialect: Dialect, request: ChatRequest): Fields {
  return Object.assign({}, ...NAMES.map((name) => formOf(name, dialect, request)));
}

function formOf(name: Name, dialect: Dialect, request: ChatRequest): Fields {
  return (OPTIONS[name] as Option).forms[dialect[name]]?.(request, replyLimit(dialect, request)) ?? {};
}

/**
 * Changes the dialect after a refusal.
 * @param used the dialect of the refused request
 * @returns whether a repeat makes sense
 */
function adapt(dialect: Dialect, used: Dialect, error: ServerError, request: ChatRequest): boolean {
  const name = refusedField(used, error, request);
  if (name === null) return false;
  if (name === "limit") {
    const cap = capIn(error.said);
    if (cap !== null && cap < replyLimit(used, request)) {
      dialect.cap = Math.min(dialect.cap, cap);
      return true;
    }
    if (refusesValue(error.said)) return false;
  }
  // A concurrent call may have changed it already.
  if (dialect[name] === used[name]) dialect[name]++;
  return true;
}

/** Whether the size of a reply or of the whole context is refused, which only the user can change. */
function refusesValue(said: string): boolean {
  return (
    CONTEXT.test(said) ||
    (OPTIONS.limit.said.test(said) &&
      /too (?:large|high|big|long|many|small|low)|exceed|greater|at least|at most|must be (?:[a-z]+ than|at|in|between|positive)|between|range/i.test(
        said,
      ))
  );
}

const CONTEXT =
  /context[-_ ]?(?:length|size)|maximum context|exceeds?\b.{0,40}\bcontext|prompt is too long|too many (?:input )?tokens/i;

/**
 * What a server may refuse without a name: the format, else any optional field.
 * @returns the dialect with the next form of the format or without optional fields, or null if there are none
 */
function fewerFields(used: Dialect, request: ChatRequest): Dialect | null {
  if (Object.keys(formOf("format", used, request)).length > 0) return { ...used, format: used.format + 1 };
  if (Object.keys(optionalFields(used, request)).length === 0) return null;
  const none = Object.fromEntries(NAMES.map((name) => [name, OPTIONS[name].forms.length]));
  return { ...used, ...none };
}

function refusedField(used: Dialect, { said, fields }: ServerError, request: ChatRequest): Name | null {
  if (CONTEXT.test(said)) return null;
  const sent = NAMES.filter((name) => Object.keys(formOf(name, used, request)).length > 0);
  const keyOf = (name: Name): string => Object.keys(formOf(name, used, request))[0] as string;
  const named = sent.find((name) => fields.includes(keyOf(name)));
  if (named !== undefined) return named;
  const words = said.replace(ACCEPTED, " ");
  return sent.find((name) => OPTIONS[name].said.test(words)) ?? null;
}

/** The part of a sentence that lists what the server does accept. */
const ACCEPTED =
  /(?<!\b(?:not|never|be)\s|n't\s|n’t\s)\b(?:allowed|supported|valid|permitted|accepted|known|available|expected)\b[^.;:[\n]{0,40}?(?:\bare\b|\bone of\b|[:[])[^;\n]*?(?=\.\s|;|\n|$)/gi;

/** The highest limit that a refusal names; null without one. */
function capIn(said: string): number | null {
  for (const pattern of CAPS) {
    const found = pattern.exec(said)?.[1]?.replaceAll(",", "");
    if (found !== undefined && Number(found) >= 1) return Number(found);
  }
  return null;
}

const CAPS = [
  /\d+ > (\d[\d,]*)/,
  /[[(]\s*\d+\s*,\s*(\d+)\s*[\])]/,
  /between \d+ and (\d[\d,]*)/i,
  /(?:at most|up to|(?:less|lower) than or equal to|<=|≤|not exceed|no more than)[^\d.]{0,20}(\d[\d,]*)/i,
  /maximum(?: allowed)?(?: value| number| limit)?(?: of| is|:)?[^\d.]{0,40}(\d[\d,]*)/i,
];

// Reads an HTTP response with a size limit, and explains its status.

/** Maximum bytes; a judge's response has a few kilobytes. */
const MAX_BYTES = 2 ** 22;

/** A response; its text contains no key. */
interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter: number | null;
}

/** The body as text. @throws JudgeFailure("too-long" | "unreachable") when it is too long or incomplete */
async function readBody(response: Response): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > MAX_BYTES) {
      await reader.cancel();
      throw new JudgeFailure("too-long", `The judge's answer has more than ${MAX_BYTES} bytes and was not read`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * The failure for a status other than 2xx.
 * @param redact removes the key, which JSON may encode in another form
 * @param error the decoded text
 */
export function statusFailure(
  { status, text: body, retryAfter }: HttpAnswer,
  redact: (text: string) => string,
  error: ServerError = serverError(body),
): JudgeFailure {
  const said = shortened(redact(error.said) || body, 200);
  const quote = said === "" ? "" : `: ${said}`;
  const more = { raw: body, ...(retryAfter === null ? {} : { retryAfter }) };
  if (status === 401 || status === 403) {
    return new JudgeFailure("bad-key", `The judge refused the key (status ${status})${quote}`, more);
  }
  if (status === 429)
    return new JudgeFailure("rate-limited", `The judge asks for fewer calls (status 429)${quote}`, more);
  if (status === 408) return new JudgeFailure("timeout", `The judge gave up waiting (status 408)${quote}`, more);
  if (refusesValue(error.said)) {
    const advice = "change judgeMaxTokens, or choose a judgeModel with a longer context";
    return new JudgeFailure("bad-request", `The judge refused the request (status ${status})${quote}; ${advice}`, more);
  }
  if (status >= 500) return new JudgeFailure("server", `The judge failed (status ${status})${quote}`, more);
  if (status === 404 || /model.{0,80}(not found|does not exist|unknown|not loaded)|unknown model/is.test(said)) {
    return new JudgeFailure("no-model", `The judge has no such model or address (status ${status})${quote}`, more);
  }
  return new JudgeFailure("bad-request", `The judge refused the request (status ${status})${quote}`, more);
}

/** Milliseconds of a Retry-After header: seconds, or a date. Null when absent or neither. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

interface ServerSettings {
  /** The address as typed; see parseEndpoint. */
  readonly url: string;
  readonly model: string;
  /** Read at every call, so that a new key takes effect at once; "" for servers that need none. */
  readonly key: () => string;
}

export interface ServerDeps {
  readonly fetch: typeof fetch;
  /** Milliseconds since the epoch, for Retry-After dates. */
  readonly now: () => number;
}

/** Statuses with which servers and proxies refuse a field. */
const REFUSING: ReadonlySet<number> = new Set([400, 404, 415, 422, 500, 501]);

/**
 * The provider for a server. It requests structured output by JSON schema; fields that the server refuses are changed or
 * left out from then on. The prompt also contains the schema.
 * @throws LabError("bad-config") for an invalid address
 */
export function serverProvider(settings: ServerSettings, deps: ServerDeps): JudgeProvider {
  const endpoint = parseEndpoint(settings.url);
  const dialect = fullDialect();
  return {
    model: settings.model,
    place: redactor(settings.key())(endpoint.place),
    async complete(request, signal, onCall) {
      /** The dialect after a refusal that names no field; it is kept if the server accepts it. */
      let guess: Dialect | null = null;
      for (;;) {
        onCall();
        const used: Dialect = guess ?? { ...dialect };
        const body = JSON.stringify(chatBody(settings.model, request, used));
        const key = settings.key();
        const redact = redactor(key);
        const answer = await post(endpoint.chatUrl, body, key, signal, deps, redact);
        const accepted = answer.status >= 200 && answer.status < 300;
        const value = accepted ? parseBody(answer.text) : null;
        const error = accepted ? bodyError(value) : serverError(answer.text);
        if (error === null) {
          for (const name of NAMES) dialect[name] = Math.max(dialect[name], used[name]);
          const reply = chatReply(value, answer.text, request, replyLimit(used, request));
          // Redact again: JSON may encode the key in another form.
          return { ...reply, text: redact(reply.text) };
        }
        const status = accepted ? (error.status ?? 500) : answer.status;
        const failure = statusFailure({ ...answer, status }, redact, error);
        if (!REFUSING.has(status) || failure.kind === "no-model") throw failure;
        if (adapt(dialect, used, error, request)) {
          guess = guess === null ? null : { ...dialect, format: guess.format };
          continue;
        }
        guess = failure.kind === "bad-request" && !refusesValue(error.said) ? fewerFields(used, request) : null;
        if (guess === null) throw failure;
      }
    },
  };
}

/** Names of a server's models, in its order. @throws JudgeFailure */
export async function listModels(
  settings: Pick<ServerSettings, "url" | "key">,
  deps: ServerDeps,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { modelsUrl } = parseEndpoint(settings.url);
  const key = settings.key();
  const redact = redactor(key);
  const answer = await post(modelsUrl, null, key, signal, deps, redact);
  const { status, text } = answer;
  if (status < 200 || status >= 300) throw statusFailure(answer, redact);
  const value = parseBody(text);
  const list = isRecord(value) && Array.isArray(value.data) ? value.data : Array.isArray(value) ? value : null;
  if (list === null)
    throw new JudgeFailure("wrong-form", "The server's list of models has an unknown form", { raw: text });
  return list.flatMap((item: unknown) => (isRecord(item) && typeof item.id === "string" ? [redact(item.id)] : []));
}

function chatBody(model: string, request: ChatRequest, dialect: Dialect): Record<string, unknown> {
  return { model, messages: request.messages.map(wireMessage), ...optionalFields(dialect, request) };
}

function wireMessage({ role, content, pictures = [] }: ChatMessage): Record<string, unknown> {
  if (pictures.length === 0) return { role, content };
  const shown = pictures.map((url) => ({ type: "image_url", image_url: { url } }));
  return { role, content: [...shown, { type: "text", text: content }] };
}

/** Sends a request and reads the whole response; without a body it is a GET. */
async function post(
  url: string,
  body: string | null,
  key: string,
  signal: AbortSignal,
  deps: ServerDeps,
  redact: (text: string) => string,
): Promise<HttpAnswer> {
  const { fetch } = deps;
  try {
    const response = await fetch(url, {
      method: body === null ? "GET" : "POST",
      headers: {
        ...(body === null ? {} : { "Content-Type": "application/json" }),
        ...(key === "" ? {} : { Authorization: `Bearer ${key}` }),
      },
      ...(body === null ? {} : { body }),
      signal,
      // Only this request and its key are sent, and only to the configured address.
      credentials: "omit",
      redirect: "manual",
      cache: "no-store",
      referrerPolicy: "no-referrer",
    });
    // A browser shows nothing of a redirect.
    if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
      await response.body?.cancel();
      throw new JudgeFailure("no-model", "The judge's address leads to another one; set judgeUrl to the final address");
    }
    const retryAfter = retryAfterMs(response.headers.get("retry-after"), deps.now());
    return { status: response.status, text: redact(await readBody(response)), retryAfter };
  } catch (thrown) {
    if (thrown instanceof JudgeFailure || signal.aborted) throw thrown;
    const said = thrownText(thrown);
    const inner = thrown instanceof Error && thrown.cause instanceof Error ? ` (${thrown.cause.message})` : "";
    throw new JudgeFailure("unreachable", `The judge gave no complete answer: ${redact(said + inner)}`);
  }
}

function parseBody(text: string): unknown {
  try {
    return parseJson(text, "The judge's answer");
  } catch (cause) {
    const what = FOREIGN.find(([form]) => form.test(text))?.[1] ?? `is not JSON; ${CHECK_URL}`;
    throw new JudgeFailure("not-json", `The judge's answer ${what}`, { raw: text, cause });
  }
}

const CHECK_URL = "check that judgeUrl is the address of the API, which usually ends in /v1";

/** Answers that are often mistaken for those of a chat server. */
const FOREIGN: readonly (readonly [RegExp, string])[] = [
  [/^\s*$/, `is empty; ${CHECK_URL}`],
  [/^\s*</, `is a web page; ${CHECK_URL}`],
  [
    /^\s*(?:data|event|id|:)\s*:?/,
    "is a stream although none was requested; turn streaming off in the server or proxy",
  ],
];
