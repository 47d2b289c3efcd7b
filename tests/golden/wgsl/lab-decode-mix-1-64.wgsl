struct Uniforms { tiles: u32, d4: u32, heads: u32, keyHeads: u32, places: u32, capacity: u32, stride: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> scores: array<f32>;
@group(0) @binding(2) var<storage, read> past: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> own: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> state: array<u32>;
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>;
var<workgroup> shared_largest: array<f32, 64>;
fn largest(value: f32, lane: u32) -> f32 {
workgroupBarrier();
shared_largest[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_largest[lane] = max(shared_largest[lane], shared_largest[lane + span]); }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_largest[0]);
}
var<workgroup> shared_sum4: array<vec4f, 64>;
fn sum4(value: vec4f, lane: u32) -> vec4f {
workgroupBarrier();
shared_sum4[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_sum4[lane] = shared_sum4[lane] + shared_sum4[lane + span]; }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_sum4[0]);
}
const ROW = 0u; const PAST_ROW = 1u; const HEAD = 2u; const TAIL = 3u; const COUNT = 4u; const ID = 5u;
const DRAW = 6u; const KEY = 9u; const POSITION = 11u; const SHIFT = 12u;
const SLOT_WORDS = 13u;
const NO_TOKEN = 4294967295u;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let perKey = u.heads / u.keyHeads;
let blocks = (perKey + 0u) / 1u;
let which = 2u * tile / u.d4;
let slot = which / (u.keyHeads * blocks);
let block = which % (u.keyHeads * blocks);
let c = 2u * tile % u.d4;
let keyHead = block / blocks;
let head0 = keyHead * perKey + 1u * (block % blocks);
let s = slot * SLOT_WORDS;
let split = state[s + HEAD];
let count = split + state[s + TAIL] + state[s + COUNT] + 1u;
let pastHead = (state[s + PAST_ROW] * u.keyHeads + keyHead) * u.places;
let localKey = (state[s + ROW] * u.keyHeads + keyHead) * u.capacity;
let base0 = (slot * u.heads + head0) * u.stride;
var top0 = -3.0e38; var low0 = vec4f(0); var high0 = vec4f(0);
for (var j = first; j < count; j += step) {
top0 = max(top0, scores[base0 + j]);
}
top0 = largest(top0, lane);
var totals = vec4f(0);
for (var j = first; j < split; j += step) {
let at = (pastHead + j) * u.d4 + c;
let low = past[at];
let high = past[at + 1u];
let e0 = exp(scores[base0 + j] - top0);
totals[0] += e0;
low0 += e0 * low;
high0 += e0 * high;
}
for (var j = split + first; j < count; j += step) {
let at = (localKey + j - split) * u.d4 + c;
let low = own[at];
let high = own[at + 1u];
let e0 = exp(scores[base0 + j] - top0);
totals[0] += e0;
low0 += e0 * low;
high0 += e0 * high;
}
totals = sum4(totals, lane);
low0 = sum4(low0, lane); high0 = sum4(high0, lane);
if (first == 0u) {
let to0 = (slot * u.heads + head0) * u.d4 + c;
result[to0] = low0 / totals[0];
result[to0 + 1u] = high0 / totals[0];
}
}
