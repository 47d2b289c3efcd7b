/**
 * Held-out evaluation: fixed rows and seeds, so that two points of a run differ only by their weights. Scores the loops
 * as the run samples them (sampling settings, mask policy) and without sampling, by IoU, METEOR and the run's reward.
 * Also scores caption → mask IoU and mask → caption METEOR against the data set, which fall if policy and partner
 * develop a private language or the mask decoder drifts.
 */
import { activeLoops } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import type { RandomKey } from "../../gpu/random.ts";
import { disposeFeatures, type ImageFeatures } from "../../policy/features.ts";
import { countCells, type RegionCells, rowCells } from "../../policy/prompts.ts";
import { type RewardPlan, rewardPlan, withoutJudge } from "../../rewards/composer/plan.ts";
import { type Spending, totalSpending } from "../../rewards/judge/budget.ts";
import type { RolloutFacts } from "../../rewards/term.ts";
import type { RewardScorer, ScoredRollout } from "../../rewards/types.ts";
import { EVAL_SEED, EVAL_STREAM } from "../../runs/evaluations/evaluation-metrics.ts";
import type { Drawn, JudgeUse, RewardMetric, RowPart, RowScores } from "../../runs/evaluations/evaluations.ts";
import type { RunRows } from "../../runs/run-rows.ts";
import { LOOP_IDS, type LoopId } from "../loops/abouts.ts";
import type { Step } from "./step.ts";

// The run's reward on held-out rows: composed by its reward plan, as in training.

/** Settings of the reward of held-out rows. */
interface RunReward {
  readonly plan: RewardPlan;
  readonly judge: JudgeUse;
  readonly loops: readonly LoopId[];
}

/**
 * The reward plan for held-out rows. A missing verdict pauses the run if the settings say so; otherwise the reward is
 * missing, because METEOR in its place would be another score.
 */
export function runReward(config: LabConfig): RunReward {
  const plan = rewardPlan(config);
  const loops = activeLoops(config);
  const judged =
    config.judge !== "off" && loops.some((loop) => plan.weights[loop].judge !== 0 || plan.weights[loop].utility !== 0);
  const leftOut = judged && !config.evalJudge;
  return {
    plan: {
      ...(leftOut ? withoutJudge(plan) : plan),
      missingVerdict: plan.missingVerdict === "pause" ? "pause" : "drop",
    },
    judge: leftOut ? "left-out" : judged ? "asked" : "none",
    loops,
  };
}

/** A loop's rollouts of one row: the greedy one, and the sampled ones with their probabilities. */
interface LoopFacts {
  readonly greedy: RolloutFacts;
  readonly sampled: readonly RolloutFacts[];
  /** Probability of each sampled rollout if they are all possible actions; null for independent samples. */
  readonly probabilities: readonly number[] | null;
}

interface RowRewards {
  readonly rewards: Readonly<Partial<Record<RewardMetric, number | null>>>;
  /** By loop, what each weighted term adds to the reward of the sampled rollouts. */
  readonly parts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Absent if no request was sent. */
  readonly judge?: Spending;
}

/**
 * Rewards of one row, and their cost to the judge's budget. The sampled rollouts are one group, as in training; the
 * greedy one is a separate group.
 * @param facts by loop; a loop that cannot sample the row has none
 * @throws LabError("held") when a reward is not available and the run must wait
 */
export async function rowRewards(
  scorer: RewardScorer,
  { plan, loops }: RunReward,
  facts: Readonly<Partial<Record<LoopId, LoopFacts>>>,
  signal: AbortSignal,
): Promise<RowRewards> {
  const rewards: Partial<Record<RewardMetric, number | null>> = {};
  const parts: Record<string, Readonly<Record<string, number>>> = {};
  const all: ScoredRollout[] = [];
  for (const loop of LOOP_IDS) {
    const own = facts[loop];
    if (own === undefined) continue;
    const trains = loops.includes(loop);
    const sampled = trains ? await scorer.scoreGroup(own.sampled, plan, signal) : [];
    const greedy = trains ? await scorer.scoreGroup([own.greedy], plan, signal) : [];
    all.push(...sampled, ...greedy);
    rewards[`reward${loop}_greedy`] = greedy[0]?.reward ?? null;
    rewards[`reward${loop}_sampled`] = weightedMean(
      sampled.map(({ reward }) => reward),
      own.probabilities,
    );
    if (trains) parts[loop] = partsOf(sampled, own.probabilities);
  }
  const judge = totalSpending(all.flatMap(({ terms }) => terms.flatMap((term) => term.judge ?? [])));
  return judge.calls === 0 ? { rewards, parts } : { rewards, parts, judge };
}

/** Mean of weight · value of each weighted term, over the rollouts that have a reward. */
function partsOf(scored: readonly ScoredRollout[], weights: readonly number[] | null): Record<string, number> {
  const weighted = scored.flatMap(({ terms }) => terms.filter(({ weight }) => weight !== 0));
  const names = [...new Set(weighted.map(({ name }) => name))];
  return Object.fromEntries(
    names.flatMap((name) => {
      const values = scored.map(({ reward, terms }) => {
        const term = terms.find((one) => one.name === name);
        return reward === null || term === undefined || term.value === null ? null : term.weight * term.value;
      });
      const mean = weightedMean(values, weights);
      return mean === null ? [] : [[name, mean] as const];
    }),
  );
}

