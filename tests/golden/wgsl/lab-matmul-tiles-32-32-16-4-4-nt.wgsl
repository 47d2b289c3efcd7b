struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> extra: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 576>;
var<workgroup> right: array<f32, 576>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = batch * u.outBatch + u.outOffset + row * u.outRow + col;
var value = u.alpha * sum;
if (u.hasBias != 0u) { value += bias[col]; }
if (u.hasExtra != 0u) { value += extra[at]; }
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
for (var rep = 0u; rep < u.repeats; rep++) {
let end = u.k;
let aRun = local.x % 16u;
let aNext = local.x / 16u;
let aTo = aRun * 36u + aNext * 1u;
let aAt = u.aOffset + batch * u.aBatch + rep * u.aRepeat + (row0 + aNext) * (u.aRow) + aRun * (u.aInner);
let bRun = local.x % 16u;
let bNext = local.x / 16u;
let bTo = bRun * 36u + bNext * 1u;
let bAt = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat + (col0 + bNext) * (u.bColumn) + bRun * (u.bInner);
for (var at = 0u; at < u.k; at += 16u) {
let a0At = aAt + (at / 1u * (u.aInner));
let a0rl = a[a0At];
let a0l = f32(a0rl);
let a1At = aAt + (at / 1u * (u.aInner) + 4u * (u.aRow));
let a1rl = a[a1At];
let a1l = f32(a1rl);
let a2At = aAt + (at / 1u * (u.aInner) + 8u * (u.aRow));
let a2rl = a[a2At];
let a2l = f32(a2rl);
let a3At = aAt + (at / 1u * (u.aInner) + 12u * (u.aRow));
let a3rl = a[a3At];
let a3l = f32(a3rl);
let a4At = aAt + (at / 1u * (u.aInner) + 16u * (u.aRow));
let a4rl = a[a4At];
let a4l = f32(a4rl);
let a5At = aAt + (at / 1u * (u.aInner) + 20u * (u.aRow));
let a5rl = a[a5At];
let a5l = f32(a5rl);
let a6At = aAt + (at / 1u * (u.aInner) + 24u * (u.aRow));
let a6rl = a[a6At];
let a6l = f32(a6rl);
let a7At = aAt + (at / 1u * (u.aInner) + 28u * (u.aRow));
let a7rl = a[a7At];
let a7l = f32(a7rl);
let b0At = bAt + (at / 1u * (u.bInner));
let b0rl = b[b0At];
let b0l = f32(b0rl);
let b1At = bAt + (at / 1u * (u.bInner) + 4u * (u.bColumn));
let b1rl = b[b1At];
let b1l = f32(b1rl);
let b2At = bAt + (at / 1u * (u.bInner) + 8u * (u.bColumn));
let b2rl = b[b2At];
let b2l = f32(b2rl);
let b3At = bAt + (at / 1u * (u.bInner) + 12u * (u.bColumn));
let b3rl = b[b3At];
let b3l = f32(b3rl);
let b4At = bAt + (at / 1u * (u.bInner) + 16u * (u.bColumn));
let b4rl = b[b4At];
let b4l = f32(b4rl);
let b5At = bAt + (at / 1u * (u.bInner) + 20u * (u.bColumn));
let b5rl = b[b5At];
let b5l = f32(b5rl);
let b6At = bAt + (at / 1u * (u.bInner) + 24u * (u.bColumn));
let b6rl = b[b6At];
let b6l = f32(b6rl);
let b7At = bAt + (at / 1u * (u.bInner) + 28u * (u.bColumn));
let b7rl = b[b7At];
let b7l = f32(b7rl);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 4u] = a1l; }
{ left[aTo + 8u] = a2l; }
{ left[aTo + 12u] = a3l; }
{ left[aTo + 16u] = a4l; }
{ left[aTo + 20u] = a5l; }
{ left[aTo + 24u] = a6l; }
{ left[aTo + 28u] = a7l; }
{ right[bTo + 0u] = b0l; }
{ right[bTo + 4u] = b1l; }
{ right[bTo + 8u] = b2l; }
{ right[bTo + 12u] = b3l; }
{ right[bTo + 16u] = b4l; }
{ right[bTo + 20u] = b5l; }
{ right[bTo + 24u] = b6l; }
{ right[bTo + 28u] = b7l; }
if (at + 16u > end) { left[aTo + 0u] = select(a0l, f32(0), at + 1u * aRun >= end);
left[aTo + 4u] = select(a1l, f32(0), at + 1u * aRun >= end);
left[aTo + 8u] = select(a2l, f32(0), at + 1u * aRun >= end);
left[aTo + 12u] = select(a3l, f32(0), at + 1u * aRun >= end);
left[aTo + 16u] = select(a4l, f32(0), at + 1u * aRun >= end);
left[aTo + 20u] = select(a5l, f32(0), at + 1u * aRun >= end);
left[aTo + 24u] = select(a6l, f32(0), at + 1u * aRun >= end);
left[aTo + 28u] = select(a7l, f32(0), at + 1u * aRun >= end);right[bTo + 0u] = select(b0l, f32(0), at + 1u * bRun >= end);
right[bTo + 4u] = select(b1l, f32(0), at + 1u * bRun >= end);
right[bTo + 8u] = select(b2l, f32(0), at + 1u * bRun >= end);
right[bTo + 12u] = select(b3l, f32(0), at + 1u * bRun >= end);
right[bTo + 16u] = select(b4l, f32(0), at + 1u * bRun >= end);
right[bTo + 20u] = select(b5l, f32(0), at + 1u * bRun >= end);
right[bTo + 24u] = select(b6l, f32(0), at + 1u * bRun >= end);
right[bTo + 28u] = select(b7l, f32(0), at + 1u * bRun >= end); }
workgroupBarrier();
for (var run = 0u; run < 2u; run++) {
let lrun = run * 288u + 4u * ty;
let rrun = run * 288u + 4u * tx;
{
let l = lrun + 0u;
let r = rrun + 0u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 36u;
let r = rrun + 36u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 72u;
let r = rrun + 72u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 108u;
let r = rrun + 108u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 144u;
let r = rrun + 144u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 180u;
let r = rrun + 180u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 216u;
let r = rrun + 216u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
}
{
let l = lrun + 252u;
let r = rrun + 252u;
let a0 = vec4<f32>(left[l + 0u + 0u], left[l + 0u + 1u], left[l + 0u + 2u], left[l + 0u + 3u]);
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0[0] * b0;
c1_0 += a0[1] * b0;
c2_0 += a0[2] * b0;
c3_0 += a0[3] * b0;
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
}
}
