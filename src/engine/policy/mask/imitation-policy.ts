/**
 * "Reward-weighted imitation": no policy gradient. Masks are drawn as by the coarse Gaussian field, and cross-entropy
 * and Dice pull the decoder towards them, each weighted by its share of the group's reward. It is the control that
 * shows what the policy gradient adds (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action I and K).
 */
import { tf } from "../../gpu/tf.ts";
import { recipeLoss } from "../../model/mask-loss.ts";
import { fieldPolicy } from "./field-policy.ts";
import type { Noise } from "./gaussian-actions.ts";
import { bestCandidate, bestIndex, type MaskPolicy } from "./mask-policy.ts";

/** Takes the parameters of `fieldPolicy`. */
export function imitationPolicy(grid: number, noise: Noise, band = 0): MaskPolicy {
  const field = fieldPolicy(grid, noise, band);
  return async (output, count, draws) => {
    const sampledMasks = await field(output, count, draws);
    const index = await bestIndex(output.decoded());
    const drawn = tf.tidy(() => sampledMasks.logits.greater(0).toFloat());
    return {
      ...sampledMasks,
      imitate(other, shares) {
        return tf.tidy(() => {
          const [, height, width] = drawn.shape as [number, number, number];
          const mask = bestCandidate(other.decoded(), index);
          const losses = shares.map((share, n) => {
            return recipeLoss(mask, tf.slice(drawn, [n, 0, 0], [1, height, width])).mul(share);
          });
          // Not addN, which binds all losses at once: devices bind few buffers.
          return losses.reduce((sum, loss) => sum.add(loss));
        });
      },
      dispose() {
        sampledMasks.dispose();
        drawn.dispose();
      },
    };
  };
}
