struct Uniforms { tiles: u32, tile0: u32, units: u32, rowUnits: u32, skip: u32, first: u32, n: u32, resultStride: u32, resultFirst: u32, factor: f32, rank4: u32, branchStride: u32, branchFirst: u32, upScale: f32, hasBias: u32, accumulate: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read> branch: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> result: array<f32>;
var<workgroup> shared_sums: array<vec4f, 256>;
fn bytes(v: u32) -> vec4f { return vec4f((vec4i(bitcast<i32>(v)) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u)); }
fn scale(i: u32) -> f32 {
let pair = unpack2x16float(scales[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn put(slot: u32, column: u32, i: u32, sum: f32) {
if (i >= u.n - column) { return; }
let at = slot * u.resultStride + u.resultFirst + u.first + column + i;
var value = u.factor * sum;
if (u.hasBias != 0u) { value += bias[u.first + column + i]; }
if (u.accumulate != 0u) { value += result[at]; }
result[at] = value;
}
@compute @workgroup_size(8, 32)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tiles0 = (group.y * groups.x + group.x) * 8u;
if (tiles0 >= u.tiles) { return; }
let lane = local.y; let first = lane; let step = 32u;
let tile = tiles0 + local.x; let inside = tile < u.tiles;
let slot0 = group.z * 1u;
let column = (tile + u.tile0) * 4u;
let q0 = (u.skip + min(column + 0u, u.n - 1u)) * (u.rowUnits / 4u);
let q1 = (u.skip + min(column + 1u, u.n - 1u)) * (u.rowUnits / 4u);
let q2 = (u.skip + min(column + 2u, u.n - 1u)) * (u.rowUnits / 4u);
let q3 = (u.skip + min(column + 3u, u.n - 1u)) * (u.rowUnits / 4u);
var c0 = vec4f(0);
let lowMask = 0x000ff000u * min(lane + 1u, 1u);
let groups_k = (u.units + 3u) / 4u;
let thread = local.y * 8u + local.x;
let vector = thread % 128u;
let own_x = vector / 4u * 8u + vector % 4u;
let place = (thread / 128u * 4u + vector % 4u) * 34u + vector / 4u;
let x0 = (slot0 + 0u + thread / 128u) * 2u * u.units + own_x;
for (var group0 = 0u; group0 < groups_k; group0 += 32u) {
let at = group0 + lane;
let start = group0 * 8u;
var w00: vec4u; var w01: vec4u; var w02: vec4u; var w03: vec4u; var w10: vec4u; var w11: vec4u; var w12: vec4u; var w13: vec4u; var s: vec4f;
w00 = w[2u * (q0 + at) + 0u]; w01 = w[2u * (q1 + at) + 0u]; w02 = w[2u * (q2 + at) + 0u]; w03 = w[2u * (q3 + at) + 0u]; w10 = w[2u * (q0 + at) + 1u]; w11 = w[2u * (q1 + at) + 1u]; w12 = w[2u * (q2 + at) + 1u]; w13 = w[2u * (q3 + at) + 1u]; s = vec4f(scale(q0 + at), scale(q1 + at), scale(q2 + at), scale(q3 + at));
let low = 2176.0 * s;
if (start + 0u + own_x < 2u * u.units && thread < 128u) {
shared_sums[place + 0u] = x[x0 + start + 0u];
}
workgroupBarrier();
if (at < groups_k) {
{ let r = vec4u(w00.x, w01.x, w02.x, w03.x); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 0u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
{ let r = vec4u(w00.y, w01.y, w02.y, w03.y); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 34u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
{ let r = vec4u(w00.z, w01.z, w02.z, w03.z); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 68u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
{ let r = vec4u(w00.w, w01.w, w02.w, w03.w); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 102u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
}
workgroupBarrier();
if (start + 4u + own_x < 2u * u.units && thread < 128u) {
shared_sums[place + 0u] = x[x0 + start + 4u];
}
workgroupBarrier();
if (at < groups_k) {
{ let r = vec4u(w10.x, w11.x, w12.x, w13.x); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 0u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
{ let r = vec4u(w10.y, w11.y, w12.y, w13.y); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 34u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
{ let r = vec4u(w10.z, w11.z, w12.z, w13.z); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 68u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
{ let r = vec4u(w10.w, w11.w, w12.w, w13.w); let tx = bitcast<vec4f>(((r << vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let ty = bitcast<vec4f>(((r << vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tz = bitcast<vec4f>(((r >> vec4u(4u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low; let tw = bitcast<vec4f>(((r >> vec4u(12u)) & vec4u(lowMask)) ^ vec4u(0x45080000u)) * s - low;
{ let v = shared_sums[lane + 102u];
c0 += v.x * tx; c0 += v.y * ty; c0 += v.z * tz; c0 += v.w * tw; } }
}
workgroupBarrier();
}
let v0 = (u.first + min(column + 0u, u.n - 1u)) * u.rank4;
let v1 = (u.first + min(column + 1u, u.n - 1u)) * u.rank4;
let v2 = (u.first + min(column + 2u, u.n - 1u)) * u.rank4;
let v3 = (u.first + min(column + 3u, u.n - 1u)) * u.rank4;
let branchAt0 = (slot0 + 0u) * u.branchStride + u.branchFirst;
for (var k = first; k < u.rank4; k += step) {
let up0 = u.upScale * up[v0 + k];
let up1 = u.upScale * up[v1 + k];
let up2 = u.upScale * up[v2 + k];
let up3 = u.upScale * up[v3 + k];
let t0x = vec4f(up0.x, up1.x, up2.x, up3.x); let t0y = vec4f(up0.y, up1.y, up2.y, up3.y); let t0z = vec4f(up0.z, up1.z, up2.z, up3.z); let t0w = vec4f(up0.w, up1.w, up2.w, up3.w);
{ let v0 = branch[branchAt0 + k];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; }
}
workgroupBarrier();
shared_sums[(lane * 1u + 0u) * 8u + local.x] = c0;
workgroupBarrier();
if (inside && lane < 4u) {
let r = lane / 4u; let element = lane % 4u;
var sum = 0.0;
for (var l = 0u; l < 32u; l++) {
sum += shared_sums[(l * 1u + r) * 8u + local.x][element];
}
put(slot0 + r, column, element, sum);
}
}
