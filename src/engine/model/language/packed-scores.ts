/** Log-probabilities of chosen tokens with a packed head, without logits of all positions at once. */
import { type TokenScores, tokenScores } from "../../gpu/kernels/logprob.ts";
import { packedLinear } from "../../gpu/packed/linear.ts";
import type { PackedMatrix } from "../../gpu/packed/matrix.ts";
import { recomputed } from "../../gpu/runtime/recompute.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";

/** Maximum bytes of logits per run of positions; with 151,679 tokens that is 55 positions. */
const LOGIT_BYTES = 32 * 2 ** 20;

/**
 * log π and entropy of `ids` under the head, equal to `tokenScores` of its logits. Long inputs are processed in runs of
 * positions whose logits are dropped and recomputed in the backward pass: a published vocabulary takes 607 kB per
 * position, so the logits of a group would exceed bindings and memory (docs/spec/sa2va.md#17-sizes).
 * @param hidden [N, D]
 * @param ids [N] int32
 * @param logitBytes maximum bytes of logits at a time
 * @returns both [N]
 */
export function packedScores(
  head: PackedMatrix,
  hidden: Tensor,
  ids: Tensor,
  temperature: number,
  guard: number,
  logitBytes: number = LOGIT_BYTES,
): TokenScores {
  const [places, width] = hidden.shape as [number, number];
  const step = Math.max(1, Math.floor(logitBytes / (4 * head.shape[0])));
  const score = (states: Tensor, chosen: Tensor): Tensor[] => {
    const scores = tokenScores(packedLinear(states, head), chosen, temperature, guard);
    return [scores.logp, scores.entropy];
  };
  const [logp, entropy] = tf.tidy(() => {
    const list = ids.toInt();
    if (places <= step) return score(hidden, list);
    const runs: Tensor[][] = [];
    for (let from = 0; from < places; from += step) {
      const count = Math.min(step, places - from);
      runs.push(
        recomputed({
          inputs: [hidden.slice([from, 0], [count, width])],
          // The head is frozen and has no low-rank branch.
          parameters: [],
          constants: [list.slice([from], [count])],
          run: ([states], [chosen]) => tf.tidy(() => score(states as Tensor, chosen as Tensor)),
        }),
      );
    }
    return [0, 1].map((at) => tf.concat(runs.map((run) => run[at] as Tensor)));
  }) as [Tensor, Tensor];
  return { logp, entropy };
}
