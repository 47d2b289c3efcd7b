struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> extra: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>;
fn place(row: u32, col: u32, batch: u32) -> u32 {
return batch * u.outBatch + u.outOffset + row * u.outRow + col;
}
fn put(row: u32, col: u32, batch: u32, sum: vec4f) {
if ((row < u.m) & (col < u.n)) { let at = place(row, col, batch) / 4u; result[at] = u.alpha * sum; }
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
let tile = (group.y * groups.x + group.x) * 64u + local.x;
let tiles = (u.n + 3u) / 4u;
let row = (tile / tiles) * 1u;
let col = (tile % tiles) * 4u;
if (row >= u.m || (u.triangle != 0u && col > row + 0u + u.reach)) { return; }
let batch = group.z;
let aBase = u.aOffset + batch * u.aBatch;
let bBase = u.bOffset + (batch / u.bShare) * u.bBatch;
let start0 = start((col + 0u));
var c0_0 = start0;
let last = select(u.k, min(u.k, (row + 3u + u.reach) / 4u), u.upTo != 0u);
let pa0 = aBase + min(row + 0u, u.m - 1u) * u.aRow;
let pb0 = bBase + min((col + 0u) / 4u, u.n / 4u - 1u);
for (var k = 0u; k < last; k++) {
let a0 = a[pa0 + k];
let b0_0 = b[pb0 + (4u * k + 0u) * u.bInner];
let b1_0 = b[pb0 + (4u * k + 1u) * u.bInner];
let b2_0 = b[pb0 + (4u * k + 2u) * u.bInner];
let b3_0 = b[pb0 + (4u * k + 3u) * u.bInner];
{ let s = a0;
c0_0 += s[0] * b0_0 + s[1] * b1_0 + s[2] * b2_0 + s[3] * b3_0; }
}
for (var r = 0u; r < 1u; r += 1u) {
{
var s0 = c0_0;
put(row + r + 0u, col, batch, s0);
}
}
if (u.hasExtra != 0u) { finish(row, col, batch, 1u); }
}
