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
var<workgroup> own: array<vec4f, 768>;
var<workgroup> ownWith: array<vec4f, 768>;
var<workgroup> other: array<vec4f, 256>;
var<workgroup> weights: array<f32, 576>;
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tx = local.x % 16u;
let ty = local.x / 16u * 4u;
let tw = local.x / 16u * 4u;
let tile = u.skip + group.x;
let owner = tile / u.tiles;
let within = tile % u.tiles;let factor = LOG2E * u.scale;
let start = within * 32u;
let head = owner;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 256u) / 24u; let vector = (local.x + 256u) % 24u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 384u) / 24u; let vector = (local.x + 384u) % 24u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 512u) / 24u; let vector = (local.x + 512u) % 24u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 640u) / 24u; let vector = (local.x + 640u) % 24u; own[vector * 32u + line] = k[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 256u) / 24u; let vector = (local.x + 256u) % 24u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 384u) / 24u; let vector = (local.x + 384u) % 24u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 512u) / 24u; let vector = (local.x + 512u) % 24u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 640u) / 24u; let vector = (local.x + 640u) % 24u; ownWith[vector * 32u + line] = v[(head / u.group * u.keys + min(start + line, u.keys - 1u)) * 24u + 0u + vector]; }
let range0 = range(start + ty + 0u);
let from0 = tx - range0.x;
let range1 = range(start + ty + 1u);
let from1 = tx - range1.x;
let range2 = range(start + ty + 2u);
let from2 = tx - range2.x;
let range3 = range(start + ty + 3u);
let from3 = tx - range3.x;
var dk0_0 = vec4f(0);
var dk0_1 = vec4f(0);
var dv0_0 = vec4f(0);
var dv0_1 = vec4f(0);
var dk1_0 = vec4f(0);
var dk1_1 = vec4f(0);
var dv1_0 = vec4f(0);
var dv1_1 = vec4f(0);
var dk2_0 = vec4f(0);
var dk2_1 = vec4f(0);
var dv2_0 = vec4f(0);
var dv2_1 = vec4f(0);
var dk3_0 = vec4f(0);
var dk3_1 = vec4f(0);
var dv3_0 = vec4f(0);
var dv3_1 = vec4f(0);
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
var s2_0 = 0.0;
var s2_1 = 0.0;
var s2_2 = 0.0;
var s2_3 = 0.0;
var s3_0 = 0.0;
var s3_1 = 0.0;
var s3_2 = 0.0;
var s3_3 = 0.0;
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 0u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 0u + vector]; }
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
{ let row = own[(0u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(0u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 4u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 4u + vector]; }
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
{ let row = own[(4u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(4u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 8u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 8u + vector]; }
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
{ let row = own[(8u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(8u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 12u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 12u + vector]; }
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
{ let row = own[(12u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(12u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 16u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(16u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(16u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
{ let row = own[(16u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(16u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 20u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = q[(head * u.queries + min(at + line, last - 1u)) * 24u + 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = own[(20u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w;
s0_2 += row.x * o2.x; s0_2 += row.y * o2.y; s0_2 += row.z * o2.z; s0_2 += row.w * o2.w;
s0_3 += row.x * o3.x; s0_3 += row.y * o3.y; s0_3 += row.z * o3.z; s0_3 += row.w * o3.w; }
{ let row = own[(20u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w;
s1_2 += row.x * o2.x; s1_2 += row.y * o2.y; s1_2 += row.z * o2.z; s1_2 += row.w * o2.w;
s1_3 += row.x * o3.x; s1_3 += row.y * o3.y; s1_3 += row.z * o3.z; s1_3 += row.w * o3.w; }
{ let row = own[(20u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w;
s2_2 += row.x * o2.x; s2_2 += row.y * o2.y; s2_2 += row.z * o2.z; s2_2 += row.w * o2.w;
s2_3 += row.x * o3.x; s2_3 += row.y * o3.y; s2_3 += row.z * o3.z; s2_3 += row.w * o3.w; }
{ let row = own[(20u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w;
s3_2 += row.x * o2.x; s3_2 += row.y * o2.y; s3_2 += row.z * o2.z; s3_2 += row.w * o2.w;
s3_3 += row.x * o3.x; s3_3 += row.y * o3.y; s3_3 += row.z * o3.z; s3_3 += row.w * o3.w; }
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
var d2_0 = 0.0;
var d2_1 = 0.0;
var d2_2 = 0.0;
var d2_3 = 0.0;
var d3_0 = 0.0;
var d3_1 = 0.0;
var d3_2 = 0.0;
var d3_3 = 0.0;
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 0u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 0u + vector]; }
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
{ let row = ownWith[(0u + i) * 32u + ty + 2u]; d2_0 += row.x * o0.x; d2_0 += row.y * o0.y; d2_0 += row.z * o0.z; d2_0 += row.w * o0.w;
d2_1 += row.x * o1.x; d2_1 += row.y * o1.y; d2_1 += row.z * o1.z; d2_1 += row.w * o1.w;
d2_2 += row.x * o2.x; d2_2 += row.y * o2.y; d2_2 += row.z * o2.z; d2_2 += row.w * o2.w;
d2_3 += row.x * o3.x; d2_3 += row.y * o3.y; d2_3 += row.z * o3.z; d2_3 += row.w * o3.w; }
{ let row = ownWith[(0u + i) * 32u + ty + 3u]; d3_0 += row.x * o0.x; d3_0 += row.y * o0.y; d3_0 += row.z * o0.z; d3_0 += row.w * o0.w;
d3_1 += row.x * o1.x; d3_1 += row.y * o1.y; d3_1 += row.z * o1.z; d3_1 += row.w * o1.w;
d3_2 += row.x * o2.x; d3_2 += row.y * o2.y; d3_2 += row.z * o2.z; d3_2 += row.w * o2.w;
d3_3 += row.x * o3.x; d3_3 += row.y * o3.y; d3_3 += row.z * o3.z; d3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 4u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 4u + vector]; }
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
{ let row = ownWith[(4u + i) * 32u + ty + 2u]; d2_0 += row.x * o0.x; d2_0 += row.y * o0.y; d2_0 += row.z * o0.z; d2_0 += row.w * o0.w;
d2_1 += row.x * o1.x; d2_1 += row.y * o1.y; d2_1 += row.z * o1.z; d2_1 += row.w * o1.w;
d2_2 += row.x * o2.x; d2_2 += row.y * o2.y; d2_2 += row.z * o2.z; d2_2 += row.w * o2.w;
d2_3 += row.x * o3.x; d2_3 += row.y * o3.y; d2_3 += row.z * o3.z; d2_3 += row.w * o3.w; }
{ let row = ownWith[(4u + i) * 32u + ty + 3u]; d3_0 += row.x * o0.x; d3_0 += row.y * o0.y; d3_0 += row.z * o0.z; d3_0 += row.w * o0.w;
d3_1 += row.x * o1.x; d3_1 += row.y * o1.y; d3_1 += row.z * o1.z; d3_1 += row.w * o1.w;
d3_2 += row.x * o2.x; d3_2 += row.y * o2.y; d3_2 += row.z * o2.z; d3_2 += row.w * o2.w;
d3_3 += row.x * o3.x; d3_3 += row.y * o3.y; d3_3 += row.z * o3.z; d3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 8u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 8u + vector]; }
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
{ let row = ownWith[(8u + i) * 32u + ty + 2u]; d2_0 += row.x * o0.x; d2_0 += row.y * o0.y; d2_0 += row.z * o0.z; d2_0 += row.w * o0.w;
d2_1 += row.x * o1.x; d2_1 += row.y * o1.y; d2_1 += row.z * o1.z; d2_1 += row.w * o1.w;
d2_2 += row.x * o2.x; d2_2 += row.y * o2.y; d2_2 += row.z * o2.z; d2_2 += row.w * o2.w;
d2_3 += row.x * o3.x; d2_3 += row.y * o3.y; d2_3 += row.z * o3.z; d2_3 += row.w * o3.w; }
{ let row = ownWith[(8u + i) * 32u + ty + 3u]; d3_0 += row.x * o0.x; d3_0 += row.y * o0.y; d3_0 += row.z * o0.z; d3_0 += row.w * o0.w;
d3_1 += row.x * o1.x; d3_1 += row.y * o1.y; d3_1 += row.z * o1.z; d3_1 += row.w * o1.w;
d3_2 += row.x * o2.x; d3_2 += row.y * o2.y; d3_2 += row.z * o2.z; d3_2 += row.w * o2.w;
d3_3 += row.x * o3.x; d3_3 += row.y * o3.y; d3_3 += row.z * o3.z; d3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 12u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 12u + vector]; }
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
{ let row = ownWith[(12u + i) * 32u + ty + 2u]; d2_0 += row.x * o0.x; d2_0 += row.y * o0.y; d2_0 += row.z * o0.z; d2_0 += row.w * o0.w;
d2_1 += row.x * o1.x; d2_1 += row.y * o1.y; d2_1 += row.z * o1.z; d2_1 += row.w * o1.w;
d2_2 += row.x * o2.x; d2_2 += row.y * o2.y; d2_2 += row.z * o2.z; d2_2 += row.w * o2.w;
d2_3 += row.x * o3.x; d2_3 += row.y * o3.y; d2_3 += row.z * o3.z; d2_3 += row.w * o3.w; }
{ let row = ownWith[(12u + i) * 32u + ty + 3u]; d3_0 += row.x * o0.x; d3_0 += row.y * o0.y; d3_0 += row.z * o0.z; d3_0 += row.w * o0.w;
d3_1 += row.x * o1.x; d3_1 += row.y * o1.y; d3_1 += row.z * o1.z; d3_1 += row.w * o1.w;
d3_2 += row.x * o2.x; d3_2 += row.y * o2.y; d3_2 += row.z * o2.z; d3_2 += row.w * o2.w;
d3_3 += row.x * o3.x; d3_3 += row.y * o3.y; d3_3 += row.z * o3.z; d3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 16u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = ownWith[(16u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w;
d0_2 += row.x * o2.x; d0_2 += row.y * o2.y; d0_2 += row.z * o2.z; d0_2 += row.w * o2.w;
d0_3 += row.x * o3.x; d0_3 += row.y * o3.y; d0_3 += row.z * o3.z; d0_3 += row.w * o3.w; }
{ let row = ownWith[(16u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w;
d1_2 += row.x * o2.x; d1_2 += row.y * o2.y; d1_2 += row.z * o2.z; d1_2 += row.w * o2.w;
d1_3 += row.x * o3.x; d1_3 += row.y * o3.y; d1_3 += row.z * o3.z; d1_3 += row.w * o3.w; }
{ let row = ownWith[(16u + i) * 32u + ty + 2u]; d2_0 += row.x * o0.x; d2_0 += row.y * o0.y; d2_0 += row.z * o0.z; d2_0 += row.w * o0.w;
d2_1 += row.x * o1.x; d2_1 += row.y * o1.y; d2_1 += row.z * o1.z; d2_1 += row.w * o1.w;
d2_2 += row.x * o2.x; d2_2 += row.y * o2.y; d2_2 += row.z * o2.z; d2_2 += row.w * o2.w;
d2_3 += row.x * o3.x; d2_3 += row.y * o3.y; d2_3 += row.z * o3.z; d2_3 += row.w * o3.w; }
{ let row = ownWith[(16u + i) * 32u + ty + 3u]; d3_0 += row.x * o0.x; d3_0 += row.y * o0.y; d3_0 += row.z * o0.z; d3_0 += row.w * o0.w;
d3_1 += row.x * o1.x; d3_1 += row.y * o1.y; d3_1 += row.z * o1.z; d3_1 += row.w * o1.w;
d3_2 += row.x * o2.x; d3_2 += row.y * o2.y; d3_2 += row.z * o2.z; d3_2 += row.w * o2.w;
d3_3 += row.x * o3.x; d3_3 += row.y * o3.y; d3_3 += row.z * o3.z; d3_3 += row.w * o3.w; }
}
workgroupBarrier();
{ let line = local.x / 4u + 0u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 20u + vector]; }
{ let line = local.x / 4u + 32u; let vector = local.x % 4u; other[vector * 64u + line] = dy[(head * u.queries + min(at + line, last - 1u)) * 24u + 20u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 4u; i++) {
let o0 = other[i * 64u + tx + 0u];
let o1 = other[i * 64u + tx + 16u];
let o2 = other[i * 64u + tx + 32u];
let o3 = other[i * 64u + tx + 48u];
{ let row = ownWith[(20u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w;
d0_2 += row.x * o2.x; d0_2 += row.y * o2.y; d0_2 += row.z * o2.z; d0_2 += row.w * o2.w;
d0_3 += row.x * o3.x; d0_3 += row.y * o3.y; d0_3 += row.z * o3.z; d0_3 += row.w * o3.w; }
{ let row = ownWith[(20u + i) * 32u + ty + 1u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w;
d1_2 += row.x * o2.x; d1_2 += row.y * o2.y; d1_2 += row.z * o2.z; d1_2 += row.w * o2.w;
d1_3 += row.x * o3.x; d1_3 += row.y * o3.y; d1_3 += row.z * o3.z; d1_3 += row.w * o3.w; }
{ let row = ownWith[(20u + i) * 32u + ty + 2u]; d2_0 += row.x * o0.x; d2_0 += row.y * o0.y; d2_0 += row.z * o0.z; d2_0 += row.w * o0.w;
d2_1 += row.x * o1.x; d2_1 += row.y * o1.y; d2_1 += row.z * o1.z; d2_1 += row.w * o1.w;
d2_2 += row.x * o2.x; d2_2 += row.y * o2.y; d2_2 += row.z * o2.z; d2_2 += row.w * o2.w;
d2_3 += row.x * o3.x; d2_3 += row.y * o3.y; d2_3 += row.z * o3.z; d2_3 += row.w * o3.w; }
{ let row = ownWith[(20u + i) * 32u + ty + 3u]; d3_0 += row.x * o0.x; d3_0 += row.y * o0.y; d3_0 += row.z * o0.z; d3_0 += row.w * o0.w;
d3_1 += row.x * o1.x; d3_1 += row.y * o1.y; d3_1 += row.z * o1.z; d3_1 += row.w * o1.w;
d3_2 += row.x * o2.x; d3_2 += row.y * o2.y; d3_2 += row.z * o2.z; d3_2 += row.w * o2.w;
d3_3 += row.x * o3.x; d3_3 += row.y * o3.y; d3_3 += row.z * o3.z; d3_3 += row.w * o3.w; }
}
workgroupBarrier();
let row0 = head * u.queries + at + tx + 0u;
let top0 = stats[2u * row0]; let inverse0 = stats[2u * row0 + 1u]; let delta0 = delta[row0];
let row1 = head * u.queries + at + tx + 16u;
let top1 = stats[2u * row1]; let inverse1 = stats[2u * row1 + 1u]; let delta1 = delta[row1];
let row2 = head * u.queries + at + tx + 32u;
let top2 = stats[2u * row2]; let inverse2 = stats[2u * row2 + 1u]; let delta2 = delta[row2];
let row3 = head * u.queries + at + tx + 48u;
let top3 = stats[2u * row3]; let inverse3 = stats[2u * row3 + 1u]; let delta3 = delta[row3];
{ let is = (at + 0u + from0 < range0.y);
s0_0 = select(0.0, exp2(factor * s0_0 - top0) * inverse0, is);
d0_0 = select(0.0, s0_0 * (d0_0 - delta0), is); }
{ let is = (at + 16u + from0 < range0.y);
s0_1 = select(0.0, exp2(factor * s0_1 - top1) * inverse1, is);
d0_1 = select(0.0, s0_1 * (d0_1 - delta1), is); }
{ let is = (at + 32u + from0 < range0.y);
s0_2 = select(0.0, exp2(factor * s0_2 - top2) * inverse2, is);
d0_2 = select(0.0, s0_2 * (d0_2 - delta2), is); }
{ let is = (at + 48u + from0 < range0.y);
s0_3 = select(0.0, exp2(factor * s0_3 - top3) * inverse3, is);
d0_3 = select(0.0, s0_3 * (d0_3 - delta3), is); }
{ let is = (at + 0u + from1 < range1.y);
s1_0 = select(0.0, exp2(factor * s1_0 - top0) * inverse0, is);
d1_0 = select(0.0, s1_0 * (d1_0 - delta0), is); }
{ let is = (at + 16u + from1 < range1.y);
s1_1 = select(0.0, exp2(factor * s1_1 - top1) * inverse1, is);
d1_1 = select(0.0, s1_1 * (d1_1 - delta1), is); }
{ let is = (at + 32u + from1 < range1.y);
s1_2 = select(0.0, exp2(factor * s1_2 - top2) * inverse2, is);
d1_2 = select(0.0, s1_2 * (d1_2 - delta2), is); }
{ let is = (at + 48u + from1 < range1.y);
s1_3 = select(0.0, exp2(factor * s1_3 - top3) * inverse3, is);
d1_3 = select(0.0, s1_3 * (d1_3 - delta3), is); }
{ let is = (at + 0u + from2 < range2.y);
s2_0 = select(0.0, exp2(factor * s2_0 - top0) * inverse0, is);
d2_0 = select(0.0, s2_0 * (d2_0 - delta0), is); }
{ let is = (at + 16u + from2 < range2.y);
s2_1 = select(0.0, exp2(factor * s2_1 - top1) * inverse1, is);
d2_1 = select(0.0, s2_1 * (d2_1 - delta1), is); }
{ let is = (at + 32u + from2 < range2.y);
s2_2 = select(0.0, exp2(factor * s2_2 - top2) * inverse2, is);
d2_2 = select(0.0, s2_2 * (d2_2 - delta2), is); }
{ let is = (at + 48u + from2 < range2.y);
s2_3 = select(0.0, exp2(factor * s2_3 - top3) * inverse3, is);
d2_3 = select(0.0, s2_3 * (d2_3 - delta3), is); }
{ let is = (at + 0u + from3 < range3.y);
s3_0 = select(0.0, exp2(factor * s3_0 - top0) * inverse0, is);
d3_0 = select(0.0, s3_0 * (d3_0 - delta0), is); }
{ let is = (at + 16u + from3 < range3.y);
s3_1 = select(0.0, exp2(factor * s3_1 - top1) * inverse1, is);
d3_1 = select(0.0, s3_1 * (d3_1 - delta1), is); }
{ let is = (at + 32u + from3 < range3.y);
s3_2 = select(0.0, exp2(factor * s3_2 - top2) * inverse2, is);
d3_2 = select(0.0, s3_2 * (d3_2 - delta2), is); }
{ let is = (at + 48u + from3 < range3.y);
s3_3 = select(0.0, exp2(factor * s3_3 - top3) * inverse3, is);
d3_3 = select(0.0, s3_3 * (d3_3 - delta3), is); }
weights[tx * 36u + tw + 0u] = d0_0;
weights[tx * 36u + tw + 1u] = d1_0;
weights[tx * 36u + tw + 2u] = d2_0;
weights[tx * 36u + tw + 3u] = d3_0;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 0u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 0u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 8u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 8u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_1;
weights[tx * 36u + tw + 1u] = d1_1;
weights[tx * 36u + tw + 2u] = d2_1;
weights[tx * 36u + tw + 3u] = d3_1;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 16u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 16u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 24u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 24u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_2;
weights[tx * 36u + tw + 1u] = d1_2;
weights[tx * 36u + tw + 2u] = d2_2;
weights[tx * 36u + tw + 3u] = d3_2;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 32u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 32u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 40u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 40u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = d0_3;
weights[tx * 36u + tw + 1u] = d1_3;
weights[tx * 36u + tw + 2u] = d2_3;
weights[tx * 36u + tw + 3u] = d3_3;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 48u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 48u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 56u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = q[(head * u.queries + min(at + 56u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dk0_0 += w * x0;
dk0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dk1_0 += w * x0;
dk1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dk2_0 += w * x0;
dk2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dk3_0 += w * x0;
dk3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_0;
weights[tx * 36u + tw + 1u] = s1_0;
weights[tx * 36u + tw + 2u] = s2_0;
weights[tx * 36u + tw + 3u] = s3_0;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 0u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 0u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 8u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 8u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_1;
weights[tx * 36u + tw + 1u] = s1_1;
weights[tx * 36u + tw + 2u] = s2_1;
weights[tx * 36u + tw + 3u] = s3_1;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 16u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 16u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 24u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 24u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_2;
weights[tx * 36u + tw + 1u] = s1_2;
weights[tx * 36u + tw + 2u] = s2_2;
weights[tx * 36u + tw + 3u] = s3_2;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 32u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 32u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 40u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 40u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_3;
weights[tx * 36u + tw + 1u] = s1_3;
weights[tx * 36u + tw + 2u] = s2_3;
weights[tx * 36u + tw + 3u] = s3_3;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 48u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 48u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 56u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = dy[(head * u.queries + min(at + 56u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; dv0_0 += w * x0;
dv0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; dv1_0 += w * x0;
dv1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; dv2_0 += w * x0;
dv2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; dv3_0 += w * x0;
dv3_1 += w * x1; }
}
workgroupBarrier();
}
if (start + ty + 0u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 0u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = u.scale * dk0_0; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = u.scale * dk0_1; }
}
if (start + ty + 1u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 1u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = u.scale * dk1_0; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = u.scale * dk1_1; }
}
if (start + ty + 2u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 2u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = u.scale * dk2_0; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = u.scale * dk2_1; }
}
if (start + ty + 3u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 3u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = u.scale * dk3_0; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = u.scale * dk3_1; }
}
if (start + ty + 0u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 0u;
if (tx + 0u < 24u) { values[row * 24u + tx + 0u] = dv0_0; }
if (tx + 16u < 24u) { values[row * 24u + tx + 16u] = dv0_1; }
}
if (start + ty + 1u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 1u;
if (tx + 0u < 24u) { values[row * 24u + tx + 0u] = dv1_0; }
if (tx + 16u < 24u) { values[row * 24u + tx + 16u] = dv1_1; }
}
if (start + ty + 2u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 2u;
if (tx + 0u < 24u) { values[row * 24u + tx + 0u] = dv2_0; }
if (tx + 16u < 24u) { values[row * 24u + tx + 16u] = dv2_1; }
}
if (start + ty + 3u < u.keys) {
let row = ((head % u.group) * u.keyHeads + head / u.group) * u.keys + start + ty + 3u;
if (tx + 0u < 24u) { values[row * 24u + tx + 0u] = dv3_0; }
if (tx + 16u < 24u) { values[row * 24u + tx + 16u] = dv3_1; }
}
}
