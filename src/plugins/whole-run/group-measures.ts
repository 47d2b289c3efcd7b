/** Statistics of a run's stored groups beyond its metrics: measures of groups, rows over their draws, distributions. */
import { addTo, median } from "../../engine/bytes/collections.ts";
import { maskLikeness } from "../../engine/data/mask/rle.ts";
import type { LoopId } from "../../engine/rl/loops/abouts.ts";
import type { GroupRecord, RolloutRecord, StepMetrics } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";

/** Reward from which a rollout counts as solved in pass@G. */
export const PASS = 0.5;

interface GroupMeasure {
  /** Last part of the measure's name, after the loop. */
  readonly name: string;
  readonly title: string;
  /** Its meaning in one sentence. */
  readonly help: string;
  /** Null if the group has no such value. */
  readonly of: (group: GroupRecord) => number | null;
}

/** Measures of a group, each between 0 and 1 if rewards are. */
export const GROUP_MEASURES: readonly GroupMeasure[] = [
  {
    name: "group_mean",
    title: "Mean of G",
    help: "Mean reward of a group",
    of: (group) => mean(rewardsOf(group)),
  },
  {
    name: "group_best",
    title: "Best of G",
    help: "Highest reward of a group: the reward that the policy already reaches in G samples",
    of: (group) => {
      const rewards = rewardsOf(group);
      return rewards.length === 0 ? null : Math.max(...rewards);
    },
  },
  {
    name: "group_pass",
    title: "pass@G",
    help: `Share of groups in which at least one rollout has a reward of ${PASS} or more`,
    of: (group) => {
      const rewards = rewardsOf(group);
      return rewards.length === 0 ? null : Number(rewards.some((reward) => reward >= PASS));
    },
  },
  {
    name: "group_texts",
    title: "Unique texts",
    help: "Number of different generated texts of a group, as a share of its rollouts",
    of: ({ loop, rollouts }) => {
      const texts = rollouts.flatMap((rollout) => generatedText(loop, rollout)?.trim().toLowerCase() ?? []);
      return texts.length === 0 ? null : new Set(texts).size / texts.length;
    },
  },
  {
    name: "group_masks",
    title: "Mask diversity",
    help: "One minus the mean IoU of the pairs of masks of a group; 0 if all masks are equal",
    of: ({ rollouts }) => {
      const masks = rollouts.flatMap(({ predictedMask }) => predictedMask ?? []);
      const overlaps = masks.flatMap((mask, at) =>
        masks
          .slice(at + 1)
          .flatMap((other) => (String(other.size) === String(mask.size) ? maskLikeness(mask, other) : [])),
      );
      const shared = mean(overlaps);
      return shared === null ? null : 1 - shared;
    },
  },
];

/** Name of a measure of a loop, as metrics are named. */
export function measureName(loop: LoopId, { name }: Pick<GroupMeasure, "name">): string {
  return `loop${loop}/${name}`;
}

/** Means of all measures per step and loop, ascending by step. */
export function stepMeasures(
  groups: readonly GroupRecord[],
): readonly { readonly step: number; readonly metrics: StepMetrics }[] {
  return byStep(groups).map(({ step, groups: own }) => {
    const metrics: Record<string, number> = {};
    for (const loop of new Set(own.map((group) => group.loop))) {
      for (const [at, measure] of GROUP_MEASURES.entries()) {
        const value = mean(own.flatMap((group) => (group.loop === loop ? (measuresOf(group)[at] ?? []) : [])));
        if (value !== null) metrics[measureName(loop, measure)] = value;
      }
    }
    return { step, metrics };
  });
}

const measured = new WeakMap<GroupRecord, readonly (number | null)[]>();

/** All measures of a group, in their order; computed once, because comparing its masks takes long. */
function measuresOf(group: GroupRecord): readonly (number | null)[] {
  const known = measured.get(group) ?? GROUP_MEASURES.map(({ of }) => of(group));
  measured.set(group, known);
  return known;
}

export interface StepShares {
  readonly step: number;
  /** Mean of weight · value, by term. */
  readonly terms: ReadonlyMap<string, number>;
}

/** Mean contribution of each term to the reward per step, ascending by step; terms without a weight are left out. */
export function termShares(groups: readonly GroupRecord[]): readonly StepShares[] {
  return byStep(groups).map(({ step, groups: own }) => {
    const values = new Map<string, number[]>();
    for (const { name, value, weight } of own.flatMap(({ rollouts }) => rollouts.flatMap(({ terms }) => terms))) {
      if (weight === 0 || value === null || !Number.isFinite(value)) continue;
      const own = values.get(name) ?? [];
      if (own.push(weight * value) === 1) values.set(name, own);
    }
    return { step, terms: new Map([...values].map(([name, all]) => [name, mean(all) as number])) };
  });
}

export interface RowDraws {
  readonly rowId: string;
  /** Ascending by step. */
  readonly draws: readonly GroupRecord[];
  /** Mean reward over its draws; null without one. */
  readonly mean: number | null;
  /** Draws whose rewards were all equal. */
  readonly flat: number;
}

/**
 * Every row with its draws, best mean first.
 * @param groups groups of one loop
 */
