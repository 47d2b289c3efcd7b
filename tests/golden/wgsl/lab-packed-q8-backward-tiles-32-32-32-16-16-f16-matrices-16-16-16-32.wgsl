enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
struct Uniforms { m: u32, k: u32, skip: u32, n: u32, rowUnits: u32, width: u32, first: u32, factor: f32, firstRow: u32, weightFactor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;
@group(0) @binding(4) var<storage, read> rowFactors: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
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
let at = row * u.n + col;
var value = u.factor / u.weightFactor * sum / rowFactors[u.firstRow + row];
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
let end = u.k;
let aRun = local.x % 32u;
let aNext = local.x / 32u;
let aTo = aRun * 1u + aNext * 40u;
let aAt = u.first + (row0 + aNext) * ((u.width)) + aRun * (1u);
let factor0 = rowFactors[u.firstRow + min(row0 + aNext + 0u, u.m - 1u)];
let factor1 = rowFactors[u.firstRow + min(row0 + aNext + 4u, u.m - 1u)];
let factor2 = rowFactors[u.firstRow + min(row0 + aNext + 8u, u.m - 1u)];
let factor3 = rowFactors[u.firstRow + min(row0 + aNext + 12u, u.m - 1u)];
let factor4 = rowFactors[u.firstRow + min(row0 + aNext + 16u, u.m - 1u)];
let factor5 = rowFactors[u.firstRow + min(row0 + aNext + 20u, u.m - 1u)];
let factor6 = rowFactors[u.firstRow + min(row0 + aNext + 24u, u.m - 1u)];
let factor7 = rowFactors[u.firstRow + min(row0 + aNext + 28u, u.m - 1u)];
let bRun = local.x % 4u;
let bNext = local.x / 4u;
let bTo = bRun * 320u + bNext * 1u;
let bAt = u.skip * u.rowUnits + (col0 / 8u + bRun) * (1u) + bNext * (u.rowUnits);
for (var at = 0u; at < u.k; at += 32u) {
let a0At = aAt + (at / 1u * (1u));
let a0rl = factor0 * dy[a0At];
let a0l = f16(a0rl);
let a1At = aAt + (at / 1u * (1u) + 4u * ((u.width)));
let a1rl = factor1 * dy[a1At];
let a1l = f16(a1rl);
let a2At = aAt + (at / 1u * (1u) + 8u * ((u.width)));
let a2rl = factor2 * dy[a2At];
let a2l = f16(a2rl);
let a3At = aAt + (at / 1u * (1u) + 12u * ((u.width)));
let a3rl = factor3 * dy[a3At];
let a3l = f16(a3rl);
let a4At = aAt + (at / 1u * (1u) + 16u * ((u.width)));
let a4rl = factor4 * dy[a4At];
let a4l = f16(a4rl);
let a5At = aAt + (at / 1u * (1u) + 20u * ((u.width)));
let a5rl = factor5 * dy[a5At];
let a5l = f16(a5rl);
let a6At = aAt + (at / 1u * (1u) + 24u * ((u.width)));
let a6rl = factor6 * dy[a6At];
let a6l = f16(a6rl);
let a7At = aAt + (at / 1u * (1u) + 28u * ((u.width)));
let a7rl = factor7 * dy[a7At];
let a7l = f16(a7rl);
let b0At = bAt + (at * (u.rowUnits)); let b0r = w[b0At] ^ vec2u(0x80808080u); let b0s = select(0.0, u.weightFactor * scale((b0At) / 4u), (at + bNext + 0u < end));
let b0p0 = halves(b0r.x, b0s); let b0p1 = halves(b0r.x >> 8u, b0s); let b0p2 = halves(b0r.y, b0s); let b0p3 = halves(b0r.y >> 8u, b0s);
let b0l = vec4<f16>(b0p0.x, b0p1.x, b0p0.y, b0p1.y); let b0h = vec4<f16>(b0p2.x, b0p3.x, b0p2.y, b0p3.y);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 160u] = a1l; }
{ left[aTo + 320u] = a2l; }
{ left[aTo + 480u] = a3l; }
{ left[aTo + 640u] = a4l; }
{ left[aTo + 800u] = a5l; }
{ left[aTo + 960u] = a6l; }
{ left[aTo + 1120u] = a7l; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 40u] = b0l[1];
right[bTo + 80u] = b0l[2];
right[bTo + 120u] = b0l[3];
right[bTo + 160u] = b0h[0];
right[bTo + 200u] = b0h[1];
right[bTo + 240u] = b0h[2];
right[bTo + 280u] = b0h[3]; }
if (at + 32u > end) { left[aTo + 0u] = select(a0l, f16(0), at + 1u * aRun >= end);
left[aTo + 160u] = select(a1l, f16(0), at + 1u * aRun >= end);
left[aTo + 320u] = select(a2l, f16(0), at + 1u * aRun >= end);
left[aTo + 480u] = select(a3l, f16(0), at + 1u * aRun >= end);
left[aTo + 640u] = select(a4l, f16(0), at + 1u * aRun >= end);
left[aTo + 800u] = select(a5l, f16(0), at + 1u * aRun >= end);
left[aTo + 960u] = select(a6l, f16(0), at + 1u * aRun >= end);
left[aTo + 1120u] = select(a7l, f16(0), at + 1u * aRun >= end); }
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
