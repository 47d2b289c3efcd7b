/**
 * Loop 1: mask → caption (policy) → mask′ (partner); reward IoU(mask, mask′).
 */
import { encodeRle } from "../../../data/mask/rle-mask.ts";
import type { TrainingRow } from "../../../data/training-row.ts";
import { tf } from "../../../gpu/tf.ts";
import type { FoundMask } from "../../../model/sam2/postprocess.ts";
import { captionBatch, captionLogProbs, captionScores } from "../../../policy/caption-policy.ts";
import { type Completion, type Generated, generate } from "../../../policy/decode/generate.ts";
import { samplerSettings } from "../../../policy/decode/sampler.ts";
import { disposeFeatures, type ImageFeatures } from "../../../policy/features.ts";
import { findInPictures } from "../../../policy/partner.ts";
import { answerRule, type CaptionPrompt, captionPrompt, regionCells } from "../../../policy/prompts.ts";
import { rewardPlan } from "../../../rewards/composer/plan.ts";
import { captionMask, padRows } from "../../step/actions.ts";
import { type StepContext, tokenKey } from "../../step/context.ts";
import type { Group, LoopRollouts } from "../../step/group.ts";
import { inBatches } from "../../step/group-batches.ts";
import { captionMetrics, maskMetrics } from "../../step/rollout-metrics.ts";
import { type Loop, REGION_ROWS } from "../loop.ts";

export const maskCaption: Loop = { ...REGION_ROWS, rollout, longest: (_groups, { maxNewTokens }) => maxNewTokens };

/** A row with what the policy said about it and the masks that the partner found for that. */
interface Described {
  readonly row: TrainingRow;
  readonly group: number;
  readonly prompt: CaptionPrompt;
  readonly completions: readonly Completion[];
  readonly captions: readonly string[];
  readonly found: readonly (FoundMask | null)[];
  readonly nonFinite: number;
}

/** One group a row: G captions of the row's mask, each scored by the mask that the partner finds for it. */
async function rollout(context: StepContext, rows: readonly TrainingRow[]): Promise<LoopRollouts> {
  await context.phase("features", 1);
  const features: ImageFeatures[] = [];
  try {
    for (const row of rows) features.push(await context.features.get(row.summary.imageId, row.rgb));
    const described = await describeAndFind(context, rows, features);
    await context.phase("reward", 1);
    const groups = await Promise.all(described.map((item) => groupOf(context, item)));
    const { model, config } = context;
    return {
      groups,
      score: (weights, places, own) =>
        captionScores(
          model,
          weights,
          places.map((place, at) => {
            const { prompt, completions } = described[place] as Described;
            const { actions } = groups[place] as Group;
            return { features: own[at] as ImageFeatures, prompt, completions, actions };
          }),
          samplerSettings(config),
          config.maxNewTokens,
        ),
    };
  } finally {
    for (const own of features) disposeFeatures(own);
  }
}

async function groupOf(context: StepContext, described: Described): Promise<Group> {
  const { model, config } = context;
  const { row, group, prompt, completions, captions, found, nonFinite } = described;
  const { height, width } = row.rgb;
  const masks = found.map((answer) => answer?.mask ?? null);
  const predicted = masks.map((mask) => toRle(mask, height, width));
  const scored = await context.scorer.scoreGroup(
    completions.map((completion, n) => ({
      loop: 1,
      reference: row.summary.caption,
      caption: captions[n] as string,
      given: row.summary.mask,
      predicted: predicted[n] ?? null,
      // An empty mask has no inside: a confidence of nothing is worth nothing.
      confidence: found[n]?.confidence ?? 0,
      truncated: !completion.ended,
    })),
    rewardPlan(config),
    context.signal,
  );
  const { mask, width: actions } = captionMask(completions, config.maskTruncated);
  return {
    loop: 1,
    group,
    row,
    actions,
    labels: completions.map((completion) =>
      completion.ids.map((id) => ({ id, label: model.tokenizer.decode([id], { keepSpecial: true }) })),
    ),
    promptIds: prompt.ids,
    mask,
    samplingLogps: padRows(
      completions.map((completion) => completion.logps),
      actions,
    ),
    weights: null,
    rollouts: completions.map((completion, n) => ({
      rowId: row.summary.id,
      imageId: row.summary.imageId,
      prompt: prompt.text,
      completion: model.tokenizer.decode([...completion.ids], { keepSpecial: true }),
      caption: captions[n] as string,
      referenceCaption: row.summary.caption,
      captionPrime: null,
      givenMask: row.summary.mask,
      predictedMask: predicted[n] ?? null,
      greedyMask: null,
      reward: scored[n]?.reward ?? null,
      terms: scored[n]?.terms ?? [],
      truncated: !completion.ended,
    })),
    splitsRows: true,
    logProbs: (weights, own, rows) => {
      const chosen = rows === undefined ? completions : completions.slice(rows.from, rows.to);
      const sampler = samplerSettings(config);
      return captionLogProbs(model, weights, own, prompt, chosen, sampler, actions, config.maxNewTokens);
    },
    dispose() {},
    metrics: {
      ...captionMetrics(captions, completions),
      ...maskMetrics(masks, row.mask),
      "sampling/non_finite": nonFinite,
    },
  };
}

/** Captions of the policy, all groups in one batch, and the masks that the partner finds for them. */
async function describeAndFind(
  context: StepContext,
  rows: readonly TrainingRow[],
  features: readonly ImageFeatures[],
): Promise<Described[]> {
  const { model, config } = context;
  await context.phase("generate", 1);
  const prompts = rows.map(({ mask, rgb: { height, width } }, group) => {
    const cells = regionCells(model, mask, height, width, config.smallRegions === "force");
    return captionPrompt(model, (features[group] as ImageFeatures).tiles, cells);
  });
  const batches = prompts.map((prompt, group) =>
    captionBatch(model, context.policy, features[group] as ImageFeatures, prompt, config.groupSize),
  );
  const rule = answerRule(model);
  const generated = await generate(model, context.policy, batches, {
    maxNewTokens: config.maxNewTokens,
    sampler: samplerSettings(config),
    greedy: false,
    oneLength: true,
    key: (group, rollout) => tokenKey(context, 1, group, rollout),
    stop: (ids) => rule.reached(ids),
    signal: context.signal,
  }).finally(() => tf.dispose(batches.flatMap((batch) => [batch.prefix, batch.tails])));

  await context.phase("partner", 1);
  const said = generated.map(({ completions }) => completions.map(({ ids }) => rule.answer(ids)));
  const pictures = rows.map(({ rgb: { height, width } }, group) => {
    return { features: features[group] as ImageFeatures, phrases: said[group] as string[], height, width };
  });
  const found: (FoundMask | null)[][] = [];
  for (const some of inBatches(pictures, config.groupsAtOnce)) {
    found.push(...(await findInPictures(model, context.partner, some)));
  }
  return rows.map((row, group): Described => {
    const { completions, nonFinite } = generated[group] as Generated;
    const captions = said[group] as string[];
    const prompt = prompts[group] as CaptionPrompt;
    return { row, group, prompt, completions, captions, found: found[group] as (FoundMask | null)[], nonFinite };
  });
}

export function toRle(mask: Uint8Array | null, height: number, width: number) {
  return mask === null ? null : encodeRle(mask, height, width);
}
