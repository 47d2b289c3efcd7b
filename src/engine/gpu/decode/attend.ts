/**
 * Embedding, norm and attention of a decoding step. Keys and values of the groups' prefixes stay where the prefill left
 * them; those of a row's tail and new tokens are in the row's own cache, [row, head, position, d], where the rotation
 * writes the new ones. Oracles:
 * gpu/kernels/norm.ts and attention.ts; tests/gpu/decode.test.ts.
 */
import { lines } from "../matmul/product-form.ts";
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import { type LaneProgram, POINT, POINT_LANES, SLOT_HEADER } from "./lanes.ts";

/** x[slot] = embedding of the slot's token, or the embedding its row starts with. One thread per four channels. */
export const EMBED: GpuProgram = {
  name: "lab-decode-embed",
  inputs: { table: "vec4<f32>", given: "vec4<f32>", state: "u32" },
  outputs: { x: "vec4<f32>" },
  uniforms: { slots: "u32", width4: "u32" },
  workgroup: [POINT_LANES, 1],
  header: SLOT_HEADER,
  body: `
    let at = ${POINT};
    let slot = at / u.width4;
    if (slot >= u.slots) { return; }
    let c = at % u.width4;
    let s = slot * SLOT_WORDS;
    let id = state[s + ID];
    if (id == NO_TOKEN) { x[at] = given[state[s + ROW] * u.width4 + c]; } else { x[at] = table[id * u.width4 + c]; }`,
};

/** result[slot] = x / sqrt(mean x² + eps) · weight. */
export const NORM: LaneProgram = {
  name: "lab-decode-norm",
  inputs: { x: "vec4<f32>", weight: "vec4<f32>" },
  outputs: { result: "vec4<f32>" },
  uniforms: { tiles: "u32", width4: "u32", eps: "f32" },
  reductions: ["sum"],
  body: `
    let base = tile * u.width4;
    var squares = 0.0;
    for (var i = first; i < u.width4; i += step) { squares += dot(x[base + i], x[base + i]); }
    let scale = inverseSqrt(sum(squares, lane) / f32(u.width4 * 4u) + u.eps);
    for (var i = first; i < u.width4; i += step) { result[base + i] = x[base + i] * scale * weight[i]; }`,
};

/**
 * Code for the first channel of head `head`, in vectors of four; see `HeadRows` (model/language/language-families.ts).
 * @param width4 code for the vectors per head
 */
const headColumn = (width4: string): string => `
    fn column(head: u32, first4: u32, perGroup: u32, stride4: u32) -> u32 {
      return first4 + (head / perGroup) * stride4 + (head % perGroup) * ${width4};
    }`;

/** Divides each head of queries and keys by its root mean square and multiplies it by its weights, in place. */
export const HEAD_NORM: LaneProgram = {
  name: "lab-decode-head-norm",
  inputs: { queryWeight: "vec4<f32>", keyWeight: "vec4<f32>" },
  outputs: { projected: "vec4<f32>" },
  uniforms: {
    tiles: "u32",
    d4: "u32",
    eps: "f32",
    ...u32s("heads keyHeads stride4 queryFirst4 queryGroup queryStride4 keyFirst4 keyGroup keyStride4"),
  },
  reductions: ["sum"],
  header: headColumn("u.d4"),
  body: `
    let each = u.heads + u.keyHeads;
    let which = tile % each;
    let isQuery = which < u.heads;
    var origin = column(which, u.queryFirst4, u.queryGroup, u.queryStride4);
    if (!isQuery) { origin = column(which - u.heads, u.keyFirst4, u.keyGroup, u.keyStride4); }
    let base = (tile / each) * u.stride4 + origin;
    var squares = 0.0;
    for (var i = first; i < u.d4; i += step) { squares += dot(projected[base + i], projected[base + i]); }
    let scale = inverseSqrt(sum(squares, lane) / f32(u.d4 * 4u) + u.eps);
    for (var i = first; i < u.d4; i += step) {
      projected[base + i] *= scale * select(keyWeight[i], queryWeight[i], isQuery);
    }`,
};

