/** An OpenAI-compatible server: a remote service, vLLM, Ollama, LM Studio, llama.cpp. */
import { isRecord, parseJson } from "../../../bytes/json.ts";
import { thrownText } from "../../../errors.ts";
import { bodyError, chatReply } from "./chat-answer.ts";
import { adapt, type Dialect, fullDialect, lessFormat, optionalFields, refusesValue, replyLimit } from "./dialect.ts";
import { parseEndpoint, redactor } from "./endpoint.ts";
import { JudgeFailure } from "./failure.ts";
import { type HttpAnswer, readBody, retryAfterMs, statusFailure } from "./http-reply.ts";
import type { ChatMessage, ChatRequest, JudgeProvider } from "./provider.ts";
import { serverError } from "./server-error.ts";

export interface ServerSettings {
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
          dialect.format = Math.max(dialect.format, used.format);
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
        guess = failure.kind === "bad-request" && !refusesValue(error.said) ? lessFormat(used, request) : null;
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
      redirect: "error",
      cache: "no-store",
      referrerPolicy: "no-referrer",
    });
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
    const what = FOREIGN.find(([form]) => form.test(text))?.[1] ?? "is not JSON";
    throw new JudgeFailure("not-json", `The judge's answer ${what}`, { raw: text, cause });
  }
}

/** Answers that are often mistaken for those of a chat server. */
const FOREIGN: readonly (readonly [RegExp, string])[] = [
  [/^\s*</, "is a web page; check that judgeUrl is the address of the API, which usually ends in /v1"],
  [
    /^\s*(?:data|event|id|:)\s*:?/,
    "is a stream although none was requested; turn streaming off in the server or proxy",
  ],
];
