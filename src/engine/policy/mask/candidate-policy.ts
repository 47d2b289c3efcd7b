/**
 * Mask policy "candidate choice": SAM2 proposes three masks for a language prompt, and the policy picks one by
 * softmax(predicted IoU / τ). All three are rollouts, weighted by their probability, so the gradient is that of the
 * exact expectation. It reaches the IoU head and everything before it, but not the shapes of the masks.
 */
import { readOnce } from "../../gpu/runtime/read-back.ts";
import { tf } from "../../gpu/tf.ts";
import {
  argMax,
  bestCandidate,
  CANDIDATES,
  candidateLogits,
  candidateLogProbs,
  type MaskPolicy,
} from "./mask-policy.ts";

export function candidatePolicy(temperature: number): MaskPolicy {
  return async (output) => {
    const decoded = output.decoded();
    const values = await readOnce(candidateLogProbs(decoded, temperature));
    const probabilities = Array.from(values, Math.exp);
    const entropy = probabilities.reduce((sum, p, k) => sum - (p > 0 ? p * (values[k] as number) : 0), 0);
    return {
      logits: candidateLogits(decoded),
      greedy: bestCandidate(decoded, argMax(values)),
      labels: Array.from({ length: CANDIDATES }, (_, k) => [{ id: k, label: `candidate ${k + 1}` }]),
      logps: Float32Array.from(values),
      entropies: new Float32Array(CANDIDATES).fill(entropy),
      actions: 1,
      probabilities,
      readsMasks: true,
      logProbs(other) {
        const logps = candidateLogProbs(other.decoded(), temperature);
        const entropies = tf.tidy(() => tf.tile(logps.exp().mul(logps).sum().neg().reshape([1, 1]), [CANDIDATES, 1]));
        return { logps: logps.reshape([CANDIDATES, 1]), entropies };
      },
      dispose() {},
    };
  };
}
