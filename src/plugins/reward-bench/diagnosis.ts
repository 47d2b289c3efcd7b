/** Diagnosis of a reward before training: whether it and the advantages follow the masks inside groups, and the possible gain. */
import type { RewardTerm } from "../../engine/rewards/term.ts";
import type { BenchGroup } from "./bench-group.ts";
import { correlation, type Measure, measureOf, measuresOf, summarise } from "./statistics.ts";

export interface TermFinding {
  readonly measure: Measure;
  /** Pearson correlation with IoU inside groups; null where one of them does not vary. */
  readonly withIou: number | null;
  /** 95 % interval by Fisher's transformation, with rollouts minus groups as sample size; null if the correlation is. */
  readonly low: number | null;
  readonly high: number | null;
}

/** Greedy answers compared with better ones: means over the groups that have both. */
interface Headroom {
  readonly groups: number;
  /** IoU of the greedy mask, or of the mask for the greedy caption. */
  readonly iou: number;
  /** Reward of the greedy answer. */
  readonly greedy: number;
  /** Reward of the true mask; of texts, of the best one in each group. */
  readonly best: number;
  /**
   * Share of groups whose greedy and true masks cover the same visual tokens, so that the partner cannot distinguish them;
   * null for texts.
   */
  readonly alike: number | null;
}

export interface Diagnosis {
  /** The reward first. */
  readonly terms: readonly TermFinding[];
  /** Null if no group has bounds, as rollouts from files. */
  readonly headroom: Headroom | null;
  /** Expected result of training on this reward. */
  readonly expectation: string;
}

/** Correlation below which a reward does not follow the masks. */
const BLIND = 0.15;
/**
 * Minimum gain of the better answer's reward over the greedy one's, in deviations of the reward inside groups; below it
 * there is nothing to learn. Advantages do not depend on the size of a reward either.
 */
const NO_ROOM = 0.1;

/** @param groups of one loop */
export function diagnose(groups: readonly BenchGroup[]): Diagnosis {
  const terms = measuresOf(groups)
    .filter((measure) => measure !== "iou")
    .map((measure) => finding(groups, measure));
  const headroom = headroomOf(groups);
  return { terms, headroom, expectation: expectation(groups, terms[0] as TermFinding, headroom) };
}

function finding(groups: readonly BenchGroup[], measure: Measure): TermFinding {
  const withIou = correlation(groups, measure, "iou", true);
  const used = groups.map(
    ({ rollouts }) =>
      rollouts.filter((one) => measureOf(one, measure) !== null && measureOf(one, "iou") !== null).length,
  );
  // Each group's mean uses up one degree of freedom.
  const free = used.reduce((sum, count) => sum + Math.max(0, count - 1), 0) - 2;
  if (withIou === null || free < 1) return { measure, withIou, low: null, high: null };
  const centre = Math.atanh(Math.max(-0.999999, Math.min(0.999999, withIou)));
  const half = 1.96 / Math.sqrt(free);
  return { measure, withIou, low: Math.tanh(centre - half), high: Math.tanh(centre + half) };
}

function headroomOf(groups: readonly BenchGroup[]): Headroom | null {
  const known = groups.flatMap(({ bounds, rollouts }): Omit<Headroom, "groups">[] => {
    if (bounds === undefined) return [];
    const weights = rollouts[0]?.terms ?? [];
    const greedy = weighted(bounds.greedy, weights);
    const iou = bounds.greedy.find(({ name }) => name === "iou")?.value ?? null;
    if (greedy === null || iou === null) return [];
    if (bounds.truth === undefined) {
      const sampled = rollouts.flatMap(({ reward }) => (reward === null ? [] : [reward]));
      return [{ greedy, best: Math.max(greedy, ...sampled), iou, alike: null }];
    }
    const best = weighted(bounds.truth.terms, weights);
    return best === null ? [] : [{ greedy, best, iou, alike: Number(bounds.truth.alike) }];
  });
  if (known.length === 0) return null;
  const mean = (of: (one: (typeof known)[number]) => number): number =>
    known.reduce((sum, one) => sum + of(one), 0) / known.length;
  return {
    groups: known.length,
    iou: mean(({ iou }) => iou),
    greedy: mean(({ greedy }) => greedy),
    best: mean(({ best }) => best),
    alike: known.some(({ alike }) => alike === null) ? null : mean(({ alike }) => alike ?? 0),
  };
}

/** Reward of these terms under the weights of other terms; null if a weighted one is missing. */
function weighted(terms: readonly RewardTerm[], weights: readonly RewardTerm[]): number | null {
  let sum = 0;
  for (const { name, weight } of weights) {
    if (weight === 0) continue;
    const value = terms.find((term) => term.name === name)?.value ?? null;
    if (value === null) return null;
    sum += weight * value;
  }
  return sum;
}

function expectation(groups: readonly BenchGroup[], reward: TermFinding, headroom: Headroom | null): string {
  const { flatShare, mean, withinStd } = summarise(groups, "reward");
  if (reward.withIou === null || reward.low === null)
    return "The reward or IoU does not vary inside groups: nothing can be learned.";
  const follows = `The reward follows IoU inside groups with a correlation of ${reward.withIou.toFixed(2)}`;
  if (reward.withIou < BLIND) return `${follows}: it barely depends on the masks, expect no gain in IoU.`;
  if (reward.low <= 0) return `${follows}, which these groups cannot tell from 0: sample more rows.`;
  const push = correlation(groups, "advantage", "iou", true);
  if (push !== null && push < BLIND)
    return `${follows}, but the advantages with ${push.toFixed(2)} only: updates do not follow the reward, expect no gain.`;
  const texts = headroom?.alike === null;
  if (headroom !== null && headroom.best - headroom.greedy < NO_ROOM * withinStd) {
    const sampled = texts ? ` of greedy captions; sampled ones earn ${mean.toFixed(2)}` : "";
    return `${follows}, but greedy ${texts ? "captions" : "masks"} already earn ${headroom.greedy.toFixed(2)} of ${headroom.best.toFixed(2)}: expect no gain${sampled}.`;
  }
  const flat =
    flatShare > 0.5 ? `; in ${Math.round(100 * flatShare)} % of the groups it does not vary, so learning is slow` : "";
  const better = texts ? "the best sampled captions" : "true masks";
  const room =
    headroom === null
      ? ""
      : `, and ${better} earn ${(headroom.best - headroom.greedy).toFixed(2)} more than greedy ones`;
  return `${follows}${room}: there is something to learn${flat}.`;
}
