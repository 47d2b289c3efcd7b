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
