/**
 * Loop 1: mask → caption (policy) → mask′ (partner); reward IoU(mask, mask′).
 */
import { encodeRle } from "../data/rle-mask.ts";
import type { TrainingRow } from "../data/training-row.ts";
import { tf } from "../gpu/tf.ts";
import { captionBatch, captionLogProbs } from "../policy/caption-policy.ts";
import { disposeFeatures, type ImageFeatures } from "../policy/features.ts";
import { type Completion, generate } from "../policy/generate.ts";
import { segmentPhrases } from "../policy/partner.ts";
import { answerRule, captionPrompt, regionCells } from "../policy/prompts.ts";
import { iouTerm } from "../rewards/iou.ts";
import { captionMask, padRows } from "./actions.ts";
import { type StepContext, samplerSettings, tokenDraws } from "./context.ts";
import { captionObservations, maskObservations } from "./observations.ts";
import type { Playout } from "./playout.ts";

/** Plays one group: G captions of the row's mask, each judged by the mask the partner finds for it. */
export async function playLoop1(context: StepContext, row: TrainingRow, group: number): Promise<Playout> {
  const { model, config } = context;
  const { height, width } = row.rgb;
  await context.phase("features", 1);
  const features = await context.features.get(row.summary.imageId, row.rgb);
  const { prompt, completions, nonFinite, captions, masks } = await describeAndFind(
    context,
    row,
    group,
    features,
  ).finally(() => disposeFeatures(features));

  await context.phase("reward", 1);
  const given = { height, width, pixels: row.mask };
  const terms = masks.map((pixels) =>
    iouTerm(given, pixels === null ? null : { height, width, pixels }, {
      shape: config.iouShape,
      emptyPairValue: config.emptyPairReward,
    }),
  );
  const { mask, width: actions } = captionMask(completions, config.maskTruncated);
  return {
    loop: 1,
    group,
    row,
    rollouts: completions.length,
    actions,
    labels: completions.map((completion) =>
      completion.ids.map((id) => ({ id, label: model.tokenizer.decode([id], { keepSpecial: true }) })),
    ),
    mask,
    samplingLogps: padRows(
      completions.map((completion) => completion.logps),
      actions,
    ),
    rowWeights: null,
    rewards: terms.map((term) => term.value),
    terms: terms.map((term) => [term]),
    drafts: completions.map((completion, n) => ({
      rowId: row.summary.id,
      imageId: row.summary.imageId,
      prompt: prompt.text,
      completion: model.tokenizer.decode([...completion.ids], { keepSpecial: true }),
      caption: captions[n] as string,
      referenceCaption: row.summary.caption,
      captionPrime: null,
      givenMask: row.summary.mask,
      predictedMask: toRle(masks[n] ?? null, height, width),
      greedyMask: null,
      reward: (terms[n] as (typeof terms)[number]).value,
      terms: [terms[n] as (typeof terms)[number]],
      truncated: !completion.ended,
    })),
    logProbs: (weights, own) => captionLogProbs(model, weights, own, prompt, completions, samplerSettings(config)),
    dispose() {},
    observations: {
      ...captionObservations(captions, completions),
      ...maskObservations(masks, row.mask),
      "sampling/non_finite": nonFinite,
    },
  };
}

/** Captions of the policy and the masks that the partner finds for them. */
async function describeAndFind(context: StepContext, row: TrainingRow, group: number, features: ImageFeatures) {
  const { model, config } = context;
  const { height, width } = row.rgb;
  await context.phase("generate", 1);
  const cells = regionCells(model, row.mask, height, width, config.smallRegions === "force");
  const prompt = captionPrompt(model, features.tiles, cells);
  const batch = captionBatch(model, context.policy, features, prompt, config.groupSize);
  const rule = answerRule(model);
  const { completions, nonFinite } = await generate(model, context.policy, batch, {
    maxNewTokens: config.maxNewTokens,
    sampler: samplerSettings(config),
    greedy: false,
    uniform: tokenDraws(context, 1, group),
    stop: (ids) => rule.reached(ids),
    promptIds: prompt.ids,
    signal: context.signal,
  }).finally(() => tf.dispose([batch.prefix, batch.tails]));
  const captions = completions.map((completion: Completion) => rule.answer(completion.ids));

  await context.phase("partner", 1);
  const masks = await segmentPhrases(model, context.partner, features, captions, height, width);
  return { prompt, completions, nonFinite, captions, masks };
}

export function toRle(mask: Uint8Array | null, height: number, width: number) {
  return mask === null ? null : encodeRle(mask, height, width);
}