/** Weighted mean of the values that are not null; null if there are none. @param weights null weights all equally */
export function weightedMean(values: readonly (number | null)[], weights: readonly number[] | null): number | null {
  let [sum, total] = [0, 0];
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    const weight = weights === null ? 1 : (weights[at] as number);
    sum += weight * value;
    total += weight;
  }
  return total === 0 ? null : sum / total;
}

/** A loop's rollouts of a row, with their scores. */
interface LoopAnswers extends LoopFacts {
  /** The loop's `heldOut` score: of the greedy rollout, then of each sampled one. */
  readonly scores?: readonly number[];
  /** Fields of the row's scores that only this loop fills. */
  readonly record?: Partial<RowScores>;
}

/** Samples rows of the evaluation; the answer is undefined for a row that the loop cannot sample. */
export type EvaluateLoop = (step: Step, rows: readonly EvalRow[]) => Promise<readonly (LoopAnswers | undefined)[]>;

/** How each loop samples held-out rows; a loop that does not has none. */
export type EvaluatedLoops = Readonly<Partial<Record<LoopId, EvaluateLoop>>>;

/** Rows that are scored together if the settings set no limit. */
const MOST_AT_ONCE = 8;

/** A row with the inputs of policy and partner. */
export interface EvalRow {
  readonly index: number;
  readonly part: RowPart;
  readonly row: TrainingRow;
  readonly features: ImageFeatures;
  /** Cells of the region; at least one. */
  readonly cells: RegionCells;
}

/**
 * Scores the rows of both parts, the report part first; rows whose mask covers no visual token are left out.
 * @param step with rows as evaluations see them
 * @param onRows receives the number of finished rows
 * @throws LabError("held") when a reward is not available and the run must wait
 */
export async function evaluateRows(
  step: Step,
  loops: EvaluatedLoops,
  { report, selection }: Pick<RunRows, "selection" | "report">,
  onRows?: (done: number) => void,
): Promise<readonly RowScores[]> {
  const { config, model, signal } = step;
  const { groupsAtOnce } = config;
  const most = groupsAtOnce === 0 ? MOST_AT_ONCE : groupsAtOnce;
  const own = runReward(config);
  const places = [
    ...report.map((index) => ({ index, part: "report" as const })),
    ...selection.map((index) => ({ index, part: "selection" as const })),
  ];
  const scores: RowScores[] = [];
  for (let from = 0; from < places.length; from += most) {
    const asked: EvalRow[] = [];
    try {
      for (const { index, part } of places.slice(from, from + most)) {
        const row = await step.rows(index);
        const keepTiny = config.smallRegions === "force";
        if (countCells(rowCells(model, row, keepTiny)) === 0) continue;
        const features = await step.features.get(row.summary.imageId, row.rgb, row.view, { signal }, row.mask);
        asked.push({ index, part, row, cells: rowCells(model, row, keepTiny, features.grid), features });
      }
      if (asked.length > 0) scores.push(...(await scoreTogether(step, loops, own, asked)));
    } finally {
      for (const { features } of asked) disposeFeatures(features);
    }
    onRows?.(Math.min(from + most, places.length));
  }
  return scores;
}

async function scoreTogether(
  step: Step,
  loops: EvaluatedLoops,
  own: RunReward,
  asked: readonly EvalRow[],
): Promise<RowScores[]> {
  const answers: [LoopId, readonly (LoopAnswers | undefined)[]][] = [];
  for (const loop of LOOP_IDS) {
    const evaluate = loops[loop];
    if (evaluate !== undefined) answers.push([loop, await evaluate(step, asked)]);
  }
  // Concurrently, because a judge is slow.
  return Promise.all(
    asked.map(async ({ row: { summary }, part }, at) => {
      const answered = answers.flatMap(([loop, all]) => (all[at] === undefined ? [] : [[loop, all[at]] as const]));
      const { id: rowId, imageId, caption, mask: givenMask } = summary;
      const parts = answered.map(([loop, answer]) => ({ ...answer.record, ...fixedScores(loop, answer) }));
      const rewarded = await rowRewards(step.scorer, own, Object.fromEntries(answered), step.signal);
      const drawn = Object.fromEntries(answered.map(([loop, answer]) => [loop, drawnOf(answer)]));
      return Object.assign({ rowId, imageId, caption, givenMask, ...rewarded, drawn, part }, ...parts) as RowScores;
    }),
  );
}

function fixedScores(loop: LoopId, { scores, probabilities }: LoopAnswers): Readonly<Record<string, number>> {
  if (scores === undefined) return {};
  const [greedy = 0, ...sampled] = scores;
  return { [`loop${loop}_greedy`]: greedy, [`loop${loop}_sampled`]: weightedMean(sampled, probabilities) ?? 0 };
}

/** The sampled rollouts behind the mean of a row. */
function drawnOf({ sampled, scores, probabilities }: LoopAnswers): Drawn[] {
  const total = probabilities?.reduce((sum, weight) => sum + weight, 0) ?? sampled.length;
  return sampled.map(({ caption, predicted }, n) => ({
    caption: caption ?? "",
    mask: predicted,
    score: scores?.[n + 1] ?? null,
    weight: (probabilities?.[n] ?? 1) / total,
  }));
}

/** Address of a row's first draw; a row has the same draws at every evaluation of every run. */
export function evalKey(loop: LoopId, row: number, rollout: number, position: number): RandomKey {
  return { seed: EVAL_SEED, step: 0, loop, row, rollout, position, stream: EVAL_STREAM };
}
