struct Uniforms { heads: u32, group: u32, queries: u32, keys: u32, causal: u32, before: u32, reach: u32, masked: u32, maskBatch: u32, maskHead: u32, maskRow: u32, maskKey: u32, scale: f32, keyHeads: u32, skip: u32, tiles: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> stats: array<f32>;
@group(0) @binding(6) var<storage, read> delta: array<f32>;
@group(0) @binding(7) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> values: array<vec4<f32>>;
const LOG2E = 1.4426950408889634;
fn range(key: u32) -> vec2u {
let ends = u.causal != 0u && u.reach != 0u;
let end = select(u.queries, min(max(key + u.reach, u.before) - u.before, u.queries), ends);
let begin = select(0u, min(max(key, u.before) - u.before, end), u.causal != 0u);
return vec2u(begin, end - begin);
}
var<workgroup> own: array<vec4f, 640>;
var<workgroup> ownWith: array<vec4f, 640>;
var<workgroup> other: array<vec4f, 256>;
var<workgroup> weights: array<f32, 576>;
@compute @workgroup_size(256, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tx = local.x % 16u;
let ty = local.x / 16u * 2u;
let tw = local.x / 16u * 2u;
let tile = u.skip + group.x;
let owner = tile / u.tiles;
let within = tile % u.tiles;let factor = LOG2E * u.scale;
let start = within * 32u;
let head = owner;
{ let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 20u + 0u + vector]; }
{ let line = (local.x + 256u) / 20u; let vector = (local.x + 256u) % 20u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 20u + 0u + vector]; }
if (local.x < 128u) { let line = (local.x + 512u) / 20u; let vector = (local.x + 512u) % 20u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 20u + 0u + vector]; }
{ let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 20u + 0u + vector]; }
{ let line = (local.x + 256u) / 20u; let vector = (local.x + 256u) % 20u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 20u + 0u + vector]; }
if (local.x < 128u) { let line = (local.x + 512u) / 20u; let vector = (local.x + 512u) % 20u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 20u + 0u + vector]; }
let range0 = range(start + ty + 0u);
let from0 = tx - range0.x;
let range1 = range(start + ty + 1u);
let from1 = tx - range1.x;
var dk0_0 = vec4f(0);
var dk0_1 = vec4f(0);
var dv0_0 = vec4f(0);
var dv0_1 = vec4f(0);
var dk1_0 = vec4f(0);
var dk1_1 = vec4f(0);
var dv1_0 = vec4f(0);
var dv1_1 = vec4f(0);
let last = dot(range(start + 31u), vec2u(1u));
for (var at = range(start).x; at < last; at += 32u) {
var s0_0 = 0.0;
var s0_1 = 0.0;
var s1_0 = 0.0;
var s1_1 = 0.0;
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 20u + 0u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(0u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(0u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 20u + 8u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(8u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(8u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
if (local.x < 128u) { let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 32u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 20u + 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(16u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(16u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
var d0_0 = 0.0;
var d0_1 = 0.0;
var d1_0 = 0.0;
var d1_1 = 0.0;
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 20u + 0u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = ownWith[(0u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w; }
{ let row = ownWith[(0u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 20u + 8u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = ownWith[(8u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w; }
{ let row = ownWith[(8u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w; }
}
workgroupBarrier();
if (local.x < 128u) { let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 32u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 20u + 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = ownWith[(16u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w; }
{ let row = ownWith[(16u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w; }
}
workgroupBarrier();
let row0 = head * u.queries + at + tx + 0u;
let top0 = stats[2u * row0]; let inverse0 = stats[2u * row0 + 1u]; let delta0 = delta[row0];
let row1 = head * u.queries + at + tx + 16u;
let top1 = stats[2u * row1]; let inverse1 = stats[2u * row1 + 1u]; let delta1 = delta[row1];
{ let is = (at + 0u + from0 < range0.y);
s0_0 = select(0.0, exp2(factor * s0_0 - top0) * inverse0, is);
d0_0 = select(0.0, s0_0 * (d0_0 - delta0), is); }
{ let is = (at + 16u + from0 < range0.y);
s0_1 = select(0.0, exp2(factor * s0_1 - top1) * inverse1, is);
d0_1 = select(0.0, s0_1 * (d0_1 - delta1), is); }
{ let is = (at + 0u + from1 < range1.y);
s1_0 = select(0.0, exp2(factor * s1_0 - top0) * inverse0, is);
d1_0 = select(0.0, s1_0 * (d1_0 - delta0), is); }
{ let is = (at + 16u + from1 < range1.y);
s1_1 = select(0.0, exp2(factor * s1_1 - top1) * inverse1, is);
d1_1 = select(0.0, s1_1 * (d1_1 - delta1), is); }
weights[tx * 36u + tw + 0u] = d0_0;
weights[tx * 36u + tw + 1u] = d1_0;
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = q[(head * u.queries + min(at + 0u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
}
workgroupBarrier();
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = q[(head * u.queries + min(at + 8u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_1;
weights[tx * 36u + tw + 1u] = d1_1;
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = q[(head * u.queries + min(at + 16u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
}
workgroupBarrier();
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = q[(head * u.queries + min(at + 24u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_0;
weights[tx * 36u + tw + 1u] = s1_0;
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = dy[(head * u.queries + min(at + 0u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
}
workgroupBarrier();
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = dy[(head * u.queries + min(at + 8u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_1;
weights[tx * 36u + tw + 1u] = s1_1;
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = dy[(head * u.queries + min(at + 16u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
}
workgroupBarrier();
if (local.x < 160u) { let line = (local.x + 0u) / 20u; let vector = (local.x + 0u) % 20u; other[line * 20u + vector] = dy[(head * u.queries + min(at + 24u + line, last - 1u)) * 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 20u + min(tx + 0u, 19u)];
let x1 = other[i * 20u + min(tx + 16u, 19u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
}
workgroupBarrier();
}
if (start + ty + 0u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 0u;
if (tx + 0u < 20u) { result[row * 20u + tx + 0u] = u.scale * dk0_0; }
if (tx + 16u < 20u) { result[row * 20u + tx + 16u] = u.scale * dk0_1; }
}
if (start + ty + 1u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 1u;
if (tx + 0u < 20u) { result[row * 20u + tx + 0u] = u.scale * dk1_0; }
if (tx + 16u < 20u) { result[row * 20u + tx + 16u] = u.scale * dk1_1; }
}
if (start + ty + 0u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 0u;
if (tx + 0u < 20u) { values[row * 20u + tx + 0u] = dv0_0; }
if (tx + 16u < 20u) { values[row * 20u + tx + 16u] = dv0_1; }
}
if (start + ty + 1u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 1u;
if (tx + 0u < 20u) { values[row * 20u + tx + 0u] = dv1_0; }
if (tx + 16u < 20u) { values[row * 20u + tx + 16u] = dv1_1; }
}
}
