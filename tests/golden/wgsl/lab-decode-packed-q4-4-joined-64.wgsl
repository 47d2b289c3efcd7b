struct Uniforms { tiles: u32, tile0: u32, units: u32, rowUnits: u32, skip: u32, first: u32, n: u32, resultStride: u32, resultFirst: u32, factor: f32, rank4: u32, branchStride: u32, branchFirst: u32, upScale: f32, hasBias: u32, accumulate: u32, end0: u32, end1: u32, biasFirst: u32, skip1: u32, skip2: u32, factor1: f32, factor2: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<u32>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;
@group(0) @binding(4) var<storage, read> w1: array<u32>;
@group(0) @binding(5) var<storage, read> scales1: array<u32>;
@group(0) @binding(6) var<storage, read> w2: array<u32>;
@group(0) @binding(7) var<storage, read> scales2: array<u32>;
@group(0) @binding(8) var<storage, read> branch: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read> up: array<vec4<f32>>;
@group(0) @binding(10) var<storage, read_write> result: array<f32>;
var<workgroup> shared_sums: array<vec4f, 256>;
fn partOf(column: u32) -> u32 { return u32(column >= u.end0) + u32(column >= u.end1); }
fn firstOf(part: u32) -> u32 { return select(select(0u, u.end0, part == 1u), u.end1, part == 2u); }
fn skipOf(part: u32) -> u32 { return select(select(u.skip, u.skip1, part == 1u), u.skip2, part == 2u); }
fn factorOf(part: u32) -> f32 { return select(select(u.factor, u.factor1, part == 1u), u.factor2, part == 2u); }
fn nibbles(v: u32) -> vec4f { return vec4f((vec4i(bitcast<i32>(v)) << vec4u(28u, 24u, 20u, 16u)) >> vec4u(28u)); }
fn scale(i: u32) -> f32 {
let pair = unpack2x16float(scales[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn scale1(i: u32) -> f32 {
let pair = unpack2x16float(scales1[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn scale2(i: u32) -> f32 {
let pair = unpack2x16float(scales2[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
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
let slot0 = group.z * 4u;
let column = (tile + u.tile0) * 4u;
let part = partOf(column);
let own = column - firstOf(part);
let q0 = (skipOf(part) + own + 0u) * u.rowUnits;
let q1 = (skipOf(part) + own + 1u) * u.rowUnits;
let q2 = (skipOf(part) + own + 2u) * u.rowUnits;
let q3 = (skipOf(part) + own + 3u) * u.rowUnits;
let xAt0 = (slot0 + 0u) * 2u * u.units;
let xAt1 = (slot0 + 1u) * 2u * u.units;
let xAt2 = (slot0 + 2u) * 2u * u.units;
let xAt3 = (slot0 + 3u) * 2u * u.units;
var c0 = vec4f(0);
var c1 = vec4f(0);
var c2 = vec4f(0);
var c3 = vec4f(0);
if (part == 0u) { for (var unit = first; unit < u.units; unit += step) {
let b0r = w[q0 + unit]; let b0l = nibbles(b0r); let b0h = nibbles(b0r >> 16u);
let b1r = w[q1 + unit]; let b1l = nibbles(b1r); let b1h = nibbles(b1r >> 16u);
let b2r = w[q2 + unit]; let b2l = nibbles(b2r); let b2h = nibbles(b2r >> 16u);
let b3r = w[q3 + unit]; let b3l = nibbles(b3r); let b3h = nibbles(b3r >> 16u);
let s = vec4f(scale((q0 + unit) / 4u), scale((q1 + unit) / 4u), scale((q2 + unit) / 4u), scale((q3 + unit) / 4u));
{ let al = x[xAt0 + 2u * unit]; let ah = x[xAt0 + 2u * unit + 1u];
c0 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt1 + 2u * unit]; let ah = x[xAt1 + 2u * unit + 1u];
c1 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt2 + 2u * unit]; let ah = x[xAt2 + 2u * unit + 1u];
c2 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt3 + 2u * unit]; let ah = x[xAt3 + 2u * unit + 1u];
c3 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
} } else if (part == 1u) { for (var unit = first; unit < u.units; unit += step) {
let b0r = w1[q0 + unit]; let b0l = nibbles(b0r); let b0h = nibbles(b0r >> 16u);
let b1r = w1[q1 + unit]; let b1l = nibbles(b1r); let b1h = nibbles(b1r >> 16u);
let b2r = w1[q2 + unit]; let b2l = nibbles(b2r); let b2h = nibbles(b2r >> 16u);
let b3r = w1[q3 + unit]; let b3l = nibbles(b3r); let b3h = nibbles(b3r >> 16u);
let s = vec4f(scale1((q0 + unit) / 4u), scale1((q1 + unit) / 4u), scale1((q2 + unit) / 4u), scale1((q3 + unit) / 4u));
{ let al = x[xAt0 + 2u * unit]; let ah = x[xAt0 + 2u * unit + 1u];
c0 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt1 + 2u * unit]; let ah = x[xAt1 + 2u * unit + 1u];
c1 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt2 + 2u * unit]; let ah = x[xAt2 + 2u * unit + 1u];
c2 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt3 + 2u * unit]; let ah = x[xAt3 + 2u * unit + 1u];
c3 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
} } else if (part == 2u) { for (var unit = first; unit < u.units; unit += step) {
let b0r = w2[q0 + unit]; let b0l = nibbles(b0r); let b0h = nibbles(b0r >> 16u);
let b1r = w2[q1 + unit]; let b1l = nibbles(b1r); let b1h = nibbles(b1r >> 16u);
let b2r = w2[q2 + unit]; let b2l = nibbles(b2r); let b2h = nibbles(b2r >> 16u);
let b3r = w2[q3 + unit]; let b3l = nibbles(b3r); let b3h = nibbles(b3r >> 16u);
let s = vec4f(scale2((q0 + unit) / 4u), scale2((q1 + unit) / 4u), scale2((q2 + unit) / 4u), scale2((q3 + unit) / 4u));
{ let al = x[xAt0 + 2u * unit]; let ah = x[xAt0 + 2u * unit + 1u];
c0 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt1 + 2u * unit]; let ah = x[xAt1 + 2u * unit + 1u];
c1 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt2 + 2u * unit]; let ah = x[xAt2 + 2u * unit + 1u];
c2 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
{ let al = x[xAt3 + 2u * unit]; let ah = x[xAt3 + 2u * unit + 1u];
c3 += s * vec4f(dot(al, b0l) + dot(ah, b0h), dot(al, b1l) + dot(ah, b1h), dot(al, b2l) + dot(ah, b2h), dot(al, b3l) + dot(ah, b3h)); }
} }
let v0 = (u.first + min(column + 0u, u.n - 1u)) * u.rank4;
let v1 = (u.first + min(column + 1u, u.n - 1u)) * u.rank4;
let v2 = (u.first + min(column + 2u, u.n - 1u)) * u.rank4;
let v3 = (u.first + min(column + 3u, u.n - 1u)) * u.rank4;
let branchAt0 = (slot0 + 0u) * u.branchStride + part * u.rank4;
let branchAt1 = (slot0 + 1u) * u.branchStride + part * u.rank4;
let branchAt2 = (slot0 + 2u) * u.branchStride + part * u.rank4;
let branchAt3 = (slot0 + 3u) * u.branchStride + part * u.rank4;
for (var k = first; k < u.rank4; k += step) {
let up0 = (u.upScale / factorOf(part)) * up[v0 + k];
let up1 = (u.upScale / factorOf(part)) * up[v1 + k];
let up2 = (u.upScale / factorOf(part)) * up[v2 + k];
let up3 = (u.upScale / factorOf(part)) * up[v3 + k];
{ let l = branch[branchAt0 + k];
c0 += vec4f(dot(l, up0), dot(l, up1), dot(l, up2), dot(l, up3)); }
{ let l = branch[branchAt1 + k];
c1 += vec4f(dot(l, up0), dot(l, up1), dot(l, up2), dot(l, up3)); }
{ let l = branch[branchAt2 + k];
c2 += vec4f(dot(l, up0), dot(l, up1), dot(l, up2), dot(l, up3)); }
{ let l = branch[branchAt3 + k];
c3 += vec4f(dot(l, up0), dot(l, up1), dot(l, up2), dot(l, up3)); }
}
shared_sums[0u + lane] = c0;
shared_sums[64u + lane] = c1;
shared_sums[128u + lane] = c2;
shared_sums[192u + lane] = c3;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) {
for (var r = 0u; r < 256u; r += 64u) { shared_sums[r + lane] += shared_sums[r + lane + span]; }
}
workgroupBarrier();
}
c0 = shared_sums[0u];
c1 = shared_sums[64u];
c2 = shared_sums[128u];
c3 = shared_sums[192u];
if (first == 0u && inside) {
for (var r = 0u; r < 4u; r++) {
var sums = c0;
sums = select(sums, c1, r == 1u);
sums = select(sums, c2, r == 2u);
sums = select(sums, c3, r == 3u);
put(slot0 + r, column, sums);
}
}
}
