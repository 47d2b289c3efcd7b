/** Code of both kinds of judge: gets a reply that passes a check, from the cache or from the model. */
import type { JudgeQuestion } from "../judge-score.ts";
import type { CaptionPair } from "../types.ts";
import { type ReplyCache, replyKey } from "./cache.ts";
import type { JudgeKindName } from "./description.ts";
import type { Ask, Spent } from "./providers/caller.ts";
import { JudgeFailure } from "./providers/failure.ts";
import type { ChatRequest } from "./providers/provider.ts";

/** Answers to questions about one caption, before they are scored. */
export interface Examined {
  readonly questions: readonly JudgeQuestion[];
  /** The chosen answers, in the order of the questions. */
  readonly responses: readonly string[];
}

export interface JudgeKind {
  readonly name: JudgeKindName;
  /** @throws JudgeFailure, LabError("cancelled") */
  examine(pair: CaptionPair, session: AskSession): Promise<Examined>;
}

/** Requests for one verdict. */
export interface AskSession {
  /**
   * A reply that `read` accepts: from the cache, else from the model. If the first reply has the wrong form, the model
   * is asked once more, with the error. `read` receives whether the model stopped at the length limit.
   * @throws JudgeFailure
   */
  reply<T>(request: ChatRequest, read: (text: string, cut: boolean) => T): Promise<T>;
}

export interface AskDeps {
  readonly ask: Ask;
  readonly cache: ReplyCache;
  readonly kind: JudgeKindName;
  /** The kind in the cache key. */
  readonly model: string;
  /** Version of the prompts. */
  readonly version: string;
}

/** Record of the requests for one verdict. */
export interface AskRecord {
  readonly spent: Spent;
  /** Raw replies in order, including those from the cache. */
  readonly raw: string[];
  hits: number;
}

/** @param fresh ignores the cache, to measure the consistency of a judge */
export function askSession(deps: AskDeps, record: AskRecord, signal: AbortSignal, fresh: boolean): AskSession {
  return {
    async reply(request, read) {
      const key = await replyKey(deps.kind, deps.model, deps.version, request);
      const known = fresh ? undefined : deps.cache.get(key);
      if (known !== undefined) {
        const value = accepted(known, read);
        if (value !== null) {
          record.hits++;
          record.raw.push(known);
          return value.value;
        }
      }
      let reply = await deps.ask(request, record.spent, signal);
      record.raw.push(reply.text);
      let value: ReturnType<typeof read>;
      try {
        value = read(reply.text, reply.cut);
      } catch (thrown) {
        if (!(thrown instanceof JudgeFailure)) throw thrown;
        const complaint = `${thrown.message}. Reply again, in exactly the form that was asked for.`;
        const messages = [
          ...request.messages,
          { role: "assistant", content: reply.text.slice(0, 2000) },
          { role: "user", content: complaint },
        ] as const;
        reply = await deps.ask({ ...request, messages }, record.spent, signal);
        record.raw.push(reply.text);
        value = read(reply.text, reply.cut);
      }
      if (!fresh) await deps.cache.put(key, reply.text);
      return value;
    },
  };
}

/** A cached reply that the current reader rejects is requested again. */
function accepted<T>(text: string, read: (text: string, cut: boolean) => T): { readonly value: T } | null {
  try {
    return { value: read(text, false) };
  } catch (thrown) {
    if (thrown instanceof JudgeFailure) return null;
    throw thrown;
  }
}
