/** Records attention with narrow heads: one dispatch forward, three backward. */

import { LabError } from "../../../errors.ts";
import { builtInForms } from "../../forms/active.ts";
import { READ_BEYOND } from "../../matmul/product-form.ts";
import { runRows } from "../../rows-program.ts";
import { broadcastLanes } from "../../runtime/custom-op.ts";
import { type GpuProgram, programOnce, u32s } from "../../runtime/pipelines.ts";
import { MAX_GROUPS, type OutputSpec, release, runProgram, unwritten } from "../../runtime/program.ts";
import { countWork, DISPATCH_WORK, rowRuns } from "../../runtime/work-budget.ts";
import type { tf } from "../../tf.ts";
import { DELTA, MASK_FIELDS, maskStrides, SCORE } from "./attention-rows.ts";
import { type AttentionForm, type Inputs, mix, runsOf, type Sizes } from "./attention-runs.ts";

// WGSL of attention with narrow heads on software adapters: the vectors of a query or key stay in registers.
//
// Layout: q, dy [B·Hq, Tq, d], k, v [B·Hkv, Tk, d], d a multiple of 4 up to 32, query heads j·g … j·g+g−1 read key
// head j.
// Forward: one thread per query makes one pass over the keys and rescales its sums when it meets a larger score.
// Backward: one thread per key passes over the queries of its group and recomputes scores and weights from the
// stored largest score and inverse sum. It writes the key's two gradients, and the slopes [B·Hq, Tq, Tk]: the
// gradients of the scores, whose product with the keys is the queries' gradient.
// The lanes of a subgroup all need the same vector of the other side. Each loads a share and broadcasts it,
// because every load of a lane is a gather. Conditions are joined with & and |: && and || are branches, and a
// software adapter spills all registers before a branch. f32, sums in order of the keys or queries, no atomics.

/** Uniforms that define which keys a query sees. */
export const SEEN = {
  ...u32s("heads group queries keys causal"),
  /** Number of keys before that of the first query. */
  ...u32s("before reach masked"),
  ...MASK_FIELDS,
} as const;

/** A dispatch works on some of the tiles of rows of all heads: the first one, and the tiles per head. */
export const PLACED = u32s("skip tiles");
export const PLACE = `
      let tile = u.skip + group.x;
      let owner = tile / u.tiles;
      let within = tile % u.tiles;`;

/** Inputs of programs for the gradient. */
export const GRADIENT_INPUTS = {
  q: "vec4<f32>",
  k: "vec4<f32>",
  v: "vec4<f32>",
  dy: "vec4<f32>",
  mask: "f32",
  stats: "f32",
  delta: "f32",
} as const;

const NARROW_UNIFORMS = Object.keys(SEEN) as readonly (keyof typeof SEEN)[];

/** Code for the keys that a query sees, the position of its mask, and the score of a product. */
export const HEADER = `
  fn seen(query: u32, key: u32) -> bool {
    let end = query + u.before + 1u;
    return (u.causal == 0u) | ((key < end) & ((u.reach == 0u) | (key + u.reach >= end)));
  }
  fn maskOf(head: u32) -> u32 { return (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead; }
  ${SCORE}`;

export const each = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

/** Rows that a subgroup loads at once, one vector per lane. */
const together = (vectors: number, lanes: number): number => Math.max(1, Math.floor(lanes / vectors));

/**
 * Code that gives every thread rows `at` … `at + rows − 1` of `array`, as `<name><row>_<vector>`. The lanes of a
 * subgroup share the loads. Rows beyond `end` repeat the last one.
 */
function shared(
  name: string,
  array: string,
  at: string,
  end: string,
  vectors: number,
  rows: number,
  lanes: number,
): string {
  const items = rows * vectors;
  if (lanes === 0) {
    const row = (n: number): string => `min(${at} + ${n}u, ${end}) * ${vectors}u`;
    return each(items, (i) => {
      const [n, vector] = [Math.floor(i / vectors), i % vectors];
      return `let ${name}${n}_${vector} = ${array}[${row(n)} + ${vector}u];`;
    });
  }
  const item = (n: number): string => `min(${n * lanes}u + local.x, ${items - 1}u)`;
  const load = (n: number): string =>
    `let ${name}${n} = ${array}[min(${at} + ${item(n)} / ${vectors}u, ${end}) * ${vectors}u + ${item(n)} % ${vectors}u];`;
  return `
    ${each(Math.ceil(items / lanes), load)}
    ${each(items, (i) => {
      const [n, vector] = [Math.floor(i / vectors), i % vectors];
      return `let ${name}${n}_${vector} = subgroupBroadcast(${name}${Math.floor(i / lanes)}, ${i % lanes}u);`;
    })}`;
}

const dots = (vectors: number, a: string, b: string): string =>
  Array.from({ length: vectors }, (_, i) => `dot(${a}${i}, ${b}${i})`).join(" + ");

function extensions(lanes: number): { enable?: readonly string[] } {
  return lanes > 0 ? { enable: ["subgroups"] } : {};
}

/** Threads per workgroup. */
const narrowLanes = (lanes: number): number => (lanes > 0 ? lanes : builtInForms().lanes);

