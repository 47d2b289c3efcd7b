/**
 * Likelihood of a caption given a mask, by teacher forcing instead of decoding. It scores a mask by every token of the
 * caption, not by the words that decoding happens to produce.
 */
import { inBatches } from "../bytes/collections.ts";
import type { TrainingRow } from "../data/training-row.ts";
import { rowSize } from "../data/training-row.ts";
import { zerosBehind } from "../gpu/kernels/repeat.ts";
import { readTogether } from "../gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { promptPlaces } from "../model/language/config-language.ts";
import { languageForward, languageScores } from "../model/language/language.ts";
import { nearestSources } from "../model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { imageLogits } from "../model/sam2/postprocess.ts";
import type { Weights } from "../model/weights/weights.ts";
import { plainPhrase, type VisualGrid } from "../text/prompt.ts";
import { type CaptionGroup, type CaptionScores, captionScores } from "./caption-policy.ts";
import { FULL_SAMPLING } from "./decode/sampler.ts";
import { embedIds, embedPrompt, projectVision } from "./embedding.ts";
import { type ImageFeatures, shownFeatures } from "./features.ts";
import { fittedCaption } from "./fit-caption.ts";
import type { DescribedPicture } from "./partner.ts";
import {
  type CaptionPrompt,
  captionPrompt,
  countCells,
  promptRegions,
  type RegionCells,
  regionCells,
} from "./prompts.ts";

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
  const scores: CaptionScores[] = [];
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
        scores.push(...captionScores(model, weights, groups, sampler));
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

/**
 * Likelihood of a caption given a soft mask, differentiable in the mask: an upper bound on what masks can learn from
 * captions without sampling. The region contains every visual token of the picture, and the log-probability of a
 * token's cell is added to the attention scores of its key. With probabilities of 0 and 1 this is the likelihood given
 * the mask (caption-likelihood.ts).
 */
interface SoftRegion {
  readonly features: ImageFeatures;
  readonly caption: string;
  /** Sides of the picture in pixels. */
  readonly height: number;
  readonly width: number;
  /** Cells of the mask without noise; they affect only the positions of tokens in and after the region. */
  readonly cells: RegionCells;
}

interface SoftCaptionOptions {
  /** Divides the logits before they become probabilities, > 0. */
  readonly temperature: number;
  /** Clip bound of the language model's logits. */
  readonly guard: number;
}

/**
 * Mean negative log-probability of the caption's tokens, end token included; scalar, nats. Differentiable in the
 * logits.
 * @param weights of the captioner
 * @param logits mask at the decoder's resolution, [1, h, w]; > 0 is inside
 */
export function softCaptionLoss(
  model: Sa2vaModel,
  weights: Weights,
  { features, caption, height, width, cells }: SoftRegion,
  logits: Tensor,
  { temperature, guard }: SoftCaptionOptions,
): Tensor {
  const { language } = model.config;
  const { grid } = features;
  const count = grid.rows * grid.cols;
  // The mask reaches the captioner through copied tokens, whatever the run's region prompt is.
  const prompt = captionPrompt(model, { tiles: features.tiles, grid }, new Uint8Array(count).fill(1));
  const [region] = prompt.regionSpans as readonly [(typeof prompt.regionSpans)[number]];
  const first = prompt.ids.length;
  const { ids } = fittedCaption(model, caption, first).made;
  const length = first + ids.length - 1;
  const indices = placesWithout(length, region.start, cells);
  const whole = promptPlaces(language, prompt, length);
  const positions = [indices.map((at) => whole?.[at] ?? at)];
  return tf.tidy(() => {
    const projected = projectVision(model, weights, features.vision);
    const asked = embedPrompt(model, weights, prompt, prompt.ids, projected, promptRegions(prompt));
    const wide = asked.shape[2] as number;
    const said =
      ids.length === 1
        ? []
        : [zerosBehind(embedIds(model, weights, [ids.slice(0, -1)]), [0, 0, wide - language.hiddenSize])];
    const inside = cellLogits(logits, model.config.sam2.imageSize, height, width, grid).div(temperature);
    // log σ
    const seen = inside.neg().softplus().neg().reshape([count]);
    const mask = tf
      .concat([tf.zeros([region.start]), seen, tf.zeros([length - region.end])])
      .reshape([1, 1, 1, length]);
    const { hidden } = languageForward(weights, language, tf.concat([asked, ...said], 1), {
      positions,
      mask,
      learnsMask: true,
      ropeLength: (indices.at(-1) as number) + 2,
    });
    const size = hidden.shape[2] as number;
    const answers = hidden.slice([0, first - 1, 0], [1, ids.length, size]).reshape([ids.length, size]);
    return languageScores(weights, answers, tf.tensor1d([...ids], "int32"), 1, guard)
      .logp.mean()
      .neg();
  });
}

/**
 * The positions that a prompt with only the selected cells has; each other cell shares the position of the next
 * selected one.
 */
function placesWithout(length: number, start: number, cells: RegionCells): number[] {
  let skipped = 0;
  // A region has at least one cell.
  const most = cells.length - Math.max(1, countCells(cells));
  return Array.from({ length }, (_, at) => {
    const place = at - skipped;
    if (at >= start && at < start + cells.length && cells[at - start] === 0 && skipped < most) skipped++;
    return place;
  });
}

/** Logits of the pixels that the cells of the visual-token grid sample, [rows, cols]. */
function cellLogits(logits: Tensor, samSize: number, height: number, width: number, grid: VisualGrid): Tensor {
  const pick = (size: number, side: number): Tensor => {
    const chosen = new Float32Array(side * size);
    nearestSources(size, side).forEach((source, cell) => {
      chosen[cell * size + source] = 1;
    });
    return tf.tensor2d(chosen, [side, size]);
  };
  const whole = imageLogits(logits, samSize, height, width).reshape([height, width]);
  return tf.matMul(
    tf.matMul(pick(height, grid.rows) as tf.Tensor2D, whole as tf.Tensor2D),
    pick(width, grid.cols) as tf.Tensor2D,
    false,
    true,
  );
}
