struct Uniforms { m: u32, k: u32, skip: u32, n: u32, rowUnits: u32, width: u32, first: u32, factor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 1088>;
var<workgroup> right: array<f32, 1088>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = row * u.n + col;
var value = u.factor * sum;
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
{
let end = u.k;
let aRun = local.x % 16u;
let aNext = local.x / 16u;
let aTo = aRun * 68u + aNext * 1u;
let aAt = u.first + (row0 + aNext) * ((u.width)) + aRun * (1u);
let bRun = local.x % 8u;
let bNext = local.x / 8u;
let bTo = bRun * 8u + bNext * 68u;
let bAt = u.skip * u.rowUnits + (col0 / 8u + bRun) * (1u) + bNext * (u.rowUnits);
for (var at = 0u; at < u.k; at += 16u) {
let a0At = aAt + (at / 1u * (1u));
let a0rl = dy[a0At];
let a0l = f32(a0rl);
let a1At = aAt + (at / 1u * (1u) + 8u * ((u.width)));
let a1rl = dy[a1At];
let a1l = f32(a1rl);
let a2At = aAt + (at / 1u * (1u) + 16u * ((u.width)));
let a2rl = dy[a2At];
let a2l = f32(a2rl);
let a3At = aAt + (at / 1u * (1u) + 24u * ((u.width)));
let a3rl = dy[a3At];
let a3l = f32(a3rl);
let a4At = aAt + (at / 1u * (1u) + 32u * ((u.width)));
let a4rl = dy[a4At];
let a4l = f32(a4rl);
let a5At = aAt + (at / 1u * (1u) + 40u * ((u.width)));
let a5rl = dy[a5At];
let a5l = f32(a5rl);
let a6At = aAt + (at / 1u * (1u) + 48u * ((u.width)));
let a6rl = dy[a6At];
let a6l = f32(a6rl);
let a7At = aAt + (at / 1u * (1u) + 56u * ((u.width)));
let a7rl = dy[a7At];
let a7l = f32(a7rl);
let b0At = bAt + (at * (u.rowUnits));
let b0rwr = w[b0At];
let b0rwl = vec4f(unpack2x16float(b0rwr.x), unpack2x16float(b0rwr.y));
let b0rwh = vec4f(unpack2x16float(b0rwr.z), unpack2x16float(b0rwr.w));
let b0rl = b0rwl; let b0rh = b0rwh;
let b0l = vec4<f32>(b0rl);
let b0h = vec4<f32>(b0rh);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 8u] = a1l; }
{ left[aTo + 16u] = a2l; }
{ left[aTo + 24u] = a3l; }
{ left[aTo + 32u] = a4l; }
{ left[aTo + 40u] = a5l; }
{ left[aTo + 48u] = a6l; }
{ left[aTo + 56u] = a7l; }
{ right[bTo + 0u] = b0l[0];
right[bTo + 1u] = b0l[1];
right[bTo + 2u] = b0l[2];
right[bTo + 3u] = b0l[3];
right[bTo + 4u] = b0h[0];
right[bTo + 5u] = b0h[1];
right[bTo + 6u] = b0h[2];
right[bTo + 7u] = b0h[3]; }
if (at + 16u > end) { left[aTo + 0u] = select(a0l, f32(0), at + 1u * aRun >= end);
left[aTo + 8u] = select(a1l, f32(0), at + 1u * aRun >= end);
left[aTo + 16u] = select(a2l, f32(0), at + 1u * aRun >= end);
left[aTo + 24u] = select(a3l, f32(0), at + 1u * aRun >= end);
left[aTo + 32u] = select(a4l, f32(0), at + 1u * aRun >= end);
left[aTo + 40u] = select(a5l, f32(0), at + 1u * aRun >= end);
left[aTo + 48u] = select(a6l, f32(0), at + 1u * aRun >= end);
left[aTo + 56u] = select(a7l, f32(0), at + 1u * aRun >= end);if (at + bNext + 0u >= end) { right[bTo + 0u] = f32(0);
right[bTo + 1u] = f32(0);
right[bTo + 2u] = f32(0);
right[bTo + 3u] = f32(0);
right[bTo + 4u] = f32(0);
right[bTo + 5u] = f32(0);
right[bTo + 6u] = f32(0);
right[bTo + 7u] = f32(0); } }
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
