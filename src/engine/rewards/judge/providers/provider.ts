import { LONGEST_SENTENCE, shortened } from "../../../errors.ts";

/** The interface of a judge's model: an HTTP server. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
  /** Pictures before the text, as data URLs. */
  readonly pictures?: readonly string[];
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** JSON schema of the reply, for providers that can enforce it; null for plain text. */
  readonly schema: JsonSchema | null;
  /** Maximum tokens of the reply. */
  readonly maxTokens: number;
}

export interface ChatReply {
  readonly text: string;
  /** Tokens as counted by the provider; null if it does not report them. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /**
   * Why the reply is incomplete: its limit of tokens, or a filter of its content. Null if it is complete, or if the
   * provider does not report it.
   */
  readonly cut: "limit" | "filter" | null;
  /** Maximum tokens that were allowed; less than requested if the provider allows no more. */
  readonly limit: number;
}

/** Model name that servers with a single model accept; it does not identify the model that answers. */
export const ANY_MODEL = "default";

export interface JudgeProvider {
  /** Name of the model, part of every cache key; for ANY_MODEL the key also contains the place. */
  readonly model: string;
  /** Where it runs, without secrets: origin and path of the server. */
  readonly place: string;
  /**
   * One reply at temperature 0. The caller stops waiting when the signal aborts, even if the provider ignores it.
   * @param onCall called before every request, so that budgets include the provider's own repeats; throws when the
   * budget is used up
   * @throws JudgeFailure
   */
  complete(request: ChatRequest, signal: AbortSignal, onCall: () => void): Promise<ChatReply>;
}

/** Kinds of failure of a judge call. The value of a failed call is missing, never 0. */
export type FailureKind =
  | "unreachable" // no answer at all: refused, reset, closed in the middle, blocked by CORS or policy
  | "timeout"
  | "rate-limited" // 429
  | "server" // 5xx
  | "bad-key" // 401, 403
  | "no-model" // 404, or an error that says the model is unknown
  | "bad-request" // any other 4xx
  | "not-json" // the response, or the model's text in it, is not JSON
  | "wrong-form" // JSON, but not in the requested form
  | "cut-off" // the model's text ends before it is complete
  | "too-long" // more bytes than the limit of an answer
  | "budget" // calls or money used up: nothing was sent
  | "no-questions"; // no prepared questions for this reference

/** Temporary failures. */
const PASSING: ReadonlySet<FailureKind> = new Set(["unreachable", "timeout", "rate-limited", "server", "not-json"]);

/** Why a call gave no verdict. `message` is one sentence and never holds a key. */
export class JudgeFailure extends Error {
  readonly kind: FailureKind;
  /** Milliseconds that the server asked to wait, if any. */
  readonly retryAfter: number | null;
  /** The response, shortened; "" without one. */
  readonly raw: string;

  constructor(kind: FailureKind, message: string, more: { retryAfter?: number; raw?: string; cause?: unknown } = {}) {
    super(shortened(message, LONGEST_SENTENCE), more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "JudgeFailure";
    this.kind = kind;
    this.retryAfter = more.retryAfter ?? null;
    this.raw = shorten(more.raw ?? "");
  }

  /** Whether a repeat may help. */
  get passing(): boolean {
    return PASSING.has(this.kind);
  }
}

/** Maximum characters of a raw reply kept for display. */
const RAW_CHARACTERS = 4000;

/** Shortens a text for the inspector. */
export function shorten(text: string): string {
  return text.length <= RAW_CHARACTERS ? text : `${text.slice(0, RAW_CHARACTERS)} … (${text.length} characters)`;
}
