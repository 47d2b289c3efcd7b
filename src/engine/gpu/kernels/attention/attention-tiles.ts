/** Records attention by tiles in workgroup memory (attention-tiles-code.ts): one dispatch forward, three backward. */
import { type AttentionTiles, BACK_ROWS } from "../../forms/records.ts";
import { runRows } from "../../rows-program.ts";
import { type GpuProgram, programOnce } from "../../runtime/pipelines.ts";
import { release, runProgram } from "../../runtime/program.ts";
import { countWork } from "../../runtime/work-budget.ts";
import type { tf } from "../../tf.ts";
import { narrowUniforms } from "./attention-narrow.ts";
import { DELTA } from "./attention-rows.ts";
import type { AttentionForm, Inputs, Sizes } from "./attention-runs.ts";
import { tiledBackward, tiledForward } from "./attention-tiles-code.ts";

export function forwardTiled(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  tiles: AttentionTiles,
): [out: tf.TensorInfo, stats: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const key = `attention-${tiles.queries}-${tiles.keys}-${s.d}`;
  const program = programOnce(key, () => tiledForward(tiles, s.d / 4));
  const outputs = [{ shape: q.shape }, { shape: [...q.shape.slice(0, 3), 2] }];
  const grid = [Math.ceil(s.queries / tiles.queries), 1, s.heads] as const;
  const results = runProgram(program, [q, k, v, mask ?? q], outputs, narrowUniforms(s, inputs, form), grid);
  countWork(2 * s.heads * s.queries * s.keys * s.d);
  return results as [tf.TensorInfo, tf.TensorInfo];
}

export function backwardTiled(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  dy: tf.TensorInfo,
  y: tf.TensorInfo,
  stats: tf.TensorInfo,
): [dq: tf.TensorInfo, dk: tf.TensorInfo, dv: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const rows = s.heads * s.queries;
  const [delta] = runRows(DELTA, [dy, y], [{ shape: [rows] }], rows, s.dv) as [tf.TensorInfo];
  const given = [q, k, v, dy, mask ?? q, stats, delta];
  const uniforms = narrowUniforms(s, inputs, form);
  const by = (side: "queries" | "keys"): GpuProgram =>
    programOnce(`attention-${side}-${s.d}`, () => tiledBackward(side, s.d / 4));
  const grid = (length: number, heads: number) => [Math.ceil(length / BACK_ROWS), 1, heads] as const;
  const byQueries = runProgram(by("queries"), given, [{ shape: q.shape }], uniforms, grid(s.queries, s.heads));
  countWork(3 * s.heads * s.queries * s.keys * s.d);
  const shapes = [{ shape: k.shape }, { shape: v.shape }];
  const byKeys = runProgram(by("keys"), given, shapes, uniforms, grid(s.keys, s.keyHeads));
  countWork(4 * s.heads * s.queries * s.keys * s.d);
  release(delta);
  return [...byQueries, ...byKeys] as [tf.TensorInfo, tf.TensorInfo, tf.TensorInfo];
}

/** Programs of tiled attention with heads of 64, used to hash their sources. */
export function attentionPrograms(): GpuProgram[] {
  return [
    tiledForward({ kind: "tiles", queries: 32, keys: 16 }, 16),
    tiledBackward("queries", 16),
    tiledBackward("keys", 16),
  ];
}
