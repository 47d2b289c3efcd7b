/**
 * Log-probability and entropy of chosen tokens. Layout: logits [N, V] row by row. One thread (software adapter) or
 * workgroup computes a row of up to 2,048 entries; longer rows are split into spans (kernels/logprob-spans.ts). No
 * softmax is stored: the gradient recomputes it from the row's log-sum-exp. f32. Equals clip, tf.logSoftmax, one-hot
 * and sums.
 */

import { type RowProgram, runRows } from "../rows-program.ts";
import { customKernels } from "../runtime/custom-kernels.ts";
import { defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { LOGIT, ROW_SUMS, SPAN, scoresInSpans, slopesOf } from "./logprob-spans.ts";

export interface TokenScores {
  /** log softmax(z/τ)[id], [N]. */
  readonly logp: Tensor;
  /** −Σ p log p in nats of the tempered distribution, [N]. */
  readonly entropy: Tensor;
}

/**
 * Log-probability of chosen ids and entropy of their distributions. Logits are clipped to ±guard before temperature;
 * a clipped logit has zero gradient (docs/spec/grpo.md#3-log-probabilities).
 * @param logits [N, V]
 * @param ids [N] int32
 * @param temperature τ > 0
 * @param guard clip bound, Infinity for none
 */
export function tokenScores(logits: Tensor, ids: Tensor, temperature: number, guard: number): TokenScores {
  if (customKernels() && suits(logits)) {
    const [logp, entropy] = tf.tidy(() => {
      const bound = Number.isFinite(guard) ? guard : NO_GUARD;
      return customScores({ logits, ids: ids.toInt() }, { temperature, guard: bound }).slice(0, 2);
    }) as [Tensor, Tensor];
    return { logp, entropy };
  }
  const [logp, entropy] = tf.tidy(() => {
    const width = logits.shape[1] as number;
    const guarded = Number.isFinite(guard) ? logits.clipByValue(-guard, guard) : logits;
    const logProbs = tf.logSoftmax(guarded.div(temperature) as tf.Tensor2D);
    const chosen = logProbs.mul(tf.oneHot(ids.toInt() as tf.Tensor1D, width)).sum(-1);
    return [chosen, logProbs.exp().mul(logProbs).sum(-1).neg()];
  }) as [Tensor, Tensor];
  return { logp, entropy };
}

/** The largest float32: a guard that clips no finite logit. */
export const NO_GUARD = 3.4028234e38;

const SCORES: RowProgram = {
  name: "lab-token-scores",
  inputs: { logits: "f32", ids: "i32" },
  outputs: { logp: "f32", entropy: "f32", lse: "f32" },
  uniforms: { rows: "u32", width: "u32", temperature: "f32", guard: "f32" },
  header: LOGIT,
  body: `
    let line = row * u.width;
    let start = 0u;
    let end = u.width;
    ${ROW_SUMS}
    if (first == 0u) {
      let z = logit(logits[line + min(u32(ids[row]), u.width - 1u)]) - top;
      logp[row] = z - log(total);
      entropy[row] = log(total) - slope / total;
      lse[row] = top + log(total);
    }`,
};

const customScores = defineOp({
  name: "LabTokenScores",
  saved: ["logits", "ids"],
  savedOutputs: [false, true, true],
  forward(inputs, { temperature, guard }) {
    const { logits, ids } = inputs as Record<"logits" | "ids", tf.TensorInfo>;
    const [rows, width] = logits.shape as [number, number];
    const numbers = [temperature as number, guard as number];
    if (width > SPAN) return scoresInSpans(logits, ids, temperature as number, guard as number);
    const column = { shape: [rows] };
    return runRows(SCORES, [logits, ids], [column, column, column], rows, width, numbers);
  },
  gradient([dlogp, dentropy], [logits, ids, entropy, lse], { temperature, guard }) {
    const z = logits as Tensor;
    const inputs = [ids, dlogp, dentropy, entropy, lse] as [Tensor, Tensor, Tensor, Tensor, Tensor];
    const sizes = z.shape as [number, number];
    return {
      logits: () => toTensor(slopesOf(z, inputs, sizes, 0, temperature as number, guard as number)),
    };
  },
});
