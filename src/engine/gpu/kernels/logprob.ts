/**
 * Log-probability and entropy of chosen tokens. Layout: logits [N, V] row by row. One thread (software adapter) or
 * workgroup computes a row of up to 2,048 entries; longer rows are split into spans. No
 * softmax is stored: the gradient recomputes it from the row's log-sum-exp. f32. Equals clip, tf.logSoftmax, one-hot
 * and sums.
 */
import { type RowProgram, runRows } from "../rows-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import { flatGrid, type OutputInto, release, runProgram, unwritten } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";

// Token scores over a long vocabulary. Layout: a block of logits [N, width] that starts at entry `base` of the
// vocabulary. Blocks may be computed one after another into one scratch array, so that N × V never exists. Plan: one
// thread or workgroup per span of 2,048 entries computes its largest logit z, Σ e^(z−top) and Σ e^(z−top)(z−top); a
// second dispatch folds the spans of a row in order. The gradient is computed in pieces of rows. Limits: rows × spans
// below 2³². Numerics: f32, fixed order, no atomics; ids beyond the vocabulary count as its last.

/** Entries of a span. */
export const SPAN = 2048;

const LOGIT = `
  fn logit(value: f32) -> f32 { return clamp(value, -u.guard, u.guard) / u.temperature; }
  fn logits4(value: vec4f) -> vec4f { return clamp(value, vec4f(-u.guard), vec4f(u.guard)) / u.temperature; }`;

const CELLS = [0, 1, 2, 3];
const four = (entry: (c: number) => string): string => `vec4f(${CELLS.map(entry).join(", ")})`;

/**
 * Declares `top`, `total` and `slope` of entries `start` to `end` of the row at `line`: the largest logit z, Σ
 * e^(z−top) and Σ e^(z−top)(z−top). Reads four entries at a time; those beyond the end repeat the last one and are not
 * counted.
 */
const ROW_SUMS = `
    var tops = vec4f(-3.0e38);
    for (var i = start + 4u * first; i < end; i += 4u * step) {
      tops = max(tops, logits4(${four((c) => `logits[line + min(i + ${c}u, end - 1u)]`)}));
    }
    let top = largest(max(max(tops.x, tops.y), max(tops.z, tops.w)), lane);
    var totals = vec4f(0);
    var slopes = vec4f(0);
    for (var i = start + 4u * first; i < end; i += 4u * step) {
      let z = logits4(${four((c) => `logits[line + min(i + ${c}u, end - 1u)]`)}) - top;
      let e = select(vec4f(0), exp(z), vec4u(i, i + 1u, i + 2u, i + 3u) < vec4u(end));
      totals += e;
      slopes += e * z;
    }
    let total = sum((totals.x + totals.y) + (totals.z + totals.w), lane);
    let slope = sum((slopes.x + slopes.y) + (slopes.z + slopes.w), lane);`;

/** Folds the spans of a row into its results. */
const SPANS: RowProgram = {
  name: "lab-token-spans",
  inputs: { logits: "f32", ids: "i32" },
  outputs: { parts: "f32", chosen: "f32" },
  uniforms: {
    ...u32s("rows width spans base vocabulary slot slots"),
    temperature: "f32",
    guard: "f32",
  },
  header: LOGIT,
  body: `
    let n = row / u.spans;
    let span = row % u.spans;
    let start = span * ${SPAN}u;
    let end = min(u.width, start + ${SPAN}u);
    let line = n * u.width;
    ${ROW_SUMS}
    if (first == 0u) {
      let at = 3u * (n * u.slots + u.slot + span);
      parts[at] = top;
      parts[at + 1u] = total;
      parts[at + 2u] = slope;
      let id = min(u32(ids[n]), u.vocabulary - 1u);
      if (id >= u.base + start && id < u.base + end) { chosen[n] = logit(logits[line + id - u.base]); }
    }`,
};

const FOLD: RowProgram = {
  name: "lab-token-fold",
  inputs: { parts: "f32", chosen: "f32" },
  outputs: { logp: "f32", entropy: "f32", lse: "f32" },
  uniforms: { rows: "u32", width: "u32" },
  body: `
    let base = 3u * row * u.width;
    var top = -3.0e38;
    for (var i = first; i < u.width; i += step) { top = max(top, parts[base + 3u * i]); }
    top = largest(top, lane);
    var total = 0.0;
    var slope = 0.0;
    for (var i = first; i < u.width; i += step) {
      let lower = parts[base + 3u * i] - top;
      let scale = exp(lower);
      total += scale * parts[base + 3u * i + 1u];
      slope += scale * (parts[base + 3u * i + 2u] + lower * parts[base + 3u * i + 1u]);
    }
    total = sum(total, lane);
    slope = sum(slope, lane);
    if (first == 0u) {
      logp[row] = chosen[row] - top - log(total);
      entropy[row] = log(total) - slope / total;
      lse[row] = top + log(total);
    }`,
};

/** Threads per piece of a row, and the maximum number of groups of four entries per thread. */
const THREADS = 32;
const MOST = 16;

/**
 * d/dz: dlogp · (onehot − p) − dentropy · p (log p + entropy), 0 where the guard clips; from `source` into `result`. A
 * workgroup processes a piece of one row, so that each thread loads the row's numbers once. The last group of a row may
 * repeat its last entry, which is read before it is written.
 */
