/**
 * Loop 2: caption → mask (policy) → caption′ (partner); reward METEOR(caption, caption′), later joined by a judge.
 */
import { encodeRle } from "../data/rle-mask.ts";
import type { TrainingRow } from "../data/training-row.ts";
import { tf } from "../gpu/tf.ts";
import { imageLogits, packMask } from "../model/sam2/postprocess.ts";
import { candidatePolicy } from "../policy/candidate-policy.ts";
import { disposeFeatures, type ImageFeatures } from "../policy/features.ts";
import { fieldPolicy } from "../policy/field-policy.ts";
import type { MaskActions, MaskPolicy } from "../policy/mask-policy.ts";
import { describeMasks, segmentPhraseLogits } from "../policy/partner.ts";
import { segmentPrompt } from "../policy/prompts.ts";
import type { RewardTerm } from "../rewards/term.ts";
import { maskDraws, type StepContext } from "./context.ts";
import { maskObservations, pairObservations } from "./observations.ts";
import type { Playout } from "./playout.ts";

export function maskPolicyOf(config: StepContext["config"]): MaskPolicy {
  return config.maskPolicy === "field"
    ? fieldPolicy(config.fieldGrid, config.fieldSigma)
    : candidatePolicy(config.candidateTemperature);
}

/** Plays one group: a few masks for the row's caption, each judged by what the partner says about it. */
export async function playLoop2(context: StepContext, row: TrainingRow, group: number): Promise<Playout> {
  await context.phase("features", 2);
  const features = await context.features.get(row.summary.imageId, row.rgb);
  let acted: MaskActions | undefined;
  try {
    await context.phase("generate", 2);
    const decoded = segmentPhraseLogits(context.model, context.policy, features, [row.summary.caption]);
    acted = await maskPolicyOf(context.config)
      .act(decoded, context.config.groupSize, maskDraws(context, 2, group))
      .finally(() => tf.dispose([decoded.masks, decoded.iou, decoded.objectScore]));
    return await judgeActions(context, row, group, features, acted);
  } catch (thrown) {
    acted?.dispose();
    throw thrown;
  } finally {
    disposeFeatures(features);
  }
}

/** What the sampled masks look like at image size, what the partner says about them, and what that earns. */
async function judgeActions(
  context: StepContext,
  row: TrainingRow,
  group: number,
  features: ImageFeatures,
  acted: MaskActions,
): Promise<Playout> {
  const { model, config } = context;
  const { height, width } = row.rgb;
  const caption = row.summary.caption;
  const masks = await readMasks(acted.logits, model.config.sam2.imageSize, height, width);
  const [greedy] = await readMasks(acted.greedy, model.config.sam2.imageSize, height, width);
  tf.dispose([acted.logits, acted.greedy]);

  await context.phase("partner", 2);
  const told = await describeMasks(model, context.partner, features, masks, height, width, {
    maxNewTokens: config.partnerMaxTokens,
    logitGuard: config.logitGuard,
    keepTiny: config.smallRegions === "force",
    signal: context.signal,
  });

  const prompt = segmentPrompt(model, features.tiles, caption);
  await context.phase("reward", 2);
  const scored = await context.scorer.score(
    told.map((hypothesis) => ({ reference: caption, hypothesis: hypothesis ?? "" })),
  );
  const terms = scored.map((score, n): readonly RewardTerm[] =>
    told[n] === null ? score.terms.map((term) => ({ ...term, note: "empty mask" })) : score.terms,
  );
  const greedyRle = greedy === undefined ? null : encodeRle(greedy, height, width);
  return {
    loop: 2,
    group,
    row,
    rollouts: masks.length,
    actions: acted.actions,
    labels: acted.labels,
    mask: new Float32Array(masks.length * acted.actions).fill(1),
    samplingLogps: acted.logps,
    rowWeights: acted.weights,
    rewards: scored.map((score) => score.reward),
    terms,
    drafts: masks.map((mask, n) => ({
      rowId: row.summary.id,
      imageId: row.summary.imageId,
      prompt: prompt.text,
      completion: prompt.answer,
      caption,
      referenceCaption: caption,
      captionPrime: told[n] ?? null,
      givenMask: row.summary.mask,
      predictedMask: encodeRle(mask, height, width),
      greedyMask: greedyRle,
      reward: scored[n]?.reward ?? null,
      terms: terms[n] ?? [],
      truncated: false,
    })),
    logProbs: (weights, own) => acted.logProbs(segmentPhraseLogits(model, weights, own, [caption])),
    dispose: () => acted.dispose(),
    observations: { ...maskObservations(masks, row.mask), ...pairObservations(masks, told) },
  };
}

/** Logits [N, h, w] as 0/1 masks at image size. */
async function readMasks(
  logits: Parameters<typeof imageLogits>[0],
  samSize: number,
  height: number,
  width: number,
): Promise<Uint8Array[]> {
  const full = imageLogits(logits, samSize, height, width);
  const values = (await full.data()) as Float32Array;
  full.dispose();
  const area = height * width;
  return Array.from({ length: values.length / area }, (_, n) => packMask(values.subarray(n * area, (n + 1) * area)));
}
