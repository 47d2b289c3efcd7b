/**
 * Records attention by tiles in workgroup memory (attention-tiles-code.ts): one pass forward, three backward, each in as
 * many dispatches as the limit of work needs.
 */
import { type AttentionTiles, heldRows } from "../../forms/records.ts";
import { addPieces } from "../../matmul/piece-sums.ts";
import { runRows } from "../../rows-program.ts";
import { type GpuProgram, programOnce } from "../../runtime/pipelines.ts";
import { release } from "../../runtime/program.ts";
import type { tf } from "../../tf.ts";
import { narrowUniforms, recordTiles } from "./attention-narrow.ts";
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
  const perTile = 2 * tiles.queries * s.keys * s.d;
  const work = { heads: s.heads, tiles: Math.ceil(s.queries / tiles.queries), perTile };
  const uniforms = narrowUniforms(s, inputs, form);
  return recordTiles(program, [q, k, v, mask ?? q], outputs, uniforms, work) as [tf.TensorInfo, tf.TensorInfo];
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
  const held = heldRows(s.d / 4);
  const uniforms = narrowUniforms(s, inputs, form);
  const by = (side: "queries" | "keys"): GpuProgram =>
    programOnce(`attention-${side}-${s.d}`, () => tiledBackward(side, s.d / 4));
  const byQueries = recordTiles(by("queries"), given, [{ shape: q.shape }], uniforms, {
    heads: s.heads,
    tiles: Math.ceil(s.queries / held),
    perTile: 3 * held * s.keys * s.d,
  });
  // Every query head of a group has its own workgroups; what they found is added head by head.
  const group = s.heads / s.keyHeads;
  const size = s.keyHeads * s.keys;
  const outputs = [k.shape, v.shape].map((shape) => ({ shape: group === 1 ? shape : [group, size, s.d] }));
  const byKeys = recordTiles(by("keys"), given, outputs, [...uniforms, s.keyHeads], {
    heads: s.heads,
    tiles: Math.ceil(s.keys / held),
    perTile: 4 * held * s.queries * s.d,
  });
  const [dk, dv] = group === 1 ? byKeys : byKeys.map((parts) => summed(parts, k.shape));
  release(delta);
  return [...byQueries, dk, dv] as [tf.TensorInfo, tf.TensorInfo, tf.TensorInfo];
}

function summed(parts: tf.TensorInfo, shape: readonly number[]): tf.TensorInfo {
  const sum = addPieces(parts, { shape }, {});
  release(parts);
  return sum;
}

/** Programs of tiled attention with heads of 64, used to hash their sources. */
export function attentionPrograms(): GpuProgram[] {
  return [
    tiledForward({ kind: "tiles", queries: 32, keys: 32 }, 16),
    tiledBackward("queries", 16),
    tiledBackward("keys", 16),
  ];
}
