/**
 * Token scores over a long vocabulary. Layout: a block of logits [N, width] that begins at entry `base` of the vocabulary;
 * blocks may be computed one after the other into one scratch array, so that N × V never exists.
 * Plan: every span of 2,048 entries gives its largest logit z, Σ e^(z−top) and Σ e^(z−top)(z−top) to one thread or
 * workgroup; a second dispatch folds the spans of a row in order. The gradient goes element by element.
 * Limits: rows × spans below 2³². Numerics: f32, fixed order, no atomics; ids beyond the vocabulary count as its last.
 */
import { release, unwritten } from "../program.ts";
import { pointProgram, type RowProgram, runRows } from "../rows-program.ts";
import type { tf } from "../tf.ts";

/** Entries of a span. */
export const SPAN = 2048;

export const LOGIT = `
  fn logit(value: f32) -> f32 { return clamp(value, -u.guard, u.guard) / u.temperature; }`;

/** Folds spans into what their row needs. */
const SPANS: RowProgram = {
  name: "lab-token-spans",
  inputs: { logits: "f32", ids: "i32" },
  outputs: { parts: "f32", chosen: "f32" },
  uniforms: {
    rows: "u32",
    width: "u32",
    spans: "u32",
    base: "u32",
    vocabulary: "u32",
    slot: "u32",
    slots: "u32",
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
    var top = -3.0e38;
    for (var i = start + first; i < end; i += step) { top = max(top, logit(logits[line + i])); }
    top = largest(top, lane);
    var total = 0.0;
    var slope = 0.0;
    for (var i = start + first; i < end; i += step) {
      let z = logit(logits[line + i]) - top;
      let e = exp(z);
      total += e;
      slope += e * z;
    }
    total = sum(total, lane);
    slope = sum(slope, lane);
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

/** d/dz: dlogp · (onehot − p) − dentropy · p (log p + entropy), 0 where the guard clips; from `source` into `result`. */
function slopes(name: string, source: string, inputs: Record<string, "f32">): ReturnType<typeof pointProgram> {
  return pointProgram({
    name,
    inputs: { ...inputs, ids: "i32", dlogp: "f32", dentropy: "f32", entropy: "f32", lse: "f32" },
    outputs: { result: "f32" },
    uniforms: { size: "u32", width: "u32", base: "u32", temperature: "f32", guard: "f32" },
    header: LOGIT,
    body: `
      let row = i / u.width;
      let value = ${source}[i];
      let l = logit(value) - lse[row];
      let p = exp(l);
      let chosen = select(0.0, 1.0, u.base + i % u.width == u32(ids[row]));
      let d = dlogp[row] * (chosen - p) - dentropy[row] * p * (l + entropy[row]);
      result[i] = select(0.0, d / u.temperature, abs(value) < u.guard);`,
  });
}

export const SLOPES = slopes("lab-token-slopes", "logits", { logits: "f32" });
/** The same in place. */
export const SLOPES_IN_PLACE = slopes("lab-token-slopes-in-place", "result", {});

/** Folds blocks of logits, given one after the other, into the scores of their rows. */
export class SpanFold {
  readonly #rows: number;
  readonly #slots: number;
  readonly #vocabulary: number;
  readonly #parts: tf.TensorInfo;
  readonly #chosen: tf.TensorInfo;
  readonly #settings: readonly [number, number];
  #slot = 0;

  /** @param slots spans of all blocks together */
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
export function scoresInSpans(
  logits: tf.TensorInfo,
  ids: tf.TensorInfo,
  temperature: number,
  guard: number,
): tf.TensorInfo[] {
  const [rows, width] = logits.shape as [number, number];
  const fold = new SpanFold(rows, Math.ceil(width / SPAN), width, temperature, guard);
  fold.add(logits, ids, 0, width);
  return fold.finish();
}
