struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> extra: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 384>;
var<workgroup> right: array<f32, 2176>;
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
let row0 = group.y * 8u;
let col0 = group.x * 64u;
let tx = local.x % 16u;
let ty = local.x / 16u;
var c0_0 = vec4f(0);
for (var rep = 0u; rep < u.repeats; rep++) {
let end = u.k;
let aRun = local.x % 32u;
let aNext = local.x / 32u;
let aTo = aRun * 12u + aNext * 1u;
let aAt = u.aOffset + batch * u.aBatch + rep * u.aRepeat + (row0 + aNext) * (u.aRow) + aRun * (u.aInner);
let bRun = local.x % 64u;
let bNext = local.x / 64u;
let bTo = bRun * 1u + bNext * 68u;
let bAt = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat + (col0 / 1u + bRun) * (u.bColumn) + bNext * (u.bInner);
for (var at = 0u; at < u.k; at += 32u) {
let a0At = aAt + (at / 1u * (u.aInner));
let a0rl = a[a0At];
let a0l = f32(a0rl);
let a1At = aAt + (at / 1u * (u.aInner) + 4u * (u.aRow));
let a1rl = a[a1At];
let a1l = f32(a1rl);
let b0At = bAt + (at * (u.bInner));
let b0rl = b[b0At];
let b0l = f32(b0rl);
let b1At = bAt + (at * (u.bInner) + 2u * (u.bInner));
let b1rl = b[b1At];
let b1l = f32(b1rl);
let b2At = bAt + (at * (u.bInner) + 4u * (u.bInner));
let b2rl = b[b2At];
let b2l = f32(b2rl);
let b3At = bAt + (at * (u.bInner) + 6u * (u.bInner));
let b3rl = b[b3At];
let b3l = f32(b3rl);
let b4At = bAt + (at * (u.bInner) + 8u * (u.bInner));
let b4rl = b[b4At];
let b4l = f32(b4rl);
let b5At = bAt + (at * (u.bInner) + 10u * (u.bInner));
let b5rl = b[b5At];
let b5l = f32(b5rl);
let b6At = bAt + (at * (u.bInner) + 12u * (u.bInner));
let b6rl = b[b6At];
let b6l = f32(b6rl);
let b7At = bAt + (at * (u.bInner) + 14u * (u.bInner));
let b7rl = b[b7At];
let b7l = f32(b7rl);
let b8At = bAt + (at * (u.bInner) + 16u * (u.bInner));
let b8rl = b[b8At];
let b8l = f32(b8rl);
let b9At = bAt + (at * (u.bInner) + 18u * (u.bInner));
let b9rl = b[b9At];
let b9l = f32(b9rl);
let b10At = bAt + (at * (u.bInner) + 20u * (u.bInner));
let b10rl = b[b10At];
let b10l = f32(b10rl);
let b11At = bAt + (at * (u.bInner) + 22u * (u.bInner));
let b11rl = b[b11At];
let b11l = f32(b11rl);
let b12At = bAt + (at * (u.bInner) + 24u * (u.bInner));
let b12rl = b[b12At];
let b12l = f32(b12rl);
let b13At = bAt + (at * (u.bInner) + 26u * (u.bInner));
let b13rl = b[b13At];
let b13l = f32(b13rl);
let b14At = bAt + (at * (u.bInner) + 28u * (u.bInner));
let b14rl = b[b14At];
let b14l = f32(b14rl);
let b15At = bAt + (at * (u.bInner) + 30u * (u.bInner));
let b15rl = b[b15At];
let b15l = f32(b15rl);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 4u] = a1l; }
{ right[bTo + 0u] = b0l; }
{ right[bTo + 136u] = b1l; }
{ right[bTo + 272u] = b2l; }
{ right[bTo + 408u] = b3l; }
{ right[bTo + 544u] = b4l; }
{ right[bTo + 680u] = b5l; }
{ right[bTo + 816u] = b6l; }
{ right[bTo + 952u] = b7l; }
{ right[bTo + 1088u] = b8l; }
{ right[bTo + 1224u] = b9l; }
{ right[bTo + 1360u] = b10l; }
{ right[bTo + 1496u] = b11l; }
{ right[bTo + 1632u] = b12l; }
{ right[bTo + 1768u] = b13l; }
{ right[bTo + 1904u] = b14l; }
{ right[bTo + 2040u] = b15l; }
if (at + 32u > end) { left[aTo + 0u] = select(a0l, f32(0), at + 1u * aRun >= end);
left[aTo + 4u] = select(a1l, f32(0), at + 1u * aRun >= end);right[bTo + 0u] = select(b0l, f32(0), at + bNext + 0u >= end);
right[bTo + 136u] = select(b1l, f32(0), at + bNext + 2u >= end);
right[bTo + 272u] = select(b2l, f32(0), at + bNext + 4u >= end);
right[bTo + 408u] = select(b3l, f32(0), at + bNext + 6u >= end);
right[bTo + 544u] = select(b4l, f32(0), at + bNext + 8u >= end);
right[bTo + 680u] = select(b5l, f32(0), at + bNext + 10u >= end);
right[bTo + 816u] = select(b6l, f32(0), at + bNext + 12u >= end);
right[bTo + 952u] = select(b7l, f32(0), at + bNext + 14u >= end);
right[bTo + 1088u] = select(b8l, f32(0), at + bNext + 16u >= end);
right[bTo + 1224u] = select(b9l, f32(0), at + bNext + 18u >= end);
right[bTo + 1360u] = select(b10l, f32(0), at + bNext + 20u >= end);
right[bTo + 1496u] = select(b11l, f32(0), at + bNext + 22u >= end);
right[bTo + 1632u] = select(b12l, f32(0), at + bNext + 24u >= end);
right[bTo + 1768u] = select(b13l, f32(0), at + bNext + 26u >= end);
right[bTo + 1904u] = select(b14l, f32(0), at + bNext + 28u >= end);
right[bTo + 2040u] = select(b15l, f32(0), at + bNext + 30u >= end); }
workgroupBarrier();
for (var run = 0u; run < 4u; run++) {
let lrun = run * 96u + 1u * ty;
let rrun = run * 544u + 4u * tx;
{
let l = lrun + 0u;
let r = rrun + 0u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 12u;
let r = rrun + 68u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 24u;
let r = rrun + 136u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 36u;
let r = rrun + 204u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 48u;
let r = rrun + 272u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 60u;
let r = rrun + 340u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 72u;
let r = rrun + 408u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
{
let l = lrun + 84u;
let r = rrun + 476u;
let a0 = left[l];
let b0 = vec4<f32>(right[r + 0u + 0u], right[r + 0u + 1u], right[r + 0u + 2u], right[r + 0u + 3u]);
c0_0 += a0 * b0;
}
}
workgroupBarrier();
}
}
for (var c = 0u; c < 4u; c++) {
put(row0 + 1u * ty + 0u, col0 + 4u * tx + c + 0u, batch, c0_0[c]);
}
}
