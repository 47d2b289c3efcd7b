struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> extra: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 1088>;
var<workgroup> right: array<f32, 2112>;
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
let aRun = local.x % 64u;
let aNext = local.x / 64u;
let aTo = aRun * 1u + aNext * 68u;
let aAt = u.aOffset + batch * u.aBatch + rep * u.aRepeat + (row0 / 1u + aRun) * (u.aRow) + aNext * (u.aInner);
let bRun = local.x % 128u;
let bNext = local.x / 128u;
let bTo = bRun * 1u + bNext * 132u;
let bAt = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat + (col0 / 1u + bRun) * (u.bColumn) + bNext * (u.bInner);
for (var at = 0u; at < u.k; at += 16u) {
let a0At = aAt + (at * (u.aInner));
let a0rl = a[a0At];
let a0l = f32(a0rl);
let a1At = aAt + (at * (u.aInner) + 2u * (u.aInner));
let a1rl = a[a1At];
let a1l = f32(a1rl);
let a2At = aAt + (at * (u.aInner) + 4u * (u.aInner));
let a2rl = a[a2At];
let a2l = f32(a2rl);
let a3At = aAt + (at * (u.aInner) + 6u * (u.aInner));
let a3rl = a[a3At];
let a3l = f32(a3rl);
let a4At = aAt + (at * (u.aInner) + 8u * (u.aInner));
let a4rl = a[a4At];
let a4l = f32(a4rl);
let a5At = aAt + (at * (u.aInner) + 10u * (u.aInner));
let a5rl = a[a5At];
let a5l = f32(a5rl);
let a6At = aAt + (at * (u.aInner) + 12u * (u.aInner));
let a6rl = a[a6At];
let a6l = f32(a6rl);
let a7At = aAt + (at * (u.aInner) + 14u * (u.aInner));
let a7rl = a[a7At];
let a7l = f32(a7rl);
let b0At = bAt + (at * (u.bInner));
let b0rl = b[b0At];
let b0l = f32(b0rl);
let b1At = bAt + (at * (u.bInner) + 1u * (u.bInner));
let b1rl = b[b1At];
let b1l = f32(b1rl);
let b2At = bAt + (at * (u.bInner) + 2u * (u.bInner));
let b2rl = b[b2At];
let b2l = f32(b2rl);
let b3At = bAt + (at * (u.bInner) + 3u * (u.bInner));
let b3rl = b[b3At];
let b3l = f32(b3rl);
let b4At = bAt + (at * (u.bInner) + 4u * (u.bInner));
let b4rl = b[b4At];
let b4l = f32(b4rl);
let b5At = bAt + (at * (u.bInner) + 5u * (u.bInner));
let b5rl = b[b5At];
let b5l = f32(b5rl);
let b6At = bAt + (at * (u.bInner) + 6u * (u.bInner));
let b6rl = b[b6At];
let b6l = f32(b6rl);
let b7At = bAt + (at * (u.bInner) + 7u * (u.bInner));
let b7rl = b[b7At];
let b7l = f32(b7rl);
let b8At = bAt + (at * (u.bInner) + 8u * (u.bInner));
let b8rl = b[b8At];
let b8l = f32(b8rl);
let b9At = bAt + (at * (u.bInner) + 9u * (u.bInner));
let b9rl = b[b9At];
let b9l = f32(b9rl);
let b10At = bAt + (at * (u.bInner) + 10u * (u.bInner));
let b10rl = b[b10At];
let b10l = f32(b10rl);
let b11At = bAt + (at * (u.bInner) + 11u * (u.bInner));
let b11rl = b[b11At];
let b11l = f32(b11rl);
let b12At = bAt + (at * (u.bInner) + 12u * (u.bInner));
let b12rl = b[b12At];
let b12l = f32(b12rl);
let b13At = bAt + (at * (u.bInner) + 13u * (u.bInner));
let b13rl = b[b13At];
let b13l = f32(b13rl);
let b14At = bAt + (at * (u.bInner) + 14u * (u.bInner));
let b14rl = b[b14At];
let b14l = f32(b14rl);
let b15At = bAt + (at * (u.bInner) + 15u * (u.bInner));
let b15rl = b[b15At];
let b15l = f32(b15rl);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 136u] = a1l; }
{ left[aTo + 272u] = a2l; }
{ left[aTo + 408u] = a3l; }
{ left[aTo + 544u] = a4l; }
{ left[aTo + 680u] = a5l; }
{ left[aTo + 816u] = a6l; }
{ left[aTo + 952u] = a7l; }
{ right[bTo + 0u] = b0l; }
{ right[bTo + 132u] = b1l; }
{ right[bTo + 264u] = b2l; }
{ right[bTo + 396u] = b3l; }
{ right[bTo + 528u] = b4l; }
{ right[bTo + 660u] = b5l; }
{ right[bTo + 792u] = b6l; }
{ right[bTo + 924u] = b7l; }
{ right[bTo + 1056u] = b8l; }
{ right[bTo + 1188u] = b9l; }
{ right[bTo + 1320u] = b10l; }
{ right[bTo + 1452u] = b11l; }
{ right[bTo + 1584u] = b12l; }
{ right[bTo + 1716u] = b13l; }
{ right[bTo + 1848u] = b14l; }
{ right[bTo + 1980u] = b15l; }
if (at + 16u > end) { left[aTo + 0u] = select(a0l, f32(0), at + aNext + 0u >= end);
left[aTo + 136u] = select(a1l, f32(0), at + aNext + 2u >= end);
left[aTo + 272u] = select(a2l, f32(0), at + aNext + 4u >= end);
left[aTo + 408u] = select(a3l, f32(0), at + aNext + 6u >= end);
left[aTo + 544u] = select(a4l, f32(0), at + aNext + 8u >= end);
left[aTo + 680u] = select(a5l, f32(0), at + aNext + 10u >= end);
left[aTo + 816u] = select(a6l, f32(0), at + aNext + 12u >= end);
left[aTo + 952u] = select(a7l, f32(0), at + aNext + 14u >= end);right[bTo + 0u] = select(b0l, f32(0), at + bNext + 0u >= end);
right[bTo + 132u] = select(b1l, f32(0), at + bNext + 1u >= end);
right[bTo + 264u] = select(b2l, f32(0), at + bNext + 2u >= end);
right[bTo + 396u] = select(b3l, f32(0), at + bNext + 3u >= end);
right[bTo + 528u] = select(b4l, f32(0), at + bNext + 4u >= end);
right[bTo + 660u] = select(b5l, f32(0), at + bNext + 5u >= end);
right[bTo + 792u] = select(b6l, f32(0), at + bNext + 6u >= end);
right[bTo + 924u] = select(b7l, f32(0), at + bNext + 7u >= end);
right[bTo + 1056u] = select(b8l, f32(0), at + bNext + 8u >= end);
right[bTo + 1188u] = select(b9l, f32(0), at + bNext + 9u >= end);
right[bTo + 1320u] = select(b10l, f32(0), at + bNext + 10u >= end);
right[bTo + 1452u] = select(b11l, f32(0), at + bNext + 11u >= end);
right[bTo + 1584u] = select(b12l, f32(0), at + bNext + 12u >= end);
right[bTo + 1716u] = select(b13l, f32(0), at + bNext + 13u >= end);
right[bTo + 1848u] = select(b14l, f32(0), at + bNext + 14u >= end);
right[bTo + 1980u] = select(b15l, f32(0), at + bNext + 15u >= end); }
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