/** Half-split rotation of queries and keys, and copy of keys and values into the cache; see `HeadRows`. */
export const ROTATE: GpuProgram = {
  name: "lab-decode-rotate",
  inputs: { projected: "vec4<f32>", angles: "vec4<f32>", state: "u32" },
  outputs: { q: "vec4<f32>", keys: "vec4<f32>", values: "vec4<f32>" },
  uniforms: u32s(
    "slots half4 heads keyHeads stride4 capacity queryFirst4 queryGroup queryStride4 keyFirst4 keyGroup keyStride4 valueFirst4 valueGroup valueStride4",
  ),
  workgroup: [POINT_LANES, 1],
  header: `${SLOT_HEADER}${headColumn("2u * u.half4")}`,
  body: `
    let width = (u.heads + 2u * u.keyHeads) * u.half4;
    let point = ${POINT};
    let slot = point / width;
    let index = point % width;
    if (slot >= u.slots) { return; }
    let s = slot * SLOT_WORDS;
    let c = index % u.half4;
    let which = index / u.half4;
    let isQuery = which < u.heads;
    let isKey = !isQuery && which < u.heads + u.keyHeads;
    var head = which;
    var origin = column(which, u.queryFirst4, u.queryGroup, u.queryStride4);
    if (isKey) {
      head = which - u.heads;
      origin = column(head, u.keyFirst4, u.keyGroup, u.keyStride4);
    } else if (!isQuery) {
      head = which - u.heads - u.keyHeads;
      origin = column(head, u.valueFirst4, u.valueGroup, u.valueStride4);
    }
    let low = projected[slot * u.stride4 + origin + c];
    let high = projected[slot * u.stride4 + origin + u.half4 + c];
    let at = (state[s + HEAD] + state[s + TAIL] + state[s + COUNT] + state[s + SHIFT]) * 2u * u.half4 + c;
    let cosine = angles[at];
    let sine = angles[at + u.half4];
    let a = low * cosine - high * sine;
    let b = high * cosine + low * sine;
    let place = state[s + TAIL] + state[s + COUNT];
    let stored = ((state[s + ROW] * u.keyHeads + head) * u.capacity + place) * 2u * u.half4 + c;
    if (isQuery) {
      let to = (slot * u.heads + head) * 2u * u.half4 + c;
      q[to] = a;
      q[to + u.half4] = b;
    } else if (isKey) {
      keys[stored] = a;
      keys[stored + u.half4] = b;
    } else {
      values[stored] = low;
      values[stored + u.half4] = high;
    }`,
};

/** Copies the rows' tails to the beginning of their own caches. One thread per four channels. */
export const PLACE_TAILS: GpuProgram = {
  name: "lab-decode-tails",
  inputs: { tailKeys: "vec4<f32>", tailValues: "vec4<f32>" },
  outputs: { keys: "vec4<f32>", values: "vec4<f32>" },
  /** Vectors per head in the tail and in the row's own cache; grid y is the head, grid z the row. */
  uniforms: { tail4: "u32", own4: "u32" },
  workgroup: [POINT_LANES, 1],
  body: `
    let at = group.x * ${POINT_LANES}u + local.x;
    if (at >= u.tail4) { return; }
    let head = group.z * groups.y + group.y;
    let source = head * u.tail4 + at;
    let to = head * u.own4 + at;
    keys[to] = tailKeys[source];
    values[to] = tailValues[source];`,
};

const CACHE_UNIFORMS = u32s("d4 heads keyHeads places capacity stride");

/**
 * For a slot and a key head: of `count` keys, key j is at `pastHead + j` of the prefixes' cache if j < split, else at
 * `localKey + j − split` of the row's own cache; both count keys. The state is read once, because loads cost the most.
 */
const PLACES = `
    let s = slot * SLOT_WORDS;
    let split = state[s + HEAD];
    let count = split + state[s + TAIL] + state[s + COUNT] + 1u;
    let pastHead = (state[s + PAST_ROW] * u.keyHeads + keyHead) * u.places;
    let localKey = (state[s + ROW] * u.keyHeads + keyHead) * u.capacity;`;

/**
 * Number of query heads of one key head that a thread processes together, so that each key or value is loaded only
 * once.
 * @param software false on GPUs, where caches have the same effect and more threads are better
 */
export function sharedHeads(heads: number, keyHeads: number, software: boolean): 1 | 2 {
  return software && heads > keyHeads ? 2 : 1;
}

/** Number of blocks of query heads per slot. */
export function headBlocks(heads: number, keyHeads: number, shared: 1 | 2): number {
  return keyHeads * Math.ceil(heads / keyHeads / shared);
}

/** Blocks per key head, and query heads per key head (`perKey`); see `headBlocks`. */
const blocksOfKey = (shared: 1 | 2): string => `
    let perKey = u.heads / u.keyHeads;
    let blocks = (perKey + ${shared - 1}u) / ${shared}u;`;

/**
 * Declares `keyHead`, `head0` and `head1` of block `block` of a slot. `head1` equals `head0` where it has no neighbour.
 */
const headsOfBlock = (shared: 1 | 2): string => `
    let keyHead = block / blocks;
    let head0 = keyHead * perKey + ${shared}u * (block % blocks);
    ${shared === 2 ? "let head1 = min(head0 + 1u, keyHead * perKey + perKey - 1u);" : ""}`;

/** Threads per workgroup for scores; each thread computes two keys. */
export function scoreLanes(software: boolean): number {
  return software ? 16 : 64;
}

