struct Uniforms { tiles: u32, tile0: u32, k4: u32, n: u32, resultStride: u32, resultFirst: u32, rank4: u32, branchStride: u32, branchFirst: u32, upScale: f32, hasBias: u32, accumulate: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> branch: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> result: array<f32>;
var<workgroup> shared_sums: array<vec4f, 512>;
fn put(slot: u32, column: u32, sums: vec4f) {
for (var i = 0u; i < min(4u, u.n - column); i++) {
let at = slot * u.resultStride + u.resultFirst + column + i;
var value = sums[i];
if (u.hasBias != 0u) { value += bias[column + i]; }
if (u.accumulate != 0u) { value += result[at]; }
result[at] = value;
}
}
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let slot0 = group.z * 8u;
let column = (tile + u.tile0) * 4u;
let q0 = min(column + 0u, u.n - 1u) * u.k4;
let q1 = min(column + 1u, u.n - 1u) * u.k4;
let q2 = min(column + 2u, u.n - 1u) * u.k4;
let q3 = min(column + 3u, u.n - 1u) * u.k4;
let xAt0 = (slot0 + 0u) * u.k4;
let xAt1 = (slot0 + 1u) * u.k4;
let xAt2 = (slot0 + 2u) * u.k4;
let xAt3 = (slot0 + 3u) * u.k4;
let xAt4 = (slot0 + 4u) * u.k4;
let xAt5 = (slot0 + 5u) * u.k4;
let xAt6 = (slot0 + 6u) * u.k4;
let xAt7 = (slot0 + 7u) * u.k4;
var c0 = vec4f(0);
var c1 = vec4f(0);
var c2 = vec4f(0);
var c3 = vec4f(0);
var c4 = vec4f(0);
var c5 = vec4f(0);
var c6 = vec4f(0);
var c7 = vec4f(0);
for (var k = first; k < u.k4; k += step) {
let m0 = w[q0 + k];
let m1 = w[q1 + k];
let m2 = w[q2 + k];
let m3 = w[q3 + k];
let t0x = vec4f(m0.x, m1.x, m2.x, m3.x); let t0y = vec4f(m0.y, m1.y, m2.y, m3.y); let t0z = vec4f(m0.z, m1.z, m2.z, m3.z); let t0w = vec4f(m0.w, m1.w, m2.w, m3.w);
{ let v0 = x[xAt0 + k];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; }
{ let v0 = x[xAt1 + k];
c1 += v0.x * t0x; c1 += v0.y * t0y; c1 += v0.z * t0z; c1 += v0.w * t0w; }
{ let v0 = x[xAt2 + k];
c2 += v0.x * t0x; c2 += v0.y * t0y; c2 += v0.z * t0z; c2 += v0.w * t0w; }
{ let v0 = x[xAt3 + k];
c3 += v0.x * t0x; c3 += v0.y * t0y; c3 += v0.z * t0z; c3 += v0.w * t0w; }
{ let v0 = x[xAt4 + k];
c4 += v0.x * t0x; c4 += v0.y * t0y; c4 += v0.z * t0z; c4 += v0.w * t0w; }
{ let v0 = x[xAt5 + k];
c5 += v0.x * t0x; c5 += v0.y * t0y; c5 += v0.z * t0z; c5 += v0.w * t0w; }
{ let v0 = x[xAt6 + k];
c6 += v0.x * t0x; c6 += v0.y * t0y; c6 += v0.z * t0z; c6 += v0.w * t0w; }
{ let v0 = x[xAt7 + k];
c7 += v0.x * t0x; c7 += v0.y * t0y; c7 += v0.z * t0z; c7 += v0.w * t0w; }
}
let v0 = (min(column + 0u, u.n - 1u)) * u.rank4;
let v1 = (min(column + 1u, u.n - 1u)) * u.rank4;
let v2 = (min(column + 2u, u.n - 1u)) * u.rank4;
let v3 = (min(column + 3u, u.n - 1u)) * u.rank4;
let branchAt0 = (slot0 + 0u) * u.branchStride + u.branchFirst;
let branchAt1 = (slot0 + 1u) * u.branchStride + u.branchFirst;
let branchAt2 = (slot0 + 2u) * u.branchStride + u.branchFirst;
let branchAt3 = (slot0 + 3u) * u.branchStride + u.branchFirst;
let branchAt4 = (slot0 + 4u) * u.branchStride + u.branchFirst;
let branchAt5 = (slot0 + 5u) * u.branchStride + u.branchFirst;
let branchAt6 = (slot0 + 6u) * u.branchStride + u.branchFirst;
let branchAt7 = (slot0 + 7u) * u.branchStride + u.branchFirst;
for (var k = first; k < u.rank4; k += step) {
let up0 = u.upScale * up[v0 + k];
let up1 = u.upScale * up[v1 + k];
let up2 = u.upScale * up[v2 + k];
let up3 = u.upScale * up[v3 + k];
let t0x = vec4f(up0.x, up1.x, up2.x, up3.x); let t0y = vec4f(up0.y, up1.y, up2.y, up3.y); let t0z = vec4f(up0.z, up1.z, up2.z, up3.z); let t0w = vec4f(up0.w, up1.w, up2.w, up3.w);
{ let v0 = branch[branchAt0 + k];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; }
{ let v0 = branch[branchAt1 + k];
c1 += v0.x * t0x; c1 += v0.y * t0y; c1 += v0.z * t0z; c1 += v0.w * t0w; }
{ let v0 = branch[branchAt2 + k];
c2 += v0.x * t0x; c2 += v0.y * t0y; c2 += v0.z * t0z; c2 += v0.w * t0w; }
{ let v0 = branch[branchAt3 + k];
c3 += v0.x * t0x; c3 += v0.y * t0y; c3 += v0.z * t0z; c3 += v0.w * t0w; }
{ let v0 = branch[branchAt4 + k];
c4 += v0.x * t0x; c4 += v0.y * t0y; c4 += v0.z * t0z; c4 += v0.w * t0w; }
{ let v0 = branch[branchAt5 + k];
c5 += v0.x * t0x; c5 += v0.y * t0y; c5 += v0.z * t0z; c5 += v0.w * t0w; }
{ let v0 = branch[branchAt6 + k];
c6 += v0.x * t0x; c6 += v0.y * t0y; c6 += v0.z * t0z; c6 += v0.w * t0w; }
{ let v0 = branch[branchAt7 + k];
c7 += v0.x * t0x; c7 += v0.y * t0y; c7 += v0.z * t0z; c7 += v0.w * t0w; }
}
shared_sums[0u + lane] = c0;
shared_sums[64u + lane] = c1;
shared_sums[128u + lane] = c2;
shared_sums[192u + lane] = c3;
shared_sums[256u + lane] = c4;
shared_sums[320u + lane] = c5;
shared_sums[384u + lane] = c6;
shared_sums[448u + lane] = c7;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) {
for (var r = 0u; r < 512u; r += 64u) { shared_sums[r + lane] += shared_sums[r + lane + span]; }
}
workgroupBarrier();
}
c0 = shared_sums[0u];
c1 = shared_sums[64u];
c2 = shared_sums[128u];
c3 = shared_sums[192u];
c4 = shared_sums[256u];
c5 = shared_sums[320u];
c6 = shared_sums[384u];
c7 = shared_sums[448u];
if (first == 0u && inside) {
for (var r = 0u; r < 8u; r++) {
var sums = c0;
sums = select(sums, c1, r == 1u);
sums = select(sums, c2, r == 2u);
sums = select(sums, c3, r == 3u);
sums = select(sums, c4, r == 4u);
sums = select(sums, c5, r == 5u);
sums = select(sums, c6, r == 6u);
sums = select(sums, c7, r == 7u);
put(slot0 + r, column, sums);
}
}
}
