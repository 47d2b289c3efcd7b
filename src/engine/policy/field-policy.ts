/**
 * Mask policy "coarse Gaussian field": the mean is the chosen mask's logits pooled to n × n cells, the action adds
 * Gaussian noise to each cell, the mask is the sign of the logits plus the enlarged noise. Coherent changes of shape, an
 * exact log-probability per cell, and a gradient through the whole decoder (reference: grpo.md §20 F).
 */
import { LabError } from "../errors.ts";
import { resizeBilinear } from "../gpu/kernels/resize.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { argMax, bestCandidate, candidateLogProbs, type MaskPolicy } from "./mask-policy.ts";

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
 * @param grid n, cells a side
 * @param relativeSigma noise in units of the logits' own standard deviation over the picture
 */
export function fieldPolicy(grid: number, relativeSigma: number): MaskPolicy {
  const cells = grid * grid;
  return {
    name: "field",
    describes: `The policy adds Gaussian noise to a ${grid} × ${grid} grid of mask logits`,
    async act(output, count, draws) {
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
      const scores = candidateLogProbs(decoded, 1);
      const index = argMax(await scores.data());
      const greedy = bestCandidate(decoded, index);
      const spread = tf.tidy(() => tf.moments(greedy).variance.sqrt());
      const sigma = Math.max(1e-3, ((await spread.data())[0] as number) * relativeSigma);
      tf.dispose([scores, spread]);

      const noise = new Float32Array(count * cells);
      for (let n = 0; n < count; n++) for (let c = 0; c < cells; c++) noise[n * cells + c] = draws.normal(n, c) * sigma;
      const [logits, action] = tf.tidy(() => {
        const field = tf.tensor4d(noise, [count, grid, grid, 1]);
        const enlarged = resizeBilinear(field, height, width).reshape([count, height, width]);
        return [greedy.add(enlarged), poolCells(greedy, grid).add(field.reshape([count, cells]))];
      }) as [Tensor, Tensor];

      const constant = -Math.log(sigma) - 0.5 * Math.log(2 * Math.PI);
      const entropy = 0.5 * Math.log(2 * Math.PI * Math.E * sigma * sigma);
      return {
        logits,
        greedy,
        labels: Array.from({ length: count }, () =>
          Array.from({ length: cells }, (_, c) => ({ id: c, label: `cell ${Math.floor(c / grid)},${c % grid}` })),
        ),
        logps: noise.map((value) => constant - 0.5 * (value / sigma) ** 2),
        entropies: new Float32Array(count * cells).fill(entropy),
        actions: cells,
        weights: null,
        readsMasks: true,
        logProbs(other) {
          const logps = tf.tidy(() => {
            const mean = poolCells(bestCandidate(other.decoded(), index), grid);
            return action.sub(mean).div(sigma).square().mul(-0.5).add(constant);
          });
          return { logps, entropies: tf.fill([count, cells], entropy) };
        },
        dispose() {
          action.dispose();
        },
      };
    },
  };
}
