/** Records attention with narrow heads (attention-narrow-code.ts): one dispatch forward, three backward. */
import { LabError } from "../../../errors.ts";
import { runRows } from "../../rows-program.ts";
import { broadcastLanes } from "../../runtime/custom-kernels.ts";
import { type GpuProgram, programOnce } from "../../runtime/pipelines.ts";
import { MAX_GROUPS, type OutputSpec, release, runProgram, unwritten } from "../../runtime/program.ts";
import { countWork, DISPATCH_WORK, rowRuns } from "../../runtime/work-budget.ts";
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

/**
 * Records one workgroup per tile of rows of each head, in several dispatches where one would compute too much or exceed
 * a grid. A dispatch has at least one tile.
 * @param tiles per head
 * @param perTile multiply-adds of a tile
 * @param uniforms without `PLACED`, which come last
 */
export function recordTiles(
  program: GpuProgram,
  given: readonly tf.TensorInfo[],
  outputs: readonly OutputSpec[],
  uniforms: readonly number[],
  { heads, tiles, perTile }: { readonly heads: number; readonly tiles: number; readonly perTile: number },
): tf.TensorInfo[] {
  let made: tf.TensorInfo[] | undefined;
  for (const { from, count } of rowRuns(heads * tiles, Math.max(perTile, DISPATCH_WORK / MAX_GROUPS), 1)) {
    const into = made?.map((info) => ({ into: info })) ?? outputs;
    made = runProgram(program, given, into, [...uniforms, from, tiles], [count, 1, 1]);
    countWork(count * perTile);
  }
  return made ?? [];
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
  const [size] = program.workgroup;
  const tiles = Math.ceil(s.queries / size);
  const work = { heads: s.heads, tiles, perTile: 2 * size * s.keys * s.d };
  return recordTiles(program, [q, k, v, mask ?? q], outputs, uniforms, work) as [tf.TensorInfo, tf.TensorInfo];
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
  const [size] = program.workgroup;
  const outputs = [{ shape: [rows * s.keys] }, { shape: k.shape }, { shape: v.shape }];
  const inputsOf = [q, k, v, dy, mask ?? q, stats, delta];
  const perTile = 4 * size * (s.heads / s.keyHeads) * s.queries * s.d;
  const work = { heads: s.keyHeads, tiles: Math.ceil(s.keys / size), perTile };
  const results = recordTiles(program, inputsOf, outputs, narrowUniforms(s, inputs, form), work);
  const [slopes, dk, dv] = results as [tf.TensorInfo, tf.TensorInfo, tf.TensorInfo];
  const dq = unwritten(q.shape);
  mix(s, { ...run, width: s.keys, stride: s.keys }, form.causal, slopes, k, dq);
  release(slopes);
  release(delta);
  return [dq, dk, dv];
}
