/**
 * Group-relative advantages in double precision on the CPU. There are only N of them, and in float32 the mean of equal
 * rewards is not always that reward, so that rounding noise would be scaled up to full-size updates
 * (reference: grpo.md §2).
 */
import { LabError } from "../errors.ts";

/** A reward that a scorer could not give is null, never 0. */
export type Reward = number | null;

export interface AdvantageSettings {
  /** G: rows of one prompt, adjacent to each other. */
  readonly groupSize: number;
  /** What the centred reward is divided by: its group's deviation, the batch's, or nothing (Dr. GRPO, 2503.20783). */
  readonly scale: "group" | "batch" | "none";
  /** Added to the deviation. */
  readonly eps: number;
  /** `mean` of the group, or the mean of the other rows of the group. */
  readonly baseline: "mean" | "leave-one-out";
}

/** TRL's values. */
export const DEFAULT_ADVANTAGES = { scale: "group", eps: 1e-4, baseline: "mean" } as const;

export interface GroupSpread {
  /** Over the rows that have a reward; NaN when none has. */
  readonly mean: number;
  /** Unbiased deviation (divided by n - 1); 0 below two rewards. */
  readonly std: number;
  /** Rows with a reward. */
  readonly present: number;
  /** No two rewards of the group differ: no learning signal. */
  readonly zeroSpread: boolean;
}

export interface Advantages {
  /** [N]; 0 for rows without a reward, in groups without spread and in groups with fewer than two rewards. */
  readonly advantages: number[];
  /** One per group of the reward that was normalised. */
  readonly groups: GroupSpread[];
  /** [N] deviation that belongs to each row under the chosen scale (that of the group when the scale is `none`). */
  readonly stdUsed: number[];
}

/** Mean, unbiased deviation and spread of the rewards that are present. The mean of equal numbers is exactly that number. */
export function spreadOf(rewards: readonly Reward[]): GroupSpread {
  const present = rewards.filter((reward) => reward !== null);
  const first = present[0];
  if (first === undefined) return { mean: Number.NaN, std: 0, present: 0, zeroSpread: true };
  const count = present.length;
  const mean = first + present.reduce((sum, reward) => sum + (reward - first), 0) / count;
  const zeroSpread = present.every((reward) => reward === first);
  const squares = present.reduce((sum, reward) => sum + (reward - mean) ** 2, 0);
  return { mean, std: zeroSpread ? 0 : Math.sqrt(squares / (count - 1)), present: count, zeroSpread };
}

/**
 * Advantages of one reward per row.
 * @param rewards [N] group-major, N a multiple of the group size
 * @throws LabError("bad-config") when N is no multiple of G, LabError("bad-input") for a reward that is not finite
 */
export function groupAdvantages(rewards: readonly Reward[], settings: AdvantageSettings): Advantages {
  const rows = splitGroups(rewards, settings.groupSize);
  const groups = rows.map(spreadOf);
  const batchStd = spreadOf(rewards).std;
  const advantages: number[] = [];
  const stdUsed: number[] = [];
  rows.forEach((row, index) => {
    const group = groups[index] as GroupSpread;
    const std = settings.scale === "batch" ? batchStd : group.std;
    const factor = settings.baseline === "leave-one-out" ? group.present / (group.present - 1) : 1;
    const divisor = settings.scale === "none" ? 1 : std + settings.eps;
    for (const reward of row) {
      stdUsed.push(std);
      const silent = reward === null || group.present < 2 || group.zeroSpread;
      advantages.push(silent ? 0 : ((reward - group.mean) * factor) / divisor);
    }
  });
  return { advantages, groups, stdUsed };
}

/**
 * Weighted sum of several rewards per row; missing entries are skipped, a row without any entry stays null.
 * @param rewards [N][F]
 * @param weights [F]
 */
export function weightedRewards(rewards: readonly (readonly Reward[])[], weights: readonly number[]): Reward[] {
  return rewards.map((row) => {
    checkWeights(row, weights);
    if (row.every((reward) => reward === null)) return null;
    return row.reduce<number>((sum, reward, k) => sum + (reward === null ? 0 : reward * (weights[k] as number)), 0);
  });
}

/**
 * Several rewards, each normalised inside its group, summed with weights, then centred and scaled over the whole batch
 * (GDPO, 2601.05242): keeps apart reward combinations that a plain sum would map to one value.
 */
export function normalizeThenSum(
  rewards: readonly (readonly Reward[])[],
  weights: readonly number[],
  settings: AdvantageSettings,
): Advantages {
  const columns = weights.map((_, k) =>
    groupAdvantages(
      rewards.map((row) => row[k] ?? null),
      { ...settings, scale: "group", baseline: "mean" },
    ),
  );
  const combined = rewards.map((row, n): Reward => {
    checkWeights(row, weights);
    if (row.every((reward) => reward === null)) return null;
    return columns.reduce((sum, column, k) => sum + (weights[k] as number) * (column.advantages[n] as number), 0);
  });
  const batch = spreadOf(combined);
  const groups = splitGroups(combined, settings.groupSize).map(spreadOf);
  const advantages = combined.map((value, n) => {
    const group = groups[Math.floor(n / settings.groupSize)] as GroupSpread;
    return value === null || group.zeroSpread ? 0 : (value - batch.mean) / (batch.std + settings.eps);
  });
  return { advantages, groups, stdUsed: combined.map(() => batch.std) };
}

/** A deviation that is 0 up to rounding, by TRL's bound. */
export function isZeroStd(std: number): boolean {
  return std <= 1e-8;
}

/** Share of rows whose deviation is 0 (TRL's `frac_reward_zero_std`). */
export function zeroSpreadFraction(stdUsed: readonly number[]): number {
  return stdUsed.length === 0 ? 0 : stdUsed.filter(isZeroStd).length / stdUsed.length;
}

function splitGroups(rewards: readonly Reward[], groupSize: number): Reward[][] {
  if (!Number.isInteger(groupSize) || groupSize < 1 || rewards.length % groupSize !== 0)
    throw new LabError(
      "bad-config",
      `${rewards.length} rewards do not divide into groups of ${groupSize}; no advantage was computed.`,
      { subject: "group_size" },
    );
  const wrong = rewards.findIndex((reward) => reward !== null && !Number.isFinite(reward));
  if (wrong >= 0)
    throw new LabError("bad-input", `The reward of row ${wrong} is ${rewards[wrong]}; no advantage was computed.`, {
      subject: `row ${wrong}`,
    });
  return Array.from({ length: rewards.length / groupSize }, (_, g) =>
    rewards.slice(g * groupSize, (g + 1) * groupSize),
  );
}

function checkWeights(row: readonly Reward[], weights: readonly number[]): void {
  if (row.length !== weights.length)
    throw new LabError(
      "bad-config",
      `${row.length} rewards per row need ${row.length} weights, got ${weights.length}.`,
      {
        subject: "reward_weights",
      },
    );
}
