struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> extra: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 1088>;
var<workgroup> right: array<f32, 1088>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = batch * u.outBatch + u.outOffset + row * u.outRow + col;
var value = u.alpha * sum;
if (u.hasBias != 0u) { value += bias[col]; }
if (u.hasExtra != 0u) { value += extra[at]; }
result[at] = value;
}
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let batch = group.z;
let row0 = group.y * 64u;
let col0 = group.x * 64u;
let tx = local.x % 16u;
let ty = local.x / 16u;
var c0_0 = vec4f(0);
var c1_0 = vec4f(0);
var c2_0 = vec4f(0);
var c3_0 = vec4f(0);
var c4_0 = vec4f(0);
var c5_0 = vec4f(0);
var c6_0 = vec4f(0);
var c7_0 = vec4f(0);
for (var rep = 0u; rep < u.repeats; rep++) {
let end = u.k;
let aRun = local.x % 4u;
let aNext = local.x / 4u;
let aTo = aRun * 272u + aNext * 1u;
let aAt = u.aOffset + batch * u.aBatch + rep * u.aRepeat + (row0 + aNext) * (u.aRow) + aRun * (1u);
let bRun = local.x % 4u;
let bNext = local.x / 4u;
let bTo = bRun * 272u + bNext * 1u;
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
{ left[aTo + 0u] = a0l[0];
left[aTo + 68u] = a0l[1];
left[aTo + 136u] = a0l[2];
left[aTo + 204u] = a0l[3]; }
{ left[aTo + 32u] = a1l[0];
left[aTo + 100u] = a1l[1];
left[aTo + 168u] = a1l[2];
left[aTo + 236u] = a1l[3]; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 68u] = b0l[1];
right[bTo + 136u] = b0l[2];
right[bTo + 204u] = b0l[3]; }
{ right[bTo + 32u] = b1l[0];
right[bTo + 100u] = b1l[1];
right[bTo + 168u] = b1l[2];
right[bTo + 236u] = b1l[3]; }
if (at + 16u > end) { if (at + 4u * aRun >= end) { left[aTo + 0u] = f32(0);
left[aTo + 68u] = f32(0);
left[aTo + 136u] = f32(0);
left[aTo + 204u] = f32(0); }
if (at + 4u * aRun >= end) { left[aTo + 32u] = f32(0);
left[aTo + 100u] = f32(0);
left[aTo + 168u] = f32(0);
left[aTo + 236u] = f32(0); }if (at + 4u * bRun >= end) { right[bTo + 0u] = f32(0);
right[bTo + 68u] = f32(0);
right[bTo + 136u] = f32(0);
right[bTo + 204u] = f32(0); }
if (at + 4u * bRun >= end) { right[bTo + 32u] = f32(0);
right[bTo + 100u] = f32(0);
right[bTo + 168u] = f32(0);
right[bTo + 236u] = f32(0); } }
workgroupBarrier();
for (var run = 0u; run < 2u; run++) {
let lrun = run * 544u + 4u * ty;
let rrun = run * 544u + 4u * tx;
{
let l = lrun + 0u;
let r = rrun + 0u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 68u;
let r = rrun + 68u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 136u;
let r = rrun + 136u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 204u;
let r = rrun + 204u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 272u;
let r = rrun + 272u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 340u;
let r = rrun + 340u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 408u;
let r = rrun + 408u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
{
let l = lrun + 476u;
let r = rrun + 476u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 32u + 0u], left[l + 32u + 1u], left[l + 32u + 2u], left[l + 32u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
c4_0 += a1[0] * b0;
c5_0 += a1[1] * b0;
c6_0 += a1[2] * b0;
c7_0 += a1[3] * b0;
}
}
workgroupBarrier();
}
}
for (var c = 0u; c < 4u; c++) {
put(row0 + 4u * ty + 0u, col0 + 4u * tx + c + 0u, batch, c0_0[c]);
put(row0 + 4u * ty + 1u, col0 + 4u * tx + c + 0u, batch, c1_0[c]);
put(row0 + 4u * ty + 2u, col0 + 4u * tx + c + 0u, batch, c2_0[c]);
put(row0 + 4u * ty + 3u, col0 + 4u * tx + c + 0u, batch, c3_0[c]);
put(row0 + 4u * ty + 32u, col0 + 4u * tx + c + 0u, batch, c4_0[c]);
put(row0 + 4u * ty + 33u, col0 + 4u * tx + c + 0u, batch, c5_0[c]);
put(row0 + 4u * ty + 34u, col0 + 4u * tx + c + 0u, batch, c6_0[c]);
put(row0 + 4u * ty + 35u, col0 + 4u * tx + c + 0u, batch, c7_0[c]);
}
}
