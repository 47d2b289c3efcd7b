enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
struct Uniforms { m: u32, n: u32, skip: u32, units: u32, rowUnits: u32, width: u32, first: u32, hasBias: u32, factor: f32, firstRow: u32, weightFactor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;
@group(0) @binding(4) var<storage, read> rowFactors: array<f32>;
@group(0) @binding(5) var<storage, read> bias: array<f32>;
@group(0) @binding(6) var<storage, read_write> result: array<f32>;
fn halves(v: u32, s: f32) -> vec2<f16> {
return vec2<f16>(s * unpack2x16float((v & 0x00ff00ffu) | 0x64006400u) - 1152.0 * s);
}
fn scale(i: u32) -> f32 {
let pair = unpack2x16float(scales[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
var<workgroup> left: array<f16, 1280>;
var<workgroup> right: array<f16, 1280>;
var<workgroup> sums: array<f32, 1024>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = row * u.width + u.first + col;
var value = u.factor / u.weightFactor * sum / rowFactors[u.firstRow + row];
if (u.hasBias != 0u) { value += bias[(u.first + col)]; }
result[at] = value;
}
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u, @builtin(subgroup_id) subgroup: u32) {
let batch = group.z;
let row0 = group.y * 32u;
let col0 = group.x * 32u;
let owns = subgroup < 4u;
let top = subgroup / 2u * 16u;
let side = subgroup % 2u * 16u;
var c0_0: subgroup_matrix_result<f32, 16, 16>;
{
let end = (8u * u.units);
let aRun = local.x % 4u;
let aNext = local.x / 4u;
let aTo = aRun * 8u + aNext * 40u;
let aAt = 0u + (row0 + aNext) * ((2u * u.units)) + aRun * (2u);
let factor0 = rowFactors[u.firstRow + min(row0 + aNext + 0u, u.m - 1u)];
let bRun = local.x % 4u;
let bNext = local.x / 4u;
let bTo = bRun * 8u + bNext * 40u;
let bAt = u.skip * u.rowUnits + (col0 + bNext) * (u.rowUnits) + bRun * (1u);
for (var at = 0u; at < (8u * u.units); at += 32u) {
let a0At = aAt + (at / 8u * (2u));
let a0rl = factor0 * x[a0At]; let a0rh = factor0 * x[a0At + 1u];
let a0l = vec4<f16>(a0rl);
let a0h = vec4<f16>(a0rh);
let b0At = bAt + (at / 8u * (1u)); let b0r = w[b0At] ^ vec2u(0x80808080u); let b0s = select(0.0, u.weightFactor * scale((b0At) / 4u), (at + 8u * bRun < end));
let b0p0 = halves(b0r.x, b0s); let b0p1 = halves(b0r.x >> 8u, b0s); let b0p2 = halves(b0r.y, b0s); let b0p3 = halves(b0r.y >> 8u, b0s);
let b0l = vec4<f16>(b0p0.x, b0p1.x, b0p0.y, b0p1.y); let b0h = vec4<f16>(b0p2.x, b0p3.x, b0p2.y, b0p3.y);
{ left[aTo + 0u] = a0l[0];
left[aTo + 1u] = a0l[1];
left[aTo + 2u] = a0l[2];
left[aTo + 3u] = a0l[3];
left[aTo + 4u] = a0h[0];
left[aTo + 5u] = a0h[1];
left[aTo + 6u] = a0h[2];
left[aTo + 7u] = a0h[3]; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 1u] = b0l[1];
right[bTo + 2u] = b0l[2];
right[bTo + 3u] = b0l[3];
right[bTo + 4u] = b0h[0];
right[bTo + 5u] = b0h[1];
right[bTo + 6u] = b0h[2];
right[bTo + 7u] = b0h[3]; }
if (at + 32u > end) { if (at + 8u * aRun >= end) { left[aTo + 0u] = f16(0);
left[aTo + 1u] = f16(0);
left[aTo + 2u] = f16(0);
left[aTo + 3u] = f16(0);
left[aTo + 4u] = f16(0);
left[aTo + 5u] = f16(0);
left[aTo + 6u] = f16(0);
left[aTo + 7u] = f16(0); } }
workgroupBarrier();
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) {
for (var k = 0u; k < 32u; k += 16u) {
let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&left, (top + 0u) * 40u + k, 40u);
let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&right, (side + 0u) * 40u + k, 40u);
c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
}
}
workgroupBarrier();
}
}
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) { subgroupMatrixStore<row_major>(&sums, subgroup * 256u, c0_0, 16u); }
workgroupBarrier();
for (var i = local.x; i < 1024u; i += 128u) {
let part = i / 256u;
let row = row0 + part / 2u * 16u + 0u + i % 256u / 16u;
let col = col0 + part % 2u * 16u + 0u + i % 16u;
put(row, col, batch, sums[i]);
}
workgroupBarrier();
}
