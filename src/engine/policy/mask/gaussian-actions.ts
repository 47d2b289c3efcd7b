/** Gaussian actions around a mean that the weights compute: the size of the noise, and the log-probabilities. */
import type { LabConfig } from "../../config/table.ts";
import { readOnce } from "../../gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { gaussianEntropy, gaussianLogProbs, type MaskActions, type MaskDraws } from "./mask-policy.ts";

/** Size of the noise. */
export interface Noise {
  readonly sigma: number;
  /**
   * `relative`: in units of the standard deviation of the values that get the noise, so that larger logits get larger
   * noise and the spread of samples stays the same. `absolute`: in the unit of the values.
   */
  readonly unit: "relative" | "absolute";
  /**
   * Every second rollout takes the noise of the previous one with the opposite sign. Each is still a draw from the same
   * Gaussian, so the gradient stays unbiased, and terms common to a pair cancel.
   */
  readonly antithetic?: boolean;
}

/** The noise of a configuration. */
export const noiseOf = ({ noiseUnit, antitheticNoise }: LabConfig, sigma: number): Noise => ({
  sigma,
  unit: noiseUnit,
  antithetic: antitheticNoise,
});

/**
 * Standard deviation of the noise for these values; not differentiated.
 * @param least minimum of a relative deviation
 */
export async function deviationOf({ sigma, unit }: Noise, values: Tensor, least: number): Promise<number> {
  if (unit === "absolute") return sigma;
  const [own = 0] = await readOnce(tf.tidy(() => tf.moments(values).variance.sqrt()));
  return Math.max(least, own * sigma);
}

/** Noise of `count` rollouts, [count · width] row-major. @param deviation from `deviationOf` */
export function drawNoise(
  { antithetic = false }: Noise,
  draws: MaskDraws,
  count: number,
  width: number,
  deviation: number,
): Float32Array<ArrayBuffer> {
  const noise = new Float32Array(count * width);
  for (let n = 0; n < count; n++) {
    const mirrored = antithetic && n % 2 === 1;
    for (let c = 0; c < width; c++) {
      const draw = mirrored ? -draws.normal(n - 1, c) : draws.normal(n, c);
      noise[n * width + c] = draw * deviation;
    }
  }
  return noise;
}

/** The fields of `MaskActions` that follow from the noise. */
type NoiseScores = Pick<MaskActions, "logps" | "entropies"> & {
  /**
   * Log-probabilities and entropies [N, T] of the actions under another mean [1, T] or [N, T]; differentiable in it.
   */
  readonly scoresOf: (action: Tensor, mean: Tensor) => { readonly logps: Tensor; readonly entropies: Tensor };
};

/** @param noise [N · T] that was added to the mean */
export function gaussianScores(noise: Float32Array, deviation: number): NoiseScores {
  const logStd = Math.log(deviation);
  const constant = -logStd - 0.5 * Math.log(2 * Math.PI);
  return {
    logps: noise.map((value) => constant - 0.5 * (value / deviation) ** 2),
    entropies: new Float32Array(noise.length).fill(logStd + 0.5 * Math.log(2 * Math.PI * Math.E)),
    scoresOf(action, mean) {
      return tf.tidy(() => {
        const spread = tf.scalar(logStd);
        const entropies = tf.zerosLike(action).add(gaussianEntropy(spread));
        return { logps: gaussianLogProbs(action, mean, spread), entropies };
      });
    },
  };
}
