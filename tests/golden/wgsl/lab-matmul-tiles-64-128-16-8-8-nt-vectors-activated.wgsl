struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, activation: u32, keeps: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> extra: array<f32>;
@group(0) @binding(5) var<storage, read> others: array<f32>;
@group(0) @binding(6) var<storage, read_write> result: array<f32>;
@group(0) @binding(7) var<storage, read_write> activated: array<f32>;
var<workgroup> left: array<f32, 1088>;
var<workgroup> right: array<f32, 2112>;
alias V = f32;
fn bell(x: V) -> V { return exp(-min(0.5 * x * x, V(80.0))); }
fn normal(x: V, bell: V) -> V {
let t = 1.0 / (1.0 + 0.23164189 * abs(x));
let poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
let tail = 0.5 * poly * bell;
return select(tail, 1.0 - tail, x >= V(0.0));
}
fn sigmoid(x: V) -> V { return 1.0 / (1.0 + exp(min(-x, V(87.0)))); }
fn after(at: u32) {
let x = result[at];
var y = x;
switch u.activation {
case 0u: { y = x * normal(x, bell(x)); }
case 1u: { y = max(x, V(0.0)); }
case 2u: { let other = others[at]; y = other * sigmoid(other) * x; }
case 3u: { let other = others[at]; y = other + x; }
default: {}
}
if (u.keeps != 0u) { activated[at] = y; } else { result[at] = y; }
}
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = batch * u.outBatch + u.outOffset + row * u.outRow + col;
var value = u.alpha * sum;
if (u.hasBias != 0u) { value += bias[col]; }
if (u.hasExtra != 0u) { value += extra[at]; }
result[at] = value;
after(at);
}
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let batch = group.z;
let row0 = group.y * 64u;
let col0 = group.x * 128u;
let tx = local.x % 16u;
let ty = local.x / 16u;
var c0_0 = vec4f(0);
var c0_1 = vec4f(0);
var c1_0 = vec4f(0);
var c1_1 = vec4f(0);
var c2_0 = vec4f(0);
var c2_1 = vec4f(0);
var c3_0 = vec4f(0);
var c3_1 = vec4f(0);
var c4_0 = vec4f(0);
var c4_1 = vec4f(0);
var c5_0 = vec4f(0);
var c5_1 = vec4f(0);
var c6_0 = vec4f(0);
var c6_1 = vec4f(0);
var c7_0 = vec4f(0);
var c7_1 = vec4f(0);
for (var rep = 0u; rep < u.repeats; rep++) {
let end = u.k;
let aRun = local.x % 4u;
let aNext = local.x / 4u;
let aTo = aRun * 272u + aNext * 1u;
let aAt = u.aOffset + batch * u.aBatch + rep * u.aRepeat + (row0 + aNext) * (u.aRow) + aRun * (1u);
let bRun = local.x % 4u;
let bNext = local.x / 4u;
let bTo = bRun * 528u + bNext * 1u;
let bAt = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat + (col0 + bNext) * (u.bColumn) + bRun * (1u);
for (var at = 0u; at < u.k; at += 16u) {
let a0At = aAt + (at / 4u * (1u));
let a0rl = a[a0At];
let a0l = vec4<f32>(a0rl);
let a1At = aAt + (at / 4u * (1u) + 32u * (u.aRow));
let a1rl = a[a1At];
let a1l = vec4<f32>(a1rl);
let b0At = bAt + (at / 4u * (1u));
let b0rl = b[b0At];
let b0l = vec4<f32>(b0rl);
let b1At = bAt + (at / 4u * (1u) + 32u * (u.bColumn));
let b1rl = b[b1At];
let b1l = vec4<f32>(b1rl);
let b2At = bAt + (at / 4u * (1u) + 64u * (u.bColumn));
let b2rl = b[b2At];
let b2l = vec4<f32>(b2rl);
let b3At = bAt + (at / 4u * (1u) + 96u * (u.bColumn));
let b3rl = b[b3At];
let b3l = vec4<f32>(b3rl);
{ left[aTo + 0u] = a0l[0];
left[aTo + 68u] = a0l[1];
left[aTo + 136u] = a0l[2];
left[aTo + 204u] = a0l[3]; }
{ left[aTo + 32u] = a1l[0];
left[aTo + 100u] = a1l[1];
left[aTo + 168u] = a1l[2];
left[aTo + 236u] = a1l[3]; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 132u] = b0l[1];
right[bTo + 264u] = b0l[2];
right[bTo + 396u] = b0l[3]; }
{ right[bTo + 32u] = b1l[0];
right[bTo + 164u] = b1l[1];
right[bTo + 296u] = b1l[2];
right[bTo + 428u] = b1l[3]; }
{ right[bTo + 64u] = b2l[0];
right[bTo + 196u] = b2l[1];
right[bTo + 328u] = b2l[2];
right[bTo + 460u] = b2l[3]; }
{ right[bTo + 96u] = b3l[0];
right[bTo + 228u] = b3l[1];
right[bTo + 360u] = b3l[2];
right[bTo + 492u] = b3l[3]; }
if (at + 16u > end) { if (at + 4u * aRun >= end) { left[aTo + 0u] = f32(0);
left[aTo + 68u] = f32(0);
left[aTo + 136u] = f32(0);
left[aTo + 204u] = f32(0); }
if (at + 4u * aRun >= end) { left[aTo + 32u] = f32(0);
left[aTo + 100u] = f32(0);
left[aTo + 168u] = f32(0);
left[aTo + 236u] = f32(0); }if (at + 4u * bRun >= end) { right[bTo + 0u] = f32(0);
right[bTo + 132u] = f32(0);
right[bTo + 264u] = f32(0);
right[bTo + 396u] = f32(0); }
if (at + 4u * bRun >= end) { right[bTo + 32u] = f32(0);
right[bTo + 164u] = f32(0);
right[bTo + 296u] = f32(0);
right[bTo + 428u] = f32(0); }
if (at + 4u * bRun >= end) { right[bTo + 64u] = f32(0);
right[bTo + 196u] = f32(0);
right[bTo + 328u] = f32(0);
right[bTo + 460u] = f32(0); }
if (at + 4u * bRun >= end) { right[bTo + 96u] = f32(0);
right[bTo + 228u] = f32(0);
right[bTo + 360u] = f32(0);
right[bTo + 492u] = f32(0); } }
workgroupBarrier();
for (var run = 0u; run < 2u; run++) {
let lrun = run * 544u + 4u * ty;
let rrun = run * 1056u + 4u * tx;
{
let l = lrun + 0u;
let r = rrun + 0u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 68u;
let r = rrun + 132u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 136u;
let r = rrun + 264u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 204u;
let r = rrun + 396u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 272u;
let r = rrun + 528u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 340u;
let r = rrun + 660u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 408u;
let r = rrun + 792u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
{
let l = lrun + 476u;
let r = rrun + 924u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
let b1 = vec4<f32>(right[r + 64u + 0u], right[r + 64u + 1u], right[r + 64u + 2u], right[r + 64u + 3u]);
c0_0 += a0[0] * b0;
c0_1 += a0[0] * b1;
c1_0 += a0[1] * b0;
c1_1 += a0[1] * b1;
c2_0 += a0[2] * b0;
c2_1 += a0[2] * b1;
c3_0 += a0[3] * b0;
c3_1 += a0[3] * b1;
c4_0 += a1[0] * b0;
c4_1 += a1[0] * b1;
c5_0 += a1[1] * b0;
c5_1 += a1[1] * b1;
c6_0 += a1[2] * b0;
c6_1 += a1[2] * b1;
c7_0 += a1[3] * b0;
c7_1 += a1[3] * b1;
}
}
workgroupBarrier();
}
}
for (var c = 0u; c < 4u; c++) {
put(row0 + 4u * ty + 0u, col0 + 4u * tx + c + 0u, batch, c0_0[c]);
put(row0 + 4u * ty + 0u, col0 + 4u * tx + c + 64u, batch, c0_1[c]);
put(row0 + 4u * ty + 1u, col0 + 4u * tx + c + 0u, batch, c1_0[c]);
put(row0 + 4u * ty + 1u, col0 + 4u * tx + c + 64u, batch, c1_1[c]);
put(row0 + 4u * ty + 2u, col0 + 4u * tx + c + 0u, batch, c2_0[c]);
put(row0 + 4u * ty + 2u, col0 + 4u * tx + c + 64u, batch, c2_1[c]);
put(row0 + 4u * ty + 3u, col0 + 4u * tx + c + 0u, batch, c3_0[c]);
put(row0 + 4u * ty + 3u, col0 + 4u * tx + c + 64u, batch, c3_1[c]);
put(row0 + 4u * ty + 32u, col0 + 4u * tx + c + 0u, batch, c4_0[c]);
put(row0 + 4u * ty + 32u, col0 + 4u * tx + c + 64u, batch, c4_1[c]);
put(row0 + 4u * ty + 33u, col0 + 4u * tx + c + 0u, batch, c5_0[c]);
put(row0 + 4u * ty + 33u, col0 + 4u * tx + c + 64u, batch, c5_1[c]);
put(row0 + 4u * ty + 34u, col0 + 4u * tx + c + 0u, batch, c6_0[c]);
put(row0 + 4u * ty + 34u, col0 + 4u * tx + c + 64u, batch, c6_1[c]);
put(row0 + 4u * ty + 35u, col0 + 4u * tx + c + 0u, batch, c7_0[c]);
put(row0 + 4u * ty + 35u, col0 + 4u * tx + c + 64u, batch, c7_1[c]);
}
}
