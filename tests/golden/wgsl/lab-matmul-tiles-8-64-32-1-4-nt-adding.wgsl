struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;
var<workgroup> left: array<f32, 384>;
var<workgroup> right: array<f32, 2176>;
fn put(row: u32, col: u32, batch: u32, sum: f32) {
if (row >= u.m || col >= u.n) { return; }
let at = batch * u.outBatch + u.outOffset + row * u.outRow + col;
var value = u.alpha * sum;
result[at] = result[at] + value;
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
let bRun = local.x % 32u;
let bNext = local.x / 32u;
let bTo = bRun * 68u + bNext * 1u;
let bAt = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat + (col0 + bNext) * (u.bColumn) + bRun * (u.bInner);
for (var at = 0u; at < u.k; at += 32u) {
let a0At = aAt + (at / 1u * (u.aInner));
let a0rl = a[a0At];
let a0l = f32(a0rl);
let a1At = aAt + (at / 1u * (u.aInner) + 4u * (u.aRow));
let a1rl = a[a1At];
let a1l = f32(a1rl);
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
let b8At = bAt + (at / 1u * (u.bInner) + 32u * (u.bColumn));
let b8rl = b[b8At];
let b8l = f32(b8rl);
let b9At = bAt + (at / 1u * (u.bInner) + 36u * (u.bColumn));
let b9rl = b[b9At];
let b9l = f32(b9rl);
let b10At = bAt + (at / 1u * (u.bInner) + 40u * (u.bColumn));
let b10rl = b[b10At];
let b10l = f32(b10rl);
let b11At = bAt + (at / 1u * (u.bInner) + 44u * (u.bColumn));
let b11rl = b[b11At];
let b11l = f32(b11rl);
let b12At = bAt + (at / 1u * (u.bInner) + 48u * (u.bColumn));
let b12rl = b[b12At];
let b12l = f32(b12rl);
let b13At = bAt + (at / 1u * (u.bInner) + 52u * (u.bColumn));
let b13rl = b[b13At];
let b13l = f32(b13rl);
let b14At = bAt + (at / 1u * (u.bInner) + 56u * (u.bColumn));
let b14rl = b[b14At];
let b14l = f32(b14rl);
let b15At = bAt + (at / 1u * (u.bInner) + 60u * (u.bColumn));
let b15rl = b[b15At];
let b15l = f32(b15rl);
{ left[aTo + 0u] = a0l; }
{ left[aTo + 4u] = a1l; }
{ right[bTo + 0u] = b0l; }
{ right[bTo + 4u] = b1l; }
{ right[bTo + 8u] = b2l; }
{ right[bTo + 12u] = b3l; }
{ right[bTo + 16u] = b4l; }
{ right[bTo + 20u] = b5l; }
{ right[bTo + 24u] = b6l; }
{ right[bTo + 28u] = b7l; }
{ right[bTo + 32u] = b8l; }
{ right[bTo + 36u] = b9l; }
{ right[bTo + 40u] = b10l; }
{ right[bTo + 44u] = b11l; }
{ right[bTo + 48u] = b12l; }
{ right[bTo + 52u] = b13l; }
{ right[bTo + 56u] = b14l; }
{ right[bTo + 60u] = b15l; }
if (at + 32u > end) { left[aTo + 0u] = select(a0l, f32(0), at + 1u * aRun >= end);
left[aTo + 4u] = select(a1l, f32(0), at + 1u * aRun >= end);right[bTo + 0u] = select(b0l, f32(0), at + 1u * bRun >= end);
right[bTo + 4u] = select(b1l, f32(0), at + 1u * bRun >= end);
right[bTo + 8u] = select(b2l, f32(0), at + 1u * bRun >= end);
right[bTo + 12u] = select(b3l, f32(0), at + 1u * bRun >= end);
right[bTo + 16u] = select(b4l, f32(0), at + 1u * bRun >= end);
right[bTo + 20u] = select(b5l, f32(0), at + 1u * bRun >= end);
right[bTo + 24u] = select(b6l, f32(0), at + 1u * bRun >= end);
right[bTo + 28u] = select(b7l, f32(0), at + 1u * bRun >= end);
right[bTo + 32u] = select(b8l, f32(0), at + 1u * bRun >= end);
right[bTo + 36u] = select(b9l, f32(0), at + 1u * bRun >= end);
right[bTo + 40u] = select(b10l, f32(0), at + 1u * bRun >= end);
right[bTo + 44u] = select(b11l, f32(0), at + 1u * bRun >= end);
right[bTo + 48u] = select(b12l, f32(0), at + 1u * bRun >= end);
right[bTo + 52u] = select(b13l, f32(0), at + 1u * bRun >= end);
right[bTo + 56u] = select(b14l, f32(0), at + 1u * bRun >= end);
right[bTo + 60u] = select(b15l, f32(0), at + 1u * bRun >= end); }
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
