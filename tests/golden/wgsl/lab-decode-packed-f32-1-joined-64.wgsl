struct Uniforms { tiles: u32, tile0: u32, units: u32, rowUnits: u32, skip: u32, first: u32, n: u32, resultStride: u32, resultFirst: u32, factor: f32, rank4: u32, branchStride: u32, branchFirst: u32, upScale: f32, hasBias: u32, accumulate: u32, end0: u32, end1: u32, biasFirst: u32, skip1: u32, skip2: u32, factor1: f32, factor2: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> w1: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> w2: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> branch: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read_write> result: array<f32>;
var<workgroup> shared_sums: array<vec4f, 64>;
fn partOf(column: u32) -> u32 { return u32(column >= u.end0) + u32(column >= u.end1); }
fn firstOf(part: u32) -> u32 { return select(select(0u, u.end0, part == 1u), u.end1, part == 2u); }
fn skipOf(part: u32) -> u32 { return select(select(u.skip, u.skip1, part == 1u), u.skip2, part == 2u); }
fn factorOf(part: u32) -> f32 { return select(select(u.factor, u.factor1, part == 1u), u.factor2, part == 2u); }
fn counted(v: u32) -> vec4f { return vec4f((vec4u(v) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u)); }
fn put(slot: u32, column: u32, sums: vec4f) {
for (var i = 0u; i < min(4u, u.n - column); i++) {
let at = slot * u.resultStride + u.resultFirst + u.first + column + i;
var value = factorOf(partOf(column)) * sums[i];
if (u.hasBias != 0u) { value += up[u.biasFirst + column / 4u][i]; }
if (u.accumulate != 0u) { value += result[at]; }
result[at] = value;
}
}
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let slot0 = group.z * 1u;
let column = (tile + u.tile0) * 4u;
let part = partOf(column);
let own = column - firstOf(part);
let q0 = (skipOf(part) + own + 0u) * u.rowUnits;
let q1 = (skipOf(part) + own + 1u) * u.rowUnits;
let q2 = (skipOf(part) + own + 2u) * u.rowUnits;
let q3 = (skipOf(part) + own + 3u) * u.rowUnits;
let xAt0 = (slot0 + 0u) * 2u * u.units;
var c0 = vec4f(0);
if (part == 0u) { for (var unit = first; unit < u.units; unit += step) {
let b0l = w[2u * (q0 + unit)]; let b0h = w[2u * (q0 + unit) + 1u];
let b1l = w[2u * (q1 + unit)]; let b1h = w[2u * (q1 + unit) + 1u];
let b2l = w[2u * (q2 + unit)]; let b2h = w[2u * (q2 + unit) + 1u];
let b3l = w[2u * (q3 + unit)]; let b3h = w[2u * (q3 + unit) + 1u];
let t0x = vec4f(b0l.x, b1l.x, b2l.x, b3l.x); let t0y = vec4f(b0l.y, b1l.y, b2l.y, b3l.y); let t0z = vec4f(b0l.z, b1l.z, b2l.z, b3l.z); let t0w = vec4f(b0l.w, b1l.w, b2l.w, b3l.w); let t1x = vec4f(b0h.x, b1h.x, b2h.x, b3h.x); let t1y = vec4f(b0h.y, b1h.y, b2h.y, b3h.y); let t1z = vec4f(b0h.z, b1h.z, b2h.z, b3h.z); let t1w = vec4f(b0h.w, b1h.w, b2h.w, b3h.w);
{ let v0 = x[xAt0 + 2u * unit]; let v1 = x[xAt0 + 2u * unit + 1u];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; c0 += v1.x * t1x; c0 += v1.y * t1y; c0 += v1.z * t1z; c0 += v1.w * t1w; }
} } else if (part == 1u) { for (var unit = first; unit < u.units; unit += step) {
let b0l = w1[2u * (q0 + unit)]; let b0h = w1[2u * (q0 + unit) + 1u];
let b1l = w1[2u * (q1 + unit)]; let b1h = w1[2u * (q1 + unit) + 1u];
let b2l = w1[2u * (q2 + unit)]; let b2h = w1[2u * (q2 + unit) + 1u];
let b3l = w1[2u * (q3 + unit)]; let b3h = w1[2u * (q3 + unit) + 1u];
let t0x = vec4f(b0l.x, b1l.x, b2l.x, b3l.x); let t0y = vec4f(b0l.y, b1l.y, b2l.y, b3l.y); let t0z = vec4f(b0l.z, b1l.z, b2l.z, b3l.z); let t0w = vec4f(b0l.w, b1l.w, b2l.w, b3l.w); let t1x = vec4f(b0h.x, b1h.x, b2h.x, b3h.x); let t1y = vec4f(b0h.y, b1h.y, b2h.y, b3h.y); let t1z = vec4f(b0h.z, b1h.z, b2h.z, b3h.z); let t1w = vec4f(b0h.w, b1h.w, b2h.w, b3h.w);
{ let v0 = x[xAt0 + 2u * unit]; let v1 = x[xAt0 + 2u * unit + 1u];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; c0 += v1.x * t1x; c0 += v1.y * t1y; c0 += v1.z * t1z; c0 += v1.w * t1w; }
} } else if (part == 2u) { for (var unit = first; unit < u.units; unit += step) {
let b0l = w2[2u * (q0 + unit)]; let b0h = w2[2u * (q0 + unit) + 1u];
let b1l = w2[2u * (q1 + unit)]; let b1h = w2[2u * (q1 + unit) + 1u];
let b2l = w2[2u * (q2 + unit)]; let b2h = w2[2u * (q2 + unit) + 1u];
let b3l = w2[2u * (q3 + unit)]; let b3h = w2[2u * (q3 + unit) + 1u];
let t0x = vec4f(b0l.x, b1l.x, b2l.x, b3l.x); let t0y = vec4f(b0l.y, b1l.y, b2l.y, b3l.y); let t0z = vec4f(b0l.z, b1l.z, b2l.z, b3l.z); let t0w = vec4f(b0l.w, b1l.w, b2l.w, b3l.w); let t1x = vec4f(b0h.x, b1h.x, b2h.x, b3h.x); let t1y = vec4f(b0h.y, b1h.y, b2h.y, b3h.y); let t1z = vec4f(b0h.z, b1h.z, b2h.z, b3h.z); let t1w = vec4f(b0h.w, b1h.w, b2h.w, b3h.w);
{ let v0 = x[xAt0 + 2u * unit]; let v1 = x[xAt0 + 2u * unit + 1u];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; c0 += v1.x * t1x; c0 += v1.y * t1y; c0 += v1.z * t1z; c0 += v1.w * t1w; }
} }
let v0 = (u.first + min(column + 0u, u.n - 1u)) * u.rank4;
let v1 = (u.first + min(column + 1u, u.n - 1u)) * u.rank4;
let v2 = (u.first + min(column + 2u, u.n - 1u)) * u.rank4;
let v3 = (u.first + min(column + 3u, u.n - 1u)) * u.rank4;
let branchAt0 = (slot0 + 0u) * u.branchStride + part * u.rank4;
for (var k = first; k < u.rank4; k += step) {
let up0 = (u.upScale / factorOf(part)) * up[v0 + k];
let up1 = (u.upScale / factorOf(part)) * up[v1 + k];
let up2 = (u.upScale / factorOf(part)) * up[v2 + k];
let up3 = (u.upScale / factorOf(part)) * up[v3 + k];
let t0x = vec4f(up0.x, up1.x, up2.x, up3.x); let t0y = vec4f(up0.y, up1.y, up2.y, up3.y); let t0z = vec4f(up0.z, up1.z, up2.z, up3.z); let t0w = vec4f(up0.w, up1.w, up2.w, up3.w);
{ let v0 = branch[branchAt0 + k];
c0 += v0.x * t0x; c0 += v0.y * t0y; c0 += v0.z * t0z; c0 += v0.w * t0w; }
}
shared_sums[0u + lane] = c0;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) {
for (var r = 0u; r < 64u; r += 64u) { shared_sums[r + lane] += shared_sums[r + lane + span]; }
}
workgroupBarrier();
}
c0 = shared_sums[0u];
if (first == 0u && inside) {
put(slot0, column, c0);
}
}
