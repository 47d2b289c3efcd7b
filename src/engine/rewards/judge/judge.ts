/**
 * The judge as a source of terms: for every pair of captions one term named "judge". Without a verdict its value is
 * null, never 0.
 */
import { parseAnswer, scoreAnswers } from "../judge-score.ts";
import type { JudgeAnswer, JudgeDetail, RewardTerm } from "../term.ts";
import type { CaptionPair } from "../types.ts";
import { type BudgetLimits, budget, type Spending } from "./budget.ts";
import type { ReplyCache } from "./cache.ts";
import { type AskDeps, type AskRecord, askSession, type Examined, type JudgeKind } from "./judge-kind.ts";
import { type CallerDeps, type CallerSettings, caller, slots, together } from "./providers/caller.ts";
import { ANY_MODEL, JudgeFailure, shorten } from "./providers/provider.ts";
import { plainCaption } from "./questions/prompts.ts";

/** Range of the score: unchanged (−1 … 1), negative scores as 0, or shifted to 0 … 1. */
type JudgeRange = "raw" | "clamp" | "rescale";

export interface JudgeSettings extends CallerSettings {
  /** Maximum concurrent calls. */
  readonly parallel: number;
  readonly budget: BudgetLimits;
  readonly range: JudgeRange;
  /** Version of the prompts, stored with every score. */
  readonly version: string;
}

interface JudgeDeps extends Pick<CallerDeps, "provider" | "clock" | "jitter"> {
  readonly kind: JudgeKind;
  readonly cache: ReplyCache;
}

interface JudgeOptions {
  readonly signal?: AbortSignal;
  /** Ignores the cache, for calibration. */
  readonly fresh?: boolean;
}

export interface CaptionJudge {
  /**
   * One term per pair, in order, weight 1.
   * @throws LabError("cancelled") when the signal aborts; any other failure gives a term whose value is null
   */
  terms(pairs: readonly CaptionPair[], options?: JudgeOptions): Promise<readonly RewardTerm[]>;
  /** Calls and cost so far, including earlier spending. */
  readonly spent: Spending;
}

const NEVER = new AbortController().signal;

export function captionJudge(settings: JudgeSettings, deps: JudgeDeps): CaptionJudge {
  const spending = budget(settings.budget);
  const { provider, kind, cache, clock, jitter } = deps;
  const asking: AskDeps = {
    ask: caller(settings, { provider, budget: spending, slots: slots(settings.parallel), clock, jitter }),
    cache,
    kind: kind.name,
    model: provider.model === ANY_MODEL ? `${ANY_MODEL} at ${provider.place}` : provider.model,
    version: settings.version,
    pending: new Map(),
  };
  const judgeOne = async (pair: CaptionPair, signal: AbortSignal, fresh: boolean): Promise<RewardTerm> => {
    const record: AskRecord = { spent: { calls: 0, latency: 0, cost: 0 }, raw: [], hits: 0 };
    const identity = {
      instrument: kind.name,
      model: provider.model,
      version: settings.version,
    };
    const detail = (outcome: Outcome): JudgeDetail => ({
      ...identity,
      ...outcome,
      raw: record.raw.map(shorten),
      calls: record.spent.calls,
      cached: record.spent.calls === 0 && record.hits > 0,
      latencyMs: record.spent.latency,
      cost: record.spent.cost,
    });
    const term = { name: "judge", weight: 1 } as const;
    // An empty caption is recognised as nothing, whatever the questions.
    if (plainCaption(pair.hypothesis) === "") {
      const outcome = { score: 0, positive: 0, negative: 0, recognised: false, answers: [], failure: null };
      return { ...term, value: ranged(0, settings.range), judge: detail(outcome), note: "empty caption" };
    }
    try {
      const examined = await kind.examine(pair, askSession(asking, record, signal, fresh));
      const outcome = outcomeOf(examined);
      if (outcome.score !== null) {
        return { ...term, value: ranged(outcome.score, settings.range), judge: detail(outcome) };
      }
      return { ...term, value: null, judge: detail(outcome), note: "the answers give no verdict" };
    } catch (thrown) {
      if (!(thrown instanceof JudgeFailure)) throw thrown;
      if (thrown.raw !== "" && !record.raw.includes(thrown.raw)) record.raw.push(thrown.raw);
      const outcome = { score: null, positive: null, negative: null, recognised: null, answers: [] };
      return { ...term, value: null, judge: detail({ ...outcome, failure: thrown.kind }), note: thrown.message };
    }
  };
  return {
    spent: spending,
    async terms(pairs, { signal = NEVER, fresh = false } = {}) {
      // Rollouts with equal captions are judged once.
      const same = new Map<string, Promise<RewardTerm>>();
      const all = pairs.map((pair) => {
        const key = JSON.stringify([pair.reference, pair.hypothesis]);
        const known = same.get(key);
        if (known !== undefined) return known.then(repeated);
        const own = judgeOne(pair, signal, fresh);
        same.set(key, own);
        return own;
      });
      return together(all);
    },
  };
}

type Outcome = Pick<JudgeDetail, "score" | "positive" | "negative" | "recognised" | "answers" | "failure">;

function outcomeOf({ questions, responses }: Examined): Outcome {
  const scored = scoreAnswers(questions, responses);
  const recognised = scored.kind === "score" ? scored.recognised : null;
  const answers = questions.map(({ type, question, choices }, at): JudgeAnswer => {
    const texts = choices.map(([text]) => text);
    const parsed = parseAnswer(responses[at] as string, texts);
    const [choice, points] = (parsed.kind === "choice" ? choices[parsed.index] : undefined) ?? [null, 0];
    const number = typeof points === "number" ? (recognised === false ? Math.min(0, points) : points) : null;
    return { type, question, choices: choices.map(([text]) => text), choice, points: number };
  });
  if (scored.kind === "no-verdict") {
    return { score: null, positive: null, negative: null, recognised, answers, failure: "wrong-form" };
  }
  const { score, positive, negative } = scored;
  return { score, positive, negative, recognised, answers, failure: null };
}

/** A score of −1 … 1 in the range of the settings. */
export function ranged(score: number, range: JudgeRange): number {
  if (range === "rescale") return (score + 1) / 2;
  return range === "clamp" ? Math.max(0, score) : score;
}

/** The same verdict for another rollout, at no additional cost. */
function repeated(term: RewardTerm): RewardTerm {
  if (term.judge === undefined) return term;
  return { ...term, judge: { ...term.judge, calls: 0, cost: 0, latencyMs: 0, cached: term.value !== null } };
}
