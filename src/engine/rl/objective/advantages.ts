/**
 * Group-relative advantages in double precision on the CPU. There are only N of them, and in float32 the mean of equal
 * rewards may differ from that reward, so rounding noise would be scaled up to full-size updates.
 */
import { badInput } from "../../errors.ts";

/** A missing reward is null, never 0. */
export type Reward = number | null;

export interface AdvantageSettings {
  /** Divisor of the centred reward: deviation of the group, of the batch, or none (Dr. GRPO, 2503.20783). */
  readonly scale: "group" | "batch" | "none";
  /** Added to the deviation. */
  readonly eps: number;
  /** `mean` of the group, or the mean of the other rows of the group. */
  readonly baseline: "mean" | "leave-one-out";
  /**
   * `normalize_then_sum` normalises each part of the reward inside its group, sums them with their weights and scales the
   * sums by the batch (GDPO, 2601.05242): it distinguishes combinations that one sum would map to one value. `scale` and
   * `baseline` then have no effect. `rank_then_sum` replaces each part by its rank inside the group, 0 for the lowest and
   * 1 for the highest value, sums these with their weights and goes on as with one reward.
   */
  readonly aggregation: "sum_then_normalize" | "normalize_then_sum" | "rank_then_sum";
}

/** The rewards of one prompt's rollouts. */
export interface RewardGroup {
  /** [n] */
  readonly rewards: readonly Reward[];
  /** [n] probabilities of a complete action set, so that the baseline is the exact expectation; null for samples. */
  readonly probabilities: readonly number[] | null;
  /** Parts of the reward with their weights, [n] values each; not for `sum_then_normalize`. */
  readonly parts: readonly { readonly weight: number; readonly values: readonly Reward[] }[];
}

interface GroupSpread {
  /** Over the rows that have a reward; NaN without any. */
  readonly mean: number;
  /** Unbiased deviation (divisor n - 1), exact for a complete action set; 0 below two rewards. */
  readonly std: number;
  /** Rows with a reward. */
  readonly present: number;
  /** All rewards of the group, or all sums of its normalised parts, are equal: no learning signal. */
  readonly zeroSpread: boolean;
}

/** Mean and deviation are those of the unnormalised rewards. */
export interface GroupAdvantages extends GroupSpread {
  /** [n]; 0 for rows without a reward, in groups without spread and in groups with fewer than two rewards. */
  readonly values: readonly number[];
  /** Deviation that divides the group's rewards (the group's deviation if the scale is `none`). */
  readonly stdUsed: number;
}

/**
 * Mean, deviation and spread of the rewards that are not missing. The mean of equal numbers is exactly that number.
 * @param probabilities of a complete action set, ≥ 0; those of missing rewards are ignored
 */
export function spreadOf(rewards: readonly Reward[], probabilities: readonly number[] | null = null): GroupSpread {
  const present = rewards.flatMap((reward, at) =>
    reward === null ? [] : [{ reward, weight: probabilities?.[at] ?? 1 }],
  );
  const first = present[0]?.reward;
  if (first === undefined) return { mean: Number.NaN, std: 0, present: 0, zeroSpread: true };
  const total = present.reduce((sum, { weight }) => sum + weight, 0);
  const zeroSpread = total <= 0 || present.every(({ reward }) => reward === first);
  if (zeroSpread) return { mean: first, std: 0, present: present.length, zeroSpread };
  // Differences from the first reward, so that rounding cannot move the mean of equal rewards.
  const mean = first + present.reduce((sum, { reward, weight }) => sum + weight * (reward - first), 0) / total;
  const squares = present.reduce((sum, { reward, weight }) => sum + weight * (reward - mean) ** 2, 0);
  const std = Math.sqrt(squares / (probabilities === null ? present.length - 1 : total));
  return { mean, std, present: present.length, zeroSpread };
}

