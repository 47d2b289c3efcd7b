/**
 * A language model inside the browser, in its own worker. The library is fetched when this worker starts, which happens
 * only for a judge in this tab. The model shares the GPU with training, so calls wait their turn.
 */
import type { MLCEngine } from "@mlc-ai/web-llm";
import { inTurn } from "../src/engine/bytes/in-turn.ts";
import { LabError } from "../src/engine/errors.ts";
import { chatReply } from "../src/engine/rewards/judge/providers/chat-answer.ts";
import type { ChatReply, ChatRequest } from "../src/engine/rewards/judge/providers/provider.ts";
import { connect, type Handlers } from "../src/protocol/rpc.ts";

export interface WebllmCalls {
  /** @param onProgress receives a text about the download, and its share 0..1 */
  load(model: string, onProgress: (text: string, share: number) => void): Promise<void>;
  /**
   * One reply; a model answers one request at a time.
   * @throws LabError when the signal aborts
   */
  complete(request: ChatRequest, signal: AbortSignal): Promise<ChatReply>;
}

let engine: Promise<MLCEngine> | undefined;
const inOrder = inTurn();

async function load(model: string, onProgress: (text: string, share: number) => void): Promise<MLCEngine> {
  const { CreateMLCEngine } = await import("@mlc-ai/web-llm");
  return CreateMLCEngine(model, {
    logLevel: "SILENT",
    initProgressCallback: ({ text, progress }) => onProgress(text, progress),
  });
}

async function complete({ messages, schema, maxTokens }: ChatRequest, signal: AbortSignal): Promise<ChatReply> {
  if (engine === undefined) throw new LabError("internal", "no model is loaded");
  const model = await engine;
  if (signal.aborted) throw new LabError("cancelled", "the call was cancelled before it started");
  const interrupt = (): void => void model.interruptGenerate();
  signal.addEventListener("abort", interrupt);
  try {
    const answer = await model.chat.completions.create({
      messages: messages.map(({ role, content }) => ({ role, content })),
      max_tokens: maxTokens,
      temperature: 0,
      top_p: 1,
      seed: 0,
      stream: false,
      ...(schema === null ? {} : { response_format: { type: "json_object", schema: JSON.stringify(schema) } }),
    });
    // An interruption settles the call with the words so far, which are not a reply.
    return chatReply(answer, answer.choices[0]?.message.content ?? "", { schema }, maxTokens);
  } finally {
    signal.removeEventListener("abort", interrupt);
  }
}

const calls: Handlers<WebllmCalls> = {
  async load(model, onProgress) {
    engine = load(model, onProgress);
    await engine;
  },
  complete: (request, signal) => inOrder(() => complete(request, signal)),
};

connect(self, calls);
