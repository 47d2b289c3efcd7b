/** The mask policy "pathwise", and the likelihood of a caption through a soft mask. */
import { rowSize } from "../../engine/data/training-row.ts";
import { LabError } from "../../engine/errors.ts";
import { zerosBehind } from "../../engine/gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { promptPlaces } from "../../engine/model/language/config-language.ts";
import { languageForward, languageScores } from "../../engine/model/language/language.ts";
import { nearestSources } from "../../engine/model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import { imageLogits } from "../../engine/model/sam2/postprocess.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { NO_CAPTIONER } from "../../engine/policy/caption-likelihood.ts";
import { embedIds, embedPrompt, projectVision } from "../../engine/policy/embedding.ts";
import type { ImageFeatures } from "../../engine/policy/features.ts";
import { fittedCaption } from "../../engine/policy/fit-caption.ts";
import { candidatePolicy } from "../../engine/policy/mask/candidate-policy.ts";
import { argMax, bestCandidate, type MaskLossFacts, type MaskPolicy } from "../../engine/policy/mask/mask-policy.ts";
import {
  captionPrompt,
  countCells,
  promptRegions,
  type RegionCells,
  regionCells,
} from "../../engine/policy/prompts.ts";
import type { VisualGrid } from "../../engine/text/prompt.ts";

/**
 * "Pathwise": no policy gradient and no sampling. The chosen candidate is trained by the gradient of the caption's
 * likelihood through the soft mask. SAM2's candidates are shown and scored but do
 * not affect training. It is an upper bound on what a reward of that likelihood can teach.
 * @param shown temperature of the choice among the candidates that are shown
 * @param temperature of the soft cells
 */
export function pathwisePolicy(shown: number, temperature: number): MaskPolicy {
  const candidates = candidatePolicy(shown);
  return async (output, count, draws) => {
    const actions = await candidates(output, count, draws);
    const index = argMax(actions.logps);
    return {
      ...actions,
      probabilities: null,
      unsampled: true,
      loss: (other, facts) => pathwiseLoss(bestCandidate(other.decoded(), index), temperature, facts),
    };
  };
}

/**
 * Negative log-likelihood of the row's caption given the soft mask; the control experiment flips its sign at random.
 * @param logits mask at the decoder's resolution, [1, h, w]
 * @throws LabError("bad-config") without a captioner, "unsupported" for a clip
 */
function pathwiseLoss(
  logits: Tensor,
  temperature: number,
  { model, row, features, greedy, captioner, logitGuard: guard, sign }: MaskLossFacts,
) {
  const { height, width, view } = rowSize(row);
  if (captioner === undefined) throw new LabError("bad-config", NO_CAPTIONER, { subject: "likelihoodJudge" });
  if (view !== undefined && view.total > 1) {
    throw new LabError(
      "unsupported",
      `The mask policy "pathwise" trains on single pictures; row ${row.summary.id} is a clip`,
      { subject: "maskPolicy" },
    );
  }
  const cells = regionCells(model, greedy.mask, height, width, true);
  const region = { features, caption: row.summary.caption, height, width, cells };
  return {
    name: "pathwise",
    weight: sign,
    value: softCaptionLoss(model, captioner, region, logits, { temperature, guard }),
  };
}

/**
 * Likelihood of a caption given a soft mask, differentiable in the mask: an upper bound on what masks can learn from
 * captions without sampling. The region contains every visual token of the picture, and the log-probability of a
 * token's cell is added to the attention scores of its key. With probabilities of 0 and 1 this is the likelihood given
 * the mask (engine/policy/caption-likelihood.ts).
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
      keepCache: false,
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
