/**
 * Weights of each token's loss and entropy (docs/spec/grpo.md#6-aggregation, docs/spec/grpo.md#8-entropy). All
 * functions
 * work on [N, T] tensors without gradient.
 */
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { LossSettings } from "./loss-types.ts";

/** c[n,t] of loss = Σ c·l; 0 at masked positions. @param lengths [N, 1] active tokens */
export function aggregationWeights(mask: Tensor, lengths: Tensor, settings: LossSettings, padded: number): Tensor {
  const rows = mask.shape[0] as number;
  const perStep = 1 / settings.accumulation;
  const activeRows = (): Tensor => lengths.greater(0).toFloat().sum().maximum(1);
  switch (settings.aggregation) {
    case "row-mean":
      return mask.div(lengths.maximum(1)).mul(perStep / rows);
    case "active-row-mean":
      return mask.div(lengths.maximum(1)).div(activeRows()).mul(perStep);
    case "active-row-sum":
      return mask.div(activeRows()).mul(perStep);
    case "row-sum":
      return mask.mul(perStep / rows);
    case "micro-token-mean":
      return mask.div(mask.sum().maximum(1)).mul(perStep);
    case "window-token-mean":
      return mask.div(windowTokens(mask, settings));
    case "constant-length":
      return mask.mul(perStep / (rows * settings.maxCompletionLength));
    case "padded-length":
      return mask.mul(perStep / padded);
  }
}

/** e[n,t] of bonus = Σ e·H: coefficient times the mean over the kept tokens of this micro-batch, for every loss type. */
export function entropyWeights(kept: Tensor, settings: LossSettings): Tensor {
  return kept.div(kept.sum().maximum(1)).mul(settings.entropyCoefficient / settings.accumulation);
}

function windowTokens(mask: Tensor, settings: LossSettings): Tensor {
  return settings.activeTokensTotal === null
    ? mask.sum().maximum(1)
    : tf.scalar(Math.max(1, settings.activeTokensTotal));
}

/**
 * 1 for the active tokens whose entropy reaches the (1 - share) quantile of all active entropies (linear interpolation
 * between order statistics). @param entropies [N, T] without gradient
 */
export function topEntropyMask(entropies: Tensor, mask: Tensor, share: number): Tensor {
  return tf.tidy(() => {
    const active = mask.greater(0.5);
    // Below every entropy; the entropy of a narrow Gaussian is negative.
    const lowest = tf.fill(entropies.shape, -1e30);
    const flat = tf.where(active, entropies, lowest).reshape([-1]);
    const descending = tf.topk(flat, flat.size, true).values;
    // Position of the quantile counted from the top; the two neighbours share its weight.
    const position = mask.sum().sub(1).maximum(0).mul(share);
    const places = tf.range(0, flat.size, 1, "float32");
    const threshold = tf
      .relu(tf.scalar(1).sub(places.sub(position).abs()))
      .mul(descending)
      .sum();
    // The interpolated value may differ in the last bits from the entropy that it equals.
    const reached = entropies.greaterEqual(threshold.sub(threshold.abs().mul(1e-6)));
    return reached.logicalAnd(active).toFloat();
  });
}
