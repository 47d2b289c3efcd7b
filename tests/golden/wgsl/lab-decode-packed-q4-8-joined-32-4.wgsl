struct Uniforms { tiles: u32, tile0: u32, units: u32, rowUnits: u32, skip: u32, first: u32, n: u32, resultStride: u32, resultFirst: u32, factor: f32, rank4: u32, branchStride: u32, branchFirst: u32, upScale: f32, hasBias: u32, accumulate: u32, end0: u32, end1: u32, biasFirst: u32, skip1: u32, skip2: u32, factor1: f32, factor2: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;
@group(0) @binding(4) var<storage, read> w1: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> scales1: array<u32>;
@group(0) @binding(6) var<storage, read> w2: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read> scales2: array<u32>;
@group(0) @binding(8) var<storage, read> branch: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> result: array<f32>;
var<workgroup> shared_sums: array<vec4f, 1088>;
fn partOf(column: u32) -> u32 { return u32(column >= u.end0) + u32(column >= u.end1); }
fn firstOf(part: u32) -> u32 { return select(select(0u, u.end0, part == 1u), u.end1, part == 2u); }
fn skipOf(part: u32) -> u32 { return select(select(u.skip, u.skip1, part == 1u), u.skip2, part == 2u); }
fn factorOf(part: u32) -> f32 { return select(select(u.factor, u.factor1, part == 1u), u.factor2, part == 2u); }
fn nibbles(v: u32) -> vec4f { return vec4f((vec4i(bitcast<i32>(v)) << vec4u(28u, 24u, 20u, 16u)) >> vec4u(28u)); }
fn scale(i: u32) -> f32 {
let pair = unpack2x16float(scales[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn scale1(i: u32) -> f32 {
let pair = unpack2x16float(scales1[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn scale2(i: u32) -> f32 {
let pair = unpack2x16float(scales2[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn put(slot: u32, column: u32, i: u32, sum: f32) {
if (i >= u.n - column) { return; }
let at = slot * u.resultStride + u.resultFirst + u.first + column + i;
var value = factorOf(partOf(column)) * sum;
if (u.hasBias != 0u) { value += up[u.biasFirst + column / 4u][i]; }
if (u.accumulate != 0u) { value += result[at]; }
result[at] = value;
}
@compute @workgroup_size(4, 32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tiles0 = (group.y * groups.x + group.x) * 4u;
if (tiles0 >= u.tiles) { return; }
let lane = local.y; let first = lane; let step = 32u;
let tile = tiles0 + local.x; let inside = tile < u.tiles;
let slot0 = group.z * 8u;
let column = (tile + u.tile0) * 4u;
let part = partOf(column);
let own = column - firstOf(part);
let q0 = (skipOf(part) + own + 0u) * (u.rowUnits / 4u);
let q1 = (skipOf(part) + own + 1u) * (u.rowUnits / 4u);
let q2 = (skipOf(part) + own + 2u) * (u.rowUnits / 4u);
let q3 = (skipOf(part) + own + 3u) * (u.rowUnits / 4u);
var c0 = vec4f(0);
var c1 = vec4f(0);
var c2 = vec4f(0);
var c3 = vec4f(0);
var c4 = vec4f(0);
var c5 = vec4f(0);
var c6 = vec4f(0);
var c7 = vec4f(0);
let lowMask = 0x0000f000u * min(lane + 1u, 1u); let highMask = 0x000f0000u * min(lane + 1u, 1u);
let groups_k = (u.units + 3u) / 4u;
let thread = local.y * 4u + local.x;
let vector = thread % 128u;
let own_x = vector / 4u * 8u + vector % 4u;
let place = (thread / 128u * 4u + vector % 4u) * 34u + vector / 4u;
let x0 = (slot0 + 0u + thread / 128u) * 2u * u.units + own_x;
let x1 = (slot0 + 1u + thread / 128u) * 2u * u.units + own_x;
let x2 = (slot0 + 2u + thread / 128u) * 2u * u.units + own_x;
let x3 = (slot0 + 3u + thread / 128u) * 2u * u.units + own_x;
let x4 = (slot0 + 4u + thread / 128u) * 2u * u.units + own_x;
let x5 = (slot0 + 5u + thread / 128u) * 2u * u.units + own_x;
let x6 = (slot0 + 6u + thread / 128u) * 2u * u.units + own_x;
let x7 = (slot0 + 7u + thread / 128u) * 2u * u.units + own_x;
for (var group0 = 0u; group0 < groups_k; group0 += 32u) {
let at = group0 + lane;
let start = group0 * 8u;
var w00: vec4u; var w01: vec4u; var w02: vec4u; var w03: vec4u; var s: vec4f;
if (part == 0u) { w00 = w[1u * (q0 + at) + 0u]; w01 = w[1u * (q1 + at) + 0u]; w02 = w[1u * (q2 + at) + 0u]; w03 = w[1u * (q3 + at) + 0u]; s = vec4f(scale(q0 + at), scale(q1 + at), scale(q2 + at), scale(q3 + at)); } else if (part == 1u) { w00 = w1[1u * (q0 + at) + 0u]; w01 = w1[1u * (q1 + at) + 0u]; w02 = w1[1u * (q2 + at) + 0u]; w03 = w1[1u * (q3 + at) + 0u]; s = vec4f(scale1(q0 + at), scale1(q1 + at), scale1(q2 + at), scale1(q3 + at)); } else if (part == 2u) { w00 = w2[1u * (q0 + at) + 0u]; w01 = w2[1u * (q1 + at) + 0u]; w02 = w2[1u * (q2 + at) + 0u]; w03 = w2[1u * (q3 + at) + 0u]; s = vec4f(scale2(q0 + at), scale2(q1 + at), scale2(q2 + at), scale2(q3 + at)); }
let low = 2056.0 * s; let high = 136.0 * s;
if (start + 0u + own_x < 2u * u.units) {
shared_sums[place + 0u] = x[x0 + start + 0u];
shared_sums[place + 136u] = x[x1 + start + 0u];
shared_sums[place + 272u] = x[x2 + start + 0u];
shared_sums[place + 408u] = x[x3 + start + 0u];
shared_sums[place + 544u] = x[x4 + start + 0u];
shared_sums[place + 680u] = x[x5 + start + 0u];
shared_sums[place + 816u] = x[x6 + start + 0u];
shared_sums[place + 952u] = x[x7 + start + 0u];
}
workgroupBarrier();
if (at < groups_k) {
{ let r = vec4u(w00.x, w01.x, w02.x, w03.x); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>((r & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low;
{ let v = shared_sums[lane + 0u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 136u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 272u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 408u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 544u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 680u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 816u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 952u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
{ let r = vec4u(w00.x, w01.x, w02.x, w03.x); let tx = bitcast<vec4f>((r & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let ty = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high;
{ let v = shared_sums[lane + 34u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 170u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 306u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 442u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 578u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 714u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 850u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 986u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
{ let r = vec4u(w00.y, w01.y, w02.y, w03.y); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>((r & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low;
{ let v = shared_sums[lane + 68u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 204u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 340u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 476u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 612u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 748u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 884u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 1020u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
{ let r = vec4u(w00.y, w01.y, w02.y, w03.y); let tx = bitcast<vec4f>((r & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let ty = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high;
{ let v = shared_sums[lane + 102u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 238u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 374u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 510u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 646u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 782u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 918u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 1054u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
}
workgroupBarrier();
if (start + 4u + own_x < 2u * u.units) {
shared_sums[place + 0u] = x[x0 + start + 4u];
shared_sums[place + 136u] = x[x1 + start + 4u];
shared_sums[place + 272u] = x[x2 + start + 4u];
shared_sums[place + 408u] = x[x3 + start + 4u];
shared_sums[place + 544u] = x[x4 + start + 4u];
shared_sums[place + 680u] = x[x5 + start + 4u];
shared_sums[place + 816u] = x[x6 + start + 4u];
shared_sums[place + 952u] = x[x7 + start + 4u];
}
workgroupBarrier();
if (at < groups_k) {
{ let r = vec4u(w00.z, w01.z, w02.z, w03.z); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>((r & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low;
{ let v = shared_sums[lane + 0u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 136u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 272u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 408u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 544u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 680u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 816u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 952u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
{ let r = vec4u(w00.z, w01.z, w02.z, w03.z); let tx = bitcast<vec4f>((r & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let ty = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high;
{ let v = shared_sums[lane + 34u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 170u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 306u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 442u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 578u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 714u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 850u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 986u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
{ let r = vec4u(w00.w, w01.w, w02.w, w03.w); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r << vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>((r & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low;
{ let v = shared_sums[lane + 68u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 204u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 340u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 476u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 612u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 748u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 884u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 1020u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
{ let r = vec4u(w00.w, w01.w, w02.w, w03.w); let tx = bitcast<vec4f>((r & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let ty = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(lowMask)) ^ vec4u(0x45008000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(8u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(highMask)) ^ vec4u(0x43080000u)) * s - high;
{ let v = shared_sums[lane + 102u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; }
{ let v = shared_sums[lane + 238u];
c1 += v.x * tx; c1 += v.y * ty; c1 += v.z * tz; c1 += v.w * tw; }
{ let v = shared_sums[lane + 374u];
c2 += v.x * tx; c2 += v.y * ty; c2 += v.z * tz; c2 += v.w * tw; }
{ let v = shared_sums[lane + 510u];
c3 += v.x * tx; c3 += v.y * ty; c3 += v.z * tz; c3 += v.w * tw; }
{ let v = shared_sums[lane + 646u];
c4 += v.x * tx; c4 += v.y * ty; c4 += v.z * tz; c4 += v.w * tw; }
{ let v = shared_sums[lane + 782u];
c5 += v.x * tx; c5 += v.y * ty; c5 += v.z * tz; c5 += v.w * tw; }
{ let v = shared_sums[lane + 918u];
c6 += v.x * tx; c6 += v.y * ty; c6 += v.z * tz; c6 += v.w * tw; }
{ let v = shared_sums[lane + 1054u];
c7 += v.x * tx; c7 += v.y * ty; c7 += v.z * tz; c7 += v.w * tw; } }
}
workgroupBarrier();
}
let v0 = (u.first + min(column + 0u, u.n - 1u)) * u.rank4;
let v1 = (u.first + min(column + 1u, u.n - 1u)) * u.rank4;
let v2 = (u.first + min(column + 2u, u.n - 1u)) * u.rank4;
let v3 = (u.first + min(column + 3u, u.n - 1u)) * u.rank4;
let branchAt0 = (slot0 + 0u) * u.branchStride + part * u.rank4;
let branchAt1 = (slot0 + 1u) * u.branchStride + part * u.rank4;
let branchAt2 = (slot0 + 2u) * u.branchStride + part * u.rank4;
let branchAt3 = (slot0 + 3u) * u.branchStride + part * u.rank4;
let branchAt4 = (slot0 + 4u) * u.branchStride + part * u.rank4;
let branchAt5 = (slot0 + 5u) * u.branchStride + part * u.rank4;
let branchAt6 = (slot0 + 6u) * u.branchStride + part * u.rank4;
let branchAt7 = (slot0 + 7u) * u.branchStride + part * u.rank4;
for (var k = first; k < u.rank4; k += step) {
let up0 = (u.upScale / factorOf(part)) * up[v0 + k];
let up1 = (u.upScale / factorOf(part)) * up[v1 + k];
let up2 = (u.upScale / factorOf(part)) * up[v2 + k];
let up3 = (u.upScale / factorOf(part)) * up[v3 + k];
let t0x = vec4f(up0.x, up1.x, up2.x, up3.x); let t0y = vec4f(up0.y, up1.y, up2.y, up3.y); let t0z = vec4f(up0.z, up1.z, up2.z, up3.z); let t0w = vec4f(up0.w, up1.w, up2.w, up3.w);
{ let v0 = branch[branchAt0 + k];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; }
{ let v0 = branch[branchAt1 + k];
c1 += v0.x * t0x; c1 += v0.y * t0y; c1 += v0.z * t0z; c1 += v0.w * t0w; }
{ let v0 = branch[branchAt2 + k];
c2 += v0.x * t0x; c2 += v0.y * t0y; c2 += v0.z * t0z; c2 += v0.w * t0w; }
{ let v0 = branch[branchAt3 + k];
c3 += v0.x * t0x; c3 += v0.y * t0y; c3 += v0.z * t0z; c3 += v0.w * t0w; }
{ let v0 = branch[branchAt4 + k];
c4 += v0.x * t0x; c4 += v0.y * t0y; c4 += v0.z * t0z; c4 += v0.w * t0w; }
{ let v0 = branch[branchAt5 + k];
c5 += v0.x * t0x; c5 += v0.y * t0y; c5 += v0.z * t0z; c5 += v0.w * t0w; }
{ let v0 = branch[branchAt6 + k];
c6 += v0.x * t0x; c6 += v0.y * t0y; c6 += v0.z * t0z; c6 += v0.w * t0w; }
{ let v0 = branch[branchAt7 + k];
c7 += v0.x * t0x; c7 += v0.y * t0y; c7 += v0.z * t0z; c7 += v0.w * t0w; }
}
workgroupBarrier();
shared_sums[(lane * 8u + 0u) * 4u + local.x] = c0;
shared_sums[(lane * 8u + 1u) * 4u + local.x] = c1;
shared_sums[(lane * 8u + 2u) * 4u + local.x] = c2;
shared_sums[(lane * 8u + 3u) * 4u + local.x] = c3;
shared_sums[(lane * 8u + 4u) * 4u + local.x] = c4;
shared_sums[(lane * 8u + 5u) * 4u + local.x] = c5;
shared_sums[(lane * 8u + 6u) * 4u + local.x] = c6;
shared_sums[(lane * 8u + 7u) * 4u + local.x] = c7;
workgroupBarrier();
if (inside && lane < 32u) {
let r = lane / 4u; let element = lane % 4u;
var sum = 0.0;
for (var l = 0u; l < 32u; l++) {
sum += shared_sums[(l * 8u + r) * 4u + local.x][element];
}
put(slot0 + r, column, element, sum);
}
}
