/** Runs of queries whose attention scores fit a scratch array, and the products of a run. */

import { attentionForm, builtInForms } from "../../forms/active.ts";
import type { AttentionForm as KernelForm } from "../../forms/records.ts";
import { recordProduct } from "../../matmul/matmul-program.ts";
import type { ProductSpec } from "../../matmul/product-form.ts";

import { unwritten } from "../../runtime/program.ts";
import { dispatchWork } from "../../runtime/work-budget.ts";
import type { tf } from "../../tf.ts";

export interface AttentionForm {
  readonly scale: number;
  /** Query i sees the keys up to Tk − Tq + i. */
  readonly causal: boolean;
  /** With `causal`: number of visible keys, including its own; 0 = all. */
  readonly reach: number;
}

/** Bytes of a run's scratch array, if set by a test. */
let scratchBytes: number | undefined;

/** For tests. Without bytes, the adapter's default applies again. */
export function setAttentionScratch(bytes?: number): void {
  scratchBytes = bytes;
}

export interface Run {
  /** First query of the run, and its number of queries. */
  readonly start: number;
  readonly count: number;
  /** First key that any of the queries sees, and the number of keys from there on. */
  readonly from: number;
  readonly width: number;
  /**
   * Elements from one row of scores to the next: `width` rounded up to a multiple of four. The softmax sets the rest to
   * 0.
   */
  readonly stride: number;
  /** Last key that the first query sees, relative to `from`. */
  readonly last: number;
}

export interface Sizes {
  readonly heads: number;
  readonly keyHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly d: number;
  readonly dv: number;
}

export function sizesOf(q: tf.TensorInfo, v: tf.TensorInfo): Sizes {
  const [batch, heads, queries, d] = q.shape as [number, number, number, number];
  const [, keyHeads, keys, dv] = v.shape as [number, number, number, number];
  return { heads: batch * heads, keyHeads: batch * keyHeads, queries, keys, d, dv };
}

/** The form of an attention of these sizes, by its bucket. */
export function formFor({ heads, keyHeads, queries, keys, d, dv }: Sizes, causal: boolean): KernelForm {
  return attentionForm({ heads, group: heads / keyHeads, queries, keys, width: d, valueWidth: dv, causal });
}

const upToFour = (count: number): number => 4 * Math.ceil(count / 4);

/**
 * Splits the queries into runs whose scores fit the scratch array, and whose products fit the limit of a dispatch's work.
 * A run has at least eight queries.
 */
export function runsOf({ heads, queries, keys, d, dv }: Sizes, { causal, reach }: AttentionForm): Run[] {
  const bytes = scratchBytes ?? builtInForms().runBytes;
  const scores = Math.min(bytes / Float32Array.BYTES_PER_ELEMENT, dispatchWork() / Math.max(d, dv));
  const fitting = Math.floor(scores / (heads * upToFour(keys)));
  const step = Math.max(8, fitting - (fitting % 8));
  const before = keys - queries;
  const runs: Run[] = [];
  for (let start = 0; start < queries; start += step) {
    const count = Math.min(step, queries - start);
    const first = causal && reach > 0 ? Math.max(0, before + start + 1 - reach) : 0;
    const from = first - (first % 4);
    const width = (causal ? before + start + count : keys) - from;
    runs.push({ start, count, from, width, stride: upToFour(width), last: before + start - from });
  }
  return runs;
}

/**
 * Products of rows of `left` with rows of `right` over their common width: the scores, or the gradient of the weights.
 * Writes whole groups of four; values beyond the last key are not used.
 */
export function scores(
  s: Sizes,
  run: Run,
  causal: boolean,
  left: tf.TensorInfo,
  right: tf.TensorInfo,
  into: tf.TensorInfo,
): void {
  const inner = left.shape[3] as number;
  const spec: ProductSpec = {
    m: run.count,
    n: run.stride,
    k: inner,
    batch: s.heads,
    share: s.heads / s.keyHeads,
    a: left,
    aPlace: { line: inner, step: 1, batch: s.queries * inner, offset: run.start * inner },
    b: right,
    bPlace: { line: inner, step: 1, batch: s.keys * inner, offset: run.from * inner },
    out: { row: run.stride, batch: run.count * run.stride },
    into,
    end: "alone",
    ...(causal ? { bound: { kind: "triangle", reach: run.last } } : {}),
  };
  recordProduct(s.queries === 1 ? groupedRows(spec, s) : spec, []);
}

