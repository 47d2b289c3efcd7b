/**
 * Loop 1: mask → caption (policy) → mask′ (partner); reward IoU(mask, mask′).
 */
import { encodeRle } from "../../../data/mask/rle-mask.ts";
import type { TrainingRow } from "../../../data/training-row.ts";
import type { FoundMask } from "../../../model/sam2/postprocess.ts";
import { likelihoodFact, type MaskLikelihood, wantedLikelihoods } from "../../../policy/caption-likelihood.ts";
import { disposeFeatures, type ImageFeatures } from "../../../policy/features.ts";
import { inBatches } from "../../../policy/in-batches.ts";
import { findInPictures } from "../../../policy/partner.ts";
import { captionPrompt, regionCells } from "../../../policy/prompts.ts";
import { rewardPlan } from "../../../rewards/composer/plan.ts";
import type { StepContext } from "../../step/context.ts";
import type { Group, LoopRollouts } from "../../step/group.ts";
import { maskMetrics } from "../../step/rollout-metrics.ts";
import { type Loop, REGION_ROWS } from "../loop.ts";
import { type SampledTexts, sampleTexts, TEXT_LENGTH, textFields, textRollouts } from "../texts.ts";

export const maskCaption: Loop = { ...REGION_ROWS, rollout, longest: TEXT_LENGTH };

/** One group per row: G captions of the row's mask, each scored by the partner's mask for it. */
async function rollout(context: StepContext, rows: readonly TrainingRow[]): Promise<LoopRollouts> {
  const { model, config } = context;
  await context.phase("features", 1);
  const features: ImageFeatures[] = [];
  try {
    for (const row of rows) features.push(await context.features.get(row.summary.imageId, row.rgb));
    await context.phase("generate", 1);
    const prompts = rows.map(({ mask, rgb: { height, width } }, group) => {
      const cells = regionCells(model, mask, height, width, config.smallRegions === "force");
      return captionPrompt(model, (features[group] as ImageFeatures).tiles, cells);
    });
    const sampled = await sampleTexts(context, 1, rows, prompts, features);
    await context.phase("partner", 1);
    const found = await findAll(context, sampled, features);
    const likelihoods = await wantedLikelihoods(
      context,
      1,
      sampled.map(({ row: { rgb, summary, others = [] } }, group) => ({
        features: features[group] as ImageFeatures,
        masks: (found[group] ?? []).map((answer) => answer?.mask ?? null),
        height: rgb.height,
        width: rgb.width,
        caption: summary.caption,
        others,
      })),
    );
    await context.phase("reward", 1);
    const scored = await Promise.all(
      sampled.map((item, group) => score(context, item, found[group] ?? [], likelihoods[group])),
    );
    return textRollouts(context, 1, sampled, scored);
  } finally {
    for (const own of features) disposeFeatures(own);
  }
}

/** The partner's masks for the captions; null for an empty one. */
async function findAll(
  { model, config, partner }: StepContext,
  sampled: readonly SampledTexts[],
  features: readonly ImageFeatures[],
): Promise<(FoundMask | null)[][]> {
  const pictures = sampled.map(({ row, texts }, group) => {
    const { height, width } = row.rgb;
    return { features: features[group] as ImageFeatures, phrases: texts, height, width };
  });
  const found: (FoundMask | null)[][] = [];
  for (const some of inBatches(pictures, config.groupsAtOnce)) {
    found.push(...(await findInPictures(model, partner, some)));
  }
  return found;
}

async function score(
  context: StepContext,
  item: SampledTexts,
  found: readonly (FoundMask | null)[],
  likelihoods: readonly (MaskLikelihood | null)[] | undefined,
): Promise<Pick<Group, "rollouts" | "metrics">> {
  const { row, completions, texts } = item;
  const { height, width } = row.rgb;
  const masks = found.map((answer) => answer?.mask ?? null);
  const predicted = masks.map((mask) => (mask === null ? null : encodeRle(mask, height, width)));
  const scored = await context.scorer.scoreGroup(
    completions.map((completion, n) => ({
      loop: 1,
      reference: row.summary.caption,
      caption: texts[n] as string,
      given: row.summary.mask,
      predicted: predicted[n] ?? null,
      // An empty mask has no pixels inside, so its confidence is 0.
      confidence: found[n]?.confidence ?? 0,
      ...likelihoodFact(likelihoods, n),
      truncated: !completion.ended,
    })),
    rewardPlan(context.config),
    context.signal,
  );
  const rollouts = scored.map(({ reward, terms }, n) => {
    return { ...textFields(context, item, n), predictedMask: predicted[n] ?? null, reward, terms };
  });
  return { rollouts, metrics: maskMetrics(masks, row.mask) };
}
