import { ownKernels } from "../own-kernels.ts";
import { defineOp, suits, toTensor } from "../own-op.ts";
import { type RowProgram, runRows } from "../rows-program.ts";
import { type Tensor, tf } from "../tf.ts";

export interface TokenScores {
  /** log softmax(z/τ)[id], [N]. */
  readonly logp: Tensor;
  /** −Σ p log p in nats of the tempered distribution, [N]. */
  readonly entropy: Tensor;
}

/**
 * Log-probability of chosen ids and entropy of their distributions. Logits are clipped to ±guard before temperature;
 * a clipped logit has zero gradient (reference: grpo.md §3).
 * @param logits [N, V]
 * @param ids [N] int32
 * @param temperature τ > 0
 * @param guard clip bound, Infinity for none
 */
export function tokenScores(logits: Tensor, ids: Tensor, temperature: number, guard: number): TokenScores {
  if (ownKernels() && suits(logits)) {
    const [logp, entropy] = tf.tidy(() => {
      const bound = Number.isFinite(guard) ? guard : NO_GUARD;
      return ownScores({ logits, ids: ids.toInt() }, { temperature, guard: bound }).slice(0, 2);
    }) as [Tensor, Tensor];
    return { logp, entropy };
  }
  const [logp, entropy] = tf.tidy(() => {
    const width = logits.shape[1] as number;
    const guarded = Number.isFinite(guard) ? clipOpen(logits, guard) : logits;
    const logProbs = tf.logSoftmax(guarded.div(temperature) as tf.Tensor2D);
    const chosen = logProbs.mul(tf.oneHot(ids.toInt() as tf.Tensor1D, width)).sum(-1);
    return [chosen, logProbs.exp().mul(logProbs).sum(-1).neg()];
  }) as [Tensor, Tensor];
  return { logp, entropy };
}

/** Clip whose gradient is 1 strictly inside ±bound and 0 at and beyond it. */
export function clipOpen(x: Tensor, bound: number): Tensor {
  return tf.tidy(() => x.clipByValue(-bound, bound));
}

/** The largest float32, a bound no finite logit passes. */
const NO_GUARD = 3.4028234e38;

const LOGIT = `
  fn logit(value: f32) -> f32 { return clamp(value, -u.guard, u.guard) / u.temperature; }`;

const SCORES: RowProgram = {
  name: "lab-token-scores",
  inputs: { logits: "f32", ids: "i32" },
  outputs: { logp: "f32", entropy: "f32", lse: "f32" },
  uniforms: { rows: "u32", width: "u32", temperature: "f32", guard: "f32" },
  header: LOGIT,
  body: `
    let base = row * u.width;
    var top = -3.0e38;
    for (var i = first; i < u.width; i += step) { top = max(top, logit(logits[base + i])); }
    top = largest(top, lane);
    var total = 0.0;
    var slope = 0.0;
    for (var i = first; i < u.width; i += step) {
      let z = logit(logits[base + i]) - top;
      let e = exp(z);
      total += e;
      slope += e * z;
    }
    total = sum(total, lane);
    slope = sum(slope, lane);
    if (first == 0u) {
      let z = logit(logits[base + min(u32(ids[row]), u.width - 1u)]) - top;
      logp[row] = z - log(total);
      entropy[row] = log(total) - slope / total;
      lse[row] = top + log(total);
    }`,
};

/** d/dz: dlogp · (onehot − p) − dentropy · p (log p + entropy), 0 where the guard clips. */
const SCORES_GRAD: RowProgram = {
  name: "lab-token-scores-grad",
  inputs: { logits: "f32", ids: "i32", dlogp: "f32", dentropy: "f32", entropy: "f32", lse: "f32" },
  outputs: { result: "f32" },
  uniforms: { rows: "u32", width: "u32", temperature: "f32", guard: "f32" },
  header: LOGIT,
  body: `
    let base = row * u.width;
    let g = dlogp[row];
    let h = dentropy[row];
    let id = u32(ids[row]);
    for (var i = first; i < u.width; i += step) {
      let value = logits[base + i];
      let l = logit(value) - lse[row];
      let p = exp(l);
      let d = g * (select(0.0, 1.0, i == id) - p) - h * p * (l + entropy[row]);
      result[base + i] = select(0.0, d / u.temperature, abs(value) < u.guard);
    }`,
};

const ownScores = defineOp({
  name: "LabTokenScores",
  saved: ["logits", "ids"],
  savedOutputs: [false, true, true],
  forward(inputs, { temperature, guard }) {
    const { logits, ids } = inputs as Record<"logits" | "ids", tf.TensorInfo>;
    const [rows, width] = logits.shape as [number, number];
    const column = { shape: [rows] };
    return runRows(SCORES, [logits, ids], [column, column, column], rows, width, [
      temperature as number,
      guard as number,
    ]);
  },
  gradient([dlogp, dentropy], [logits, ids, entropy, lse], { temperature, guard }) {
    const [rows, width] = (logits as Tensor).shape as [number, number];
    const inputs = [logits, ids, dlogp, dentropy, entropy, lse] as Tensor[];
    const settings = [temperature as number, guard as number];
    return {
      logits: () => toTensor(runRows(SCORES_GRAD, inputs, [{ shape: [rows, width] }], rows, width, settings)[0]),
    };
  },
});
