/**
 * Embedding, norm and attention of a decoding step. Keys and values of the prompts stay where the prefill left them;
 * those of new tokens lie in an own cache, [row, head, place, d], written in place by the projections. Oracles:
 * gpu/kernels/norm.ts and attention.ts; tests/gpu/decode.test.ts.
 */
import type { GpuProgram } from "../program.ts";
import type { LaneProgram } from "./lanes.ts";
import { SLOT_HEADER } from "./state.ts";

/** x[slot] = embedding of the slot's token, or of its row's first place. One thread per four channels. */
export const EMBED: GpuProgram = {
  name: "lab-decode-embed",
  inputs: { table: "vec4<f32>", given: "vec4<f32>", state: "u32" },
  outputs: { x: "vec4<f32>" },
  uniforms: { width4: "u32" },
  workgroup: [8, 1],
  header: SLOT_HEADER,
  body: `
    let c = group.x * 8u + local.x;
    if (c >= u.width4) { return; }
    let s = group.y * SLOT_WORDS;
    let id = state[s + ID];
    let at = group.y * u.width4 + c;
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

/** Half-split rotation of queries and keys, and the place of keys and values in the cache; see `HeadRows`. */
export const ROTATE: GpuProgram = {
  name: "lab-decode-rotate",
  inputs: { projected: "vec4<f32>", angles: "vec4<f32>", state: "u32" },
  outputs: { q: "vec4<f32>", keys: "vec4<f32>", values: "vec4<f32>" },
  uniforms: {
    half4: "u32",
    heads: "u32",
    keyHeads: "u32",
    stride4: "u32",
    capacity: "u32",
    queryFirst4: "u32",
    queryGroup: "u32",
    queryStride4: "u32",
    keyFirst4: "u32",
    keyGroup: "u32",
    keyStride4: "u32",
    valueFirst4: "u32",
    valueGroup: "u32",
    valueStride4: "u32",
  },
  workgroup: [8, 1],
  header: `${SLOT_HEADER}
    fn column(head: u32, first4: u32, perGroup: u32, stride4: u32) -> u32 {
      return first4 + (head / perGroup) * stride4 + (head % perGroup) * 2u * u.half4;
    }`,
  body: `
    let index = group.x * 8u + local.x;
    if (index >= (u.heads + 2u * u.keyHeads) * u.half4) { return; }
    let slot = group.y;
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
    let at = (state[s + HEAD] + state[s + TAIL] + state[s + COUNT]) * 2u * u.half4 + c;
    let cosine = angles[at];
    let sine = angles[at + u.half4];
    let a = low * cosine - high * sine;
    let b = high * cosine + low * sine;
    let stored = ((state[s + ROW] * u.keyHeads + head) * u.capacity + state[s + COUNT]) * 2u * u.half4 + c;
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

/** Where key j of a slot lies: below `pastCount` in the prompt's cache, else in the own one; in units of d/4 elements. */
const PLACES = `${SLOT_HEADER}
  fn keyCount(slot: u32) -> u32 {
    let s = slot * SLOT_WORDS;
    return state[s + HEAD] + state[s + TAIL] + state[s + COUNT] + 1u;
  }
  fn pastCount(slot: u32) -> u32 { return state[slot * SLOT_WORDS + HEAD] + state[slot * SLOT_WORDS + TAIL]; }
  fn pastPlace(slot: u32, keyHead: u32, j: u32) -> u32 {
    let s = slot * SLOT_WORDS;
    let place = select(u.tailStart + j - state[s + HEAD], j, j < state[s + HEAD]);
    return ((state[s + PAST_ROW] * u.keyHeads + keyHead) * u.places + place) * u.d4;
  }
  fn ownPlace(slot: u32, keyHead: u32, j: u32) -> u32 {
    return ((state[slot * SLOT_WORDS + ROW] * u.keyHeads + keyHead) * u.capacity + j - pastCount(slot)) * u.d4;
  }`;

const CACHE_UNIFORMS = {
  d4: "u32",
  heads: "u32",
  keyHeads: "u32",
  tailStart: "u32",
  places: "u32",
  capacity: "u32",
  stride: "u32",
} as const;

/** scores[slot · head, key] = scale · q · k, one thread per key, `lanes` of them in a workgroup. */
export const scoresProgram = (lanes: number): GpuProgram => ({
  name: `lab-decode-scores-${lanes}`,
  inputs: { q: "vec4<f32>", past: "vec4<f32>", own: "vec4<f32>", state: "u32" },
  outputs: { scores: "f32" },
  uniforms: { ...CACHE_UNIFORMS, scale: "f32" },
  workgroup: [lanes, 1],
  header: PLACES,
  body: `
    let j = group.x * ${lanes}u + local.x;
    let slot = group.y / u.heads;
    let head = group.y % u.heads;
    if (j >= keyCount(slot)) { return; }
    let keyHead = head / (u.heads / u.keyHeads);
    let query = group.y * u.d4;
    var total = 0.0;
    if (j < pastCount(slot)) {
      let at = pastPlace(slot, keyHead, j);
      for (var i = 0u; i < u.d4; i++) { total += dot(q[query + i], past[at + i]); }
    } else {
      let at = ownPlace(slot, keyHead, j);
      for (var i = 0u; i < u.d4; i++) { total += dot(q[query + i], own[at + i]); }
    }
    scores[group.y * u.stride + j] = total * u.scale;`,
});

/** result[slot, head, 4 channels] = softmax(scores) · v. */
export const MIX: LaneProgram = {
  name: "lab-decode-mix",
  inputs: { scores: "f32", past: "vec4<f32>", own: "vec4<f32>", state: "u32" },
  outputs: { result: "vec4<f32>" },
  uniforms: { tiles: "u32", ...CACHE_UNIFORMS },
  reductions: ["largest", "sum", "sum4"],
  header: PLACES,
  body: `
    let slot = group.y;
    let head = tile / u.d4;
    let c = tile % u.d4;
    let keyHead = head / (u.heads / u.keyHeads);
    let count = keyCount(slot);
    let split = pastCount(slot);
    let base = (slot * u.heads + head) * u.stride;
    var top = -3.0e38;
    for (var j = first; j < count; j += step) { top = max(top, scores[base + j]); }
    top = largest(top, lane);
    var total = 0.0;
    var mixed = vec4f(0);
    for (var j = first; j < split; j += step) {
      let e = exp(scores[base + j] - top);
      total += e;
      mixed += e * past[pastPlace(slot, keyHead, j) + c];
    }
    for (var j = split + first; j < count; j += step) {
      let e = exp(scores[base + j] - top);
      total += e;
      mixed += e * own[ownPlace(slot, keyHead, j) + c];
    }
    total = sum(total, lane);
    mixed = sum4(mixed, lane);
    if (first == 0u) { result[slot * u.tiles + tile] = mixed / total; }`,
};