/**
 * scores[slot · head, key] = scale · q · k. A thread computes two keys for one or two heads, and a workgroup
 * 2 · `lanes` keys, so that queries are loaded once for both. The grid's y counts blocks of heads, its z slots.
 */
export function scoresProgram(lanes: number, shared: 1 | 2): GpuProgram {
  const dots = (cache: string, sums: string): string => `
      for (var i = 0u; i < u.d4; i++) {
        let k0 = ${cache}[a0 * u.d4 + i];
        let k1 = ${cache}[a1 * u.d4 + i];
        ${lines(shared, (h) => `let x${h} = q[(slot * u.heads + head${h}) * u.d4 + i];`)}
        ${lines(shared, (h) => `${sums}${h} += vec2f(dot(x${h}, k0), dot(x${h}, k1));`)}
      }`;
  return {
    name: `lab-decode-scores-${lanes}-${shared}`,
    inputs: { q: "vec4<f32>", past: "vec4<f32>", own: "vec4<f32>", state: "u32" },
    outputs: { scores: "f32" },
    uniforms: { ...CACHE_UNIFORMS, scale: "f32" },
    workgroup: [lanes, 1],
    header: SLOT_HEADER,
    body: `
    ${blocksOfKey(shared)}
    let slot = group.z;
    let block = group.y;
    ${headsOfBlock(shared)}
    ${PLACES}
    let j0 = group.x * ${2 * lanes}u + local.x;
    let j1 = j0 + ${lanes}u;
    if (j0 >= count) { return; }
    ${lines(shared, (h) => `var before${h} = vec2f(0); var after${h} = vec2f(0);`)}
    if (j0 < split) {
      let last = min(j1, split - 1u);
      let a0 = pastHead + j0;
      let a1 = pastHead + last;
      ${dots("past", "before")}
    }
    if (j0 >= split || (j1 >= split && j1 < count)) {
      let a0 = localKey + max(j0, split) - split;
      let a1 = localKey + min(j1, count - 1u) - split;
      ${dots("own", "after")}
    }
    ${lines(
      shared,
      (h) => `let at${h} = (slot * u.heads + head${h}) * u.stride;
    scores[at${h} + j0] = select(after${h}.x, before${h}.x, j0 < split) * u.scale;
    if (j1 < count) { scores[at${h} + j1] = select(after${h}.y, before${h}.y, j1 < split) * u.scale; }`,
    )}`,
  };
}

/**
 * result[slot, head, 8 channels] = softmax(scores) · v, for one or two heads. Tiles are numbered across all slots.
 */
export function mixProgram(shared: 1 | 2): LaneProgram {
  const add = (cache: string): string => `
      let low = ${cache}[at];
      let high = ${cache}[at + 1u];
      ${lines(
        shared,
        (h) => `let e${h} = exp(scores[base${h} + j] - top${h});
      totals[${h}] += e${h};
      low${h} += e${h} * low;
      high${h} += e${h} * high;`,
      )}`;
  return {
    name: `lab-decode-mix-${shared}`,
    inputs: { scores: "f32", past: "vec4<f32>", own: "vec4<f32>", state: "u32" },
    outputs: { result: "vec4<f32>" },
    uniforms: { tiles: "u32", ...CACHE_UNIFORMS },
    reductions: ["largest", "sum4"],
    header: SLOT_HEADER,
    body: `
    ${blocksOfKey(shared)}
    let which = 2u * tile / u.d4;
    let slot = which / (u.keyHeads * blocks);
    let block = which % (u.keyHeads * blocks);
    let c = 2u * tile % u.d4;
    ${headsOfBlock(shared)}
    ${PLACES}
    ${lines(
      shared,
      (h) => `let base${h} = (slot * u.heads + head${h}) * u.stride;
    var top${h} = -3.0e38; var low${h} = vec4f(0); var high${h} = vec4f(0);`,
    )}
    for (var j = first; j < count; j += step) {
      ${lines(shared, (h) => `top${h} = max(top${h}, scores[base${h} + j]);`)}
    }
    ${lines(shared, (h) => `top${h} = largest(top${h}, lane);`)}
    var totals = vec4f(0);
    for (var j = first; j < split; j += step) {
      let at = (pastHead + j) * u.d4 + c;
      ${add("past")}
    }
    for (var j = split + first; j < count; j += step) {
      let at = (localKey + j - split) * u.d4 + c;
      ${add("own")}
    }
    totals = sum4(totals, lane);
    ${lines(shared, (h) => `low${h} = sum4(low${h}, lane); high${h} = sum4(high${h}, lane);`)}
    if (first == 0u) {
      ${lines(
        shared,
        (h) => `let to${h} = (slot * u.heads + head${h}) * u.d4 + c;
      result[to${h}] = low${h} / totals[${h}];
      result[to${h} + 1u] = high${h} / totals[${h}];`,
      )}
    }`,
  };
}
