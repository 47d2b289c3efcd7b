/** Metrics of a loop's rollouts besides rewards: the collapse detectors. Every value is a mean over the group. */
import { addTo } from "../../../bytes/collections.ts";
import { maskIou, maskLikeness } from "../../../data/mask/rle.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import type { Completion } from "../../../policy/decode/generate.ts";
import { totalSpending } from "../../../rewards/judge/budget.ts";
import type { RewardTerm } from "../../../rewards/term.ts";
import type { LoopId } from "../../../runs/rollouts/records.ts";
import type { GroupAdvantages } from "../../objective/advantages.ts";
import type { RowOrder } from "../data-order.ts";
import type { Group } from "../group.ts";

type RolloutMetrics = Record<string, number>;

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const share = (flags: readonly boolean[]): number => mean(flags.map(Number));

export function captionMetrics(captions: readonly string[], completions: readonly Completion[]): RolloutMetrics {
  const lengths = completions.map((completion) => completion.ids.length);
  const ended = completions.flatMap((completion) => (completion.ended ? [completion.ids.length] : []));
  return {
    ...(ended.length === 0
      ? {}
      : {
          "completions/mean_terminated_length": mean(ended),
          "completions/min_terminated_length": Math.min(...ended),
          "completions/max_terminated_length": Math.max(...ended),
        }),
    "completions/mean_length": mean(lengths),
    "completions/min_length": Math.min(...lengths),
    "completions/max_length": Math.max(...lengths),
    "completions/clipped_ratio": share(completions.map((completion) => !completion.ended)),
    "completions/empty_ratio": share(captions.map((caption) => caption === "")),
    "completions/distinct_ratio": new Set(captions).size / Math.max(1, captions.length),
  };
}

/** @param masks null for a rollout without a mask */
export function maskMetrics(masks: readonly (Uint8Array | null)[], truth: Uint8Array): RolloutMetrics {
  const areas = masks.map((mask) => (mask === null ? 0 : count(mask) / mask.length));
  return {
    "mask/area_mean": mean(areas),
    "mask/empty_ratio": share(areas.map((area) => area === 0)),
    "mask/full_ratio": share(areas.map((area) => area === 1)),
    "mask/iou_to_truth": mean(masks.map((mask) => (mask === null ? 0 : maskIou(mask, truth).iou))),
  };
}

/** Metrics of the data set's caption in a prompt: whether it was cut or contains special tokens. */
export function dataCaptionObservations(
  model: Pick<Sa2vaModel, "tokenizer">,
  caption: string,
  cut: boolean,
): RolloutMetrics {
  return { "captions/cut": Number(cut), "captions/spell_tokens": Number(model.tokenizer.spellsAdded(caption)) };
}

/** Loop 2: similarity of the sampled masks, and of the partner's captions of them. */
export function pairMetrics(masks: readonly Uint8Array[], partnerCaptions: readonly (string | null)[]): RolloutMetrics {
  const overlaps: number[] = [];
  for (let a = 0; a < masks.length; a++) {
    for (let b = a + 1; b < masks.length; b++)
      overlaps.push(maskLikeness(masks[a] as Uint8Array, masks[b] as Uint8Array));
  }
  return {
    "mask/pairwise_iou": mean(overlaps),
    "partner/empty_ratio": share(partnerCaptions.map((caption) => caption === null || caption === "")),
    "completions/distinct_ratio": new Set(partnerCaptions).size / Math.max(1, partnerCaptions.length),
  };
}

function count(mask: Uint8Array): number {
  let set = 0;
  for (const pixel of mask) set += pixel;
  return set;
}

// Metrics of the judge in one step, over both loops; absent without a judge.

/** @param rollouts terms of every rollout of the step */
export function judgeMetrics(rollouts: readonly (readonly RewardTerm[])[]): Record<string, number> {
  const terms = rollouts.flat().filter((term) => term.name === "judge");
  const details = terms.flatMap(({ judge }) => judge ?? []);
  if (details.length === 0) return {};
  const { calls, cost } = totalSpending(details);
  const waited = details.reduce((total, { latencyMs }) => total + latencyMs, 0);
  return {
    "judge/verdicts": terms.filter((term) => term.value !== null).length,
    "judge/failures": terms.filter((term) => term.value === null).length,
    "judge/calls": calls,
    "judge/cache_hits": details.filter((detail) => detail.cached).length,
    ...(calls === 0 ? {} : { "judge/latency_ms": waited / calls }),
    "judge/cost": cost,
  };
}

// Rewards and draws of a step by source of the mix, and how many groups dynamic sampling has replaced.

/** @param advantages of the groups; without a mix there are no metrics */
export function sourceMetrics(
  loop: LoopId,
  groups: readonly Pick<Group, "row">[],
  advantages: readonly Pick<GroupAdvantages, "mean" | "zeroSpread">[],
  { source }: Pick<RowOrder, "source">,
): Record<string, number> {
  const found = new Map<string, Pick<GroupAdvantages, "mean" | "zeroSpread">[]>();
  for (const [at, { row }] of groups.entries()) {
    const name = source(row.summary.id);
    const own = advantages[at];
    if (name !== null && own !== undefined) addTo(found, name, own);
  }
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return Object.fromEntries(
    [...found].flatMap(([name, own]) => {
      const rewards = own.flatMap((one) => (Number.isNaN(one.mean) ? [] : [one.mean]));
      return [
        [`loop${loop}/source_groups/${name}`, own.length],
        ...(rewards.length === 0 ? [] : [[`loop${loop}/source_reward/${name}`, mean(rewards)] as const]),
        [`loop${loop}/source_zero_std/${name}`, mean(own.map(({ zeroSpread }) => Number(zeroSpread)))],
      ] as const;
    }),
  );
}
