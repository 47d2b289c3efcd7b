/**
 * Mask policy "Gaussian on [SEG]": the mean is the mask decoder's language prompt, the action adds Gaussian noise to
 * each of its channels, and the decoder turns the noisy prompts into masks. Masks are coherent and the log-probability
 * is exact, but the decoder comes after the sampling and gets no gradient.
 */
import { type Tensor, tf } from "../../gpu/tf.ts";
import { deviationOf, drawNoise, gaussianScores, type Noise } from "./gaussian-actions.ts";
import { argMax, bestCandidate, type MaskPolicy } from "./mask-policy.ts";

/** @param noise relative to the prompt's standard deviation over its channels, or absolute */
export function embeddingPolicy(noise: Noise): MaskPolicy {
  return async (output, count, draws) => {
    const width = output.language.shape[1] as number;
    const deviation = await deviationOf(noise, output.language, 1e-4);
    const drawn = drawNoise(noise, draws, count, width, deviation);
    const action = tf.tidy(() => output.language.add(tf.tensor2d(drawn, [count, width])));
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

    const { logps, entropies, scoresOf } = gaussianScores(drawn, deviation);
    return {
      logits,
      greedy,
      labels: Array.from({ length: count }, () =>
        Array.from({ length: width }, (_, c) => ({ id: c, label: `channel ${c}` })),
      ),
      logps,
      entropies,
      actions: width,
      weights: null,
      readsMasks: false,
      logProbs: (other) => scoresOf(action, other.language),
      dispose() {
        action.dispose();
      },
    };
  };
}

/** Predicted IoU of candidates 1…3 for the rows of several [B, 4] tensors, read back. */
async function candidateScores(tensors: readonly Tensor[], rows: number): Promise<number[][]> {
  const values = await Promise.all(tensors.map((tensor) => tensor.data()));
  const flat = values.flatMap((array) => Array.from(array));
  return Array.from({ length: rows }, (_, n) => flat.slice(n * 4 + 1, n * 4 + 4));
}
