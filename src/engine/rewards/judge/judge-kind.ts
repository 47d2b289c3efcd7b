/** Code of both kinds of judge: gets a reply that passes a check, from the cache or from the model. */
import type { JudgeQuestion } from "../judge-score.ts";
import type { CaptionPair } from "../types.ts";
import { type ReplyCache, replyKey } from "./cache.ts";
import type { JudgeKindName } from "./description.ts";
import type { Ask, Spent } from "./providers/caller.ts";
import type { ChatReply, ChatRequest } from "./providers/provider.ts";
import { JudgeFailure } from "./providers/provider.ts";

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
   * is asked once more, with the error. `read` receives whether the reply is incomplete.
   * @param longer how the user allows longer replies
   * @throws JudgeFailure
   */
  reply<T>(request: ChatRequest, read: (text: string, cut: boolean) => T, longer: string): Promise<T>;
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
  const ask = async <T>(
    request: ChatRequest,
    read: (text: string, cut: boolean) => T,
    longer: string,
  ): Promise<Accepted<T>> => {
    const first = await deps.ask(request, record.spent, signal);
    record.raw.push(first.text);
    const value = attempt(first, read);
    if (!(value instanceof JudgeFailure)) return { text: first.text, value };
    const complaint = `${value.message}. Reply again, in exactly the form that was asked for.`;
    const messages = [
      ...request.messages,
      { role: "assistant", content: first.text.slice(0, 2000) },
      { role: "user", content: complaint },
    ] as const;
    const second = await deps.ask({ ...request, messages }, record.spent, signal);
    record.raw.push(second.text);
    const again = attempt(second, read);
    if (!(again instanceof JudgeFailure)) return { text: second.text, value: again };
    const { kind, message, raw } = again;
    throw new JudgeFailure(kind, `${message}; ${remedy(second, request, longer)}`, { raw, cause: again });
  };
  return {
    async reply(request, read, longer) {
      const key = await replyKey(deps.kind, deps.model, deps.version, request);
      const stored = fresh ? undefined : deps.cache.get(key);
      const known = stored ?? (await deps.pending.get(key)?.catch(unlessJudged))?.text;
      const hit = known === undefined ? null : accepted(known, read);
      if (hit !== null) {
        record.hits++;
        record.raw.push(hit.text);
        return hit.value;
      }
      const asked = ask(request, read, longer);
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

/** What `read` makes of a reply. @returns its failure, as "cut-off" if the reply is incomplete */
function attempt<T>({ text, cut, limit }: ChatReply, read: (text: string, cut: boolean) => T): T | JudgeFailure {
  try {
    return read(text, cut !== null);
  } catch (thrown) {
    if (!(thrown instanceof JudgeFailure)) throw thrown;
    if (cut === null) return thrown;
    const by = cut === "limit" ? `the limit of ${limit} tokens` : "the judge's content filter";
    return new JudgeFailure("cut-off", `The model's reply was cut off by ${by}`, { raw: text, cause: thrown });
  }
}

/** What the user can change after two replies that cannot be read. */
function remedy({ cut, limit }: ChatReply, { maxTokens }: ChatRequest, longer: string): string {
  if (cut === "filter") return "choose another judgeModel";
  if (cut === "limit") return limit < maxTokens ? "choose a judgeModel whose server allows more" : longer;
  return "choose a larger judgeModel or a server with structured output";
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