/** @param vectors d / 4 @param lanes of every subgroup, 0 for no subgroups */
function narrowForward(vectors: number, lanes: number): GpuProgram {
  const threads = narrowLanes(lanes);
  const keys = together(vectors, lanes);
  return {
    name: `lab-attention-narrow-${vectors}-${lanes}`,
    ...extensions(lanes),
    inputs: { q: "vec4<f32>", k: "vec4<f32>", v: "vec4<f32>", mask: "f32" },
    outputs: { result: "vec4<f32>", stats: "f32" },
    uniforms: { ...SEEN, ...PLACED },
    workgroup: [threads, 1],
    header: HEADER,
    body: `${PLACE}
      let head = owner;
      let first = within * ${threads}u;
      let query = min(first + local.x, u.queries - 1u);
      let row = head * u.queries + query;
      let keyBase = (head / u.group) * u.keys;
      let above = maskOf(head) + query * u.maskRow;
      ${each(vectors, (i) => `let q${i} = q[row * ${vectors}u + ${i}u];`)}
      let last = select(u.keys, min(u.keys, first + ${threads}u + u.before), u.causal != 0u);
      let open = select(0u, max(first + u.before + 1u, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
      var top = -3.0e38;
      var total = 0.0;
      ${each(vectors, (i) => `var o${i} = vec4f(0);`)}
      for (var key = open; key < last; key += ${keys}u) {
        ${shared("k", "k", "keyBase + key", "last - 1u + keyBase", vectors, keys, lanes)}
        ${shared("v", "v", "keyBase + key", "last - 1u + keyBase", vectors, keys, lanes)}
        ${each(
          keys,
          (n) => `
        let at${n} = min(key + ${n}u, last - 1u);
        let is${n} = (key + ${n}u < last) & seen(query, at${n});
        let s${n} = score(${dots(vectors, "q", `k${n}_`)}, above + at${n} * u.maskKey);`,
        )}
        let old = top;
        ${each(keys, (n) => `top = select(top, max(top, s${n}), is${n});`)}
        let fade = exp(old - top);
        ${each(keys, (n) => `let e${n} = select(0.0, exp(min(s${n} - top, 0.0)), is${n});`)}
        total = total * fade + ${Array.from({ length: keys }, (_, n) => `e${n}`).join(" + ")};
        ${each(
          vectors,
          (i) => `o${i} = o${i} * fade + ${Array.from({ length: keys }, (_, n) => `e${n} * v${n}_${i}`).join(" + ")};`,
        )}
      }
      if (first + local.x < u.queries) {
        let inverse = 1.0 / total;
        ${each(vectors, (i) => `result[row * ${vectors}u + ${i}u] = o${i} * inverse;`)}
        stats[2u * row] = top;
        stats[2u * row + 1u] = inverse;
      }`,
  };
}

/** @param vectors d / 4 @param lanes of every subgroup, 0 for no subgroups */
function narrowBackward(vectors: number, lanes: number): GpuProgram {
  const threads = narrowLanes(lanes);
  return {
    name: `lab-attention-narrow-grad-${vectors}-${lanes}`,
    ...extensions(lanes),
    inputs: GRADIENT_INPUTS,
    outputs: { slopes: "f32", dk: "vec4<f32>", dv: "vec4<f32>" },
    uniforms: { ...SEEN, ...PLACED },
    workgroup: [threads, 1],
    header: HEADER,
    body: `${PLACE}
      let first = within * ${threads}u;
      let key = first + local.x;
      let own = min(key, u.keys - 1u);
      let base = (owner * u.keys + own) * ${vectors}u;
      ${each(vectors, (i) => `let k${i} = k[base + ${i}u]; let v${i} = v[base + ${i}u];`)}
      ${each(vectors, (i) => `var dk${i} = vec4f(0); var dv${i} = vec4f(0);`)}
      // The product of the slopes reads beyond what a row sees and must find zeros there.
      let margin = u.before + ${READ_BEYOND}u;
      let open = select(0u, max(first, margin) - margin, u.causal != 0u);
      for (var rep = 0u; rep < u.group; rep++) {
        let head = owner * u.group + rep;
        let above = maskOf(head) + own * u.maskKey;
        for (var query = open; query < u.queries; query++) {
          let row = head * u.queries + query;
          ${shared("q", "q", "row", "row", vectors, 1, lanes)}
          ${shared("dy", "dy", "row", "row", vectors, 1, lanes)}
          let s = score(${dots(vectors, "q0_", "k")}, above + query * u.maskRow);
          let weight = exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u];
          let p = select(0.0, weight, seen(query, own));
          let slope = u.scale * p * (${dots(vectors, "dy0_", "v")} - delta[row]);
          ${each(vectors, (i) => `dv${i} += p * dy0_${i}; dk${i} += slope * q0_${i};`)}
          if (key < u.keys) { slopes[row * u.keys + key] = slope; }
        }
      }
      if (key < u.keys) { ${each(vectors, (i) => `dk[base + ${i}u] = dk${i}; dv[base + ${i}u] = dv${i};`)} }`,
  };
}

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
