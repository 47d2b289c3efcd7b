/** The one interface behind which a judge's model runs: an HTTP server, WebLLM in a worker, the browser's own model. */
export interface ChatMessage {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

export type JsonSchema = Readonly<Record<string, unknown>>;

export interface ChatRequest {
  readonly messages: readonly ChatMessage[];
  /** Form of the reply, for providers that can hold a model to it; null for plain text. */
  readonly schema: JsonSchema | null;
  /** Longest reply in tokens. */
  readonly maxTokens: number;
}

export interface ChatReply {
  readonly text: string;
  /** Tokens as the provider counted them; null when it does not say. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** The model had not come to its end; false also where the provider does not say. */
  readonly cut: boolean;
}

export type ProviderKind = "server" | "webllm" | "chrome";

export interface JudgeProvider {
  readonly kind: ProviderKind;
  /** Name of the model, part of every cache key. */
  readonly model: string;
  /** Where it runs, without any secret: origin and path of a server, or "in this tab". */
  readonly place: string;
  /**
   * One reply at temperature 0. The caller stops waiting when the signal aborts, even if the provider ignores it.
   * @param onCall called before every request that leaves, so that budgets count what a provider repeats by itself;
   *   it throws when the budget is used up
   * @throws JudgeFailure
   */
  complete(request: ChatRequest, signal: AbortSignal, onCall: () => void): Promise<ChatReply>;
}
