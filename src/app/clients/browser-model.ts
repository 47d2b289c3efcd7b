/**
 * The browser's own language model (Chrome's `LanguageModel`), which only pages can call; the reward worker calls it
 * through this module.
 */
import type { ChatRequest } from "../../engine/rewards/judge/providers/provider.ts";

type Availability = "unavailable" | "downloadable" | "downloading" | "available";

interface ModelSession {
  prompt(
    text: string,
    options: { readonly signal: AbortSignal; readonly responseConstraint?: Readonly<Record<string, unknown>> },
  ): Promise<string>;
  destroy(): void;
}

/** The part of Chrome's API that is used here; the type library does not declare it yet. */
interface LanguageModelApi {
  availability(): Promise<Availability>;
  create(options: {
    readonly signal: AbortSignal;
    readonly monitor: (monitor: EventTarget) => void;
  }): Promise<ModelSession>;
}

function api(): LanguageModelApi | null {
  return (globalThis as { readonly LanguageModel?: LanguageModelApi }).LanguageModel ?? null;
}

/** Why the browser's model cannot be used, in one sentence; null when it can, perhaps after a download. */
export async function browserModelBlocker(): Promise<string | null> {
  const model = api();
  if (model === null) return "This browser has no built-in language model. Desktop Chrome has one from version 148";
  const state = await model.availability();
  return state === "unavailable"
    ? "Chrome's built-in model cannot run on this machine because of disk space, memory or GPU"
    : null;
}

/** One reply. Every call gets a fresh session: one verdict must not influence the next. */
export async function askBrowserModel(
  request: ChatRequest,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<string> {
  const blocker = await browserModelBlocker();
  const model = api();
  if (blocker !== null || model === null) throw new Error(blocker ?? "There is no model");
  const session = await model.create({
    signal,
    monitor: (monitor) =>
      monitor.addEventListener("downloadprogress", (event) => {
        const { loaded } = event as Event & { readonly loaded?: number };
        if (loaded !== undefined) onProgress(loaded);
      }),
  });
  try {
    const text = request.messages.map(({ content }) => content).join("\n\n");
    return await session.prompt(text, {
      signal,
      ...(request.schema === null ? {} : { responseConstraint: request.schema }),
    });
  } finally {
    session.destroy();
  }
}
