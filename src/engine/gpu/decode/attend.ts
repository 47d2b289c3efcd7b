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

const CACHE_UNIFORMS = {
  d4: "u32",
  heads: "u32",
  keyHeads: "u32",
  tailStart: "u32",
  places: "u32",
  capacity: "u32",
  stride: "u32",
} as const;

/**
 * Of a slot and a query head: key j lies at `pastKey(j)` of the prompt's cache where j < split, else at `ownKey + j − split`
 * of the own one, both in keys; there are `count`. What the state says is read once, for a load costs more than all else.
 */
const PLACES = `
    let s = slot * SLOT_WORDS;
    let headKeys = state[s + HEAD];
    let split = headKeys + state[s + TAIL];
    let count = split + state[s + COUNT] + 1u;
    let keyHead = head / (u.heads / u.keyHeads);
    let pastHead = (state[s + PAST_ROW] * u.keyHeads + keyHead) * u.places;
    let pastTail = pastHead + u.tailStart - headKeys;
    let ownKey = (state[s + ROW] * u.keyHeads + keyHead) * u.capacity;`;

/**
 * scores[slot · head, key] = scale · q · k. A thread takes two keys, a workgroup twice `lanes`: the query is loaded once
 * for both.
 */
export const scoresProgram = (lanes: number): GpuProgram => ({
  name: `lab-decode-scores-${lanes}`,
  inputs: { q: "vec4<f32>", past: "vec4<f32>", own: "vec4<f32>", state: "u32" },
  outputs: { scores: "f32" },
  uniforms: { ...CACHE_UNIFORMS, scale: "f32" },
  workgroup: [lanes, 1],
  header: SLOT_HEADER,
  body: `
    let slot = group.y / u.heads;
    let head = group.y % u.heads;
    ${PLACES}
    let j0 = group.x * ${2 * lanes}u + local.x;
    let j1 = j0 + ${lanes}u;
    if (j0 >= count) { return; }
    let query = group.y * u.d4;
    var before = vec2f(0);
    if (j0 < split) {
      let last = min(j1, split - 1u);
      let a0 = select(pastTail, pastHead, j0 < headKeys) + j0;
      let a1 = select(pastTail, pastHead, last < headKeys) + last;
      for (var i = 0u; i < u.d4; i++) {
        let x = q[query + i];
        before += vec2f(dot(x, past[a0 * u.d4 + i]), dot(x, past[a1 * u.d4 + i]));
      }
    }
    var after = vec2f(0);
    if (j0 >= split || (j1 >= split && j1 < count)) {
      let a0 = ownKey + max(j0, split) - split;
      let a1 = ownKey + min(j1, count - 1u) - split;
      for (var i = 0u; i < u.d4; i++) {
        let x = q[query + i];
        after += vec2f(dot(x, own[a0 * u.d4 + i]), dot(x, own[a1 * u.d4 + i]));
      }
    }
    let at = group.y * u.stride;
    scores[at + j0] = select(after.x, before.x, j0 < split) * u.scale;
    if (j1 < count) { scores[at + j1] = select(after.y, before.y, j1 < split) * u.scale; }`,
});

/** result[slot, head, 8 channels] = softmax(scores) · v. */
export const MIX: LaneProgram = {
  name: "lab-decode-mix",
  inputs: { scores: "f32", past: "vec4<f32>", own: "vec4<f32>", state: "u32" },
  outputs: { result: "vec4<f32>" },
  uniforms: { tiles: "u32", ...CACHE_UNIFORMS },
  reductions: ["largest", "sum", "sum4"],
  header: SLOT_HEADER,
  body: `
    let slot = group.y;
    let head = 2u * tile / u.d4;
    let c = 2u * tile % u.d4;
    ${PLACES}
    let base = (slot * u.heads + head) * u.stride;
    var top = -3.0e38;
    for (var j = first; j < count; j += step) { top = max(top, scores[base + j]); }
    top = largest(top, lane);
    var total = 0.0;
    var low = vec4f(0);
    var high = vec4f(0);
    for (var j = first; j < split; j += step) {
      let e = exp(scores[base + j] - top);
      total += e;
      let at = (select(pastTail, pastHead, j < headKeys) + j) * u.d4 + c;
      low += e * past[at];
      high += e * past[at + 1u];
    }
    for (var j = split + first; j < count; j += step) {
      let e = exp(scores[base + j] - top);
      total += e;
      let at = (ownKey + j - split) * u.d4 + c;
      low += e * own[at];
      high += e * own[at + 1u];
    }
    total = sum(total, lane);
    low = sum4(low, lane);
    high = sum4(high, lane);
    if (first == 0u) {
      let at = 2u * (slot * u.tiles + tile);
      result[at] = low / total;
      result[at + 1u] = high / total;
    }`,
};