function slopesProgram(name: string, source: string, inputs: Record<string, "f32">): GpuProgram {
  return {
    name,
    inputs: { ...inputs, ids: "i32", dlogp: "f32", dentropy: "f32", entropy: "f32", lse: "f32" },
    outputs: { result: "f32" },
    uniforms: {
      ...u32s("rows width base run pieces"),
      temperature: "f32",
      guard: "f32",
    },
    workgroup: [THREADS, 1],
    body: `
      let piece = group.y * groups.x + group.x;
      let row = piece / u.pieces;
      if (row >= u.rows) { return; }
      let line = row * u.width;
      let begin = (piece % u.pieces) * u.run * ${THREADS}u + local.x;
      let id = u32(ids[row]);
      let gained = dlogp[row];
      let spread = dentropy[row];
      let level = entropy[row];
      let sum = lse[row];
      for (var n = 0u; n < u.run; n++) {
        let first = 4u * (begin + n * ${THREADS}u);
        if (first >= u.width) { return; }
        ${CELLS.map((c) => `let i${c} = min(first + ${c}u, u.width - 1u);`).join(" ")}
        let value = ${four((c) => `${source}[line + i${c}]`)};
        let l = clamp(value, vec4f(-u.guard), vec4f(u.guard)) / u.temperature - sum;
        let p = exp(l);
        let chosen = select(vec4f(0), vec4f(1), vec4u(${CELLS.map((c) => `i${c}`).join(", ")}) + u.base == vec4u(id));
        let d = gained * (chosen - p) - spread * p * (l + level);
        let slope = select(vec4f(0), d / u.temperature, abs(value) < vec4f(u.guard));
        ${CELLS.map((c) => `result[line + i${c}] = slope[${c}];`).join(" ")}
      }`,
  };
}

const SLOPES = slopesProgram("lab-token-slopes", "logits", { logits: "f32" });
const SLOPES_IN_PLACE = slopesProgram("lab-token-slopes-in-place", "result", {});

/** Inputs of the gradient besides the logits: ids, dlogp, dentropy, entropy, log-sum-exp, [N] each. */
type SlopeInputs = readonly [tf.TensorInfo, tf.TensorInfo, tf.TensorInfo, tf.TensorInfo, tf.TensorInfo];

/**
 * Gradient of the logits of entries base … base + width − 1 of the vocabulary.
 * @param logits [N, width], or a buffer that holds them and is overwritten
 */
export function slopesOf(
  logits: tf.TensorInfo | OutputInto,
  inputs: SlopeInputs,
  [rows, width]: readonly [number, number],
  base: number,
  temperature: number,
  guard: number,
): tf.TensorInfo {
  const fours = Math.ceil(width / 4);
  const run = Math.min(MOST, Math.ceil(fours / THREADS));
  const pieces = Math.ceil(fours / (THREADS * run));
  const uniforms = [rows, width, base, run, pieces, temperature, guard];
  const grid = flatGrid(rows * pieces);
  const results =
    "into" in logits
      ? runProgram(SLOPES_IN_PLACE, inputs, [logits], uniforms, grid)
      : runProgram(SLOPES, [logits, ...inputs], [{ shape: [rows, width] }], uniforms, grid);
  return results[0] as tf.TensorInfo;
}

/** Folds blocks of logits, given one after another, into the scores of their rows. */
export class SpanFold {
  readonly #rows: number;
  readonly #slots: number;
  readonly #vocabulary: number;
  readonly #parts: tf.TensorInfo;
  readonly #chosen: tf.TensorInfo;
  readonly #settings: readonly [number, number];
  #slot = 0;

  /** @param slots number of spans in all blocks */
  constructor(rows: number, slots: number, vocabulary: number, temperature: number, guard: number) {
    this.#rows = rows;
    this.#slots = slots;
    this.#vocabulary = vocabulary;
    this.#parts = unwritten([rows, slots, 3]);
    this.#chosen = unwritten([rows]);
    this.#settings = [temperature, guard];
  }

  /** @param block logits [N, width] of the entries base … base + width − 1 */
  add(block: tf.TensorInfo, ids: tf.TensorInfo, base: number, width: number): void {
    const spans = Math.ceil(width / SPAN);
    const uniforms = [spans, base, this.#vocabulary, this.#slot, this.#slots, ...this.#settings];
    const outputs = [{ into: this.#parts }, { into: this.#chosen }];
    runRows(SPANS, [block, ids], outputs, this.#rows * spans, width, uniforms);
    this.#slot += spans;
  }

  /** Log-probabilities, entropies and log-sum-exps, [N] each; ends the fold. */
  finish(): tf.TensorInfo[] {
    const column = { shape: [this.#rows] };
    const inputs = [this.#parts, this.#chosen];
    const scores = runRows(FOLD, inputs, [column, column, column], this.#rows, this.#slots);
    release(this.#parts);
    release(this.#chosen);
    return scores;
  }
}

/** Scores of whole rows of logits. */
function scoresInSpans(logits: tf.TensorInfo, ids: tf.TensorInfo, temperature: number, guard: number): tf.TensorInfo[] {
  const [rows, width] = logits.shape as [number, number];
  const fold = new SpanFold(rows, Math.ceil(width / SPAN), width, temperature, guard);
  fold.add(logits, ids, 0, width);
  return fold.finish();
}

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