/**
 * Advantages of all groups of one loop in one step; used by training, the reward bench and the parity check.
 * @returns one per group, with mean, deviation and spread of its rewards
 * @throws LabError("bad-input") for a reward that is not finite
 */
export function groupAdvantages(groups: readonly RewardGroup[], settings: AdvantageSettings): GroupAdvantages[] {
  groups.forEach(checkFinite);
  const apart = settings.aggregation === "normalize_then_sum";
  const scored = groups.map((group): RewardGroup => {
    if (settings.aggregation === "sum_then_normalize") return group;
    const sums = apart ? columnSums(group, (own) => normalised(own, group, settings.eps)) : columnSums(group, ranks);
    return { ...group, rewards: sums };
  });
  const batch = spreadOf(
    scored.flatMap(({ rewards }) => rewards),
    // Every complete action set has the same weight.
    scored.some(({ probabilities }) => probabilities !== null) ? scored.flatMap(sharesOf) : null,
  );
  return scored.map((group, at): GroupAdvantages => {
    const { rewards, probabilities } = group;
    const own = spreadOf(rewards, probabilities);
    const centre = apart ? batch.mean : own.mean;
    const stdUsed = apart || settings.scale === "batch" ? batch.std : own.std;
    const divisor = !apart && settings.scale === "none" ? 1 : stdUsed + settings.eps;
    const others = !apart && settings.baseline === "leave-one-out" && probabilities === null;
    const factor = others ? own.present / (own.present - 1) : 1;
    const silent = own.present < 2 || own.zeroSpread || !(divisor > 0);
    const given = groups[at] as RewardGroup;
    return {
      ...spreadOf(given.rewards, probabilities),
      zeroSpread: own.zeroSpread,
      stdUsed,
      values: rewards.map((reward) => (reward === null || silent ? 0 : ((reward - centre) * factor) / divisor)),
    };
  });
}

/** Weighted sum of the changed parts; null for rows without a reward or without any part. */
function columnSums(
  { rewards, parts }: RewardGroup,
  change: (values: readonly Reward[]) => readonly Reward[],
): Reward[] {
  const columns = parts.map(({ weight, values }) =>
    change(values).map((value) => (value === null ? null : weight * value)),
  );
  return rewards.map((reward, n) => {
    const own = columns.flatMap((column) => column[n] ?? []);
    return reward === null || own.length === 0 ? null : own.reduce((sum, value) => sum + value, 0);
  });
}

/** Centred and divided by the deviation; 0 without spread. */
function normalised(values: readonly Reward[], { probabilities }: RewardGroup, eps: number): Reward[] {
  const { mean, std, zeroSpread } = spreadOf(values, probabilities);
  return values.map((value): Reward => {
    if (value === null) return null;
    return zeroSpread || !(std + eps > 0) ? 0 : (value - mean) / (std + eps);
  });
}

/** Places from 0 to 1 among the values that are not missing. Equal values share their mean place; a single one has 0.5. */
export function ranks(values: readonly Reward[]): Reward[] {
  const present = values.filter((value) => value !== null);
  return values.map((value): Reward => {
    if (value === null) return null;
    const lower = present.filter((other) => other < value).length;
    const equal = present.filter((other) => other === value).length;
    return present.length === 1 ? 0.5 : (lower + (equal - 1) / 2) / (present.length - 1);
  });
}

function sharesOf({ rewards, probabilities }: RewardGroup): readonly number[] {
  const total = rewards.reduce<number>(
    (sum, reward, at) => sum + (reward === null ? 0 : (probabilities?.[at] ?? 1)),
    0,
  );
  return rewards.map((_, at) => (total > 0 ? (probabilities?.[at] ?? 1) / total : 0));
}

function checkFinite({ rewards }: RewardGroup): void {
  const wrong = rewards.findIndex((reward) => reward !== null && !Number.isFinite(reward));
  if (wrong < 0) return;
  throw badInput(`The reward of row ${wrong} is ${rewards[wrong]}; no advantage was computed.`, `row ${wrong}`);
}
