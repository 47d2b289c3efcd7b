struct Uniforms { slots: u32, half4: u32, heads: u32, keyHeads: u32, stride4: u32, capacity: u32, queryFirst4: u32, queryGroup: u32, queryStride4: u32, keyFirst4: u32, keyGroup: u32, keyStride4: u32, valueFirst4: u32, valueGroup: u32, valueStride4: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> projected: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> angles: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> state: array<u32>;
@group(0) @binding(4) var<storage, read_write> q: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> keys: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> values: array<vec4<f32>>;
const ROW = 0u; const PAST_ROW = 1u; const HEAD = 2u; const TAIL = 3u; const COUNT = 4u; const ID = 5u;
const DRAW = 6u; const KEY = 9u; const POSITION = 11u; const SHIFT = 12u;
const SLOT_WORDS = 13u;
const NO_TOKEN = 4294967295u;
fn column(head: u32, first4: u32, perGroup: u32, stride4: u32) -> u32 {
return first4 + (head / perGroup) * stride4 + (head % perGroup) * 2u * u.half4;
}
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let width = (u.heads + 2u * u.keyHeads) * u.half4;
let point = (group.y * groups.x + group.x) * 64u + local.x;
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
}
}
