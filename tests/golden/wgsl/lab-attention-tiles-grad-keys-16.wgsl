struct Uniforms { heads: u32, group: u32, queries: u32, keys: u32, causal: u32, before: u32, reach: u32, masked: u32, maskBatch: u32, maskHead: u32, maskRow: u32, maskKey: u32, scale: f32, keyHeads: u32, skip: u32, tiles: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> dy: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> mask: array<f32>;
@group(0) @binding(6) var<storage, read> stats: array<f32>;
@group(0) @binding(7) var<storage, read> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(9) var<storage, read_write> values: array<vec4<f32>>;
fn seen(query: u32, key: u32) -> bool {
let end = query + u.before + 1u;
return (u.causal == 0u) | ((key < end) & ((u.reach == 0u) | (key + u.reach >= end)));
}
fn maskOf(head: u32) -> u32 { return (head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead; }
fn score(product: f32, at: u32) -> f32 {
var extra = 0.0;
if (u.masked != 0u) { extra = mask[at]; }
return u.scale * product + extra;
}
var<workgroup> own: array<vec4f, 512>;
var<workgroup> ownWith: array<vec4f, 512>;
var<workgroup> other: array<vec4f, 256>;
var<workgroup> slopes: array<f32, 1024>;
var<workgroup> weights: array<f32, 1024>;
@compute @workgroup_size(256, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tx = local.x % 16u;
let ty = local.x / 16u;
let tile = u.skip + group.x;
let owner = tile / u.tiles;
let within = tile % u.tiles;
let start = within * 32u;
let head = owner;
{ let i = local.x + 0u;
let line = start + i / 16u;
let place = (head / u.group * u.keys + min(line, u.keys - 1u)) * 16u + 0u + i % 16u;
own[i % 16u * 32u + i / 16u] = select(vec4f(0), k[place], line < u.keys); }
{ let i = local.x + 256u;
let line = start + i / 16u;
let place = (head / u.group * u.keys + min(line, u.keys - 1u)) * 16u + 0u + i % 16u;
own[i % 16u * 32u + i / 16u] = select(vec4f(0), k[place], line < u.keys); }
{ let i = local.x + 0u;
let line = start + i / 16u;
let place = (head / u.group * u.keys + min(line, u.keys - 1u)) * 16u + 0u + i % 16u;
ownWith[i % 16u * 32u + i / 16u] = select(vec4f(0), v[place], line < u.keys); }
{ let i = local.x + 256u;
let line = start + i / 16u;
let place = (head / u.group * u.keys + min(line, u.keys - 1u)) * 16u + 0u + i % 16u;
ownWith[i % 16u * 32u + i / 16u] = select(vec4f(0), v[place], line < u.keys); }
var dk0_0 = vec4f(0);
var dv0_0 = vec4f(0);
var dk1_0 = vec4f(0);
var dv1_0 = vec4f(0);
// The first query that sees any of these keys.
let open = select(0u, max(start, u.before) - u.before, u.causal != 0u);
for (var at = open; at < u.queries; at += 32u) {
var s0_0 = 0.0;
var s0_1 = 0.0;
var s1_0 = 0.0;
var s1_1 = 0.0;
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + 0u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), q[place], line < u.queries); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(0u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(0u + i) * 32u + ty + 16u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + 8u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), q[place], line < u.queries); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(8u + i) * 32u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(8u + i) * 32u + ty + 16u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
var d0_0 = 0.0;
var d0_1 = 0.0;
var d1_0 = 0.0;
var d1_1 = 0.0;
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + 0u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), dy[place], line < u.queries); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = ownWith[(0u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w; }
{ let row = ownWith[(0u + i) * 32u + ty + 16u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + 8u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), dy[place], line < u.queries); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = ownWith[(8u + i) * 32u + ty + 0u]; d0_0 += row.x * o0.x; d0_0 += row.y * o0.y; d0_0 += row.z * o0.z; d0_0 += row.w * o0.w;
d0_1 += row.x * o1.x; d0_1 += row.y * o1.y; d0_1 += row.z * o1.z; d0_1 += row.w * o1.w; }
{ let row = ownWith[(8u + i) * 32u + ty + 16u]; d1_0 += row.x * o0.x; d1_0 += row.y * o0.y; d1_0 += row.z * o0.z; d1_0 += row.w * o0.w;
d1_1 += row.x * o1.x; d1_1 += row.y * o1.y; d1_1 += row.z * o1.z; d1_1 += row.w * o1.w; }
}
workgroupBarrier();
{
let query = min(at + tx + 0u, u.queries - 1u);
let key = min(start + ty + 0u, u.keys - 1u);
let row = head * u.queries + query;
let s = score(s0_0, maskOf(head) + query * u.maskRow + key * u.maskKey);
let is = (at + tx + 0u < u.queries) && (start + ty + 0u < u.keys) && seen(query, key);
let p = select(0.0, exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u], is);
slopes[(ty + 0u) * 32u + tx + 0u] = select(0.0, u.scale * p * (d0_0 - delta[row]), is);
weights[(ty + 0u) * 32u + tx + 0u] = p;
}
{
let query = min(at + tx + 16u, u.queries - 1u);
let key = min(start + ty + 0u, u.keys - 1u);
let row = head * u.queries + query;
let s = score(s0_1, maskOf(head) + query * u.maskRow + key * u.maskKey);
let is = (at + tx + 16u < u.queries) && (start + ty + 0u < u.keys) && seen(query, key);
let p = select(0.0, exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u], is);
slopes[(ty + 0u) * 32u + tx + 16u] = select(0.0, u.scale * p * (d0_1 - delta[row]), is);
weights[(ty + 0u) * 32u + tx + 16u] = p;
}
{
let query = min(at + tx + 0u, u.queries - 1u);
let key = min(start + ty + 16u, u.keys - 1u);
let row = head * u.queries + query;
let s = score(s1_0, maskOf(head) + query * u.maskRow + key * u.maskKey);
let is = (at + tx + 0u < u.queries) && (start + ty + 16u < u.keys) && seen(query, key);
let p = select(0.0, exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u], is);
slopes[(ty + 16u) * 32u + tx + 0u] = select(0.0, u.scale * p * (d1_0 - delta[row]), is);
weights[(ty + 16u) * 32u + tx + 0u] = p;
}
{
let query = min(at + tx + 16u, u.queries - 1u);
let key = min(start + ty + 16u, u.keys - 1u);
let row = head * u.queries + query;
let s = score(s1_1, maskOf(head) + query * u.maskRow + key * u.maskKey);
let is = (at + tx + 16u < u.queries) && (start + ty + 16u < u.keys) && seen(query, key);
let p = select(0.0, exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u], is);
slopes[(ty + 16u) * 32u + tx + 16u] = select(0.0, u.scale * p * (d1_1 - delta[row]), is);
weights[(ty + 16u) * 32u + tx + 16u] = p;
}
{ let i = local.x + 0u;
let line = at + 0u + i / 16u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + i % 16u;
other[i] = select(vec4f(0), q[place], line < u.queries); }
workgroupBarrier();
for (var step = 0u; step < 4u; step++) {
let w0 = vec4f(slopes[(ty + 0u) * 32u + 0u + 4u * step + 0u], slopes[(ty + 0u) * 32u + 0u + 4u * step + 1u], slopes[(ty + 0u) * 32u + 0u + 4u * step + 2u], slopes[(ty + 0u) * 32u + 0u + 4u * step + 3u]);
let w1 = vec4f(slopes[(ty + 16u) * 32u + 0u + 4u * step + 0u], slopes[(ty + 16u) * 32u + 0u + 4u * step + 1u], slopes[(ty + 16u) * 32u + 0u + 4u * step + 2u], slopes[(ty + 16u) * 32u + 0u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[0] * x0;
dk1_0 += w1[0] * x0; }
{ let x0 = other[(4u * step + 1u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[1] * x0;
dk1_0 += w1[1] * x0; }
{ let x0 = other[(4u * step + 2u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[2] * x0;
dk1_0 += w1[2] * x0; }
{ let x0 = other[(4u * step + 3u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[3] * x0;
dk1_0 += w1[3] * x0; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + 16u + i / 16u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + i % 16u;
other[i] = select(vec4f(0), q[place], line < u.queries); }
workgroupBarrier();
for (var step = 0u; step < 4u; step++) {
let w0 = vec4f(slopes[(ty + 0u) * 32u + 16u + 4u * step + 0u], slopes[(ty + 0u) * 32u + 16u + 4u * step + 1u], slopes[(ty + 0u) * 32u + 16u + 4u * step + 2u], slopes[(ty + 0u) * 32u + 16u + 4u * step + 3u]);
let w1 = vec4f(slopes[(ty + 16u) * 32u + 16u + 4u * step + 0u], slopes[(ty + 16u) * 32u + 16u + 4u * step + 1u], slopes[(ty + 16u) * 32u + 16u + 4u * step + 2u], slopes[(ty + 16u) * 32u + 16u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[0] * x0;
dk1_0 += w1[0] * x0; }
{ let x0 = other[(4u * step + 1u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[1] * x0;
dk1_0 += w1[1] * x0; }
{ let x0 = other[(4u * step + 2u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[2] * x0;
dk1_0 += w1[2] * x0; }
{ let x0 = other[(4u * step + 3u) * 16u + min(tx + 0u, 15u)]; dk0_0 += w0[3] * x0;
dk1_0 += w1[3] * x0; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + 0u + i / 16u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + i % 16u;
other[i] = select(vec4f(0), dy[place], line < u.queries); }
workgroupBarrier();
for (var step = 0u; step < 4u; step++) {
let w0 = vec4f(weights[(ty + 0u) * 32u + 0u + 4u * step + 0u], weights[(ty + 0u) * 32u + 0u + 4u * step + 1u], weights[(ty + 0u) * 32u + 0u + 4u * step + 2u], weights[(ty + 0u) * 32u + 0u + 4u * step + 3u]);
let w1 = vec4f(weights[(ty + 16u) * 32u + 0u + 4u * step + 0u], weights[(ty + 16u) * 32u + 0u + 4u * step + 1u], weights[(ty + 16u) * 32u + 0u + 4u * step + 2u], weights[(ty + 16u) * 32u + 0u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[0] * x0;
dv1_0 += w1[0] * x0; }
{ let x0 = other[(4u * step + 1u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[1] * x0;
dv1_0 += w1[1] * x0; }
{ let x0 = other[(4u * step + 2u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[2] * x0;
dv1_0 += w1[2] * x0; }
{ let x0 = other[(4u * step + 3u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[3] * x0;
dv1_0 += w1[3] * x0; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + 16u + i / 16u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 16u + i % 16u;
other[i] = select(vec4f(0), dy[place], line < u.queries); }
workgroupBarrier();
for (var step = 0u; step < 4u; step++) {
let w0 = vec4f(weights[(ty + 0u) * 32u + 16u + 4u * step + 0u], weights[(ty + 0u) * 32u + 16u + 4u * step + 1u], weights[(ty + 0u) * 32u + 16u + 4u * step + 2u], weights[(ty + 0u) * 32u + 16u + 4u * step + 3u]);
let w1 = vec4f(weights[(ty + 16u) * 32u + 16u + 4u * step + 0u], weights[(ty + 16u) * 32u + 16u + 4u * step + 1u], weights[(ty + 16u) * 32u + 16u + 4u * step + 2u], weights[(ty + 16u) * 32u + 16u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[0] * x0;
dv1_0 += w1[0] * x0; }
{ let x0 = other[(4u * step + 1u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[1] * x0;
dv1_0 += w1[1] * x0; }
{ let x0 = other[(4u * step + 2u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[2] * x0;
dv1_0 += w1[2] * x0; }
{ let x0 = other[(4u * step + 3u) * 16u + min(tx + 0u, 15u)]; dv0_0 += w0[3] * x0;
dv1_0 += w1[3] * x0; }
}
workgroupBarrier(); }
let place = ((head % u.group) * u.keyHeads + head / u.group) * u.keys;
if (start + ty + 0u < u.keys) {
let row = place + start + ty + 0u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = dk0_0; }
}
if (start + ty + 16u < u.keys) {
let row = place + start + ty + 16u;
if (tx + 0u < 16u) { result[row * 16u + tx + 0u] = dk1_0; }
}
if (start + ty + 0u < u.keys) {
let row = place + start + ty + 0u;
if (tx + 0u < 16u) { values[row * 16u + tx + 0u] = dv0_0; }
}
if (start + ty + 16u < u.keys) {
let row = place + start + ty + 16u;
if (tx + 0u < 16u) { values[row * 16u + tx + 0u] = dv1_0; }
}
}
