enable f16;
struct Uniforms { m: u32, k: u32, skip: u32, n: u32, rowUnits: u32, width: u32, first: u32, factor: f32, firstRow: u32, weightFactor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> rowFactors: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f16, 576>;
var<workgroup> right: array<f16, 576>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = row * u.n + col;
var value = u.factor / u.weightFactor * sum / rowFactors[u.firstRow + row];
result[at] = value;
}
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let batch = group.z;
let row0 = group.y * 32u;
let col0 = group.x * 32u;
let tx = local.x % 8u;
let ty = local.x / 8u;
var c0_0 = vec4f(0);
var c1_0 = vec4f(0);
var c2_0 = vec4f(0);
var c3_0 = vec4f(0);
{
let end = u.k;
let aRun = local.x % 16u;
let aNext = local.x / 16u;
let aTo = aRun * 36u + aNext * 1u;
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
let bTo = bRun * 8u + bNext * 36u;
let bAt = u.skip * u.rowUnits + (col0 / 8u + bRun) * (1u) + bNext * (u.rowUnits);
for (var at = 0u; at < u.k; at += 16u) {
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
let b0At = bAt + (at * (u.rowUnits)); let b0r = w[b0At]; let b0s = f16(select(0.0, 256.0 * u.weightFactor, (at + bNext + 0u < end)));
let b0p0 = bitcast<vec2<f16>>(b0r.x) * b0s * 0.00390625h; let b0p1 = bitcast<vec2<f16>>(b0r.y) * b0s * 0.00390625h; let b0p2 = bitcast<vec2<f16>>(b0r.z) * b0s * 0.00390625h; let b0p3 = bitcast<vec2<f16>>(b0r.w) * b0s * 0.00390625h;
let b0l = vec4<f16>(b0p0, b0p1); let b0h = vec4<f16>(b0p2, b0p3);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 4u] = a1l; }
{ left[aTo + 8u] = a2l; }
{ left[aTo + 12u] = a3l; }
{ left[aTo + 16u] = a4l; }
{ left[aTo + 20u] = a5l; }
{ left[aTo + 24u] = a6l; }
{ left[aTo + 28u] = a7l; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 1u] = b0l[1];
right[bTo + 2u] = b0l[2];
right[bTo + 3u] = b0l[3];
right[bTo + 4u] = b0h[0];
right[bTo + 5u] = b0h[1];
right[bTo + 6u] = b0h[2];
right[bTo + 7u] = b0h[3]; }
if (at + 16u > end) { left[aTo + 0u] = select(a0l, f16(0), at + 1u * aRun >= end);
left[aTo + 4u] = select(a1l, f16(0), at + 1u * aRun >= end);
left[aTo + 8u] = select(a2l, f16(0), at + 1u * aRun >= end);
left[aTo + 12u] = select(a3l, f16(0), at + 1u * aRun >= end);
left[aTo + 16u] = select(a4l, f16(0), at + 1u * aRun >= end);
left[aTo + 20u] = select(a5l, f16(0), at + 1u * aRun >= end);
left[aTo + 24u] = select(a6l, f16(0), at + 1u * aRun >= end);
left[aTo + 28u] = select(a7l, f16(0), at + 1u * aRun >= end); }
workgroupBarrier();
for (var run = 0u; run < 2u; run++) {
let lrun = run * 288u + 4u * ty;
let rrun = run * 288u + 4u * tx;
var h0_0 = vec4<f16>(0);
var h1_0 = vec4<f16>(0);
var h2_0 = vec4<f16>(0);
var h3_0 = vec4<f16>(0);
{
let l = lrun + 0u;
let r = rrun + 0u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 36u;
let r = rrun + 36u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 72u;
let r = rrun + 72u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 108u;
let r = rrun + 108u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 144u;
let r = rrun + 144u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 180u;
let r = rrun + 180u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 216u;
let r = rrun + 216u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
{
let l = lrun + 252u;
let r = rrun + 252u;
let a0 = vec4<f16>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f16>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
h0_0 += a0[0] * b0;
h1_0 += a0[1] * b0;
h2_0 += a0[2] * b0;
h3_0 += a0[3] * b0;
}
c0_0 += vec4f(h0_0);
c1_0 += vec4f(h1_0);
c2_0 += vec4f(h2_0);
c3_0 += vec4f(h3_0);
}
workgroupBarrier();
}
}
for (var c = 0u; c < 4u; c++) {
put(row0 + 4u * ty + 0u, col0 + 4u * tx + c + 0u, batch, c0_0[c]);
put(row0 + 4u * ty + 1u, col0 + 4u * tx + c + 0u, batch, c1_0[c]);
put(row0 + 4u * ty + 2u, col0 + 4u * tx + c + 0u, batch, c2_0[c]);
put(row0 + 4u * ty + 3u, col0 + 4u * tx + c + 0u, batch, c3_0[c]);
}
}
