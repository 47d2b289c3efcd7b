/** Scores of a model in both tasks on held-out regions, with intervals. */

import type { RgbImage } from "../../src/engine/data/sample.ts";
import { uniform } from "../../src/engine/gpu/random.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { type ParameterSet, weightsView } from "../../src/engine/model/weights/weights.ts";
import { createFeatureCache, disposeFeatures } from "../../src/engine/policy/features.ts";
import { describePictures, findInPictures } from "../../src/engine/policy/partner.ts";
import type { CaptionScorer } from "../../src/engine/rewards/types.ts";
import type { SftRegion } from "../../src/plugins/supervised/batch.ts";

export interface HeldOutPicture {
  /** For a clip, its frames below each other. */
  readonly rgb: RgbImage;
  /** Number of frames of a clip; absent means 1. */
  readonly frames?: number;
  readonly regions: readonly SftRegion[];
}

export interface Answered {
  readonly picture: number;
  readonly region: number;
  /** IoU of the mask for the phrase; for a clip, over all frames together. */
  readonly iou: number;
  /** METEOR of the greedy caption of the true mask against the region's caption. */
  readonly meteor: number;
  readonly phrase: string;
  readonly reference: string;
  readonly caption: string;
}

export interface AnswerSettings {
  readonly maxCompletionLength: number;
  readonly signal: AbortSignal;
}

/**
 * Runs both tasks on every region as the lab does: mask from towers, forced answer and selected candidate at picture
 * size; greedy caption of the true mask.
 * @param own tensors that replace the model's, including towers
 */
export async function answerHeldOut(
  model: Sa2vaModel,
  own: ParameterSet,
  pictures: readonly HeldOutPicture[],
  scorer: CaptionScorer,
  settings: AnswerSettings,
): Promise<Answered[]> {
  const merged = new Map([...model.frozen, ...model.base, ...Object.entries(own)]);
  const view: Sa2vaModel = { ...model, frozen: merged };
  const weights = weightsView(merged, {}, 0);
  const answers: Answered[] = [];
  const cache = createFeatureCache(view, 1, 0);
  for (const [index, { rgb, regions, frames = 1 }] of pictures.entries()) {
    const seen = { total: frames, frames: Array.from({ length: frames }, (_, frame) => frame) };
    const features = await cache.get(`${index}`, rgb, seen);
    const asked = { features, height: rgb.height, width: rgb.width, view: seen };
    const [found = []] = await findInPictures(view, weights, [
      { ...asked, phrases: regions.map((region) => region.phrase) },
    ]);
    const [captions = []] = await describePictures(
      view,
      weights,
      [{ ...asked, masks: regions.map((region) => region.mask) }],
      { maxCompletionLength: settings.maxCompletionLength, logitGuard: 30, keepTiny: true, signal: settings.signal },
    );
    disposeFeatures(features);
    const pairs = regions.map((region, at) => ({ reference: region.caption, hypothesis: captions[at] ?? "" }));
    const scores = await scorer.score(pairs);
    regions.forEach((region, at) => {
      answers.push({
        picture: index,
        region: at,
        iou: overlap(found[at]?.mask ?? null, region.mask),
        meteor: scores[at]?.reward ?? 0,
        phrase: region.phrase,
        reference: region.caption,
        caption: captions[at] ?? "",
      });
    });
  }
  return answers;
}

function overlap(drawn: Uint8Array | null, truth: Uint8Array): number {
  if (drawn === null) return 0;
  let [both, either] = [0, 0];
  truth.forEach((wanted, at) => {
    const got = drawn[at] !== 0;
    if (got && wanted !== 0) both++;
    if (got || wanted !== 0) either++;
  });
  return either === 0 ? 0 : both / either;
}

export interface Interval {
  readonly mean: number;
  /** Quantiles that bound the central 95 %. */
  readonly low: number;
  readonly high: number;
}

const RESAMPLES = 1000;

/**
 * Mean with a bootstrap interval over clusters: pictures are resampled, because regions of one picture are not
 * independent.
 * @param seed seed of the resampling
 */
export function clusterInterval(values: readonly number[], clusters: readonly number[], seed: number): Interval {
  const sums = new Map<number, { sum: number; count: number }>();
  values.forEach((value, at) => {
    const own = sums.get(clusters[at] as number) ?? { sum: 0, count: 0 };
    sums.set(clusters[at] as number, { sum: own.sum + value, count: own.count + 1 });
  });
  const groups = [...sums.values()];
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const means = Array.from({ length: RESAMPLES }, (_, resample) => {
    let [sum, count] = [0, 0];
    for (let draw = 0; draw < groups.length; draw++) {
      const at = uniform({ seed, step: resample, loop: 0, row: 0, rollout: 0, position: draw, stream: 2 });
      const group = groups[Math.floor(at * groups.length)] as { sum: number; count: number };
      sum += group.sum;
      count += group.count;
    }
    return sum / count;
  }).sort((a, b) => a - b);
  const bound = (share: number): number => means[Math.floor(share * (RESAMPLES - 1))] as number;
  return { mean, low: bound(0.025), high: bound(0.975) };
}
