/**
 * Attention forward and backward without the score matrix in memory.
 *
 * Layout: q [B, Hq, Tq, d], k [B, Hkv, Tk, d], v [B, Hkv, Tk, dv], contiguous; query heads j·g … j·g+g−1 read key head
 * j.
 * Plan: queries are processed in runs whose scores fit a scratch array of fixed size, so memory grows with Tq + Tk, not
 * with their product. A run takes three dispatches forward (q kᵀ, softmax in place, times v) and seven backward, where
 * the weights are recomputed from the stored largest score and sum of each row. Products skip what causality or the
 * window hides. On software adapters this beats an online softmax (docs/spec/webgpu.md#61-kernels), except for narrow
 * heads (attention-narrow.ts). Cards use tiles in workgroup memory (attention-tiles.ts). The first two store the same
 * statistics. Limits: B·Hq ≤ 65 535. Numerics: f32, sums in fixed order, no atomics. Equals `stockAttention` and its
 * gradient.
 */

import { pointProgram, runPoints, runRows } from "../../rows-program.ts";
import { defineOp, toTensor } from "../../runtime/custom-op.ts";
import { release, unwritten } from "../../runtime/program.ts";
import { type Tensor, tf } from "../../tf.ts";
import { backwardNarrow, forwardNarrow, slopesFit } from "./attention-narrow.ts";
import { DELTA, maskStrides, SLOPES, SOFTMAX, WHOLE_SOFTMAX } from "./attention-rows.ts";
import {
  type AttentionForm,
  formFor,
  gather,
  type Inputs,
  mix,
  type Run,
  runsOf,
  type Sizes,
  scores,
  scratchFor,
  sizesOf,
} from "./attention-runs.ts";
import { backwardTiled, forwardTiled } from "./attention-tiles.ts";

/** Values of the `SEEN` uniforms and the two after them. */
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

/** Scores → weights in place, except for the factor of each row, which goes into `stats`. */
function softmax(
  s: Sizes,
  run: Run,
  form: AttentionForm,
  q: tf.TensorInfo,
  mask: tf.TensorInfo | undefined,
  scratch: tf.TensorInfo,
  stats: tf.TensorInfo,
): void {
  const rows = s.heads * run.count;
  const groups = run.stride / 4;
  const outputs = [{ into: scratch }, { into: stats }];
  if (mask === undefined && !form.causal && form.scale > 0 && run.stride === run.width) {
    runRows(WHOLE_SOFTMAX, [], outputs, rows, groups, [run.count, form.scale, s.queries, run.start]);
    return;
  }
  const uniforms = seenValues(s, run, form, q.shape[1] as number, mask);
  // Every binding needs a buffer, so without a mask another one is bound.
  runRows(SOFTMAX, [mask ?? q], outputs, rows, run.width, [groups, ...uniforms]);
}

function forward({ q, k, v, mask }: Inputs, form: AttentionForm): [out: tf.TensorInfo, stats: tf.TensorInfo] {
  const s = sizesOf(q, v);
  const chosen = formFor(s, form.causal);
  if (chosen.kind === "tiles") return forwardTiled({ q, k, v, mask }, s, form, chosen);
  if (chosen.kind === "narrow") return forwardNarrow({ q, k, v, mask }, s, form);
  const runs = runsOf(s, form);
  const scratch = scratchFor(s, runs);
  const out = unwritten([...q.shape.slice(0, 3), s.dv]);
  const stats = unwritten([...q.shape.slice(0, 3), 2]);
  for (const run of runs) {
    scores(s, run, form.causal, q, k, scratch);
    softmax(s, run, form, q, mask, scratch, stats);
    mix(s, run, form.causal, scratch, v, out, stats);
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
  const chosen = formFor(s, form.causal);
  if (chosen.kind === "tiles") return backwardTiled({ q, k, v, mask }, s, form, chosen, dy, y, stats);
  if (chosen.kind === "narrow" && slopesFit(s, form)) return backwardNarrow({ q, k, v, mask }, s, form, dy, y, stats);
  const perBatch = q.shape[1] as number;
  const runs = runsOf(s, form);
  const [weights, slopes] = [scratchFor(s, runs), scratchFor(s, runs)];
  const [delta] = runRows(DELTA, [dy, y], [{ shape: [s.heads * s.queries] }], s.heads * s.queries, s.dv) as [
    tf.TensorInfo,
  ];
  const dq = unwritten(q.shape);
  // The last run sees all keys unless a window hides the first ones. If it does, it initialises the arrays to which the
  // other runs add.
  const whole = (runs.at(-1) as Run).from === 0;
  const fresh = (shape: number[]): tf.TensorInfo => (whole ? unwritten(shape) : cleared(shape));
  const [dk, dv] = [fresh(k.shape), fresh(v.shape)];
  [...runs].reverse().forEach((run, done) => {
    scores(s, run, form.causal, q, k, weights);
    scores(s, run, form.causal, dy, v, slopes);
    const groups = run.stride / 4;
    const uniforms = [run.width, groups, ...seenValues(s, run, form, perBatch, mask)];
    const outputs = [{ into: weights }, { into: slopes }];
    runPoints(SLOPES, [mask ?? q, stats, delta], outputs, s.heads * run.count * groups, uniforms);
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

/** See `attention`. The mask, broadcastable to [B, Hq, Tq, Tk], is added to the scores and not differentiated. */
export function attentionInBlocks(q: Tensor, k: Tensor, v: Tensor, form: AttentionForm, mask?: Tensor): Tensor {
  const attributes = { scale: form.scale, causal: form.causal, reach: form.reach };
  const outputs = mask === undefined ? plain({ q, k, v }, attributes) : withMask({ q, k, v, mask }, attributes);
  const [out, stats] = outputs as [Tensor, Tensor];
  stats.dispose();
  return out;
}
