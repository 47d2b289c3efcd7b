struct Uniforms { d4: u32, heads: u32, keyHeads: u32, places: u32, capacity: u32, stride: u32, scale: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> past: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> own: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> state: array<u32>;
@group(0) @binding(5) var<storage, read_write> scores: array<f32>;
const ROW = 0u; const PAST_ROW = 1u; const HEAD = 2u; const TAIL = 3u; const COUNT = 4u; const ID = 5u;
const DRAW = 6u; const KEY = 9u; const POSITION = 11u; const SHIFT = 12u;
const SLOT_WORDS = 13u;
const NO_TOKEN = 4294967295u;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let perKey = u.heads / u.keyHeads;
let blocks = (perKey + 0u) / 1u;
let slot = group.z;
let block = group.y;
let keyHead = block / blocks;
let head0 = keyHead * perKey + 1u * (block % blocks);
let s = slot * SLOT_WORDS;
let split = state[s + HEAD];
let count = split + state[s + TAIL] + state[s + COUNT] + 1u;
let pastHead = (state[s + PAST_ROW] * u.keyHeads + keyHead) * u.places;
let localKey = (state[s + ROW] * u.keyHeads + keyHead) * u.capacity;
let j0 = group.x * 128u + local.x;
let j1 = j0 + 64u;
if (j0 >= count) { return; }
var before0 = vec2f(0); var after0 = vec2f(0);
if (j0 < split) {
let last = min(j1, split - 1u);
let a0 = pastHead + j0;
let a1 = pastHead + last;
for (var i = 0u; i < u.d4; i++) {
let k0 = past[a0 * u.d4 + i];
let k1 = past[a1 * u.d4 + i];
let x0 = q[(slot * u.heads + head0) * u.d4 + i];
before0 += vec2f(dot(x0, k0), dot(x0, k1));
}
}
if (j0 >= split || (j1 >= split && j1 < count)) {
let a0 = localKey + max(j0, split) - split;
let a1 = localKey + min(j1, count - 1u) - split;
for (var i = 0u; i < u.d4; i++) {
let k0 = own[a0 * u.d4 + i];
let k1 = own[a1 * u.d4 + i];
let x0 = q[(slot * u.heads + head0) * u.d4 + i];
after0 += vec2f(dot(x0, k0), dot(x0, k1));
}
}
let at0 = (slot * u.heads + head0) * u.stride;
scores[at0 + j0] = select(after0.x, before0.x, j0 < split) * u.scale;
if (j1 < count) { scores[at0 + j1] = select(after0.y, before0.y, j1 < split) * u.scale; }
}
