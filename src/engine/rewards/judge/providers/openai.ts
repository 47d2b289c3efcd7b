/** An OpenAI-compatible server: a remote service, vLLM, Ollama, LM Studio, llama.cpp. */
import { isRecord, parseJson } from "../../../bytes/json.ts";
import { thrownText } from "../../../errors.ts";
import { chatReply } from "./chat-answer.ts";
import { parseEndpoint, redactor } from "./endpoint.ts";
import { JudgeFailure } from "./failure.ts";
import { type HttpAnswer, readBody, retryAfterMs, statusFailure } from "./http-reply.ts";
import type { ChatMessage, ChatReply, ChatRequest, JudgeProvider } from "./provider.ts";

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

/** Request features that a server accepts; only a refusal reveals which it lacks. */
interface Dialect {
  format: "json_schema" | "json_object" | "none";
  limit: "max_tokens" | "max_completion_tokens";
  temperature: boolean;
}

/**
 * The provider for a server. It requests structured output by JSON schema and falls back permanently when the server
 * refuses it; the prompt also contains the schema.
 * @throws LabError("bad-config") for an invalid address
 */
export function serverProvider(settings: ServerSettings, deps: ServerDeps): JudgeProvider {
  const endpoint = parseEndpoint(settings.url);
  const dialect: Dialect = { format: "json_schema", limit: "max_tokens", temperature: true };
  return {
    kind: "server",
    model: settings.model,
    place: redactor(settings.key())(endpoint.place),
    async complete(request, signal, onCall) {
      for (;;) {
        onCall();
        const used = { ...dialect };
        const body = JSON.stringify(chatBody(settings.model, request, used));
        const key = settings.key();
        const redact = redactor(key);
        const answer = await post(endpoint.chatUrl, body, key, signal, deps, redact);
        if (answer.status >= 200 && answer.status < 300) return readReply(answer.text, redact);
        const failure = statusFailure(answer, redact);
        const refused = answer.status === 400 || answer.status === 422;
        if (!refused || !adapt(dialect, used, answer.text, request.schema !== null)) throw failure;
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
  const { schema } = request;
  return {
    model,
    messages: request.messages.map(wireMessage),
    [dialect.limit]: request.maxTokens,
    ...(dialect.temperature ? { temperature: 0, top_p: 1, seed: 0 } : {}),
    stream: false,
    ...(schema === null || dialect.format === "none"
      ? {}
      : {
          response_format:
            dialect.format === "json_object"
              ? { type: "json_object" }
              : { type: "json_schema", json_schema: { name: "verdict", strict: true, schema } },
        }),
  };
}

function wireMessage({ role, content, pictures = [] }: ChatMessage): Record<string, unknown> {
  if (pictures.length === 0) return { role, content };
  const shown = pictures.map((url) => ({ type: "image_url", image_url: { url } }));
  return { role, content: [...shown, { type: "text", text: content }] };
}

/** Changes the dialect after a refusal. @returns whether a repeat makes sense */
function adapt(dialect: Dialect, used: Dialect, body: string, structured: boolean): boolean {
  // A concurrent call may have changed it already.
  if (used.format !== dialect.format || used.limit !== dialect.limit || used.temperature !== dialect.temperature) {
    return true;
  }
  if (dialect.limit === "max_tokens" && body.includes("max_completion_tokens")) {
    dialect.limit = "max_completion_tokens";
    return true;
  }
  if (dialect.temperature && /temperature|top_p|'seed'|"seed"/.test(body)) {
    dialect.temperature = false;
    return true;
  }
  if (!structured || dialect.format === "none") return false;
  dialect.format = dialect.format === "json_schema" ? "json_object" : "none";
  return true;
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
    throw new JudgeFailure("not-json", "The judge's answer is not JSON", { raw: text, cause });
  }
}

/** The reply in a chat answer. @throws JudgeFailure("not-json" | "wrong-form" | "server") */
function readReply(text: string, redact: (text: string) => string): ChatReply {
  const reply = chatReply(parseBody(text), text);
  // Redact again: JSON may encode the key in another form.
  return { ...reply, text: redact(reply.text) };
}
