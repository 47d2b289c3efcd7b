struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> extra: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>;
fn place(row: u32, col: u32, batch: u32) -> u32 { return batch * u.outBatch + u.outOffset + row * u.outRow + col; }
fn put(row: u32, col: u32, batch: u32, sum: vec4f) {
if ((row < u.m) & (col < u.n)) {
let at = place(row, col, batch) / 4u; result[at] = u.alpha * sum;
}
}
fn start(col: u32) -> vec4f { return select(vec4f(0), bias[min(col, u.n - 1u) / 4u], u.hasBias != 0u); }
fn finish(row: u32, first: u32, batch: u32, rows: u32) {
for (var r = row; r < min(row + rows, u.m); r++) {
for (var col = first; col < min(first + 4u, u.n); col += 4u) {
let at = place(r, col, batch) / 4u;
if (u.hasExtra != 0u) { result[at] += extra[at]; }
}
}
}
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let batch = group.z;
let tile = (group.y * groups.x + group.x) * 64u + local.x;
let tiles = (u.n + 3u) / 4u;
let row0 = (tile / tiles) * 8u;
let col0 = (tile % tiles) * 4u;
if (row0 >= u.m) { return; }
if (u.triangle != 0u && col0 > row0 + 7u + u.reach) { return; }
let start0 = start((col0 + 0u));
var c0_0 = start0;
var c1_0 = start0;
var c2_0 = start0;
var c3_0 = start0;
var c4_0 = start0;
var c5_0 = start0;
var c6_0 = start0;
var c7_0 = start0;
{
let aBase = u.aOffset + batch * u.aBatch;
let bBase = u.bOffset + (batch / u.bShare) * u.bBatch;
let first = (select(0u, max(row0, u.reach) - u.reach, u.onwards != 0u)) / 4u;
let last = (select(u.k, min(u.k, row0 + 7u + u.reach), u.upTo != 0u) + 3u) / 4u;
let pa0 = aBase + min(row0 + 0u, u.m - 1u) * u.aRow;
let pa1 = aBase + min(row0 + 1u, u.m - 1u) * u.aRow;
let pa2 = aBase + min(row0 + 2u, u.m - 1u) * u.aRow;
let pa3 = aBase + min(row0 + 3u, u.m - 1u) * u.aRow;
let pa4 = aBase + min(row0 + 4u, u.m - 1u) * u.aRow;
let pa5 = aBase + min(row0 + 5u, u.m - 1u) * u.aRow;
let pa6 = aBase + min(row0 + 6u, u.m - 1u) * u.aRow;
let pa7 = aBase + min(row0 + 7u, u.m - 1u) * u.aRow;
let pb0 = bBase + min((col0 + 0u) / 4u, (u.n - 1u) / 4u);
var k = first;
for (; k < last; k++) {
let at0 = 4u * k * u.bInner;
let b0_0l = b[pb0 + at0];
let v0_0 = b0_0l;
let at1 = (4u * k + 1u) * u.bInner;
let b1_0l = b[pb0 + at1];
let v1_0 = b1_0l;
let at2 = (4u * k + 2u) * u.bInner;
let b2_0l = b[pb0 + at2];
let v2_0 = b2_0l;
let at3 = (4u * k + 3u) * u.bInner;
let b3_0l = b[pb0 + at3];
let v3_0 = b3_0l;
let a0l = a[pa0 + k];
let a1l = a[pa1 + k];
let a2l = a[pa2 + k];
let a3l = a[pa3 + k];
let a4l = a[pa4 + k];
let a5l = a[pa5 + k];
let a6l = a[pa6 + k];
let a7l = a[pa7 + k];
{ let s = a0l;
c0_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a1l;
c1_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a2l;
c2_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a3l;
c3_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a4l;
c4_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a5l;
c5_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a6l;
c6_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
{ let s = a7l;
c7_0 += s[0] * v0_0 + s[1] * v1_0 + s[2] * v2_0 + s[3] * v3_0; }
}
}
for (var r = 0u; r < 8u; r += 2u) {
{
var s0 = c0_0;
s0 = select(s0, c2_0, r == 2u); s0 = select(s0, c4_0, r == 4u); s0 = select(s0, c6_0, r == 6u);
put(row0 + r + 0u, col0, batch, s0);
}
{
var s0 = c1_0;
s0 = select(s0, c3_0, r == 2u); s0 = select(s0, c5_0, r == 4u); s0 = select(s0, c7_0, r == 6u);
put(row0 + r + 1u, col0, batch, s0);
}
}
if (u.hasExtra != 0u) { finish(row0, col0, batch, 8u); }
}
