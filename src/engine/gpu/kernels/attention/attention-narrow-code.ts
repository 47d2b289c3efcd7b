/**
 * WGSL of attention with narrow heads on software adapters: the vectors of a query or key stay in registers.
 *
 * Layout: q, dy [B·Hq, Tq, d], k, v [B·Hkv, Tk, d], d a multiple of 4 up to 32, query heads j·g … j·g+g−1 read key head
 * j.
 * Forward: one thread per query makes one pass over the keys and rescales its sums when it meets a larger score.
 * Backward: one thread per key passes over the queries of its group and recomputes scores and weights from the stored
 * largest score and inverse sum. It writes the key's two gradients, and the slopes [B·Hq, Tq, Tk]: the gradients of the
 * scores, whose product with the keys is the queries' gradient.
 * The lanes of a subgroup all need the same vector of the other side. Each loads a share and broadcasts it, because
 * every
 * load of a lane is a gather. Conditions are joined with & and |: && and || are branches, and a software adapter spills
 * all
 * registers before a branch. f32, sums in order of the keys or queries, no atomics.
 */
import { builtInForms } from "../../forms/active.ts";
import { READ_BEYOND } from "../../matmul/product-form.ts";
import type { GpuProgram } from "../../runtime/pipelines.ts";
import { u32s } from "../../runtime/uniforms.ts";
import { MASK_FIELDS, SCORE } from "./masked-score.ts";

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

export const NARROW_UNIFORMS = Object.keys(SEEN) as readonly (keyof typeof SEEN)[];

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
export const narrowLanes = (lanes: number): number => (lanes > 0 ? lanes : builtInForms().lanes);

/** @param vectors d / 4 @param lanes of every subgroup, 0 for no subgroups */
export function narrowForward(vectors: number, lanes: number): GpuProgram {
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
export function narrowBackward(vectors: number, lanes: number): GpuProgram {
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
