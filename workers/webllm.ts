/**
 * A language model inside the browser, in a worker of its own. The library is fetched when this worker is made, which
 * happens only when a judge in this tab is asked for; it shares the GPU with training, so calls wait their turn.
 */
import type { MLCEngine } from "@mlc-ai/web-llm";
import { chatReply } from "../src/engine/rewards/judge/providers/chat-answer.ts";
import type { ChatReply, ChatRequest } from "../src/engine/rewards/judge/providers/provider.ts";

export type ToWebllm =
  | { readonly type: "load"; readonly model: string }
  | { readonly type: "complete"; readonly id: number; readonly request: ChatRequest }
  | { readonly type: "interrupt"; readonly id: number };

export type FromWebllm =
  | { readonly type: "progress"; readonly text: string; readonly share: number }
  | { readonly type: "loaded" }
  | { readonly type: "reply"; readonly id: number; readonly reply: ChatReply }
  | { readonly type: "failed"; readonly id: number | null; readonly message: string };

const send = (message: FromWebllm): void => self.postMessage(message);
const said = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

let engine: Promise<MLCEngine> | undefined;
/** The model answers one request at a time. */
let line: Promise<void> = Promise.resolve();
let running: number | null = null;
const interrupted = new Set<number>();

async function load(model: string): Promise<MLCEngine> {
  const { CreateMLCEngine } = await import("@mlc-ai/web-llm");
  return CreateMLCEngine(model, {
    logLevel: "SILENT",
    initProgressCallback: ({ text, progress }) => send({ type: "progress", text, share: progress }),
  });
}

async function complete(id: number, { messages, schema, maxTokens }: ChatRequest): Promise<void> {
  if (engine === undefined) throw new Error("no model is loaded");
  const model = await engine;
  if (interrupted.delete(id)) throw new Error("the call was ended before it began");
  running = id;
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
    // An interruption settles the call with the words so far, which are no reply.
    send({ type: "reply", id, reply: chatReply(answer, answer.choices[0]?.message.content ?? "") });
  } finally {
    running = null;
    interrupted.delete(id);
  }
}

self.onmessage = ({ data }: MessageEvent<ToWebllm>) => {
  if (data.type === "load") {
    engine = load(data.model);
    engine.then(
      () => send({ type: "loaded" }),
      (thrown: unknown) => send({ type: "failed", id: null, message: said(thrown) }),
    );
  } else if (data.type === "interrupt") {
    if (running !== data.id) interrupted.add(data.id);
    else void engine?.then((model) => model.interruptGenerate());
  } else {
    const { id, request } = data;
    line = line
      .then(() => complete(id, request))
      .catch((thrown: unknown) => send({ type: "failed", id, message: said(thrown) }));
  }
};
