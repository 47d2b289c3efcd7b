struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 2112>;
var<workgroup> right: array<f32, 2112>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = batch * u.outBatch + u.outOffset + row * u.outRow + col;
var value = u.alpha * sum;
result[at] = value;
}
@compute @workgroup_size(256, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let batch = group.z;
let row0 = group.y * 128u;
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
let aRun = local.x % 16u;
let aNext = local.x / 16u;
let aTo = aRun * 132u + aNext * 1u;
let aAt = u.aOffset + batch * u.aBatch + rep * u.aRepeat + (row0 + aNext) * (u.aRow) + aRun * (u.aInner);
let bRun = local.x % 16u;
let bNext = local.x / 16u;
let bTo = bRun * 132u + bNext * 1u;
let bAt = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat + (col0 + bNext) * (u.bColumn) + bRun * (u.bInner);
for (var at = 0u; at < u.k; at += 16u) {
let a0At = aAt + (at / 1u * (u.aInner));
let a0rl = a[a0At];
let a0l = f32(a0rl);
let a1At = aAt + (at / 1u * (u.aInner) + 16u * (u.aRow));
let a1rl = a[a1At];
let a1l = f32(a1rl);
let a2At = aAt + (at / 1u * (u.aInner) + 32u * (u.aRow));
let a2rl = a[a2At];
let a2l = f32(a2rl);
let a3At = aAt + (at / 1u * (u.aInner) + 48u * (u.aRow));
let a3rl = a[a3At];
let a3l = f32(a3rl);
let a4At = aAt + (at / 1u * (u.aInner) + 64u * (u.aRow));
let a4rl = a[a4At];
let a4l = f32(a4rl);
let a5At = aAt + (at / 1u * (u.aInner) + 80u * (u.aRow));
let a5rl = a[a5At];
let a5l = f32(a5rl);
let a6At = aAt + (at / 1u * (u.aInner) + 96u * (u.aRow));
let a6rl = a[a6At];
let a6l = f32(a6rl);
let a7At = aAt + (at / 1u * (u.aInner) + 112u * (u.aRow));
let a7rl = a[a7At];
let a7l = f32(a7rl);
let b0At = bAt + (at / 1u * (u.bInner));
let b0rl = b[b0At];
let b0l = f32(b0rl);
let b1At = bAt + (at / 1u * (u.bInner) + 16u * (u.bColumn));
let b1rl = b[b1At];
let b1l = f32(b1rl);
let b2At = bAt + (at / 1u * (u.bInner) + 32u * (u.bColumn));
let b2rl = b[b2At];
let b2l = f32(b2rl);
let b3At = bAt + (at / 1u * (u.bInner) + 48u * (u.bColumn));
let b3rl = b[b3At];
let b3l = f32(b3rl);
let b4At = bAt + (at / 1u * (u.bInner) + 64u * (u.bColumn));
let b4rl = b[b4At];
let b4l = f32(b4rl);
let b5At = bAt + (at / 1u * (u.bInner) + 80u * (u.bColumn));
let b5rl = b[b5At];
let b5l = f32(b5rl);
let b6At = bAt + (at / 1u * (u.bInner) + 96u * (u.bColumn));
let b6rl = b[b6At];
let b6l = f32(b6rl);
let b7At = bAt + (at / 1u * (u.bInner) + 112u * (u.bColumn));
let b7rl = b[b7At];
let b7l = f32(b7rl);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 16u] = a1l; }
{ left[aTo + 32u] = a2l; }
{ left[aTo + 48u] = a3l; }
{ left[aTo + 64u] = a4l; }
{ left[aTo + 80u] = a5l; }
{ left[aTo + 96u] = a6l; }
{ left[aTo + 112u] = a7l; }
{ right[bTo + 0u] = b0l; }
{ right[bTo + 16u] = b1l; }
{ right[bTo + 32u] = b2l; }
{ right[bTo + 48u] = b3l; }
{ right[bTo + 64u] = b4l; }
{ right[bTo + 80u] = b5l; }
{ right[bTo + 96u] = b6l; }
{ right[bTo + 112u] = b7l; }
if (at + 16u > end) { left[aTo + 0u] = select(a0l, f32(0), at + 1u * aRun >= end);
left[aTo + 16u] = select(a1l, f32(0), at + 1u * aRun >= end);
left[aTo + 32u] = select(a2l, f32(0), at + 1u * aRun >= end);
left[aTo + 48u] = select(a3l, f32(0), at + 1u * aRun >= end);
left[aTo + 64u] = select(a4l, f32(0), at + 1u * aRun >= end);
left[aTo + 80u] = select(a5l, f32(0), at + 1u * aRun >= end);
left[aTo + 96u] = select(a6l, f32(0), at + 1u * aRun >= end);
left[aTo + 112u] = select(a7l, f32(0), at + 1u * aRun >= end);right[bTo + 0u] = select(b0l, f32(0), at + 1u * bRun >= end);
right[bTo + 16u] = select(b1l, f32(0), at + 1u * bRun >= end);
right[bTo + 32u] = select(b2l, f32(0), at + 1u * bRun >= end);
right[bTo + 48u] = select(b3l, f32(0), at + 1u * bRun >= end);
right[bTo + 64u] = select(b4l, f32(0), at + 1u * bRun >= end);
right[bTo + 80u] = select(b5l, f32(0), at + 1u * bRun >= end);
right[bTo + 96u] = select(b6l, f32(0), at + 1u * bRun >= end);
right[bTo + 112u] = select(b7l, f32(0), at + 1u * bRun >= end); }
workgroupBarrier();
for (var run = 0u; run < 2u; run++) {
let lrun = run * 1056u + 4u * ty;
let rrun = run * 1056u + 4u * tx;
{
let l = lrun + 0u;
let r = rrun + 0u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 132u;
let r = rrun + 132u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 264u;
let r = rrun + 264u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 396u;
let r = rrun + 396u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 528u;
let r = rrun + 528u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 660u;
let r = rrun + 660u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 792u;
let r = rrun + 792u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
let l = lrun + 924u;
let r = rrun + 924u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let a1 = vec4<f32>(left[l + 64u + 0u], left[l + 64u + 1u], left[l + 64u + 2u], left[l + 64u + 3u]);
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
put(row0 + 4u * ty + 64u, col0 + 4u * tx + c + 0u, batch, c4_0[c]);
put(row0 + 4u * ty + 64u, col0 + 4u * tx + c + 64u, batch, c4_1[c]);
put(row0 + 4u * ty + 65u, col0 + 4u * tx + c + 0u, batch, c5_0[c]);
put(row0 + 4u * ty + 65u, col0 + 4u * tx + c + 64u, batch, c5_1[c]);
put(row0 + 4u * ty + 66u, col0 + 4u * tx + c + 0u, batch, c6_0[c]);
put(row0 + 4u * ty + 66u, col0 + 4u * tx + c + 64u, batch, c6_1[c]);
put(row0 + 4u * ty + 67u, col0 + 4u * tx + c + 0u, batch, c7_0[c]);
put(row0 + 4u * ty + 67u, col0 + 4u * tx + c + 64u, batch, c7_1[c]);
}
}
