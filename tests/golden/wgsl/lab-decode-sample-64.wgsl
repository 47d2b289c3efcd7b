struct Uniforms { tiles: u32, width: u32, rows: u32, greedy: u32, temperature: f32, drawTemperature: f32, guard: f32, topK: u32, rest: u32, minP: f32, penalty: f32, words: u32, rounds: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<u32>;
@group(0) @binding(3) var<storage, read_write> seen: array<u32>;
@group(0) @binding(4) var<storage, read_write> drawn: array<vec4<u32>>;
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
var<workgroup> shared_least: array<u32, 64>;
fn least(value: u32, lane: u32) -> u32 {
workgroupBarrier();
shared_least[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_least[lane] = min(shared_least[lane], shared_least[lane + span]); }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_least[0]);
}
var<workgroup> shared_count: array<u32, 64>;
fn count(value: u32, lane: u32) -> u32 {
workgroupBarrier();
shared_count[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_count[lane] = shared_count[lane] + shared_count[lane + span]; }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_count[0]);
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
var<workgroup> shared_before: array<vec2u, 64>;
fn before(value: vec2u, lane: u32) -> vec2u {
workgroupBarrier();
shared_before[lane] = value;
workgroupBarrier();
var sum = vec2u(0);
for (var i = 0u; i < lane; i++) { sum = add64(sum, shared_before[i]); }
return sum;
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
fn finish(s: u32, row: u32, base: u32, id: u32, top: f32, total: f32, slope: f32, clips: u32, strange: u32) {
let position = state[s + COUNT];
var entry = vec4u(id, 0u, 0u, clips | select(0u, STRANGE, strange != 0u));
if (id != NO_TOKEN) {
entry.y = bitcast<u32>(full(logits[base + id]) - top - log(total));
entry.z = bitcast<u32>(log(total) - slope / total);
if (u.words != 0u) { seen[row * u.words + (id >> 5u)] |= 1u << (id & 31u); }
}
drawn[position * u.rows + row] = entry;
state[s + ID] = min(id, u.width - 1u);
state[s + COUNT] = position + 1u;
}
fn drawWord(s: u32) -> u32 {
return philox(
vec4u(state[s + DRAW], state[s + DRAW + 1u], state[s + DRAW + 2u], state[s + POSITION] + state[s + COUNT]),
vec2u(state[s + KEY], state[s + KEY + 1u])).x;
}
/** The place of the draw in a distribution with this mass: the first token whose running sum is above it is drawn. */
fn placeIn(all: vec2u, word: u32) -> vec2u { return scaled64(all, ((word >> 9u) << 1u) | 1u, 24u); }
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let s = tile * SLOT_WORDS;
let row = state[s + ROW];
let base = tile * u.width;
// The full distribution, which the ratio of the loss uses.
var top = -3.0e38;
var best = -3.0e38;
var strange = 0u;
var clips = 0u;
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
if (!isNumber(x)) { strange++; continue; }
if (clipped(x)) { clips++; }
top = max(top, full(x));
best = max(best, score(x, row, i));
}
top = largest(top, lane);
best = largest(best, lane);
strange = count(strange, lane);
clips = count(clips, lane);
var total = 0.0;
var slope = 0.0;
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
if (!isNumber(x)) { continue; }
let z = full(x) - top;
let e = exp(z);
total += e;
slope += e * z;
}
total = sum(total, lane);
slope = sum(slope, lane);
var id = NO_TOKEN;
if (u.greedy != 0u) {
// Before the guard, which would make all logits above it equal. Ranks also order infinities.
var most = 0u;
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
if (isNumber(x)) { most = max(most, rank(penalised(x, row, i))); }
}
most = ~least(~most, lane);
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
if (isNumber(x) && rank(penalised(x, row, i)) == most) { id = min(id, i); }
}
} else {
// Kept: ranks above lowest, and those equal to it from index tieFrom on.
var lowest = 0u;
var tieFrom = 0u;
if (u.topK != 0u && u.topK < u.width) {
for (var bit = 1u << 31u; bit != 0u; bit >>= 1u) {
var many = 0u;
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
if (isNumber(x) && rank(score(x, row, i)) >= (lowest | bit)) { many++; }
}
if (count(many, lane) >= u.topK) { lowest |= bit; }
}
}
if (u.rest != 0u) {
var all = vec2u(0);
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
let value = score(x, row, i);
if (isNumber(x) && rank(value) >= lowest) { all = add64(all, vec2u(weight(exp(value - best)), 0u)); }
}
let limit = scaled64(mass(all, lane), u.rest, 32u);
var border = 0u;
var gone = vec2u(0);
for (var bit = 1u << 31u; bit != 0u; bit >>= 1u) {
var under = vec2u(0);
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
let value = score(x, row, i);
let r = rank(value);
if (isNumber(x) && r >= lowest && r < (border | bit)) {
under = add64(under, vec2u(weight(exp(value - best)), 0u));
}
}
under = mass(under, lane);
if (!below64(limit, under)) { border |= bit; gone = under; }
}
// Of equal scores at the border, those with the lowest index are removed first, as many as still fit.
var one = 0u;
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
let value = score(x, row, i);
if (isNumber(x) && rank(value) == border) { one = weight(exp(value - best)); }
}
one = ~least(~one, lane);
let room = subtract64(limit, gone);
if (one != 0u && !below64(room, vec2u(one, 0u))) {
for (var bit = 1u << 31u; bit != 0u; bit >>= 1u) {
var ties = 0u;
for (var i = first; i < u.width; i += step) {
let x = logits[base + i];
if (isNumber(x) && i < (tieFrom | bit) && rank(score(x, row, i)) == border) { ties++; }
}
ties = count(ties, lane);
if (!below64(room, vec2u(one * ties, multiplyHigh(one, ties)))) { tieFrom |= bit; }
}
}
lowest = max(lowest, border);
}
let span = (u.width + step - 1u) / step;
let begin = min(u.width, first * span);
let end = min(u.width, begin + span);
var own = vec2u(0);
for (var i = begin; i < end; i++) {
let x = logits[base + i];
let value = score(x, row, i);
let r = rank(value);
let e = exp(value - best);
let kept = isNumber(x) && (r > lowest || (r == lowest && i >= tieFrom)) && e >= u.minP;
if (kept) { own = add64(own, vec2u(weight(e), 0u)); }
}
let all = mass(own, lane);
var running = before(own, lane);
let goal = placeIn(all, drawWord(s));
if (!below64(goal, running) && below64(goal, add64(running, own))) {
for (var i = begin; i < end; i++) {
let x = logits[base + i];
let value = score(x, row, i);
let r = rank(value);
let e = exp(value - best);
let kept = isNumber(x) && (r > lowest || (r == lowest && i >= tieFrom)) && e >= u.minP;
if (kept) { running = add64(running, vec2u(weight(e), 0u)); }
if (below64(goal, running)) { id = i; break; }
}
}
}
id = least(id, lane);
if (first == 0u) { finish(s, row, base, id, top, total, slope, clips, strange); }
}
