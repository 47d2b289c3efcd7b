/**
 * Attention forward and backward without the score matrix in memory.
 *
 * Layout: q [B, Hq, Tq, d], k [B, Hkv, Tk, d], v [B, Hkv, Tk, dv], contiguous; query heads j·g … j·g+g−1 read key head j.
 * Plan: queries are worked off in runs whose scores fit a scratch array of fixed size, so memory grows with Tq + Tk, not
 * with their product. A run is three dispatches forward (q kᵀ, softmax in place, times v) and seven backward, where the
 * weights are made again from the kept largest score and sum of each row; products leave out what causality or the window hides. On software
 * adapters this beats an online softmax (reference: webgpu.md §6.1).
 * Limits: B·Hq ≤ 65 535. Numerics: f32, sums in fixed order, no atomics. Equals `stockAttention` and its gradient.
 */
import { type ProductSpec, recordProduct } from "../matmul-program.ts";
import { defineOp, toTensor } from "../own-op.ts";
import { release, unwritten } from "../program.ts";
import { pointProgram, runPoints, runRows } from "../rows-program.ts";
import { type Tensor, tf } from "../tf.ts";
import { DELTA, SLOPES, SOFTMAX } from "./attention-rows.ts";

/** Scores of one run at most; a run has at least eight queries all the same. */
const SCRATCH_BYTES = 8 * 2 ** 20;

export interface AttentionForm {
  readonly scale: number;
  /** Query i sees keys up to Tk − Tq + i. */
  readonly causal: boolean;
  /** With `causal`: only so many keys back, itself included; 0 = all. */
  readonly reach: number;
}

/** Scratch of a run in bytes; tests make it small. */
let scratchBytes = SCRATCH_BYTES;
export function setAttentionScratch(bytes = SCRATCH_BYTES): void {
  scratchBytes = bytes;
}

interface Run {
  /** First query and how many. */
  readonly start: number;
  readonly count: number;
  /** First key any of them sees, and how many from there. */
  readonly from: number;
  readonly width: number;
  /** Last key the first query sees, counted from `from`. */
  readonly last: number;
}

interface Sizes {
  readonly heads: number;
  readonly keyHeads: number;
  readonly queries: number;
  readonly keys: number;
  readonly d: number;
  readonly dv: number;
}

function sizesOf(q: tf.TensorInfo, v: tf.TensorInfo): Sizes {
  const [batch, heads, queries, d] = q.shape as [number, number, number, number];
  const [, keyHeads, keys, dv] = v.shape as [number, number, number, number];
  return { heads: batch * heads, keyHeads: batch * keyHeads, queries, keys, d, dv };
}

function runsOf({ heads, queries, keys }: Sizes, { causal, reach }: AttentionForm): Run[] {
  const fitting = Math.floor(scratchBytes / (heads * keys * Float32Array.BYTES_PER_ELEMENT));
  const step = Math.max(8, fitting - (fitting % 8));
  const before = keys - queries;
  const runs: Run[] = [];
  for (let start = 0; start < queries; start += step) {
    const count = Math.min(step, queries - start);
    const first = causal && reach > 0 ? Math.max(0, before + start + 1 - reach) : 0;
    const from = first - (first % 4);
    const end = causal ? before + start + count : keys;
    runs.push({ start, count, from, width: end - from, last: before + start - from });
  }
  return runs;
}

/** rows of `left` times rows of `right` over their common width: the scores, or the gradient of the weights. */
function scores(
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
    n: run.width,
    k: inner,
    batch: s.heads,
    share: s.heads / s.keyHeads,
    a: left,
    aPlace: { line: inner, step: 1, batch: s.queries * inner, offset: run.start * inner },
    b: right,
    bPlace: { line: inner, step: 1, batch: s.keys * inner, offset: run.from * inner },
    out: { row: run.width, batch: run.count * run.width },
    into,
    ...(causal ? { bound: { kind: "triangle", reach: run.last } } : {}),
  };
  recordProduct(s.queries === 1 ? groupedRows(spec, s) : spec, []);
}