export function rowDraws(groups: readonly GroupRecord[]): readonly RowDraws[] {
  const rows = new Map<string, GroupRecord[]>();
  for (const group of groups) {
    const own = rows.get(group.rowId) ?? [];
    if (own.push(group) === 1) rows.set(group.rowId, own);
  }
  return [...rows]
    .map(([rowId, own]): RowDraws => {
      const draws = own.sort((a, b) => a.step - b.step);
      const flat = draws.filter(({ zeroSpread }) => zeroSpread).length;
      return { rowId, draws, flat, mean: mean(draws.flatMap(rewardsOf)) };
    })
    .sort((a, b) => (b.mean ?? -Infinity) - (a.mean ?? -Infinity) || (a.rowId < b.rowId ? -1 : 1));
}

interface Ridge {
  readonly from: number;
  readonly to: number;
  /** Share of the rewards in each bin. */
  readonly shares: readonly number[];
}

export interface Ridges {
  /** Rewards at the outer edges of the bins. */
  readonly low: number;
  readonly high: number;
  readonly ridges: readonly Ridge[];
}

/** Distribution of the rewards in consecutive bands of steps, oldest first. @param groups of one loop */
export function rewardRidges(groups: readonly GroupRecord[], bands: number, bins: number): Ridges {
  const steps = byStep(groups);
  const all = groups.flatMap(rewardsOf);
  const low = all.reduce((least, reward) => Math.min(least, reward), 0);
  const high = all.reduce((most, reward) => Math.max(most, reward), low + 1e-6 > 1 ? low + 1e-6 : 1);
  const size = Math.max(1, Math.ceil(steps.length / bands));
  const ridges: Ridge[] = [];
  for (let at = 0; at < steps.length; at += size) {
    const band = steps.slice(at, at + size);
    const rewards = band.flatMap((one) => one.groups.flatMap(rewardsOf));
    const counts = new Array<number>(bins).fill(0);
    for (const reward of rewards) {
      const bin = Math.min(bins - 1, Math.floor(((reward - low) / (high - low)) * bins));
      counts[bin] = (counts[bin] as number) + 1;
    }
    const shares = counts.map((count) => count / Math.max(1, rewards.length));
    ridges.push({ from: (band[0] as StepGroups).step, to: (band.at(-1) as StepGroups).step, shares });
  }
  return { low, high, ridges };
}

export interface TokenPlace {
  readonly actions: number;
  readonly entropy: number | null;
  /** Null without a reference. */
  readonly kl: number | null;
  /** Mean |advantage| of the rollouts that reach this position. */
  readonly advantage: number | null;
}

/**
 * Means over the actions at each position of an answer.
 * @param groups groups of one loop
 */
export function tokenPlaces(groups: readonly GroupRecord[]): readonly TokenPlace[] {
  const rollouts = groups.flatMap((group) => group.rollouts);
  const longest = rollouts.reduce((most, { actions }) => Math.max(most, actions.length), 0);
  return Array.from({ length: longest }, (_, at) => {
    const there = rollouts.flatMap(({ actions, advantage }) => {
      const action = actions[at];
      return action === undefined ? [] : [{ action, advantage }];
    });
    return {
      actions: there.length,
      entropy: mean(there.map(({ action }) => action.entropy).filter(Number.isFinite)),
      kl: mean(there.flatMap(({ action }) => action.kl ?? [])),
      advantage: mean(there.map(({ advantage }) => Math.abs(advantage))),
    };
  });
}

/**
 * Influence of a rollout on the weights: |advantage| · Σ (1 − π) over the unclipped actions, which is the size of the
 * gradient with respect to the sampled actions' logits.
 */
export function pullOf({ advantage, actions }: Pick<RolloutRecord, "advantage" | "actions">): number {
  const surprise = actions.reduce((sum, { logp, clipped }) => sum + (clipped ? 0 : 1 - Math.exp(Math.min(0, logp))), 0);
  return Math.abs(advantage) * surprise;
}

export interface Spike {
  readonly step: number;
  readonly norm: number;
  /** Multiple of the median norm. */
  readonly times: number;
}

/**
 * Steps with the largest gradient norms, largest first.
 * @param norms [step, norm] of every step
 */
export function gradientSpikes(norms: readonly (readonly [number, number])[], most: number): readonly Spike[] {
  const finite = norms.filter(([, norm]) => Number.isFinite(norm) && norm > 0);
  const usual = median(finite.map(([, norm]) => norm));
  return [...finite]
    .sort((a, b) => b[1] - a[1])
    .slice(0, most)
    .map(([step, norm]) => ({ step, norm, times: norm / usual }));
}

interface StepGroups {
  readonly step: number;
  readonly groups: readonly GroupRecord[];
}

function byStep(groups: readonly GroupRecord[]): readonly StepGroups[] {
  const steps = new Map<number, GroupRecord[]>();
  for (const group of groups) addTo(steps, group.step, group);
  return [...steps].map(([step, own]) => ({ step, groups: own })).sort((a, b) => a.step - b.step);
}

function rewardsOf({ rollouts }: GroupRecord): number[] {
  return rollouts.flatMap(({ reward }) => (reward !== null && Number.isFinite(reward) ? [reward] : []));
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
