/**
 * Mask policy "Gaussian on [SEG]": the mean is the mask decoder's language prompt, the action adds Gaussian noise to each
 * of its channels, the masks are what the decoder makes of the noisy prompts. Coherent masks and an exact log-probability;
 * the decoder lies behind the sampling point and gets no gradient (reference: grpo.md §20 D).
 */
import { type Tensor, tf } from "../gpu/tf.ts";
import { argMax, bestCandidate, type MaskPolicy } from "./mask-policy.ts";

/** @param relativeSigma noise in units of the prompt's own standard deviation over its channels */
export function embeddingPolicy(relativeSigma: number): MaskPolicy {
  return {
    name: "embedding",
    describes: "The policy adds Gaussian noise to the [SEG] state that prompts the mask decoder",
    async act(output, count, draws) {
      const width = output.language.shape[1] as number;
      const spread = tf.tidy(() => tf.moments(output.language).variance.sqrt());
      const sigma = Math.max(1e-4, ((await spread.data())[0] as number) * relativeSigma);
      spread.dispose();
      const noise = new Float32Array(count * width);
      for (let n = 0; n < count; n++) for (let c = 0; c < width; c++) noise[n * width + c] = draws.normal(n, c) * sigma;
      const action = tf.tidy(() => output.language.add(tf.tensor2d(noise, [count, width])));
      const quiet = output.decoded();
      const noisy = output.decode(action);
      const [own, ...scores] = await candidateScores([quiet.iou, noisy.iou], 1 + count);
      const greedy = bestCandidate(quiet, argMax(own as readonly number[]));
      const logits = tf.tidy(() => {
        const [, , height, side] = noisy.masks.shape as [number, number, number, number];
        return tf.concat(
          scores.map((row, n) =>
            tf.slice(noisy.masks, [n, 1 + argMax(row), 0, 0], [1, 1, height, side]).reshape([1, height, side]),
          ),
          0,
        );
      });
      tf.dispose([noisy.masks, noisy.iou, noisy.objectScore]);

      const constant = -Math.log(sigma) - 0.5 * Math.log(2 * Math.PI);
      const entropy = 0.5 * Math.log(2 * Math.PI * Math.E * sigma * sigma);
      return {
        logits,
        greedy,
        labels: Array.from({ length: count }, () =>
          Array.from({ length: width }, (_, c) => ({ id: c, label: `channel ${c}` })),
        ),
        logps: noise.map((value) => constant - 0.5 * (value / sigma) ** 2),
        entropies: new Float32Array(count * width).fill(entropy),
        actions: width,
        weights: null,
        readsMasks: false,
        logProbs(other) {
          const logps = tf.tidy(() => action.sub(other.language).div(sigma).square().mul(-0.5).add(constant));
          return { logps, entropies: tf.fill([count, width], entropy) };
        },
        dispose() {
          action.dispose();
        },
      };
    },
  };
}

/** Predicted IoU of candidates 1…3 for the rows of several [B, 4] tensors, read back. */
async function candidateScores(tensors: readonly Tensor[], rows: number): Promise<number[][]> {
  const values = await Promise.all(tensors.map((tensor) => tensor.data()));
  const flat = values.flatMap((array) => Array.from(array));
  return Array.from({ length: rows }, (_, n) => flat.slice(n * 4 + 1, n * 4 + 4));
}