/** weights [heads, count, width] times rows of `right` [keys, inner] into the run's rows of `into`. */
function mix(
  s: Sizes,
  run: Run,
  causal: boolean,
  weights: tf.TensorInfo,
  right: tf.TensorInfo,
  into: tf.TensorInfo,
): void {
  const inner = right.shape[3] as number;
  const spec: ProductSpec = {
    m: run.count,
    n: inner,
    k: run.width,
    batch: s.heads,
    share: s.heads / s.keyHeads,
    a: weights,
    aPlace: { line: run.width, step: 1, batch: run.count * run.width },
    b: right,
    bPlace: { line: 1, step: inner, batch: s.keys * inner, offset: run.from * inner },
    out: { row: inner, batch: s.queries * inner, offset: run.start * inner },
    into,
    ...(causal ? { bound: { kind: "upTo", reach: run.last + 1 } } : {}),
  };
  recordProduct(s.queries === 1 ? groupedRows(spec, s) : spec, []);
}

/** A single query place sees all keys, so the query heads of a group are the rows of one product. */
function groupedRows({ bound: _, ...spec }: ProductSpec, s: Sizes): ProductSpec {
  const group = s.heads / s.keyHeads;
  const aPlace = { ...spec.aPlace, batch: group * spec.aPlace.line };
  return { ...spec, m: group, batch: s.keyHeads, share: 1, aPlace, out: { ...spec.out, batch: group * spec.out.row } };
}

/** weightsᵀ times the run's rows of `right`, summed over the query heads of a group, into the run's keys of `into`. */
function gather(
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
  const block = run.count * run.width;
  const spec: ProductSpec = {
    m: run.width,
    n: inner,
    k: run.count,
    batch: s.keyHeads,
    repeats: group,
    a: weights,
    aPlace: { line: 1, step: run.width, batch: group * block, repeat: block },
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
    accumulate,
    ...(causal ? { bound: { kind: "onwards", reach: run.last } } : {}),
  };
  recordProduct(spec, []);
}

