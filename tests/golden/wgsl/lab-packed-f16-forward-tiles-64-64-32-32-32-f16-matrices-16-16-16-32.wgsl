enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
struct Uniforms { m: u32, n: u32, skip: u32, units: u32, rowUnits: u32, width: u32, first: u32, hasBias: u32, factor: f32, firstRow: u32, weightFactor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> rowFactors: array<f32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f16, 2560>;
var<workgroup> right: array<f16, 2560>;
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
let row0 = group.y * 64u;
let col0 = group.x * 64u;
let owns = subgroup < 4u;
let top = subgroup / 2u * 32u;
let side = subgroup % 2u * 32u;
var c0_0: subgroup_matrix_result<f32, 16, 16>;
var c0_1: subgroup_matrix_result<f32, 16, 16>;
var c1_0: subgroup_matrix_result<f32, 16, 16>;
var c1_1: subgroup_matrix_result<f32, 16, 16>;
{
let end = (8u * u.units);
let aRun = local.x % 4u;
let aNext = local.x / 4u;
let aTo = aRun * 8u + aNext * 40u;
let aAt = 0u + (row0 + aNext) * ((2u * u.units)) + aRun * (2u);
let factor0 = rowFactors[u.firstRow + min(row0 + aNext + 0u, u.m - 1u)];
let factor1 = rowFactors[u.firstRow + min(row0 + aNext + 32u, u.m - 1u)];
let bRun = local.x % 4u;
let bNext = local.x / 4u;
let bTo = bRun * 8u + bNext * 40u;
let bAt = u.skip * u.rowUnits + (col0 + bNext) * (u.rowUnits) + bRun * (1u);
for (var at = 0u; at < (8u * u.units); at += 32u) {
let a0At = aAt + (at / 8u * (2u));
let a0rl = factor0 * x[a0At]; let a0rh = factor0 * x[a0At + 1u];
let a0l = vec4<f16>(a0rl);
let a0h = vec4<f16>(a0rh);
let a1At = aAt + (at / 8u * (2u) + 32u * ((2u * u.units)));
let a1rl = factor1 * x[a1At]; let a1rh = factor1 * x[a1At + 1u];
let a1l = vec4<f16>(a1rl);
let a1h = vec4<f16>(a1rh);
let b0At = bAt + (at / 8u * (1u)); let b0r = w[b0At]; let b0s = f16(select(0.0, 256.0 * u.weightFactor, (at + 8u * bRun < end)));
let b0p0 = bitcast<vec2<f16>>(b0r.x) * b0s * 0.00390625h; let b0p1 = bitcast<vec2<f16>>(b0r.y) * b0s * 0.00390625h; let b0p2 = bitcast<vec2<f16>>(b0r.z) * b0s * 0.00390625h; let b0p3 = bitcast<vec2<f16>>(b0r.w) * b0s * 0.00390625h;
let b0l = vec4<f16>(b0p0, b0p1); let b0h = vec4<f16>(b0p2, b0p3);
let b1At = bAt + (at / 8u * (1u) + 32u * (u.rowUnits)); let b1r = w[b1At]; let b1s = f16(select(0.0, 256.0 * u.weightFactor, (at + 8u * bRun < end)));
let b1p0 = bitcast<vec2<f16>>(b1r.x) * b1s * 0.00390625h; let b1p1 = bitcast<vec2<f16>>(b1r.y) * b1s * 0.00390625h; let b1p2 = bitcast<vec2<f16>>(b1r.z) * b1s * 0.00390625h; let b1p3 = bitcast<vec2<f16>>(b1r.w) * b1s * 0.00390625h;
let b1l = vec4<f16>(b1p0, b1p1); let b1h = vec4<f16>(b1p2, b1p3);
{ left[aTo + 0u] = a0l[0];
left[aTo + 1u] = a0l[1];
left[aTo + 2u] = a0l[2];
left[aTo + 3u] = a0l[3];
left[aTo + 4u] = a0h[0];
left[aTo + 5u] = a0h[1];
left[aTo + 6u] = a0h[2];
left[aTo + 7u] = a0h[3]; }
{ left[aTo + 1280u] = a1l[0];
left[aTo + 1281u] = a1l[1];
left[aTo + 1282u] = a1l[2];
left[aTo + 1283u] = a1l[3];
left[aTo + 1284u] = a1h[0];
left[aTo + 1285u] = a1h[1];
left[aTo + 1286u] = a1h[2];
left[aTo + 1287u] = a1h[3]; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 1u] = b0l[1];
right[bTo + 2u] = b0l[2];
right[bTo + 3u] = b0l[3];
right[bTo + 4u] = b0h[0];
right[bTo + 5u] = b0h[1];
right[bTo + 6u] = b0h[2];
right[bTo + 7u] = b0h[3]; }
{ right[bTo + 1280u] = b1l[0];
right[bTo + 1281u] = b1l[1];
right[bTo + 1282u] = b1l[2];
right[bTo + 1283u] = b1l[3];
right[bTo + 1284u] = b1h[0];
right[bTo + 1285u] = b1h[1];
right[bTo + 1286u] = b1h[2];
right[bTo + 1287u] = b1h[3]; }
if (at + 32u > end) { if (at + 8u * aRun >= end) { left[aTo + 0u] = f16(0);
left[aTo + 1u] = f16(0);
left[aTo + 2u] = f16(0);
left[aTo + 3u] = f16(0);
left[aTo + 4u] = f16(0);
left[aTo + 5u] = f16(0);
left[aTo + 6u] = f16(0);
left[aTo + 7u] = f16(0); }
if (at + 8u * aRun >= end) { left[aTo + 1280u] = f16(0);
left[aTo + 1281u] = f16(0);
left[aTo + 1282u] = f16(0);
left[aTo + 1283u] = f16(0);
left[aTo + 1284u] = f16(0);
left[aTo + 1285u] = f16(0);
left[aTo + 1286u] = f16(0);
left[aTo + 1287u] = f16(0); } }
workgroupBarrier();
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) {
for (var k = 0u; k < 32u; k += 16u) {
let a0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&left, (top + 0u) * 40u + k, 40u);
let a1 = subgroupMatrixLoad<subgroup_matrix_left<f16, 16, 16>, row_major>(&left, (top + 16u) * 40u + k, 40u);
let b0 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&right, (side + 0u) * 40u + k, 40u);
c0_0 = subgroupMatrixMultiplyAccumulate(a0, b0, c0_0);
c1_0 = subgroupMatrixMultiplyAccumulate(a1, b0, c1_0);
let b1 = subgroupMatrixLoad<subgroup_matrix_right<f16, 16, 16>, col_major>(&right, (side + 16u) * 40u + k, 40u);
c0_1 = subgroupMatrixMultiplyAccumulate(a0, b1, c0_1);
c1_1 = subgroupMatrixMultiplyAccumulate(a1, b1, c1_1);
}
}
workgroupBarrier();
}
}
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) { subgroupMatrixStore<row_major>(&sums, subgroup * 256u, c0_0, 16u); }
workgroupBarrier();
for (var i = local.x; i < 1024u; i += 128u) {
let part = i / 256u;
let row = row0 + part / 2u * 32u + 0u + i % 256u / 16u;
let col = col0 + part % 2u * 32u + 0u + i % 16u;
put(row, col, batch, sums[i]);
}
workgroupBarrier();
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) { subgroupMatrixStore<row_major>(&sums, subgroup * 256u, c0_1, 16u); }
workgroupBarrier();
for (var i = local.x; i < 1024u; i += 128u) {
let part = i / 256u;
let row = row0 + part / 2u * 32u + 0u + i % 256u / 16u;
let col = col0 + part % 2u * 32u + 16u + i % 16u;
put(row, col, batch, sums[i]);
}
workgroupBarrier();
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) { subgroupMatrixStore<row_major>(&sums, subgroup * 256u, c1_0, 16u); }
workgroupBarrier();
for (var i = local.x; i < 1024u; i += 128u) {
let part = i / 256u;
let row = row0 + part / 2u * 32u + 16u + i % 256u / 16u;
let col = col0 + part % 2u * 32u + 0u + i % 16u;
put(row, col, batch, sums[i]);
}
workgroupBarrier();
@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns) { subgroupMatrixStore<row_major>(&sums, subgroup * 256u, c1_1, 16u); }
workgroupBarrier();
for (var i = local.x; i < 1024u; i += 128u) {
let part = i / 256u;
let row = row0 + part / 2u * 32u + 16u + i % 256u / 16u;
let col = col0 + part % 2u * 32u + 16u + i % 16u;
put(row, col, batch, sums[i]);
}
workgroupBarrier();
}
