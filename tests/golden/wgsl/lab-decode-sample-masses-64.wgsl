struct Uniforms { tiles: u32, width: u32, rows: u32, greedy: u32, temperature: f32, drawTemperature: f32, guard: f32, topK: u32, rest: u32, minP: f32, penalty: f32, words: u32, rounds: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<u32>;
@group(0) @binding(3) var<storage, read_write> seen: array<u32>;
@group(0) @binding(4) var<storage, read_write> parts: array<u32>;
var<workgroup> shared_sum: array<f32, 64>;
fn sum(value: f32, lane: u32) -> f32 {
workgroupBarrier();
shared_sum[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_sum[lane] = shared_sum[lane] + shared_sum[lane + span]; }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_sum[0]);
}
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
var<workgroup> shared_mass: array<vec2u, 64>;
fn mass(value: vec2u, lane: u32) -> vec2u {
workgroupBarrier();
shared_mass[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_mass[lane] = add64(shared_mass[lane], shared_mass[lane + span]); }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_mass[0]);
}
const ROW = 0u; const PAST_ROW = 1u; const HEAD = 2u; const TAIL = 3u; const COUNT = 4u; const ID = 5u;
const DRAW = 6u; const KEY = 9u; const POSITION = 11u; const SHIFT = 12u;
const SLOT_WORDS = 13u;
const NO_TOKEN = 4294967295u; const STRANGE = 2147483648u;
fn multiplyHigh(a: u32, b: u32) -> u32 {
let a0 = a & 0xffffu; let a1 = a >> 16u;
let b0 = b & 0xffffu; let b1 = b >> 16u;
let cross = a1 * b0 + ((a0 * b0) >> 16u);
let middle = a0 * b1 + (cross & 0xffffu);
return a1 * b1 + (cross >> 16u) + (middle >> 16u);
}
fn philox(counter: vec4u, key: vec2u) -> vec4u {
var c = counter;
var k = key;
for (var round = 0u; round < u.rounds; round++) {
let high0 = multiplyHigh(0xd2511f53u, c.x);
let high1 = multiplyHigh(0xcd9e8d57u, c.z);
c = vec4u(high1 ^ c.y ^ k.x, 0xcd9e8d57u * c.z, high0 ^ c.w ^ k.y, 0xd2511f53u * c.x);
k += vec2u(0x9e3779b9u, 0xbb67ae85u);
}
return c;
}
fn add64(a: vec2u, b: vec2u) -> vec2u {
let low = a.x + b.x;
return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}
fn subtract64(a: vec2u, b: vec2u) -> vec2u { return vec2u(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x)); }
fn below64(a: vec2u, b: vec2u) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }
/** a · b >> shift for a shift of 24 or 32 and a product below 2^96. */
fn scaled64(a: vec2u, b: u32, shift: u32) -> vec2u {
let w0 = a.x * b;
let inner = a.y * b;
let w1 = multiplyHigh(a.x, b) + inner;
let w2 = multiplyHigh(a.y, b) + select(0u, 1u, w1 < inner);
if (shift == 32u) { return vec2u(w1, w2); }
return vec2u((w0 >> 24u) | (w1 << 8u), (w1 >> 24u) | (w2 << 8u));
}
fn isNumber(z: f32) -> bool { return (bitcast<u32>(z) & 0x7fffffffu) <= 0x7f800000u; }
/** Clips by comparing bits, because a compiler may assume that there are no infinities. */
fn guarded(z: f32) -> f32 {
let bits = bitcast<u32>(z);
if ((bits & 0x7fffffffu) <= bitcast<u32>(u.guard)) { return z; }
return select(u.guard, -u.guard, (bits >> 31u) != 0u);
}
fn clipped(z: f32) -> bool { return isNumber(z) && (bitcast<u32>(z) & 0x7fffffffu) > bitcast<u32>(u.guard); }
fn full(logit: f32) -> f32 { return guarded(logit) / u.temperature; }
fn penalised(logit: f32, row: u32, i: u32) -> f32 {
if (u.words == 0u || ((seen[row * u.words + (i >> 5u)] >> (i & 31u)) & 1u) == 0u) { return logit; }
return select(logit * u.penalty, logit / u.penalty, logit > 0.0);
}
/** The score of token i in the draw. */
fn score(logit: f32, row: u32, i: u32) -> f32 { return guarded(penalised(logit, row, i)) / u.drawTemperature; }
/** An integer with the order of the number; both zeros give the same. */
fn rank(value: f32) -> u32 {
var bits = bitcast<u32>(value);
if (bits == 0x80000000u) { bits = 0u; }
return select(bits | 0x80000000u, ~bits, (bits >> 31u) != 0u);
}
/** A probability relative to the largest, in the units of the draw. */
fn weight(share: f32) -> u32 { return u32(share * 2147483648.0 + 0.5); }
const CHUNK = 2048u; const PART_WORDS = 12u;
const TOP = 0u; const BEST = 1u; const RANK = 2u; const FIRST_ID = 3u; const ODD = 4u; const CLIPS = 5u;
const TOTAL = 6u; const SLOPE = 7u; const MASS = 8u;
fn chunks() -> u32 { return (u.width + CHUNK - 1u) / CHUNK; }
fn real(at: u32) -> f32 { return bitcast<f32>(parts[at]); }
fn kept(e: f32) -> u32 { return select(0u, weight(e), e >= u.minP); }
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let many = chunks();
let slot = tile / many;
let row = state[slot * SLOT_WORDS + ROW];
let base = slot * u.width;
let start = (tile % many) * CHUNK;
let stop = min(u.width, start + CHUNK);
let part = tile * PART_WORDS;
var top = -3.0e38;
var best = -3.0e38;
for (var c = slot * many + first; c < (slot + 1u) * many; c += step) {
top = max(top, real(c * PART_WORDS + TOP));
best = max(best, real(c * PART_WORDS + BEST));
}
top = largest(top, lane);
best = largest(best, lane);
var total = 0.0;
var slope = 0.0;
var own = vec2u(0);
for (var i = start + first; i < stop; i += step) {
let x = logits[base + i];
if (!isNumber(x)) { continue; }
let z = full(x) - top;
let e = exp(z);
total += e;
slope += e * z;
own = add64(own, vec2u(kept(exp(score(x, row, i) - best)), 0u));
}
total = sum(total, lane);
slope = sum(slope, lane);
own = mass(own, lane);
if (first == 0u) {
parts[part + TOTAL] = bitcast<u32>(total);
parts[part + SLOPE] = bitcast<u32>(slope);
parts[part + MASS] = own.x;
parts[part + MASS + 1u] = own.y;
}
}
