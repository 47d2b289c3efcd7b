/**
 * Loop 2: caption → mask (policy) → caption′ (partner); reward METEOR(caption, caption′), with a
 * judge 0.25 METEOR and 0.75 its verdict.
 */
import type { Rle } from "../data/rle.ts";
import { encodeRle } from "../data/rle-mask.ts";
import type { TrainingRow } from "../data/training-row.ts";
import type { Tensor } from "../gpu/tf.ts";
import { nearestMask } from "../model/preprocess/region-grid.ts";
import { imageLogits, maskConfidence, packMask } from "../model/sam2/postprocess.ts";
import { disposeFeatures, type ImageFeatures } from "../policy/features.ts";
import { type MaskAnchor, maskAnchor, wantsAnchor } from "../policy/mask-anchor.ts";
import { maskPolicyOf } from "../policy/mask-policies.ts";
import type { MaskActions } from "../policy/mask-policy.ts";
import { describePictures } from "../policy/partner.ts";
import { phraseOutput } from "../policy/phrase-output.ts";
import { segmentPrompt } from "../policy/prompts.ts";
import { rewardPlan } from "../rewards/composer/plan.ts";
import type { ScoredRollout } from "../rewards/types.ts";
import { readLogProbs } from "./backward.ts";
import { maskDraws, type StepContext } from "./context.ts";
import { needsReference } from "./loss-config.ts";
import { maskObservations, pairObservations } from "./observations.ts";
import type { AuxiliaryLoss, Playout } from "./playout.ts";

/** A row with the masks the policy made of its caption. */
interface Acted {
  readonly row: TrainingRow;
  readonly group: number;
  readonly features: ImageFeatures;
  readonly actions: MaskActions;
  /** 0/1 at image size. */
  readonly masks: readonly Uint8Array[];
  /** Mean probability inside each mask; null for an empty one. */
  readonly confidences: readonly (number | null)[];
  readonly greedy: Uint8Array | undefined;
}

/** Plays one group a row: a few masks for the row's caption, each judged by what the partner says about it. */
export async function playLoop2(context: StepContext, rows: readonly TrainingRow[]): Promise<Playout[]> {
  const features: ImageFeatures[] = [];
  const acted: Acted[] = [];
  const playouts: Playout[] = [];
  try {
    await context.phase("features", 2);
    for (const row of rows) features.push(await context.features.get(row.summary.imageId, row.rgb));
    await context.phase("generate", 2);
    for (const [group, row] of rows.entries()) {
      acted.push(await act(context, row, group, features[group] as ImageFeatures));
    }
    await context.phase("partner", 2);
    const told = await describePictures(
      context.model,
      context.partner,
      acted.map((item) => ({ features: item.features, masks: item.masks, ...sides(item.row) })),
      {
        maxNewTokens: context.config.partnerMaxTokens,
        logitGuard: context.config.logitGuard,
        keepTiny: context.config.smallRegions === "force",
        signal: context.signal,
      },
    );
    await context.phase("reward", 2);
    const earned = await Promise.all(
      acted.map((item, group) => score(context, item, told[group] as readonly (string | null)[])),
    );
    for (const [group, item] of acted.entries()) {
      playouts.push(await playoutOf(context, item, told[group] as readonly (string | null)[], earned[group] as Earned));
    }
    return playouts;
  } catch (thrown) {
    for (const playout of playouts) playout.dispose();
    for (const item of acted.slice(playouts.length)) item.actions.dispose();
    throw thrown;
  } finally {
    for (const own of features) disposeFeatures(own);
  }
}

function sides(row: TrainingRow): { readonly height: number; readonly width: number } {
  return { height: row.rgb.height, width: row.rgb.width };
}

async function act(context: StepContext, row: TrainingRow, group: number, features: ImageFeatures): Promise<Acted> {
  const { model, config } = context;
  const { height, width } = sides(row);
  const output = phraseOutput(model, context.policy, features, row.summary.caption);
  const actions = await maskPolicyOf(config)
    .act(output, config.groupSize, maskDraws(context, 2, group))
    .finally(() => output.dispose());
  const read = (logits: Tensor) =>
    readMasks(logits, model.config.sam2.imageSize, height, width).finally(() => logits.dispose());
  try {
    const [masks, [greedy]] = await Promise.all([read(actions.logits), read(actions.greedy)]);
    return {
      row,
      group,
      features,
      actions,
      masks: masks.map(({ mask }) => mask),
      confidences: masks.map(({ confidence }) => confidence),
      greedy: greedy?.mask,
    };
  } catch (thrown) {
    actions.dispose();
    throw thrown;
  }
}

interface Earned {
  readonly predicted: readonly Rle[];
  readonly scored: readonly ScoredRollout[];
}

