struct Uniforms { m: u32, n: u32, k: u32, aRow: u32, aInner: u32, aBatch: u32, aOffset: u32, aRepeat: u32, bInner: u32, bColumn: u32, bBatch: u32, bOffset: u32, bRepeat: u32, bShare: u32, repeats: u32, outRow: u32, outBatch: u32, outOffset: u32, hasBias: u32, hasExtra: u32, upTo: u32, onwards: u32, reach: u32, triangle: u32, alpha: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> extra: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
fn place(row: u32, col: u32, batch: u32) -> u32 { return batch * u.outBatch + u.outOffset + row * u.outRow + col; }
fn put(row: u32, col: u32, batch: u32, sum: vec4f) {
if ((row < u.m) & (col < u.n)) {
for (var c = 0u; c < min(4u, u.n - col); c++) { let at = place(row, col + c, batch); result[at] = u.alpha * sum[c]; }
}
}
fn start(col: u32) -> vec4f { return select(vec4f(0), vec4f(bias[min(col + 0u, u.n - 1u)], bias[min(col + 1u, u.n - 1u)], bias[min(col + 2u, u.n - 1u)], bias[min(col + 3u, u.n - 1u)]), u.hasBias != 0u); }
fn finish(row: u32, first: u32, batch: u32, rows: u32) {
for (var r = row; r < min(row + rows, u.m); r++) {
for (var col = first; col < min(first + 4u, u.n); col += 1u) {
let at = place(r, col, batch);
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
let row0 = (tile / tiles) * 1u;
let col0 = (tile % tiles) * 4u;
if (row0 >= u.m) { return; }
if (u.triangle != 0u && col0 > row0 + 0u + u.reach) { return; }
let start0 = start((col0 + 0u));
var c0_0 = start0;
for (var rep = 0u; rep < u.repeats; rep++) {
let aBase = u.aOffset + batch * u.aBatch + rep * u.aRepeat;
let bBase = u.bOffset + (batch / u.bShare) * u.bBatch + rep * u.bRepeat;
let first = select(0u, max(row0, u.reach) - u.reach, u.onwards != 0u);
let last = select(u.k, min(u.k, row0 + 0u + u.reach), u.upTo != 0u);
let pa0 = aBase + min(row0 + 0u, u.m - 1u) * u.aRow;
let pb0 = bBase + min((col0 + 0u) + 0u, u.n - 1u) * u.bColumn;
let pb1 = bBase + min((col0 + 0u) + 1u, u.n - 1u) * u.bColumn;
let pb2 = bBase + min((col0 + 0u) + 2u, u.n - 1u) * u.bColumn;
let pb3 = bBase + min((col0 + 0u) + 3u, u.n - 1u) * u.bColumn;
var k = first;
for (; k < last; k++) {
let at0 = k * u.bInner;
let b0_0l = b[pb0 + at0];
let b0_1l = b[pb1 + at0];
let b0_2l = b[pb2 + at0];
let b0_3l = b[pb3 + at0];
let v0_0 = vec4f(b0_0l, b0_1l, b0_2l, b0_3l);
let a0l = a[pa0 + k * u.aInner];
{ let s = a0l;
c0_0 += s * v0_0; }
}
}
for (var r = 0u; r < 1u; r += 1u) {
{
var s0 = c0_0;
put(row0 + r + 0u, col0, batch, s0);
}
}
if (u.hasExtra != 0u) { finish(row0, col0, batch, 1u); }
}