/** Element strides of a mask in [B, heads, Tq, Tk], 0 where it is shared. */
function maskStrides(mask: tf.TensorInfo): [number, number, number, number] {
  const shape = [1, 1, 1, 1, ...mask.shape].slice(-4);
  let stride = 1;
  const strides: [number, number, number, number] = [0, 0, 0, 0];
  for (let axis = 3; axis >= 0; axis--) {
    const size = shape[axis] as number;
    strides[axis] = size === 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

/** Values of SEEN and of the two fields after it. */
function seenValues(
  s: Sizes,
  run: Run,
  form: AttentionForm,
  perBatch: number,
  mask: tf.TensorInfo | undefined,
): number[] {
  const [batch, head, row, key] = mask === undefined ? [0, 0, 0, 0] : maskStrides(mask);
  const start = run.start * row + run.from * key;
  const reach = form.causal ? form.reach : 0;
  const masked = mask === undefined ? 0 : 1;
  const seen = [perBatch, run.count, form.causal ? 1 : 0, run.last, reach, masked, start, batch, head, row, key];
  return [...seen, form.scale, s.queries, run.start];
}

interface Inputs {
  readonly q: tf.TensorInfo;
  readonly k: tf.TensorInfo;
  readonly v: tf.TensorInfo;
  readonly mask: tf.TensorInfo | undefined;
}

function scratchFor(s: Sizes, runs: readonly Run[]): tf.TensorInfo {
  return unwritten([s.heads * Math.max(...runs.map((run) => run.count * run.width))]);
}

function forward({ q, k, v, mask }: Inputs, form: AttentionForm): [out: tf.TensorInfo, stats: tf.TensorInfo] {
  const s = sizesOf(q, v);
  const perBatch = q.shape[1] as number;
  const runs = runsOf(s, form);
  const scratch = scratchFor(s, runs);
  const out = unwritten([...q.shape.slice(0, 3), s.dv]);
  const stats = unwritten([...q.shape.slice(0, 3), 2]);
  for (const run of runs) {
    scores(s, run, form.causal, q, k, scratch);
    const rows = s.heads * run.count;
    const uniforms = seenValues(s, run, form, perBatch, mask);
    runRows(SOFTMAX, [mask ?? q], [{ into: scratch }, { into: stats }], rows, run.width, uniforms);
    mix(s, run, form.causal, scratch, v, out);
  }
  release(scratch);
  return [out, stats];
}

function backward(
  { q, k, v, mask }: Inputs,
  form: AttentionForm,
  dy: tf.TensorInfo,
  y: tf.TensorInfo,
  stats: tf.TensorInfo,
): [dq: tf.TensorInfo, dk: tf.TensorInfo, dv: tf.TensorInfo] {
  const s = sizesOf(q, v);
  const perBatch = q.shape[1] as number;
  const runs = runsOf(s, form);
  const [weights, slopes] = [scratchFor(s, runs), scratchFor(s, runs)];
  const [delta] = runRows(DELTA, [dy, y], [{ shape: [s.heads * s.queries] }], s.heads * s.queries, s.dv) as [
    tf.TensorInfo,
  ];
  const dq = unwritten(q.shape);
  // The last run sees all keys unless a window hides the first ones, so it writes what the others add to.
  const whole = (runs.at(-1) as Run).from === 0;
  const fresh = (shape: number[]): tf.TensorInfo => (whole ? unwritten(shape) : cleared(shape));
  const [dk, dv] = [fresh(k.shape), fresh(v.shape)];
  [...runs].reverse().forEach((run, done) => {
    scores(s, run, form.causal, q, k, weights);
    scores(s, run, form.causal, dy, v, slopes);
    const uniforms = [run.width, ...seenValues(s, run, form, perBatch, mask)];
    const outputs = [{ into: weights }, { into: slopes }];
    runPoints(SLOPES, [mask ?? q, stats, delta], outputs, s.heads * run.count * run.width, uniforms);
    const adds = done > 0 || !whole;
    gather(s, run, form.causal, weights, dy, dv, adds);
    gather(s, run, form.causal, slopes, q, dk, adds);
    mix(s, run, form.causal, slopes, k, dq);
  });
  for (const info of [weights, slopes, delta]) release(info);
  return [dq, dk, dv];
}

const CLEAR = pointProgram({
  name: "lab-clear",
  inputs: {},
  outputs: { result: "f32" },
  uniforms: { size: "u32" },
  body: "result[i] = 0.0;",
});

function cleared(shape: number[]): tf.TensorInfo {
  return runPoints(CLEAR, [], [{ shape }], tf.util.sizeFromShape(shape))[0] as tf.TensorInfo;
}

function attentionOp(masked: boolean): ReturnType<typeof defineOp> {
  return defineOp({
    name: masked ? "LabMaskedAttention" : "LabAttention",
    saved: masked ? ["q", "k", "v", "mask"] : ["q", "k", "v"],
    savedOutputs: [true, true],
    forward: (inputs, attributes) => {
      const { q, k, v } = inputs as Record<"q" | "k" | "v", tf.TensorInfo>;
      return forward({ q, k, v, mask: inputs.mask }, formOf(attributes));
    },
    gradient([dy], saved, attributes) {
      const [q, k, v] = saved as [Tensor, Tensor, Tensor];
      const mask = masked ? saved[3] : undefined;
      const [y, stats] = saved.slice(-2) as [Tensor, Tensor];
      const grads = backward({ q, k, v, mask }, formOf(attributes), dy as Tensor, y, stats).map(toTensor);
      const [dq, dk, dv] = grads as [Tensor, Tensor, Tensor];
      return { q: () => dq, k: () => dk, v: () => dv };
    },
  });
}

function formOf(attributes: Readonly<Record<string, number | boolean>>): AttentionForm {
  const { scale, causal, reach } = attributes;
  return { scale: scale as number, causal: causal === true, reach: reach as number };
}

const plain = attentionOp(false);
const withMask = attentionOp(true);

/** See `attention`; the mask broadcastable to [B, Hq, Tq, Tk] is added to the scores and not differentiated. */
export function attentionInBlocks(q: Tensor, k: Tensor, v: Tensor, form: AttentionForm, mask?: Tensor): Tensor {
  const attributes = { scale: form.scale, causal: form.causal, reach: form.reach };
  const outputs = mask === undefined ? plain({ q, k, v }, attributes) : withMask({ q, k, v, mask }, attributes);
  const [out, stats] = outputs as [Tensor, Tensor];
  stats.dispose();
  return out;
}
