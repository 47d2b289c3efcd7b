/** Statistics of a judge: its repeatability, its agreement with the user, its disagreement with METEOR. */

import type { RewardTerm } from "../../../engine/rewards/term.ts";
import type { CaptionPair } from "../../../engine/rewards/types.ts";
import { measureOf } from "../../../engine/runs/bench/statistics.ts";
import type { GroupRecord, RolloutRecord } from "../../../engine/runs/rollouts/records.ts";
import { generatedText } from "../../../engine/runs/rollouts/rollout-facts.ts";
import type { Thumbs } from "../../../engine/runs/rollouts/thumbs.ts";

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
export function captionPair(rollout: RolloutRecord): CaptionPair | null {
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

export interface Agreement {
  readonly name: string;
  /** Share of pairs (up, down) in which the up one scores higher, ties count half; null without a pair. */
  readonly share: number | null;
  readonly pairs: number;
}

/** How well each score separates liked from disliked rollouts. 0.5 is chance, 1 is perfect. */
export function agreements(
  rollouts: readonly RolloutRecord[],
  thumbs: Thumbs,
  names: readonly string[],
): readonly Agreement[] {
  return names.map((name) => {
    const valued = rollouts.flatMap((rollout) => {
      const [thumb, value] = [thumbs[rollout.id], measureOf(rollout, name)];
      return thumb === undefined || value === null ? [] : [{ thumb, value }];
    });
    const ups = valued.filter(({ thumb }) => thumb === 1);
    const downs = valued.filter(({ thumb }) => thumb === -1);
    const pairs = ups.length * downs.length;
    let won = 0;
    for (const up of ups) {
      for (const down of downs) won += up.value > down.value ? 1 : up.value === down.value ? 0.5 : 0;
    }
    return { name, share: pairs === 0 ? null : won / pairs, pairs };
  });
}

export interface Disagreement {
  readonly rollout: RolloutRecord;
  readonly judge: number;
  readonly meteor: number;
  /** Rank by the judge minus rank by METEOR, both as shares: -1..1. */
  readonly gap: number;
}

/** Rollouts with both scores, largest rank difference first; equal texts once. */
export function disagreements(rollouts: readonly RolloutRecord[]): Disagreement[] {
  const seen = new Set<string>();
  const both = rollouts.flatMap((rollout) => {
    const [judge, meteor] = [measureOf(rollout, "judge"), measureOf(rollout, "meteor")];
    const key = JSON.stringify(captionPair(rollout));
    if (judge === null || meteor === null || seen.has(key)) return [];
    seen.add(key);
    return [{ rollout, judge, meteor }];
  });
  const [byJudge, byMeteor] = [ranks(both.map(({ judge }) => judge)), ranks(both.map(({ meteor }) => meteor))];
  return both
    .map((item, at) => ({ ...item, gap: (byJudge[at] as number) - (byMeteor[at] as number) }))
    .sort((a, b) => Math.abs(b.gap) - Math.abs(a.gap));
}

/** Share of the other values that lie below each, ties half. */
function ranks(values: readonly number[]): number[] {
  const others = Math.max(1, values.length - 1);
  const places = Array.from(Float64Array.from(values).sort(), (value, at) => [value, at] as const);
  const [last, first] = [new Map(places), new Map(places.toReversed())];
  return values.map((value) => ((first.get(value) as number) + (last.get(value) as number)) / 2 / others);
}