/** What the partner's answers earn; the groups of a step are scored together, since a judge takes its time. */
async function score(context: StepContext, item: Acted, told: readonly (string | null)[]): Promise<Earned> {
  const { row, masks, confidences } = item;
  const { height, width } = sides(row);
  const predicted = masks.map((mask) => encodeRle(mask, height, width));
  const scored = await context.scorer.scoreGroup(
    predicted.map((mask, n) => ({
      loop: 2,
      reference: row.summary.caption,
      caption: told[n] ?? null,
      given: row.summary.mask,
      predicted: mask,
      // An empty mask has no inside: a confidence of nothing is worth nothing.
      confidence: confidences[n] ?? 0,
      truncated: false,
    })),
    rewardPlan(context.config),
    context.signal,
  );
  return { predicted, scored };
}

async function playoutOf(
  context: StepContext,
  item: Acted,
  told: readonly (string | null)[],
  { predicted, scored }: Earned,
): Promise<Playout> {
  const { model, config } = context;
  const { row, group, features, actions: acted, masks, greedy } = item;
  const { height, width } = sides(row);
  const caption = row.summary.caption;
  const prompt = segmentPrompt(model, features.tiles, caption);
  const rewards = scored.map((score) => score.reward);
  const { anchor, startLogps } = await askStart(context, item);
  const { imitate } = acted;
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
    rewards,
    terms: scored.map((score) => score.terms),
    drafts: predicted.map((mask, n) => ({
      rowId: row.summary.id,
      imageId: row.summary.imageId,
      prompt: prompt.text,
      completion: prompt.answer,
      caption,
      referenceCaption: caption,
      captionPrime: told[n] ?? null,
      givenMask: row.summary.mask,
      predictedMask: mask,
      greedyMask: greedyRle,
      reward: scored[n]?.reward ?? null,
      terms: scored[n]?.terms ?? [],
      truncated: false,
    })),
    startLogps,
    policyGradient: imitate === undefined,
    logProbs: (weights, own) => {
      const output = phraseOutput(model, weights, own, caption);
      const auxiliary = (): AuxiliaryLoss[] => [
        ...(anchor === null
          ? []
          : [{ name: "mask_anchor", weight: config.maskAnchorWeight, value: anchor.loss(output) }]),
        ...(imitate === undefined
          ? []
          : [{ name: "imitation", weight: 1, value: imitate(output, rewardShares(rewards)) }]),
      ];
      return { ...acted.logProbs(output), auxiliary };
    },
    dispose: () => {
      acted.dispose();
      anchor?.dispose();
    },
    observations: { ...maskObservations(masks, row.mask), ...pairObservations(masks, told) },
  };
}

interface StartAnswer {
  readonly anchor: MaskAnchor | null;
  readonly startLogps: Float32Array | null;
}

/** What the weights of the run's beginning are asked for, by anchor and reference, in one pass. */
async function askStart(context: StepContext, { row, features, actions }: Acted): Promise<StartAnswer> {
  const { model, config } = context;
  const anchored = wantsAnchor(config);
  const referred = needsReference(config) && config.reference === "start";
  if (!anchored && !referred) return { anchor: null, startLogps: null };
  const { height, width } = sides(row);
  const output = phraseOutput(model, context.start, features, row.summary.caption);
  try {
    // Decoded here, outside any tidy, because both need it.
    if (anchored) output.decoded();
    const logps = referred ? await readLogProbs(() => actions.logProbs(output)) : null;
    const target = (side: number) => Float32Array.from(nearestMask(row.mask, height, width, side, side));
    return { anchor: anchored ? await maskAnchor(config, output, target) : null, startLogps: logps };
  } finally {
    output.dispose();
  }
}

/** Each rollout's share of the group's reward; equal shares where nothing was earned. Missing and negative ones have none. */
function rewardShares(rewards: readonly (number | null)[]): number[] {
  const earned = rewards.map((reward) => Math.max(0, reward ?? 0));
  const total = earned.reduce((sum, reward) => sum + reward, 0);
  return earned.map((reward) => (total > 0 ? reward / total : 1 / rewards.length));
}

/** Logits [N, h, w] as 0/1 masks at image size. */
async function readMasks(
  logits: Parameters<typeof imageLogits>[0],
  samSize: number,
  height: number,
  width: number,
): Promise<{ readonly mask: Uint8Array; readonly confidence: number | null }[]> {
  const full = imageLogits(logits, samSize, height, width);
  const values = (await full.data()) as Float32Array;
  full.dispose();
  const area = height * width;
  return Array.from({ length: values.length / area }, (_, n) => {
    const own = values.subarray(n * area, (n + 1) * area);
    return { mask: packMask(own), confidence: maskConfidence(own) };
  });
}
