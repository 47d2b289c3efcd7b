/** Log-probabilities of chosen tokens, over the vocabularies of the pocket model and Sa2VA-1B. */
import { headScores } from "../../src/engine/gpu/kernels/attention/head-scores.ts";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { JaxFunction } from "../baselines/jax.ts";
import type { Case } from "./case.ts";

/** Rows of Sa2VA-1B's head, and the same padded to whole blocks as in some checkpoints. */
const VOCABULARY = 151_679;
const PADDED = 151_680;
const CHOSEN = 7;

const chosen =
  (rows: number): JaxFunction =>
  (jax, x) => {
    const at = jax.numpy.full([rows, 1], CHOSEN, { dtype: jax.numpy.int32 });
    return jax.numpy.takeAlongAxis(jax.nn.logSoftmax(x as NonNullable<typeof x>, -1), at, 1);
  };

/** Ours also computes the entropy, the others only the chosen log-probability. */
function scores(rows: number, width: number, gradient: boolean): Case {
  // Kept for the life of the process, because it is not among the inputs that are drawn for every case.
  const ids = tf.tensor1d(new Int32Array(rows).fill(CHOSEN), "int32");
  return {
    name: `chosen log-probability, ${rows} x ${width}${gradient ? ", with gradient" : ""}`,
    inputs: [[rows, width]],
    run: (x) => {
      const { logp, entropy } = tokenScores(x as Tensor, ids, 1, 30);
      return gradient ? logp : [logp, entropy];
    },
    gradient,
    jax: chosen(rows),
    jaxLayout: (x) => (x.rank === 1 ? x.reshape([rows, 1]) : x.clone()),
  };
}

function head(rows: number, width: number, vocabulary: number): Case {
  const ids = tf.tensor1d(new Int32Array(rows).fill(CHOSEN), "int32");
  return {
    name: `head and chosen log-probability, ${rows} rows of ${width} over ${vocabulary}`,
    inputs: [
      [rows, width],
      [vocabulary, width],
    ],
    run: (...[h, w]) => Object.values(headScores(h as Tensor, w as Tensor, ids, 1, 30)),
    flops: 2 * rows * width * vocabulary,
    jax: (jax, ...[h, w]) => {
      const logits = jax.numpy.matmul(h as NonNullable<typeof h>, jax.numpy.transpose(w as NonNullable<typeof w>));
      return chosen(rows)(jax, logits);
    },
  };
}

export function scoring(): Case[] {
  return [
    scores(128, 351, true),
    scores(16, PADDED, false),
    scores(16, VOCABULARY, false),
    scores(4, PADDED, true),
    head(64, 64, 32_768),
    head(8, 896, 32_768),
  ];
}