/**
 * weights [heads, count, stride] times rows of `right` [keys, inner], into the run's rows of `into`. Weights beyond
 * `width` are 0.
 * @param stats [heads, queries, 2], with a factor of the row as the second number; omitted for a factor of 1
 */
export function mix(
  s: Sizes,
  run: Run,
  causal: boolean,
  weights: tf.TensorInfo,
  right: tf.TensorInfo,
  into: tf.TensorInfo,
  stats?: tf.TensorInfo,
): void {
  const inner = right.shape[3] as number;
  const rowFactors =
    stats === undefined ? undefined : { of: stats, offset: 2 * run.start + 1, row: 2, batch: 2 * s.queries };
  const spec: ProductSpec = {
    m: run.count,
    n: inner,
    k: run.stride,
    batch: s.heads,
    share: s.heads / s.keyHeads,
    a: weights,
    aPlace: { line: run.stride, step: 1, batch: run.count * run.stride },
    b: right,
    bPlace: { line: 1, step: inner, batch: s.keys * inner, offset: run.from * inner },
    out: { row: inner, batch: s.queries * inner, offset: run.start * inner },
    into,
    end: rowFactors === undefined ? "alone" : "scaled",
    ...(rowFactors === undefined ? {} : { rowFactors }),
    ...(causal ? { bound: { kind: "upTo", reach: run.last + 1 } } : {}),
  };
  recordProduct(s.queries === 1 ? groupedRows(spec, s) : spec, []);
}

/** A single query sees all keys, so the query heads of a group become the rows of one product. */
function groupedRows({ bound: _, ...spec }: ProductSpec, s: Sizes): ProductSpec {
  const group = s.heads / s.keyHeads;
  const aPlace = { ...spec.aPlace, batch: group * spec.aPlace.line };
  const { rowFactors: factors } = spec;
  const rowFactors = factors === undefined ? {} : { rowFactors: { ...factors, batch: group * factors.row } };
  const out = { ...spec.out, batch: group * spec.out.row };
  return { ...spec, m: group, batch: s.keyHeads, share: 1, aPlace, out, ...rowFactors };
}

/** weightsᵀ times the run's rows of `right`, summed over the query heads of a group, into the run's keys of `into`. */
export function gather(
  s: Sizes,
  run: Run,
  causal: boolean,
  weights: tf.TensorInfo,
  right: tf.TensorInfo,
  into: tf.TensorInfo,
  accumulate: boolean,
): void {
  const inner = right.shape[3] as number;
  const group = s.heads / s.keyHeads;
  const block = run.count * run.stride;
  const spec: ProductSpec = {
    m: run.width,
    n: inner,
    k: run.count,
    batch: s.keyHeads,
    repeats: group,
    a: weights,
    aPlace: { line: 1, step: run.stride, batch: group * block, repeat: block },
    b: right,
    bPlace: {
      line: 1,
      step: inner,
      batch: group * s.queries * inner,
      offset: run.start * inner,
      repeat: s.queries * inner,
    },
    out: { row: inner, batch: s.keys * inner, offset: run.from * inner },
    into,
    end: accumulate ? "adding" : "alone",
    ...(causal ? { bound: { kind: "onwards", reach: run.last } } : {}),
  };
  recordProduct(spec, []);
}

export interface Inputs {
  readonly q: tf.TensorInfo;
  readonly k: tf.TensorInfo;
  readonly v: tf.TensorInfo;
  readonly mask: tf.TensorInfo | undefined;
}

export function scratchFor(s: Sizes, runs: readonly Run[]): tf.TensorInfo {
  return unwritten([s.heads * Math.max(...runs.map((run) => run.count * run.stride))]);
}
