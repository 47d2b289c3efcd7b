/** Diagnosis of a reward before training: whether it follows the masks inside groups, and the possible gain. */
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

/** Greedy masks compared with true ones: means over the groups that have both. */
interface Headroom {
  readonly groups: number;
  /** IoU of the greedy mask. */
  readonly iou: number;
  /** Rewards of the greedy mask and of the true one, each described by the partner. */
  readonly greedy: number;
  readonly truth: number;
  /** Share of groups whose greedy and true masks cover the same visual tokens, so that the partner cannot distinguish them. */
  readonly alike: number;
}

export interface Diagnosis {
  /** The reward first. */
  readonly terms: readonly TermFinding[];
  /** Null if no group has bounds: loop 1, and rollouts from files. */
  readonly headroom: Headroom | null;
  /** Expected result of training on this reward. */
  readonly expectation: string;
}

/** Correlation below which a reward does not follow the masks. */
const BLIND = 0.15;
/** Minimum gain of the true mask's reward over the greedy mask's; below it there is nothing to learn. */
const NO_ROOM = 0.02;

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
  const known = groups.flatMap(({ bounds, rollouts }) => {
    if (bounds === undefined) return [];
    const weights = rollouts[0]?.terms ?? [];
    const [greedy, truth] = [weighted(bounds.greedy, weights), weighted(bounds.truth, weights)];
    const iou = bounds.greedy.find(({ name }) => name === "iou")?.value ?? null;
    return greedy === null || truth === null || iou === null ? [] : [{ greedy, truth, iou, alike: bounds.alike }];
  });
  if (known.length === 0) return null;
  const mean = (of: (one: (typeof known)[number]) => number): number =>
    known.reduce((sum, one) => sum + of(one), 0) / known.length;
  return {
    groups: known.length,
    iou: mean(({ iou }) => iou),
    greedy: mean(({ greedy }) => greedy),
    truth: mean(({ truth }) => truth),
    alike: mean(({ alike }) => Number(alike)),
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
  const { flatShare } = summarise(groups, "reward");
  if (reward.withIou === null || reward.low === null)
    return "The reward or IoU does not vary inside groups: nothing can be learned.";
  const follows = `The reward follows IoU inside groups with a correlation of ${reward.withIou.toFixed(2)}`;
  if (reward.withIou < BLIND) return `${follows}: it barely depends on the masks, expect no gain in IoU.`;
  if (reward.low <= 0) return `${follows}, which these groups cannot tell from 0: sample more rows.`;
  if (headroom !== null && headroom.truth - headroom.greedy < NO_ROOM) {
    return `${follows}, but greedy masks already earn ${headroom.greedy.toFixed(2)} of ${headroom.truth.toFixed(2)}: expect no gain.`;
  }
  const flat =
    flatShare > 0.5 ? `; in ${Math.round(100 * flatShare)} % of the groups it does not vary, so learning is slow` : "";
  const room =
    headroom === null
      ? ""
      : `, and true masks earn ${(headroom.truth - headroom.greedy).toFixed(2)} more than greedy ones`;
  return `${follows}${room}: there is something to learn${flat}.`;
}
