struct Uniforms { heads: u32, group: u32, queries: u32, keys: u32, causal: u32, before: u32, reach: u32, masked: u32, maskBatch: u32, maskHead: u32, maskRow: u32, maskKey: u32, scale: f32, skip: u32, tiles: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read_write> stats: array<f32>;
const LOG2E = 1.4426950408889634;
fn range(query: u32) -> vec2u {
let end = select(u.keys, min(query + u.before + 1u, u.keys), u.causal != 0u);
let begin = select(0u, max(end, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
return vec2u(begin, end - begin);
}
var<workgroup> own: array<vec4f, 768>;
var<workgroup> other: array<vec4f, 256>;
var<workgroup> weights: array<f32, 576>;
// The largest score of each row and the factor of its sums; in the end the inverse sum.
var<workgroup> scales: array<vec2f, 32>;
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tx = local.x % 16u;
let ty = local.x / 16u * 4u;
let tw = local.x / 16u * 4u;
let tile = u.skip + group.x;
let owner = tile / u.tiles;
let within = tile % u.tiles;let factor = LOG2E * u.scale;
let mine = local.x;
let head = owner;
let start = within * 32u;
let keyBase = (head / u.group) * u.keys;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; own[vector * 32u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; own[vector * 32u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 256u) / 24u; let vector = (local.x + 256u) % 24u; own[vector * 32u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 384u) / 24u; let vector = (local.x + 384u) % 24u; own[vector * 32u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 512u) / 24u; let vector = (local.x + 512u) % 24u; own[vector * 32u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 24u + 0u + vector]; }
{ let line = (local.x + 640u) / 24u; let vector = (local.x + 640u) % 24u; own[vector * 32u + line] = factor * q[(head * u.queries + min(start + line, u.queries - 1u)) * 24u + 0u + vector]; }
let range0 = range(start + ty + 0u);
let from0 = tx - range0.x;
let range1 = range(start + ty + 1u);
let from1 = tx - range1.x;
let range2 = range(start + ty + 2u);
let from2 = tx - range2.x;
let range3 = range(start + ty + 3u);
let from3 = tx - range3.x;
var top = -3.0e38;
var sum0 = 0.0; var o0_0 = vec4f(0);
var o0_1 = vec4f(0);
var sum1 = 0.0; var o1_0 = vec4f(0);
var o1_1 = vec4f(0);
var sum2 = 0.0; var o2_0 = vec4f(0);
var o2_1 = vec4f(0);
var sum3 = 0.0; var o3_0 = vec4f(0);
var o3_1 = vec4f(0);
let last = dot(range(start + 31u), vec2u(1u));
for (var at = range(start).x; at < last; at += 32u) {
var s0_0 = 0.0;
var s0_1 = 0.0;
var s1_0 = 0.0;
var s1_1 = 0.0;
var s2_0 = 0.0;
var s2_1 = 0.0;
var s3_0 = 0.0;
var s3_1 = 0.0;
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = k[(keyBase + min(at + line, last - 1u)) * 24u + 0u + vector]; }
{ let line = local.x / 8u + 16u; let vector = local.x % 8u; other[vector * 32u + line] = k[(keyBase + min(at + line, last - 1u)) * 24u + 0u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(0u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(0u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
{ let row = own[(0u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w; }
{ let row = own[(0u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = k[(keyBase + min(at + line, last - 1u)) * 24u + 8u + vector]; }
{ let line = local.x / 8u + 16u; let vector = local.x % 8u; other[vector * 32u + line] = k[(keyBase + min(at + line, last - 1u)) * 24u + 8u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(8u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(8u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
{ let row = own[(8u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w; }
{ let row = own[(8u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let line = local.x / 8u + 0u; let vector = local.x % 8u; other[vector * 32u + line] = k[(keyBase + min(at + line, last - 1u)) * 24u + 16u + vector]; }
{ let line = local.x / 8u + 16u; let vector = local.x % 8u; other[vector * 32u + line] = k[(keyBase + min(at + line, last - 1u)) * 24u + 16u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(16u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(16u + i) * 32u + ty + 1u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
{ let row = own[(16u + i) * 32u + ty + 2u]; s2_0 += row.x * o0.x; s2_0 += row.y * o0.y; s2_0 += row.z * o0.z; s2_0 += row.w * o0.w;
s2_1 += row.x * o1.x; s2_1 += row.y * o1.y; s2_1 += row.z * o1.z; s2_1 += row.w * o1.w; }
{ let row = own[(16u + i) * 32u + ty + 3u]; s3_0 += row.x * o0.x; s3_0 += row.y * o0.y; s3_0 += row.z * o0.z; s3_0 += row.w * o0.w;
s3_1 += row.x * o1.x; s3_1 += row.y * o1.y; s3_1 += row.z * o1.z; s3_1 += row.w * o1.w; }
}
workgroupBarrier();
s0_0 = select(-3.4e38, s0_0, (at + 0u + from0 < range0.y));
s0_1 = select(-3.4e38, s0_1, (at + 16u + from0 < range0.y));
s1_0 = select(-3.4e38, s1_0, (at + 0u + from1 < range1.y));
s1_1 = select(-3.4e38, s1_1, (at + 16u + from1 < range1.y));
s2_0 = select(-3.4e38, s2_0, (at + 0u + from2 < range2.y));
s2_1 = select(-3.4e38, s2_1, (at + 16u + from2 < range2.y));
s3_0 = select(-3.4e38, s3_0, (at + 0u + from3 < range3.y));
s3_1 = select(-3.4e38, s3_1, (at + 16u + from3 < range3.y));
weights[tx * 36u + tw + 0u] = max(s0_0, s0_1);
weights[tx * 36u + tw + 1u] = max(s1_0, s1_1);
weights[tx * 36u + tw + 2u] = max(s2_0, s2_1);
weights[tx * 36u + tw + 3u] = max(s3_0, s3_1);
workgroupBarrier();
if (local.x < 32u) {
let next = max(top, max(max(max(max(weights[540u + mine], weights[504u + mine]), max(weights[468u + mine], weights[432u + mine])), max(max(weights[396u + mine], weights[360u + mine]), max(weights[324u + mine], weights[288u + mine]))), max(max(max(weights[252u + mine], weights[216u + mine]), max(weights[180u + mine], weights[144u + mine])), max(max(weights[108u + mine], weights[72u + mine]), max(weights[36u + mine], weights[0u + mine])))));
scales[local.x] = vec2f(next, exp2(top - next));
top = next;
}
workgroupBarrier();
let scale0 = scales[ty + 0u];
sum0 *= scale0.y;
o0_0 *= scale0.y;
o0_1 *= scale0.y;
s0_0 = exp2(s0_0 - scale0.x); sum0 += s0_0;
s0_1 = exp2(s0_1 - scale0.x); sum0 += s0_1;
let scale1 = scales[ty + 1u];
sum1 *= scale1.y;
o1_0 *= scale1.y;
o1_1 *= scale1.y;
s1_0 = exp2(s1_0 - scale1.x); sum1 += s1_0;
s1_1 = exp2(s1_1 - scale1.x); sum1 += s1_1;
let scale2 = scales[ty + 2u];
sum2 *= scale2.y;
o2_0 *= scale2.y;
o2_1 *= scale2.y;
s2_0 = exp2(s2_0 - scale2.x); sum2 += s2_0;
s2_1 = exp2(s2_1 - scale2.x); sum2 += s2_1;
let scale3 = scales[ty + 3u];
sum3 *= scale3.y;
o3_0 *= scale3.y;
o3_1 *= scale3.y;
s3_0 = exp2(s3_0 - scale3.x); sum3 += s3_0;
s3_1 = exp2(s3_1 - scale3.x); sum3 += s3_1;
weights[tx * 36u + tw + 0u] = s0_0;
weights[tx * 36u + tw + 1u] = s1_0;
weights[tx * 36u + tw + 2u] = s2_0;
weights[tx * 36u + tw + 3u] = s3_0;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 0u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 0u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; o0_0 += w * x0;
o0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; o1_0 += w * x0;
o1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; o2_0 += w * x0;
o2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; o3_0 += w * x0;
o3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 8u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 8u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; o0_0 += w * x0;
o0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; o1_0 += w * x0;
o1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; o2_0 += w * x0;
o2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; o3_0 += w * x0;
o3_1 += w * x1; }
}
workgroupBarrier();
weights[tx * 36u + tw + 0u] = s0_1;
weights[tx * 36u + tw + 1u] = s1_1;
weights[tx * 36u + tw + 2u] = s2_1;
weights[tx * 36u + tw + 3u] = s3_1;
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 16u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 16u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(0u + i) * 36u + tw + 0u]; o0_0 += w * x0;
o0_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 1u]; o1_0 += w * x0;
o1_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 2u]; o2_0 += w * x0;
o2_1 += w * x1; }
{ let w = weights[(0u + i) * 36u + tw + 3u]; o3_0 += w * x0;
o3_1 += w * x1; }
}
workgroupBarrier();
{ let line = (local.x + 0u) / 24u; let vector = (local.x + 0u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 24u + line, last - 1u)) * 24u + vector]; }
if (local.x < 64u) { let line = (local.x + 128u) / 24u; let vector = (local.x + 128u) % 24u; other[line * 24u + vector] = v[(keyBase + min(at + 24u + line, last - 1u)) * 24u + vector]; }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let x0 = other[i * 24u + min(tx + 0u, 23u)];
let x1 = other[i * 24u + min(tx + 16u, 23u)];
{ let w = weights[(8u + i) * 36u + tw + 0u]; o0_0 += w * x0;
o0_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 1u]; o1_0 += w * x0;
o1_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 2u]; o2_0 += w * x0;
o2_1 += w * x1; }
{ let w = weights[(8u + i) * 36u + tw + 3u]; o3_0 += w * x0;
o3_1 += w * x1; }
}
workgroupBarrier();
}
weights[tx * 36u + tw + 0u] = sum0;
weights[tx * 36u + tw + 1u] = sum1;
weights[tx * 36u + tw + 2u] = sum2;
weights[tx * 36u + tw + 3u] = sum3;
workgroupBarrier();
if (local.x < 32u) {
let inverse = 1.0 / ((((weights[540u + mine] + weights[504u + mine]) + (weights[468u + mine] + weights[432u + mine])) + ((weights[396u + mine] + weights[360u + mine]) + (weights[324u + mine] + weights[288u + mine]))) + (((weights[252u + mine] + weights[216u + mine]) + (weights[180u + mine] + weights[144u + mine])) + ((weights[108u + mine] + weights[72u + mine]) + (weights[36u + mine] + weights[0u + mine]))));
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
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = o0_0 * scales[ty + 0u].x; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = o0_1 * scales[ty + 0u].x; }
}
if (start + ty + 1u < u.queries) {
let row = head * u.queries + start + ty + 1u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = o1_0 * scales[ty + 1u].x; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = o1_1 * scales[ty + 1u].x; }
}
if (start + ty + 2u < u.queries) {
let row = head * u.queries + start + ty + 2u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = o2_0 * scales[ty + 2u].x; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = o2_1 * scales[ty + 2u].x; }
}
if (start + ty + 3u < u.queries) {
let row = head * u.queries + start + ty + 3u;
if (tx + 0u < 24u) { result[row * 24u + tx + 0u] = o3_0 * scales[ty + 3u].x; }
if (tx + 16u < 24u) { result[row * 24u + tx + 16u] = o3_1 * scales[ty + 3u].x; }
}
}
