struct Uniforms { heads: u32, group: u32, queries: u32, keys: u32, causal: u32, before: u32, reach: u32, masked: u32, maskBatch: u32, maskHead: u32, maskRow: u32, maskKey: u32, scale: f32, skip: u32, tiles: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> mask: array<f32>;
@group(0) @binding(6) var<storage, read> stats: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> result: array<vec4<f32>>;
const LOG2E = 1.4426950408889634;
fn range(query: u32) -> vec2u {
let end = select(u.keys, min(query + u.before + 1u, u.keys), u.causal != 0u);
let begin = select(0u, max(end, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
return vec2u(begin, end - begin);
}
var<workgroup> own: array<vec4f, 512>;
var<workgroup> ownWith: array<vec4f, 512>;
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
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; own[vector * 32u + line] = q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 16u; let vector = local.x % 16u; own[vector * 32u + line] = q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; ownWith[vector * 32u + line] = dy[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 16u; let vector = local.x % 16u; ownWith[vector * 32u + line] = dy[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
let range0 = range(start + ty + 0u);
let from0 = tx - range0.x;
let range1 = range(start + ty + 1u);
let from1 = tx - range1.x;
var above0 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 0u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above1 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 1u) * u.maskRow + (range(start).x + tx) * u.maskKey;
let row0 = head * u.queries + start + ty + 0u;
let top0 = stats[2u * row0]; let inverse0 = stats[2u * row0 + 1u]; let delta0 = delta[row0];
let row1 = head * u.queries + start + ty + 1u;
let top1 = stats[2u * row1]; let inverse1 = stats[2u * row1 + 1u]; let delta1 = delta[row1];
var dq0_0 = vec4f(0);
var dq1_0 = vec4f(0);
let last = dot(range(start + 31u), vec2u(1u));
for (var at = range(start).x; at < last; at += 64u) {
var s0_0 = 0.0;
var s0_1 = 0.0;
var s0_2 = 0.0;
var s0_3 = 0.0;
var s1_0 = 0.0;
var s1_1 = 0.0;
var s1_2 = 0.0;
var s1_3 = 0.0;
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 0u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(0u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 4u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(4u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 8u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(8u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 12u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(12u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
}
workgroupBarrier();
var d0_0 = 0.0;
var d0_1 = 0.0;
var d0_2 = 0.0;
var d0_3 = 0.0;
var d1_0 = 0.0;
var d1_1 = 0.0;
var d1_2 = 0.0;
var d1_3 = 0.0;
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = v[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 0u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = ownWith[(0u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w;
d0_2 += row.x * o2.x; d0_2 += row.y * o2.y; d0_2 += row.z * o2.z; d0_2 += row.w * o2.w;
d0_3 += row.x * o3.x; d0_3 += row.y * o3.y; d0_3 += row.z * o3.z; d0_3 += row.w * o3.w; }
{ let row = ownWith[(0u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w;
d1_2 += row.x * o2.x; d1_2 += row.y * o2.y; d1_2 += row.z * o2.z; d1_2 += row.w * o2.w;
d1_3 += row.x * o3.x; d1_3 += row.y * o3.y; d1_3 += row.z * o3.z; d1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = v[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 4u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = ownWith[(4u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w;
d0_2 += row.x * o2.x; d0_2 += row.y * o2.y; d0_2 += row.z * o2.z; d0_2 += row.w * o2.w;
d0_3 += row.x * o3.x; d0_3 += row.y * o3.y; d0_3 += row.z * o3.z; d0_3 += row.w * o3.w; }
{ let row = ownWith[(4u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w;
d1_2 += row.x * o2.x; d1_2 += row.y * o2.y; d1_2 += row.z * o2.z; d1_2 += row.w * o2.w;
d1_3 += row.x * o3.x; d1_3 += row.y * o3.y; d1_3 += row.z * o3.z; d1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = v[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 8u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = ownWith[(8u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w;
d0_2 += row.x * o2.x; d0_2 += row.y * o2.y; d0_2 += row.z * o2.z; d0_2 += row.w * o2.w;
d0_3 += row.x * o3.x; d0_3 += row.y * o3.y; d0_3 += row.z * o3.z; d0_3 += row.w * o3.w; }
{ let row = ownWith[(8u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w;
d1_2 += row.x * o2.x; d1_2 += row.y * o2.y; d1_2 += row.z * o2.z; d1_2 += row.w * o2.w;
d1_3 += row.x * o3.x; d1_3 += row.y * o3.y; d1_3 += row.z * o3.z; d1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = v[(head / u.group * u.keys + min(at + line, last - 1u)) * 16u + 12u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = ownWith[(12u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w;
d0_2 += row.x * o2.x; d0_2 += row.y * o2.y; d0_2 += row.z * o2.z; d0_2 += row.w * o2.w;
d0_3 += row.x * o3.x; d0_3 += row.y * o3.y; d0_3 += row.z * o3.z; d0_3 += row.w * o3.w; }
{ let row = ownWith[(12u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w;
d1_2 += row.x * o2.x; d1_2 += row.y * o2.y; d1_2 += row.z * o2.z; d1_2 += row.w * o2.w;
d1_3 += row.x * o3.x; d1_3 += row.y * o3.y; d1_3 += row.z * o3.z; d1_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let is = (at + 0u + from0 < range0.y);
s0_0 = select(0.0, exp2(factor * s0_0 + LOG2E * mask[above0 + 0u * u.maskKey] - top0) * inverse0, is);
d0_0 = select(0.0, s0_0 * (d0_0 - delta0), is); }
{ let is = (at + 16u + from0 < range0.y);
s0_1 = select(0.0, exp2(factor * s0_1 + LOG2E * mask[above0 + 16u * u.maskKey] - top0) * inverse0, is);
d0_1 = select(0.0, s0_1 * (d0_1 - delta0), is); }
{ let is = (at + 32u + from0 < range0.y);
s0_2 = select(0.0, exp2(factor * s0_2 + LOG2E * mask[above0 + 32u * u.maskKey] - top0) * inverse0, is);
d0_2 = select(0.0, s0_2 * (d0_2 - delta0), is); }
{ let is = (at + 48u + from0 < range0.y);
s0_3 = select(0.0, exp2(factor * s0_3 + LOG2E * mask[above0 + 48u * u.maskKey] - top0) * inverse0, is);
d0_3 = select(0.0, s0_3 * (d0_3 - delta0), is); }
{ let is = (at + 0u + from1 < range1.y);
s1_0 = select(0.0, exp2(factor * s1_0 + LOG2E * mask[above1 + 0u * u.maskKey] - top1) * inverse1, is);
d1_0 = select(0.0, s1_0 * (d1_0 - delta1), is); }
{ let is = (at + 16u + from1 < range1.y);
s1_1 = select(0.0, exp2(factor * s1_1 + LOG2E * mask[above1 + 16u * u.maskKey] - top1) * inverse1, is);
d1_1 = select(0.0, s1_1 * (d1_1 - delta1), is); }
{ let is = (at + 32u + from1 < range1.y);
s1_2 = select(0.0, exp2(factor * s1_2 + LOG2E * mask[above1 + 32u * u.maskKey] - top1) * inverse1, is);
d1_2 = select(0.0, s1_2 * (d1_2 - delta1), is); }
{ let is = (at + 48u + from1 < range1.y);
s1_3 = select(0.0, exp2(factor * s1_3 + LOG2E * mask[above1 + 48u * u.maskKey] - top1) * inverse1, is);
d1_3 = select(0.0, s1_3 * (d1_3 - delta1), is); }
weights[tx * 36u + tw + 0u] = d0_0;
weights[tx * 36u + tw + 1u] = d1_0;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = k[(head / u.group * u.keys + min(at + 0u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dq0_0 += w * x0; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dq1_0 += w * x0; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_1;
weights[tx * 36u + tw + 1u] = d1_1;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = k[(head / u.group * u.keys + min(at + 16u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dq0_0 += w * x0; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dq1_0 += w * x0; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_2;
weights[tx * 36u + tw + 1u] = d1_2;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = k[(head / u.group * u.keys + min(at + 32u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dq0_0 += w * x0; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dq1_0 += w * x0; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_3;
weights[tx * 36u + tw + 1u] = d1_3;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = k[(head / u.group * u.keys + min(at + 48u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dq0_0 += w * x0; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dq1_0 += w * x0; }
}
workgroupBarrier();
above0 += 64u * u.maskKey;
above1 += 64u * u.maskKey;
}
if (start + ty + 0u < u.queries) {
let row = head * u.queries + start + ty + 0u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = u.scale * dq0_0; }
}
if (start + ty + 1u < u.queries) {
let row = head * u.queries + start + ty + 1u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = u.scale * dq1_0; }
}
}
