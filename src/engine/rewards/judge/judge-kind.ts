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
  /** Accepted replies of current requests, by cache key: equal requests are sent once. */
  readonly pending: Map<string, Promise<{ readonly text: string }>>;
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
  const ask = async <T>(request: ChatRequest, read: (text: string, cut: boolean) => T): Promise<Accepted<T>> => {
    let reply = await deps.ask(request, record.spent, signal);
    record.raw.push(reply.text);
    try {
      return { text: reply.text, value: read(reply.text, reply.cut) };
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
      return { text: reply.text, value: read(reply.text, reply.cut) };
    }
  };
  return {
    async reply(request, read) {
      const key = await replyKey(deps.kind, deps.model, deps.version, request);
      const stored = fresh ? undefined : deps.cache.get(key);
      const known = stored ?? (await deps.pending.get(key)?.catch(unlessJudged))?.text;
      const hit = known === undefined ? null : accepted(known, read);
      if (hit !== null) {
        record.hits++;
        record.raw.push(hit.text);
        return hit.value;
      }
      const asked = ask(request, read);
      deps.pending.set(key, asked);
      try {
        const { text, value } = await asked;
        if (!fresh) await deps.cache.put(key, text);
        return value;
      } finally {
        if (deps.pending.get(key) === asked) deps.pending.delete(key);
      }
    },
  };
}

/** A failure of the judge applies to all waiting callers; if another caller stopped the request, it is sent again. */
function unlessJudged(thrown: unknown): undefined {
  if (thrown instanceof JudgeFailure) throw thrown;
}

/** A reply that the reader accepts. */
interface Accepted<T> {
  readonly text: string;
  readonly value: T;
}

/** A cached reply that the current reader rejects is requested again. */
function accepted<T>(text: string, read: (text: string, cut: boolean) => T): Accepted<T> | null {
  try {
    return { text, value: read(text, false) };
  } catch (thrown) {
    if (thrown instanceof JudgeFailure) return null;
    throw thrown;
  }
}
