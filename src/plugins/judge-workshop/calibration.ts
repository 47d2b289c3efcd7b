/** Repeatability of a judge. */
import type { RewardTerm } from "../../engine/rewards/term.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import type { GroupRecord, RolloutRecord } from "../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../engine/runs/rollouts/rollout-facts.ts";

export interface Spread {
  readonly values: readonly number[];
  readonly mean: number | null;
  /** Divisor n - 1; null below two values. */
  readonly std: number | null;
  readonly missing: number;
}

/** Scores of each pair over the rounds. */
export function spreads(rounds: readonly (readonly RewardTerm[])[]): Spread[] {
  const pairs = rounds[0]?.length ?? 0;
  return Array.from({ length: pairs }, (_, pair) => {
    const all = rounds.map((terms) => terms[pair]?.value ?? null);
    const values = all.flatMap((value) => value ?? []);
    const count = values.length;
    const mean = count === 0 ? null : values.reduce((sum, value) => sum + value, 0) / count;
    const std =
      mean === null || count < 2
        ? null
        : Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1));
    return { values, mean, std, missing: all.length - count };
  });
}

/** Mean standard deviation within pairs, and standard deviation between pairs: noise against signal. */
export function noise(all: readonly Spread[]): { readonly within: number | null; readonly between: number | null } {
  const stds = all.flatMap(({ std }) => std ?? []);
  const means = all.flatMap(({ mean }) => mean ?? []);
  const centre = means.reduce((sum, value) => sum + value, 0) / Math.max(1, means.length);
  return {
    within: stds.length === 0 ? null : stds.reduce((sum, value) => sum + value, 0) / stds.length,
    between:
      means.length < 2
        ? null
        : Math.sqrt(means.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (means.length - 1)),
  };
}

/** The generated text of a rollout and its reference; null when nothing was generated. */
function captionPair(rollout: RolloutRecord): CaptionPair | null {
  const hypothesis = generatedText(rollout.loop, rollout);
  if (hypothesis === null || hypothesis.trim() === "") return null;
  return { reference: rollout.referenceCaption, hypothesis };
}

/** Distinct pairs of stored rollouts, at most `most`, evenly spaced. */
export function pairsOf(groups: readonly GroupRecord[], most: number): CaptionPair[] {
  const found = new Map<string, CaptionPair>();
  for (const rollout of groups.flatMap((group) => group.rollouts)) {
    const pair = captionPair(rollout);
    if (pair !== null) found.set(JSON.stringify(pair), pair);
  }
  const all = [...found.values()];
  const step = Math.max(1, all.length / most);
  return Array.from({ length: Math.min(most, all.length) }, (_, n) => all[Math.floor(n * step)] as CaptionPair);
}
