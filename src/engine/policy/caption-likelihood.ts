/**
 * Likelihood of a caption given a mask, by teacher forcing instead of decoding. It scores a mask by every token of the
 * caption, not by the words that decoding happens to produce.
 */
import { inBatches } from "../bytes/collections.ts";
import type { TrainingRow } from "../data/training-row.ts";
import { rowSize } from "../data/training-row.ts";
import { readTogether } from "../gpu/runtime/read-back.ts";
import { tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Weights } from "../model/weights/weights.ts";
import { plainPhrase } from "../text/prompt.ts";
import { type CaptionGroup, type CaptionLogps, captionLogps } from "./caption-policy.ts";
import { FULL_SAMPLING } from "./decode/sampler.ts";
import { type ImageFeatures, shownFeatures } from "./features.ts";
import { fittedCaption } from "./fit-caption.ts";
import type { DescribedPicture } from "./partner.ts";
import { type CaptionPrompt, captionPrompt, countCells, regionCells } from "./prompts.ts";

export const NO_CAPTIONER =
  "The settings take likelihoods from another checkpoint, but none is open. Open its adapter, or choose the partner or the start";

export interface MaskLikelihood {
  /** Geometric mean of the probabilities of the caption's tokens, end token included; 0..1. */
  readonly likelihood: number;
  /**
   * Probability of the caption when the weights choose among it and the other captions; null where there are no others.
   */
  readonly contrast: number | null;
}

/** Masks of a picture, and the captions whose likelihood is measured for each. */
export interface JudgedPicture extends Omit<DescribedPicture, "masks"> {
  /** Null where no mask was found. */
  readonly masks: readonly (Uint8Array | null)[];
  readonly caption: string;
  /** Other captions to compare with; those equal to the caption are left out. */
  readonly others: readonly string[];
}

/** The masks of a row's picture with the row's captions; a mask is null where none was found. */
export function judgedPicture(row: TrainingRow, features: ImageFeatures, masks: JudgedPicture["masks"]): JudgedPicture {
  const { summary, others = [] } = row;
  return { features, masks, ...rowSize(row), caption: summary.caption, others };
}

/** The likelihood in a rollout's facts; no field if nothing was measured. */
export function likelihoodFact(
  measured: readonly (MaskLikelihood | null)[] | undefined,
  n: number,
): { readonly likelihood?: MaskLikelihood | null } {
  return measured === undefined ? {} : { likelihood: measured[n] ?? null };
}

/**
 * @param masksAtOnce masks whose prompts run in one pass; 0 for all
 * @returns one per mask; null for a mask that covers no visual token
 */
export async function captionLikelihoods(
  model: Sa2vaModel,
  weights: Weights,
  { features, masks, height, width, view, caption, others }: JudgedPicture,
  options: { readonly logitGuard: number; readonly keepTiny: boolean; readonly masksAtOnce?: number },
): Promise<(MaskLikelihood | null)[]> {
  const { logitGuard, keepTiny, masksAtOnce = 0 } = options;
  const texts = [...new Set([caption, ...others].map(plainPhrase))];
  const found: (MaskLikelihood | null)[] = masks.map(() => null);
  const prompts: CaptionPrompt[] = [];
  const places: number[] = [];
  for (const [at, mask] of masks.entries()) {
    if (mask === null) continue;
    const cells = regionCells(model, mask, height, width, keepTiny, view, features.grid);
    if (countCells(cells) === 0) continue;
    prompts.push(captionPrompt(model, features, cells));
    places.push(at);
  }
  if (prompts.length === 0) return found;
  // All masks have the same caption tokens.
  const longest = Math.max(...prompts.map(({ ids }) => ids.length));
  const completions = texts.map((text) => {
    const { ids } = fittedCaption(model, text, longest).made;
    return { ids, logps: [], entropies: [], ended: true };
  });
  const sampler = { ...FULL_SAMPLING, guard: logitGuard };
  const scores: CaptionLogps[] = [];
  let arrays: readonly Float32Array[];
  try {
    for (const some of inBatches([...prompts.keys()], masksAtOnce)) {
      const shown = await shownFeatures(
        features,
        some.map((n) => masks[places[n] as number] as Uint8Array),
      );
      const groups = some.map((n, at): CaptionGroup => {
        return { features: shown.all[at] as ImageFeatures, prompt: prompts[n] as CaptionPrompt, completions };
      });
      try {
        scores.push(...captionLogps(model, weights, groups, sampler));
      } finally {
        shown.dispose();
      }
    }
    arrays = await readTogether(scores.map(({ logps }) => logps));
  } finally {
    tf.dispose(scores.flatMap(({ logps, entropies }) => [logps, entropies]));
  }
  for (const [n, logps] of arrays.entries()) {
    const length = logps.length / texts.length;
    const sums = completions.map(({ ids }, row) =>
      ids.reduce((sum, _, token) => sum + (logps[row * length + token] as number), 0),
    );
    const own = sums[0] as number;
    const rivals = sums.reduce((total, sum) => total + Math.exp(sum - own), 0);
    const tokens = (completions[0] as (typeof completions)[number]).ids.length;
    found[places[n] as number] = {
      likelihood: Math.exp(own / tokens),
      contrast: texts.length === 1 ? null : 1 / rivals,
    };
  }
  return found;
}
