/** Records attention with narrow heads (attention-narrow-code.ts): one dispatch forward, three backward. */
import { LabError } from "../../../errors.ts";
import { runRows } from "../../rows-program.ts";
import { broadcastLanes } from "../../runtime/custom-kernels.ts";
import { programOnce } from "../../runtime/pipelines.ts";
import { release, runProgram, unwritten } from "../../runtime/program.ts";
import type { tf } from "../../tf.ts";
import { NARROW_UNIFORMS, narrowBackward, narrowForward } from "./attention-narrow-code.ts";
import { DELTA } from "./attention-rows.ts";
import { type AttentionForm, type Inputs, mix, runsOf, type Sizes } from "./attention-runs.ts";
import { maskStrides } from "./masked-score.ts";

/** Whether the slopes of all heads fit the scratch array. */
export function slopesFit(s: Sizes, form: AttentionForm): boolean {
  return runsOf(s, { ...form, reach: 0 }).length === 1;
}

/** Values of `NARROW_UNIFORMS`. */
export function narrowUniforms(
  { heads, keyHeads, queries, keys }: Sizes,
  { q, mask }: Inputs,
  form: AttentionForm,
): number[] {
  const [maskBatch, maskHead, maskRow, maskKey] = mask === undefined ? [0, 0, 0, 0] : maskStrides(mask);
  const values: Record<(typeof NARROW_UNIFORMS)[number], number> = {
    heads: q.shape[1] as number,
    group: heads / keyHeads,
    queries,
    keys,
    causal: form.causal ? 1 : 0,
    before: keys - queries,
    reach: form.reach,
    masked: mask === undefined ? 0 : 1,
    maskBatch,
    maskHead,
    maskRow,
    maskKey,
    scale: form.scale,
  };
  return NARROW_UNIFORMS.map((name) => values[name]);
}

export function forwardNarrow(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
): [out: tf.TensorInfo, stats: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const lanes = broadcastLanes();
  const program = programOnce(`attention-narrow-${s.d}-${lanes}`, () => narrowForward(s.d / 4, lanes));
  const outputs = [{ shape: q.shape }, { shape: [...q.shape.slice(0, 3), 2] }];
  const uniforms = narrowUniforms(s, inputs, form);
  const groups = Math.ceil(s.queries / program.workgroup[0]);
  const [out, stats] = runProgram(program, [q, k, v, mask ?? q], outputs, uniforms, [groups, 1, s.heads]);
  return [out as tf.TensorInfo, stats as tf.TensorInfo];
}

export function backwardNarrow(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  dy: tf.TensorInfo,
  y: tf.TensorInfo,
  stats: tf.TensorInfo,
): [dq: tf.TensorInfo, dk: tf.TensorInfo, dv: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const lanes = broadcastLanes();
  const program = programOnce(`attention-narrow-back-${s.d}-${lanes}`, () => narrowBackward(s.d / 4, lanes));
  const [run, ...more] = runsOf(s, { ...form, reach: 0 });
  if (run === undefined || more.length > 0)
    throw new LabError("internal", "Gradients of narrow heads must fit into one run");
  const rows = s.heads * s.queries;
  const [delta] = runRows(DELTA, [dy, y], [{ shape: [rows] }], rows, s.dv) as [tf.TensorInfo];
  const groups = Math.ceil(s.keys / program.workgroup[0]);
  const outputs = [{ shape: [rows * s.keys] }, { shape: k.shape }, { shape: v.shape }];
  const inputsOf = [q, k, v, dy, mask ?? q, stats, delta];
  const grid = [groups, 1, s.keyHeads] as const;
  const results = runProgram(program, inputsOf, outputs, narrowUniforms(s, inputs, form), grid);
  const [slopes, dk, dv] = results as [tf.TensorInfo, tf.TensorInfo, tf.TensorInfo];
  const dq = unwritten(q.shape);
  mix(s, { ...run, width: s.keys, stride: s.keys }, form.causal, slopes, k, dq);
  release(slopes);
  release(delta);
  return [dq, dk, dv];
}
