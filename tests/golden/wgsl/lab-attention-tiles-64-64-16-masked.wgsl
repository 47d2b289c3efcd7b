struct Uniforms { heads: u32, group: u32, queries: u32, keys: u32, causal: u32, before: u32, reach: u32, masked: u32, maskBatch: u32, maskHead: u32, maskRow: u32, maskKey: u32, scale: f32, skip: u32, tiles: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> mask: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> stats: array<f32>;
const LOG2E = 1.4426950408889634;
fn range(query: u32) -> vec2u {
let end = select(u.keys, min(query + u.before + 1u, u.keys), u.causal != 0u);
let begin = select(0u, max(end, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
return vec2u(begin, end - begin);
}
var<workgroup> own: array<vec4f, 1024>;
var<workgroup> other: array<vec4f, 256>;
var<workgroup> weights: array<f32, 1088>;
// The largest score of each row and the factor of its sums; in the end the inverse sum.
var<workgroup> scales: array<vec2f, 64>;
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tx = local.x % 16u;
let ty = local.x / 16u * 8u;
let tw = local.x / 16u * 8u;
let tile = u.skip + group.x;
let owner = tile / u.tiles;
let within = tile % u.tiles;let factor = LOG2E * u.scale;
let mine = local.x;
let head = owner;
let start = within * 64u;
let keyBase = (head / u.group) * u.keys;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 8u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 16u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 24u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 32u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 40u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 48u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 16u + 56u; let vector = local.x % 16u; own[vector * 64u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 16u + 0u + vector]; }
let range0 = range(start + ty + 0u);
let from0 = tx - range0.x;
let range1 = range(start + ty + 1u);
let from1 = tx - range1.x;
let range2 = range(start + ty + 2u);
let from2 = tx - range2.x;
let range3 = range(start + ty + 3u);
let from3 = tx - range3.x;
let range4 = range(start + ty + 4u);
let from4 = tx - range4.x;
let range5 = range(start + ty + 5u);
let from5 = tx - range5.x;
let range6 = range(start + ty + 6u);
let from6 = tx - range6.x;
let range7 = range(start + ty + 7u);
let from7 = tx - range7.x;
var above0 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 0u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above1 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 1u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above2 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 2u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above3 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 3u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above4 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 4u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above5 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 5u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above6 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 6u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var above7 = (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead + (start + ty + 7u) * u.maskRow + (range(start).x + tx) * u.maskKey;
var top = -3.0e38;
var sum0 = 0.0; var o0_0 = vec4f(0);
var sum1 = 0.0; var o1_0 = vec4f(0);
var sum2 = 0.0; var o2_0 = vec4f(0);
var sum3 = 0.0; var o3_0 = vec4f(0);
var sum4 = 0.0; var o4_0 = vec4f(0);
var sum5 = 0.0; var o5_0 = vec4f(0);
var sum6 = 0.0; var o6_0 = vec4f(0);
var sum7 = 0.0; var o7_0 = vec4f(0);
let last = dot(range(start + 63u), vec2u(1u));
for (var at = range(start).x; at < last; at += 64u) {
var s0_0 = 0.0;
var s0_1 = 0.0;
var s0_2 = 0.0;
var s0_3 = 0.0;
var s1_0 = 0.0;
var s1_1 = 0.0;
var s1_2 = 0.0;
var s1_3 = 0.0;
var s2_0 = 0.0;
var s2_1 = 0.0;
var s2_2 = 0.0;
var s2_3 = 0.0;
var s3_0 = 0.0;
var s3_1 = 0.0;
var s3_2 = 0.0;
var s3_3 = 0.0;
var s4_0 = 0.0;
var s4_1 = 0.0;
var s4_2 = 0.0;
var s4_3 = 0.0;
var s5_0 = 0.0;
var s5_1 = 0.0;
var s5_2 = 0.0;
var s5_3 = 0.0;
var s6_0 = 0.0;
var s6_1 = 0.0;
var s6_2 = 0.0;
var s6_3 = 0.0;
var s7_0 = 0.0;
var s7_1 = 0.0;
var s7_2 = 0.0;
var s7_3 = 0.0;
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 0u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 0u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(0u + i) * 64u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 4u]; s4_0 += row.x * o0.x; s4_0 += row.y * o0.y; s4_0 += row.z * o0.z; s4_0 += row.w * o0.w;
s4_1 += row.x * o1.x; s4_1 += row.y * o1.y; s4_1 += row.z * o1.z; s4_1 += row.w * o1.w;
s4_2 += row.x * o2.x; s4_2 += row.y * o2.y; s4_2 += row.z * o2.z; s4_2 += row.w * o2.w;
s4_3 += row.x * o3.x; s4_3 += row.y * o3.y; s4_3 += row.z * o3.z; s4_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 5u]; s5_0 += row.x * o0.x; s5_0 += row.y * o0.y; s5_0 += row.z * o0.z; s5_0 += row.w * o0.w;
s5_1 += row.x * o1.x; s5_1 += row.y * o1.y; s5_1 += row.z * o1.z; s5_1 += row.w * o1.w;
s5_2 += row.x * o2.x; s5_2 += row.y * o2.y; s5_2 += row.z * o2.z; s5_2 += row.w * o2.w;
s5_3 += row.x * o3.x; s5_3 += row.y * o3.y; s5_3 += row.z * o3.z; s5_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 6u]; s6_0 += row.x * o0.x; s6_0 += row.y * o0.y; s6_0 += row.z * o0.z; s6_0 += row.w * o0.w;
s6_1 += row.x * o1.x; s6_1 += row.y * o1.y; s6_1 += row.z * o1.z; s6_1 += row.w * o1.w;
s6_2 += row.x * o2.x; s6_2 += row.y * o2.y; s6_2 += row.z * o2.z; s6_2 += row.w * o2.w;
s6_3 += row.x * o3.x; s6_3 += row.y * o3.y; s6_3 += row.z * o3.z; s6_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 64u + ty + 7u]; s7_0 += row.x * o0.x; s7_0 += row.y * o0.y; s7_0 += row.z * o0.z; s7_0 += row.w * o0.w;
s7_1 += row.x * o1.x; s7_1 += row.y * o1.y; s7_1 += row.z * o1.z; s7_1 += row.w * o1.w;
s7_2 += row.x * o2.x; s7_2 += row.y * o2.y; s7_2 += row.z * o2.z; s7_2 += row.w * o2.w;
s7_3 += row.x * o3.x; s7_3 += row.y * o3.y; s7_3 += row.z * o3.z; s7_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 4u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 4u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(4u + i) * 64u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 4u]; s4_0 += row.x * o0.x; s4_0 += row.y * o0.y; s4_0 += row.z * o0.z; s4_0 += row.w * o0.w;
s4_1 += row.x * o1.x; s4_1 += row.y * o1.y; s4_1 += row.z * o1.z; s4_1 += row.w * o1.w;
s4_2 += row.x * o2.x; s4_2 += row.y * o2.y; s4_2 += row.z * o2.z; s4_2 += row.w * o2.w;
s4_3 += row.x * o3.x; s4_3 += row.y * o3.y; s4_3 += row.z * o3.z; s4_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 5u]; s5_0 += row.x * o0.x; s5_0 += row.y * o0.y; s5_0 += row.z * o0.z; s5_0 += row.w * o0.w;
s5_1 += row.x * o1.x; s5_1 += row.y * o1.y; s5_1 += row.z * o1.z; s5_1 += row.w * o1.w;
s5_2 += row.x * o2.x; s5_2 += row.y * o2.y; s5_2 += row.z * o2.z; s5_2 += row.w * o2.w;
s5_3 += row.x * o3.x; s5_3 += row.y * o3.y; s5_3 += row.z * o3.z; s5_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 6u]; s6_0 += row.x * o0.x; s6_0 += row.y * o0.y; s6_0 += row.z * o0.z; s6_0 += row.w * o0.w;
s6_1 += row.x * o1.x; s6_1 += row.y * o1.y; s6_1 += row.z * o1.z; s6_1 += row.w * o1.w;
s6_2 += row.x * o2.x; s6_2 += row.y * o2.y; s6_2 += row.z * o2.z; s6_2 += row.w * o2.w;
s6_3 += row.x * o3.x; s6_3 += row.y * o3.y; s6_3 += row.z * o3.z; s6_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 64u + ty + 7u]; s7_0 += row.x * o0.x; s7_0 += row.y * o0.y; s7_0 += row.z * o0.z; s7_0 += row.w * o0.w;
s7_1 += row.x * o1.x; s7_1 += row.y * o1.y; s7_1 += row.z * o1.z; s7_1 += row.w * o1.w;
s7_2 += row.x * o2.x; s7_2 += row.y * o2.y; s7_2 += row.z * o2.z; s7_2 += row.w * o2.w;
s7_3 += row.x * o3.x; s7_3 += row.y * o3.y; s7_3 += row.z * o3.z; s7_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 8u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 8u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(8u + i) * 64u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 4u]; s4_0 += row.x * o0.x; s4_0 += row.y * o0.y; s4_0 += row.z * o0.z; s4_0 += row.w * o0.w;
s4_1 += row.x * o1.x; s4_1 += row.y * o1.y; s4_1 += row.z * o1.z; s4_1 += row.w * o1.w;
s4_2 += row.x * o2.x; s4_2 += row.y * o2.y; s4_2 += row.z * o2.z; s4_2 += row.w * o2.w;
s4_3 += row.x * o3.x; s4_3 += row.y * o3.y; s4_3 += row.z * o3.z; s4_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 5u]; s5_0 += row.x * o0.x; s5_0 += row.y * o0.y; s5_0 += row.z * o0.z; s5_0 += row.w * o0.w;
s5_1 += row.x * o1.x; s5_1 += row.y * o1.y; s5_1 += row.z * o1.z; s5_1 += row.w * o1.w;
s5_2 += row.x * o2.x; s5_2 += row.y * o2.y; s5_2 += row.z * o2.z; s5_2 += row.w * o2.w;
s5_3 += row.x * o3.x; s5_3 += row.y * o3.y; s5_3 += row.z * o3.z; s5_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 6u]; s6_0 += row.x * o0.x; s6_0 += row.y * o0.y; s6_0 += row.z * o0.z; s6_0 += row.w * o0.w;
s6_1 += row.x * o1.x; s6_1 += row.y * o1.y; s6_1 += row.z * o1.z; s6_1 += row.w * o1.w;
s6_2 += row.x * o2.x; s6_2 += row.y * o2.y; s6_2 += row.z * o2.z; s6_2 += row.w * o2.w;
s6_3 += row.x * o3.x; s6_3 += row.y * o3.y; s6_3 += row.z * o3.z; s6_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 64u + ty + 7u]; s7_0 += row.x * o0.x; s7_0 += row.y * o0.y; s7_0 += row.z * o0.z; s7_0 += row.w * o0.w;
s7_1 += row.x * o1.x; s7_1 += row.y * o1.y; s7_1 += row.z * o1.z; s7_1 += row.w * o1.w;
s7_2 += row.x * o2.x; s7_2 += row.y * o2.y; s7_2 += row.z * o2.z; s7_2 += row.w * o2.w;
s7_3 += row.x * o3.x; s7_3 += row.y * o3.y; s7_3 += row.z * o3.z; s7_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 12u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = k[(keyBase + min(at + line, last - 1u)) * 16u + 12u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(12u + i) * 64u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 4u]; s4_0 += row.x * o0.x; s4_0 += row.y * o0.y; s4_0 += row.z * o0.z; s4_0 += row.w * o0.w;
s4_1 += row.x * o1.x; s4_1 += row.y * o1.y; s4_1 += row.z * o1.z; s4_1 += row.w * o1.w;
s4_2 += row.x * o2.x; s4_2 += row.y * o2.y; s4_2 += row.z * o2.z; s4_2 += row.w * o2.w;
s4_3 += row.x * o3.x; s4_3 += row.y * o3.y; s4_3 += row.z * o3.z; s4_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 5u]; s5_0 += row.x * o0.x; s5_0 += row.y * o0.y; s5_0 += row.z * o0.z; s5_0 += row.w * o0.w;
s5_1 += row.x * o1.x; s5_1 += row.y * o1.y; s5_1 += row.z * o1.z; s5_1 += row.w * o1.w;
s5_2 += row.x * o2.x; s5_2 += row.y * o2.y; s5_2 += row.z * o2.z; s5_2 += row.w * o2.w;
s5_3 += row.x * o3.x; s5_3 += row.y * o3.y; s5_3 += row.z * o3.z; s5_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 6u]; s6_0 += row.x * o0.x; s6_0 += row.y * o0.y; s6_0 += row.z * o0.z; s6_0 += row.w * o0.w;
s6_1 += row.x * o1.x; s6_1 += row.y * o1.y; s6_1 += row.z * o1.z; s6_1 += row.w * o1.w;
s6_2 += row.x * o2.x; s6_2 += row.y * o2.y; s6_2 += row.z * o2.z; s6_2 += row.w * o2.w;
s6_3 += row.x * o3.x; s6_3 += row.y * o3.y; s6_3 += row.z * o3.z; s6_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 64u + ty + 7u]; s7_0 += row.x * o0.x; s7_0 += row.y * o0.y; s7_0 += row.z * o0.z; s7_0 += row.w * o0.w;
s7_1 += row.x * o1.x; s7_1 += row.y * o1.y; s7_1 += row.z * o1.z; s7_1 += row.w * o1.w;
s7_2 += row.x * o2.x; s7_2 += row.y * o2.y; s7_2 += row.z * o2.z; s7_2 += row.w * o2.w;
s7_3 += row.x * o3.x; s7_3 += row.y * o3.y; s7_3 += row.z * o3.z; s7_3 += row.w * o3.w; }
}
workgroupBarrier();
s0_0 = select(-3.4e38, s0_0 + LOG2E * mask[above0 + 0u * u.maskKey], (at + 0u + from0 < range0.y));
s0_1 = select(-3.4e38, s0_1 + LOG2E * mask[above0 + 16u * u.maskKey], (at + 16u + from0 < range0.y));
s0_2 = select(-3.4e38, s0_2 + LOG2E * mask[above0 + 32u * u.maskKey], (at + 32u + from0 < range0.y));
s0_3 = select(-3.4e38, s0_3 + LOG2E * mask[above0 + 48u * u.maskKey], (at + 48u + from0 < range0.y));
s1_0 = select(-3.4e38, s1_0 + LOG2E * mask[above1 + 0u * u.maskKey], (at + 0u + from1 < range1.y));
s1_1 = select(-3.4e38, s1_1 + LOG2E * mask[above1 + 16u * u.maskKey], (at + 16u + from1 < range1.y));
s1_2 = select(-3.4e38, s1_2 + LOG2E * mask[above1 + 32u * u.maskKey], (at + 32u + from1 < range1.y));
s1_3 = select(-3.4e38, s1_3 + LOG2E * mask[above1 + 48u * u.maskKey], (at + 48u + from1 < range1.y));
s2_0 = select(-3.4e38, s2_0 + LOG2E * mask[above2 + 0u * u.maskKey], (at + 0u + from2 < range2.y));
s2_1 = select(-3.4e38, s2_1 + LOG2E * mask[above2 + 16u * u.maskKey], (at + 16u + from2 < range2.y));
s2_2 = select(-3.4e38, s2_2 + LOG2E * mask[above2 + 32u * u.maskKey], (at + 32u + from2 < range2.y));
s2_3 = select(-3.4e38, s2_3 + LOG2E * mask[above2 + 48u * u.maskKey], (at + 48u + from2 < range2.y));
s3_0 = select(-3.4e38, s3_0 + LOG2E * mask[above3 + 0u * u.maskKey], (at + 0u + from3 < range3.y));
s3_1 = select(-3.4e38, s3_1 + LOG2E * mask[above3 + 16u * u.maskKey], (at + 16u + from3 < range3.y));
s3_2 = select(-3.4e38, s3_2 + LOG2E * mask[above3 + 32u * u.maskKey], (at + 32u + from3 < range3.y));
s3_3 = select(-3.4e38, s3_3 + LOG2E * mask[above3 + 48u * u.maskKey], (at + 48u + from3 < range3.y));
s4_0 = select(-3.4e38, s4_0 + LOG2E * mask[above4 + 0u * u.maskKey], (at + 0u + from4 < range4.y));
s4_1 = select(-3.4e38, s4_1 + LOG2E * mask[above4 + 16u * u.maskKey], (at + 16u + from4 < range4.y));
s4_2 = select(-3.4e38, s4_2 + LOG2E * mask[above4 + 32u * u.maskKey], (at + 32u + from4 < range4.y));
s4_3 = select(-3.4e38, s4_3 + LOG2E * mask[above4 + 48u * u.maskKey], (at + 48u + from4 < range4.y));
s5_0 = select(-3.4e38, s5_0 + LOG2E * mask[above5 + 0u * u.maskKey], (at + 0u + from5 < range5.y));
s5_1 = select(-3.4e38, s5_1 + LOG2E * mask[above5 + 16u * u.maskKey], (at + 16u + from5 < range5.y));
s5_2 = select(-3.4e38, s5_2 + LOG2E * mask[above5 + 32u * u.maskKey], (at + 32u + from5 < range5.y));
s5_3 = select(-3.4e38, s5_3 + LOG2E * mask[above5 + 48u * u.maskKey], (at + 48u + from5 < range5.y));
s6_0 = select(-3.4e38, s6_0 + LOG2E * mask[above6 + 0u * u.maskKey], (at + 0u + from6 < range6.y));
s6_1 = select(-3.4e38, s6_1 + LOG2E * mask[above6 + 16u * u.maskKey], (at + 16u + from6 < range6.y));
s6_2 = select(-3.4e38, s6_2 + LOG2E * mask[above6 + 32u * u.maskKey], (at + 32u + from6 < range6.y));
s6_3 = select(-3.4e38, s6_3 + LOG2E * mask[above6 + 48u * u.maskKey], (at + 48u + from6 < range6.y));
s7_0 = select(-3.4e38, s7_0 + LOG2E * mask[above7 + 0u * u.maskKey], (at + 0u + from7 < range7.y));
s7_1 = select(-3.4e38, s7_1 + LOG2E * mask[above7 + 16u * u.maskKey], (at + 16u + from7 < range7.y));
s7_2 = select(-3.4e38, s7_2 + LOG2E * mask[above7 + 32u * u.maskKey], (at + 32u + from7 < range7.y));
s7_3 = select(-3.4e38, s7_3 + LOG2E * mask[above7 + 48u * u.maskKey], (at + 48u + from7 < range7.y));
weights[tx * 68u + tw + 0u] = max(max(max(s0_0, s0_1), s0_2), s0_3);
weights[tx * 68u + tw + 1u] = max(max(max(s1_0, s1_1), s1_2), s1_3);
weights[tx * 68u + tw + 2u] = max(max(max(s2_0, s2_1), s2_2), s2_3);
weights[tx * 68u + tw + 3u] = max(max(max(s3_0, s3_1), s3_2), s3_3);
weights[tx * 68u + tw + 4u] = max(max(max(s4_0, s4_1), s4_2), s4_3);
weights[tx * 68u + tw + 5u] = max(max(max(s5_0, s5_1), s5_2), s5_3);
weights[tx * 68u + tw + 6u] = max(max(max(s6_0, s6_1), s6_2), s6_3);
weights[tx * 68u + tw + 7u] = max(max(max(s7_0, s7_1), s7_2), s7_3);
workgroupBarrier();
if (local.x < 64u) {
let next = max(top, max(max(max(max(weights[1020u + mine], weights[952u + mine]), max(weights[884u + mine], weights[816u + mine])), max(max(weights[748u + mine], weights[680u + mine]), max(weights[612u + mine], weights[544u + mine]))), max(max(max(weights[476u + mine], weights[408u + mine]), max(weights[340u + mine], weights[272u + mine])), max(max(weights[204u + mine], weights[136u + mine]), max(weights[68u + mine], weights[0u + mine])))));
scales[local.x] = vec2f(next, exp2(top - next));
top = next;
}
workgroupBarrier();
let scale0 = scales[ty + 0u];
sum0 *= scale0.y;
o0_0 *= scale0.y;
s0_0 = exp2(s0_0 - scale0.x); sum0 += s0_0;
s0_1 = exp2(s0_1 - scale0.x); sum0 += s0_1;
s0_2 = exp2(s0_2 - scale0.x); sum0 += s0_2;
s0_3 = exp2(s0_3 - scale0.x); sum0 += s0_3;
let scale1 = scales[ty + 1u];
sum1 *= scale1.y;
o1_0 *= scale1.y;
s1_0 = exp2(s1_0 - scale1.x); sum1 += s1_0;
s1_1 = exp2(s1_1 - scale1.x); sum1 += s1_1;
s1_2 = exp2(s1_2 - scale1.x); sum1 += s1_2;
s1_3 = exp2(s1_3 - scale1.x); sum1 += s1_3;
let scale2 = scales[ty + 2u];
sum2 *= scale2.y;
o2_0 *= scale2.y;
s2_0 = exp2(s2_0 - scale2.x); sum2 += s2_0;
s2_1 = exp2(s2_1 - scale2.x); sum2 += s2_1;
s2_2 = exp2(s2_2 - scale2.x); sum2 += s2_2;
s2_3 = exp2(s2_3 - scale2.x); sum2 += s2_3;
let scale3 = scales[ty + 3u];
sum3 *= scale3.y;
o3_0 *= scale3.y;
s3_0 = exp2(s3_0 - scale3.x); sum3 += s3_0;
s3_1 = exp2(s3_1 - scale3.x); sum3 += s3_1;
s3_2 = exp2(s3_2 - scale3.x); sum3 += s3_2;
s3_3 = exp2(s3_3 - scale3.x); sum3 += s3_3;
let scale4 = scales[ty + 4u];
sum4 *= scale4.y;
o4_0 *= scale4.y;
s4_0 = exp2(s4_0 - scale4.x); sum4 += s4_0;
s4_1 = exp2(s4_1 - scale4.x); sum4 += s4_1;
s4_2 = exp2(s4_2 - scale4.x); sum4 += s4_2;
s4_3 = exp2(s4_3 - scale4.x); sum4 += s4_3;
let scale5 = scales[ty + 5u];
sum5 *= scale5.y;
o5_0 *= scale5.y;
s5_0 = exp2(s5_0 - scale5.x); sum5 += s5_0;
s5_1 = exp2(s5_1 - scale5.x); sum5 += s5_1;
s5_2 = exp2(s5_2 - scale5.x); sum5 += s5_2;
s5_3 = exp2(s5_3 - scale5.x); sum5 += s5_3;
let scale6 = scales[ty + 6u];
sum6 *= scale6.y;
o6_0 *= scale6.y;
s6_0 = exp2(s6_0 - scale6.x); sum6 += s6_0;
s6_1 = exp2(s6_1 - scale6.x); sum6 += s6_1;
s6_2 = exp2(s6_2 - scale6.x); sum6 += s6_2;
s6_3 = exp2(s6_3 - scale6.x); sum6 += s6_3;
let scale7 = scales[ty + 7u];
sum7 *= scale7.y;
o7_0 *= scale7.y;
s7_0 = exp2(s7_0 - scale7.x); sum7 += s7_0;
s7_1 = exp2(s7_1 - scale7.x); sum7 += s7_1;
s7_2 = exp2(s7_2 - scale7.x); sum7 += s7_2;
s7_3 = exp2(s7_3 - scale7.x); sum7 += s7_3;
weights[tx * 68u + tw + 0u] = s0_0;
weights[tx * 68u + tw + 1u] = s1_0;
weights[tx * 68u + tw + 2u] = s2_0;
weights[tx * 68u + tw + 3u] = s3_0;
weights[tx * 68u + tw + 4u] = s4_0;
weights[tx * 68u + tw + 5u] = s5_0;
weights[tx * 68u + tw + 6u] = s6_0;
weights[tx * 68u + tw + 7u] = s7_0;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 0u + line, last - 1u)) * 16u + vector]; }
{ let line = local.x / 16u + 8u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 0u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 68u + tw + 0u]; o0_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 1u]; o1_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 2u]; o2_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 3u]; o3_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 4u]; o4_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 5u]; o5_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 6u]; o6_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 7u]; o7_0 += w * x0; }
}
workgroupBarrier();
weights[tx * 68u + tw + 0u] = s0_1;
weights[tx * 68u + tw + 1u] = s1_1;
weights[tx * 68u + tw + 2u] = s2_1;
weights[tx * 68u + tw + 3u] = s3_1;
weights[tx * 68u + tw + 4u] = s4_1;
weights[tx * 68u + tw + 5u] = s5_1;
weights[tx * 68u + tw + 6u] = s6_1;
weights[tx * 68u + tw + 7u] = s7_1;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 16u + line, last - 1u)) * 16u + vector]; }
{ let line = local.x / 16u + 8u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 16u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 68u + tw + 0u]; o0_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 1u]; o1_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 2u]; o2_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 3u]; o3_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 4u]; o4_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 5u]; o5_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 6u]; o6_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 7u]; o7_0 += w * x0; }
}
workgroupBarrier();
weights[tx * 68u + tw + 0u] = s0_2;
weights[tx * 68u + tw + 1u] = s1_2;
weights[tx * 68u + tw + 2u] = s2_2;
weights[tx * 68u + tw + 3u] = s3_2;
weights[tx * 68u + tw + 4u] = s4_2;
weights[tx * 68u + tw + 5u] = s5_2;
weights[tx * 68u + tw + 6u] = s6_2;
weights[tx * 68u + tw + 7u] = s7_2;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 32u + line, last - 1u)) * 16u + vector]; }
{ let line = local.x / 16u + 8u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 32u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 68u + tw + 0u]; o0_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 1u]; o1_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 2u]; o2_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 3u]; o3_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 4u]; o4_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 5u]; o5_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 6u]; o6_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 7u]; o7_0 += w * x0; }
}
workgroupBarrier();
weights[tx * 68u + tw + 0u] = s0_3;
weights[tx * 68u + tw + 1u] = s1_3;
weights[tx * 68u + tw + 2u] = s2_3;
weights[tx * 68u + tw + 3u] = s3_3;
weights[tx * 68u + tw + 4u] = s4_3;
weights[tx * 68u + tw + 5u] = s5_3;
weights[tx * 68u + tw + 6u] = s6_3;
weights[tx * 68u + tw + 7u] = s7_3;
{ let line = local.x / 16u + 0u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 48u + line, last - 1u)) * 16u + vector]; }
{ let line = local.x / 16u + 8u; let vector = local.x % 16u; other[line * 16u + vector] = v[(keyBase + min(at + 48u + line, last - 1u)) * 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 16u; i++) {
let x0 = other[i * 16u + tx + 0u];
{ let w = weights[(0u + i) * 68u + tw + 0u]; o0_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 1u]; o1_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 2u]; o2_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 3u]; o3_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 4u]; o4_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 5u]; o5_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 6u]; o6_0 += w * x0; }
{ let w = weights[(0u + i) * 68u + tw + 7u]; o7_0 += w * x0; }
}
workgroupBarrier();
above0 += 64u * u.maskKey;
above1 += 64u * u.maskKey;
above2 += 64u * u.maskKey;
above3 += 64u * u.maskKey;
above4 += 64u * u.maskKey;
above5 += 64u * u.maskKey;
above6 += 64u * u.maskKey;
above7 += 64u * u.maskKey;
}
weights[tx * 68u + tw + 0u] = sum0;
weights[tx * 68u + tw + 1u] = sum1;
weights[tx * 68u + tw + 2u] = sum2;
weights[tx * 68u + tw + 3u] = sum3;
weights[tx * 68u + tw + 4u] = sum4;
weights[tx * 68u + tw + 5u] = sum5;
weights[tx * 68u + tw + 6u] = sum6;
weights[tx * 68u + tw + 7u] = sum7;
workgroupBarrier();
if (local.x < 64u) {
let inverse = 1.0 / ((((weights[1020u + mine] + weights[952u + mine]) + (weights[884u + mine] + weights[816u + mine])) + ((weights[748u + mine] + weights[680u + mine]) + (weights[612u + mine] + weights[544u + mine]))) + (((weights[476u + mine] + weights[408u + mine]) + (weights[340u + mine] + weights[272u + mine])) + ((weights[204u + mine] + weights[136u + mine]) + (weights[68u + mine] + weights[0u + mine]))));
scales[local.x].x = inverse;
if (start + local.x < u.queries) {
let row = head * u.queries + start + local.x;
stats[2u * row] = top;
stats[2u * row + 1u] = inverse;
}
}
workgroupBarrier();
if (start + ty + 0u < u.queries) {
let row = head * u.queries + start + ty + 0u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o0_0 * scales[ty + 0u].x; }
}
if (start + ty + 1u < u.queries) {
let row = head * u.queries + start + ty + 1u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o1_0 * scales[ty + 1u].x; }
}
if (start + ty + 2u < u.queries) {
let row = head * u.queries + start + ty + 2u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o2_0 * scales[ty + 2u].x; }
}
if (start + ty + 3u < u.queries) {
let row = head * u.queries + start + ty + 3u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o3_0 * scales[ty + 3u].x; }
}
if (start + ty + 4u < u.queries) {
let row = head * u.queries + start + ty + 4u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o4_0 * scales[ty + 4u].x; }
}
if (start + ty + 5u < u.queries) {
let row = head * u.queries + start + ty + 5u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o5_0 * scales[ty + 5u].x; }
}
if (start + ty + 6u < u.queries) {
let row = head * u.queries + start + ty + 6u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o6_0 * scales[ty + 6u].x; }
}
if (start + ty + 7u < u.queries) {
let row = head * u.queries + start + ty + 7u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = o7_0 * scales[ty + 7u].x; }
}
}
