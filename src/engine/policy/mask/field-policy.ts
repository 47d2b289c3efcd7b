/**
 * Mask policy "coarse Gaussian field": the mean is the chosen mask's logits pooled to n × n cells, the action adds
 * Gaussian noise to each cell, and the mask is the sign of the logits plus the enlarged noise. This gives coherent
 * changes of shape, an exact log-probability per cell, and a gradient through the whole decoder.
 */
import { LabError } from "../../errors.ts";
import { resizeBilinear } from "../../gpu/kernels/resize.ts";
import { readOnce } from "../../gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { deviationOf, drawNoise, gaussianScores, type Noise } from "./gaussian-actions.ts";
import { bestCandidate, bestIndex, type MaskPolicy } from "./mask-policy.ts";

/** Mean logit of each cell, [1, h, w] → [1, n·n]; h and w must be multiples of n. */
export function poolCells(logits: Tensor, grid: number): Tensor {
  return tf.tidy(() => {
    const [, height, width] = logits.shape as [number, number, number];
    const blocks = logits.reshape([grid, height / grid, grid, width / grid]);
    return blocks
      .mean(3)
      .mean(1)
      .reshape([1, grid * grid]);
  });
}

/**
 * @param grid n, cells per side
 * @param noise relative to the logits' standard deviation over the picture, or in logits
 * @param band cells whose mean logit is at least this far from 0 get no noise and are not actions: their
 * log-probability is 0, and they have the entropy of the other cells, so that they are not selected as most uncertain;
 * 0 gives noise to all cells
 */
export function fieldPolicy(grid: number, noise: Noise, band = 0): MaskPolicy {
  const cells = grid * grid;
  return async (output, count, draws) => {
    const decoded = output.decoded();
    const [, , height, width] = decoded.masks.shape as [number, number, number, number];
    if (height % grid !== 0 || width % grid !== 0) {
      throw new LabError(
        "bad-config",
        `fieldGrid ${grid} must divide the mask size ${height} × ${width} of this model`,
        {
          subject: "fieldGrid",
        },
      );
    }
    const index = await bestIndex(decoded);
    const greedy = bestCandidate(decoded, index);
    const deviation = await deviationOf(noise, greedy, 1e-3);
    const drawn = drawNoise(noise, draws, count, cells, deviation);
    const active = band === 0 ? null : await uncertainCells(greedy, grid, band);
    const ofActive = (values: Float32Array): Float32Array =>
      active === null ? values : values.map((value, at) => value * (active[at % cells] as number));
    drawn.set(ofActive(drawn));
    const acting = active === null ? null : tf.tensor2d(active, [1, cells]);
    const [logits, action] = tf.tidy(() => {
      const field = tf.tensor4d(drawn, [count, grid, grid, 1]);
      const enlarged = resizeBilinear(field, height, width).reshape([count, height, width]);
      return [greedy.add(enlarged), poolCells(greedy, grid).add(field.reshape([count, cells]))];
    }) as [Tensor, Tensor];

    const { logps, entropies, scoresOf } = gaussianScores(drawn, deviation);
    return {
      logits,
      greedy,
      labels: Array.from({ length: count }, () =>
        Array.from({ length: cells }, (_, c) => ({ id: c, label: `cell ${Math.floor(c / grid)},${c % grid}` })),
      ),
      logps: ofActive(logps),
      entropies,
      actions: cells,
      probabilities: null,
      readsMasks: true,
      logProbs: (other) =>
        tf.tidy(() => {
          const own = scoresOf(action, poolCells(bestCandidate(other.decoded(), index), grid));
          return acting === null ? own : { ...own, logps: own.logps.mul(acting) };
        }),
      dispose() {
        tf.dispose(acting === null ? [action] : [action, acting]);
      },
    };
  };
}

/** [n·n], 1 for cells that get noise, 0 for the others. */
async function uncertainCells(logits: Tensor, grid: number, band: number): Promise<Float32Array> {
  const means = await readOnce(poolCells(logits, grid));
  return means.map((mean) => Number(Math.abs(mean) < band));
}
