enable f16;
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
var<workgroup> left: array<f16, 576>;
var<workgroup> right: array<f16, 576>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = row * u.width + u.first + col;
var value = u.factor / u.weightFactor * sum / rowFactors[u.firstRow + row];
if (u.hasBias != 0u) { value += bias[(u.first + col)]; }
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
let end = (8u * u.units);
let aRun = local.x % 2u;
let aNext = local.x / 2u;
let aTo = aRun * 288u + aNext * 1u;
let aAt = 0u + (row0 + aNext) * ((2u * u.units)) + aRun * (2u);
let factor0 = rowFactors[u.firstRow + min(row0 + aNext + 0u, u.m - 1u)];
let bRun = local.x % 2u;
let bNext = local.x / 2u;
let bTo = bRun * 288u + bNext * 1u;
let bAt = u.skip * u.rowUnits + (col0 + bNext) * (u.rowUnits) + bRun * (1u);
for (var at = 0u; at < (8u * u.units); at += 16u) {
let a0At = aAt + (at / 8u * (2u));
let a0rl = factor0 * x[a0At]; let a0rh = factor0 * x[a0At + 1u];
let a0l = vec4<f16>(a0rl);
let a0h = vec4<f16>(a0rh);
let b0At = bAt + (at / 8u * (1u)); let b0r = w[b0At] ^ vec2u(0x80808080u); let b0s = select(0.0, u.weightFactor * scale((b0At) / 4u), (at + 8u * bRun < end));
let b0p0 = halves(b0r.x, b0s); let b0p1 = halves(b0r.x >> 8u, b0s); let b0p2 = halves(b0r.y, b0s); let b0p3 = halves(b0r.y >> 8u, b0s);
let b0l = vec4<f16>(b0p0.x, b0p1.x, b0p0.y, b0p1.y); let b0h = vec4<f16>(b0p2.x, b0p3.x, b0p2.y, b0p3.y);
{ left[aTo + 0u] = a0l[0];
left[aTo + 36u] = a0l[1];
left[aTo + 72u] = a0l[2];
left[aTo + 108u] = a0l[3];
left[aTo + 144u] = a0h[0];
left[aTo + 180u] = a0h[1];
left[aTo + 216u] = a0h[2];
left[aTo + 252u] = a0h[3]; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 36u] = b0l[1];
right[bTo + 72u] = b0l[2];
right[bTo + 108u] = b0l[3];
right[bTo + 144u] = b0h[0];
right[bTo + 180u] = b0h[1];
right[bTo + 216u] = b0h[2];
right[bTo + 252u] = b0h[3]; }
if (at + 16u > end) { if (at + 8u * aRun >= end) { left[aTo + 0u] = f16(0);
left[aTo + 36u] = f16(0);
left[aTo + 72u] = f16(0);
left[aTo + 108u] = f16(0);
left[aTo + 144u] = f16(0);
left[aTo + 180u] = f16(0);
left[aTo + 216u] = f16(0);
left[aTo + 252u] = f16(0); } }
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
