/**
 * Mask policy "independent pixels": each pixel of the chosen mask is a Bernoulli variable with probability
 * sigmoid(logit / τ). The log-probability is exact and the gradient reaches the whole decoder, but the masks are
 * speckled and rewards barely differ. For teaching and comparison
 * (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action, row C).
 */
import { readOnce } from "../../engine/gpu/runtime/read-back.ts";
import { tf } from "../../engine/gpu/tf.ts";
import { bestCandidate, bestIndex, type MaskPolicy } from "../../engine/policy/mask/mask-policy.ts";
import { bernoulliEntropy, bernoulliLogProb, sampleBernoulli } from "./bernoulli.ts";

/** Distance of a sampled pixel's logit from 0; only the sign matters after the enlargement. */
const SURE = 4;

/** @param temperature divides the logits; below 1 the pixels are less random */
export function pixelPolicy(temperature: number): MaskPolicy {
  return async (output, count, draws) => {
    const decoded = output.decoded();
    const index = await bestIndex(decoded);
    const greedy = bestCandidate(decoded, index);
    const [, height, width] = greedy.shape as [number, number, number];
    const cells = height * width;
    const own = (await greedy.data()) as Float32Array;
    const uniforms = new Float32Array(count * cells);
    for (let n = 0; n < count; n++) for (let c = 0; c < cells; c++) uniforms[n * cells + c] = draws.uniform(n, c);
    const bits = sampleBernoulli(own, temperature, uniforms);
    const action = tf.tensor2d(Float32Array.from(bits), [count, cells]);
    const logits = tf.tidy(() => action.mul(2).sub(1).mul(SURE).reshape([count, height, width]));
    const logps = Float32Array.from(bits, (bit, at) => {
      const z = ((own[at % cells] as number) / temperature) * (2 * bit - 1);
      return z > 0 ? -Math.log1p(Math.exp(-z)) : z - Math.log1p(Math.exp(z));
    });
    return {
      logits,
      greedy,
      labels: Array.from({ length: count }, (_, n) =>
        Array.from({ length: cells }, (_unused, c) => ({
          id: bits[n * cells + c] as number,
          label: `cell ${Math.floor(c / width)},${c % width}`,
        })),
      ),
      logps,
      entropies: await entropiesOf(own, temperature, count),
      actions: cells,
      probabilities: null,
      readsMasks: true,
      logProbs(other) {
        const flat = bestCandidate(other.decoded(), index).reshape([1, cells]);
        return {
          logps: bernoulliLogProb(flat, action, temperature),
          entropies: tf.tidy(() => tf.tile(bernoulliEntropy(flat, temperature), [count, 1])),
        };
      },
      dispose() {
        action.dispose();
      },
    };
  };
}

/** Entropy of each pixel, the same for all rollouts, [N·T]. */
async function entropiesOf(logits: Float32Array, temperature: number, count: number): Promise<Float32Array> {
  const once = await readOnce(tf.tidy(() => bernoulliEntropy(tf.tensor1d(logits), temperature)));
  const all = new Float32Array(count * logits.length);
  for (let n = 0; n < count; n++) all.set(once, n * logits.length);
  return all;
}
