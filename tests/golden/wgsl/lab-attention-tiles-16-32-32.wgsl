struct Uniforms { heads: u32, group: u32, queries: u32, keys: u32, causal: u32, before: u32, reach: u32, masked: u32, maskBatch: u32, maskHead: u32, maskRow: u32, maskKey: u32, scale: f32, skip: u32, tiles: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> mask: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> stats: array<f32>;
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
var<workgroup> other: array<vec4f, 256>;
var<workgroup> weights: array<f32, 512>;
@compute @workgroup_size(128, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let tx = local.x % 16u;
let ty = local.x / 16u;
let tile = u.skip + group.x;
let owner = tile / u.tiles;
let within = tile % u.tiles;
let head = owner;
let start = within * 16u;
let keyBase = (head / u.group) * u.keys;
let last = select(u.keys, min(u.keys, start + 16u + u.before), u.causal != 0u);
let open = select(0u, max(start + u.before + 1u, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
{ let i = local.x + 0u;
let line = start + i / 32u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 32u + 0u + i % 32u;
own[i % 32u * 16u + i / 32u] = select(vec4f(0), q[place], line < u.queries); }
{ let i = local.x + 128u;
let line = start + i / 32u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 32u + 0u + i % 32u;
own[i % 32u * 16u + i / 32u] = select(vec4f(0), q[place], line < u.queries); }
{ let i = local.x + 256u;
let line = start + i / 32u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 32u + 0u + i % 32u;
own[i % 32u * 16u + i / 32u] = select(vec4f(0), q[place], line < u.queries); }
{ let i = local.x + 384u;
let line = start + i / 32u;
let place = (head * u.queries + min(line, u.queries - 1u)) * 32u + 0u + i % 32u;
own[i % 32u * 16u + i / 32u] = select(vec4f(0), q[place], line < u.queries); }
var top0 = -3.0e38; var sum0 = 0.0; var o0_0 = vec4f(0);
var o0_1 = vec4f(0);
var top1 = -3.0e38; var sum1 = 0.0; var o1_0 = vec4f(0);
var o1_1 = vec4f(0);
for (var at = open; at < last; at += 32u) {
var s0_0 = 0.0;
var s0_1 = 0.0;
var s1_0 = 0.0;
var s1_1 = 0.0;
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 0u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
{ let i = local.x + 128u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 0u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(0u + i) * 16u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(0u + i) * 16u + ty + 8u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 8u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
{ let i = local.x + 128u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 8u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(8u + i) * 16u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(8u + i) * 16u + ty + 8u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 16u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
{ let i = local.x + 128u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 16u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(16u + i) * 16u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(16u + i) * 16u + ty + 8u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 24u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
{ let i = local.x + 128u;
let line = at + i / 8u;
let place = (keyBase + min(line, last - 1u)) * 32u + 24u + i % 8u;
other[i % 8u * 32u + i / 8u] = select(vec4f(0), k[place], line < last); }
workgroupBarrier();
for (var i = 0u; i < 8u; i++) {
let o0 = other[i * 32u + tx + 0u];
let o1 = other[i * 32u + tx + 16u];
{ let row = own[(24u + i) * 16u + ty + 0u]; s0_0 += row.x * o0.x; s0_0 += row.y * o0.y; s0_0 += row.z * o0.z; s0_0 += row.w * o0.w;
s0_1 += row.x * o1.x; s0_1 += row.y * o1.y; s0_1 += row.z * o1.z; s0_1 += row.w * o1.w; }
{ let row = own[(24u + i) * 16u + ty + 8u]; s1_0 += row.x * o0.x; s1_0 += row.y * o0.y; s1_0 += row.z * o0.z; s1_0 += row.w * o0.w;
s1_1 += row.x * o1.x; s1_1 += row.y * o1.y; s1_1 += row.z * o1.z; s1_1 += row.w * o1.w; }
}
workgroupBarrier();
let query0 = start + ty + 0u;
let above0 = maskOf(head) + min(query0, u.queries - 1u) * u.maskRow;
let key0_0 = min(at + tx + 0u, last - 1u);
let is0_0 = (at + tx + 0u < last) && seen(query0, key0_0);
s0_0 = score(s0_0, above0 + key0_0 * u.maskKey);
let key0_1 = min(at + tx + 16u, last - 1u);
let is0_1 = (at + tx + 16u < last) && seen(query0, key0_1);
s0_1 = score(s0_1, above0 + key0_1 * u.maskKey);
weights[(ty + 0u) * 32u + tx] = max(select(-3.0e38, s0_0, is0_0), select(-3.0e38, s0_1, is0_1));
let query1 = start + ty + 8u;
let above1 = maskOf(head) + min(query1, u.queries - 1u) * u.maskRow;
let key1_0 = min(at + tx + 0u, last - 1u);
let is1_0 = (at + tx + 0u < last) && seen(query1, key1_0);
s1_0 = score(s1_0, above1 + key1_0 * u.maskKey);
let key1_1 = min(at + tx + 16u, last - 1u);
let is1_1 = (at + tx + 16u < last) && seen(query1, key1_1);
s1_1 = score(s1_1, above1 + key1_1 * u.maskKey);
weights[(ty + 8u) * 32u + tx] = max(select(-3.0e38, s1_0, is1_0), select(-3.0e38, s1_1, is1_1));
workgroupBarrier();
let most0 = max(max(max(vec4f(weights[(ty + 0u) * 32u + 0u], weights[(ty + 0u) * 32u + 1u], weights[(ty + 0u) * 32u + 2u], weights[(ty + 0u) * 32u + 3u]), vec4f(weights[(ty + 0u) * 32u + 4u], weights[(ty + 0u) * 32u + 5u], weights[(ty + 0u) * 32u + 6u], weights[(ty + 0u) * 32u + 7u])), vec4f(weights[(ty + 0u) * 32u + 8u], weights[(ty + 0u) * 32u + 9u], weights[(ty + 0u) * 32u + 10u], weights[(ty + 0u) * 32u + 11u])), vec4f(weights[(ty + 0u) * 32u + 12u], weights[(ty + 0u) * 32u + 13u], weights[(ty + 0u) * 32u + 14u], weights[(ty + 0u) * 32u + 15u]));
let new0 = max(top0, max(max(most0.x, most0.y), max(most0.z, most0.w)));
let fade0 = exp(top0 - new0);
top0 = new0;
sum0 *= fade0;
o0_0 *= fade0;
o0_1 *= fade0;
let most1 = max(max(max(vec4f(weights[(ty + 8u) * 32u + 0u], weights[(ty + 8u) * 32u + 1u], weights[(ty + 8u) * 32u + 2u], weights[(ty + 8u) * 32u + 3u]), vec4f(weights[(ty + 8u) * 32u + 4u], weights[(ty + 8u) * 32u + 5u], weights[(ty + 8u) * 32u + 6u], weights[(ty + 8u) * 32u + 7u])), vec4f(weights[(ty + 8u) * 32u + 8u], weights[(ty + 8u) * 32u + 9u], weights[(ty + 8u) * 32u + 10u], weights[(ty + 8u) * 32u + 11u])), vec4f(weights[(ty + 8u) * 32u + 12u], weights[(ty + 8u) * 32u + 13u], weights[(ty + 8u) * 32u + 14u], weights[(ty + 8u) * 32u + 15u]));
let new1 = max(top1, max(max(most1.x, most1.y), max(most1.z, most1.w)));
let fade1 = exp(top1 - new1);
top1 = new1;
sum1 *= fade1;
o1_0 *= fade1;
o1_1 *= fade1;
workgroupBarrier();
let e0_0 = select(0.0, exp(min(s0_0 - top0, 0.0)), is0_0);
sum0 += e0_0;
weights[(ty + 0u) * 32u + tx + 0u] = e0_0;
let e0_1 = select(0.0, exp(min(s0_1 - top0, 0.0)), is0_1);
sum0 += e0_1;
weights[(ty + 0u) * 32u + tx + 16u] = e0_1;
let e1_0 = select(0.0, exp(min(s1_0 - top1, 0.0)), is1_0);
sum1 += e1_0;
weights[(ty + 8u) * 32u + tx + 0u] = e1_0;
let e1_1 = select(0.0, exp(min(s1_1 - top1, 0.0)), is1_1);
sum1 += e1_1;
weights[(ty + 8u) * 32u + tx + 16u] = e1_1;
{ let i = local.x + 0u;
let line = at + 0u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
{ let i = local.x + 128u;
let line = at + 0u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
workgroupBarrier();
for (var step = 0u; step < 2u; step++) {
let w0 = vec4f(weights[(ty + 0u) * 32u + 0u + 4u * step + 0u], weights[(ty + 0u) * 32u + 0u + 4u * step + 1u], weights[(ty + 0u) * 32u + 0u + 4u * step + 2u], weights[(ty + 0u) * 32u + 0u + 4u * step + 3u]);
let w1 = vec4f(weights[(ty + 8u) * 32u + 0u + 4u * step + 0u], weights[(ty + 8u) * 32u + 0u + 4u * step + 1u], weights[(ty + 8u) * 32u + 0u + 4u * step + 2u], weights[(ty + 8u) * 32u + 0u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 0u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[0] * x0;
o0_1 += w0[0] * x1;
o1_0 += w1[0] * x0;
o1_1 += w1[0] * x1; }
{ let x0 = other[(4u * step + 1u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 1u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[1] * x0;
o0_1 += w0[1] * x1;
o1_0 += w1[1] * x0;
o1_1 += w1[1] * x1; }
{ let x0 = other[(4u * step + 2u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 2u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[2] * x0;
o0_1 += w0[2] * x1;
o1_0 += w1[2] * x0;
o1_1 += w1[2] * x1; }
{ let x0 = other[(4u * step + 3u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 3u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[3] * x0;
o0_1 += w0[3] * x1;
o1_0 += w1[3] * x0;
o1_1 += w1[3] * x1; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + 8u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
{ let i = local.x + 128u;
let line = at + 8u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
workgroupBarrier();
for (var step = 0u; step < 2u; step++) {
let w0 = vec4f(weights[(ty + 0u) * 32u + 8u + 4u * step + 0u], weights[(ty + 0u) * 32u + 8u + 4u * step + 1u], weights[(ty + 0u) * 32u + 8u + 4u * step + 2u], weights[(ty + 0u) * 32u + 8u + 4u * step + 3u]);
let w1 = vec4f(weights[(ty + 8u) * 32u + 8u + 4u * step + 0u], weights[(ty + 8u) * 32u + 8u + 4u * step + 1u], weights[(ty + 8u) * 32u + 8u + 4u * step + 2u], weights[(ty + 8u) * 32u + 8u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 0u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[0] * x0;
o0_1 += w0[0] * x1;
o1_0 += w1[0] * x0;
o1_1 += w1[0] * x1; }
{ let x0 = other[(4u * step + 1u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 1u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[1] * x0;
o0_1 += w0[1] * x1;
o1_0 += w1[1] * x0;
o1_1 += w1[1] * x1; }
{ let x0 = other[(4u * step + 2u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 2u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[2] * x0;
o0_1 += w0[2] * x1;
o1_0 += w1[2] * x0;
o1_1 += w1[2] * x1; }
{ let x0 = other[(4u * step + 3u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 3u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[3] * x0;
o0_1 += w0[3] * x1;
o1_0 += w1[3] * x0;
o1_1 += w1[3] * x1; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + 16u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
{ let i = local.x + 128u;
let line = at + 16u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
workgroupBarrier();
for (var step = 0u; step < 2u; step++) {
let w0 = vec4f(weights[(ty + 0u) * 32u + 16u + 4u * step + 0u], weights[(ty + 0u) * 32u + 16u + 4u * step + 1u], weights[(ty + 0u) * 32u + 16u + 4u * step + 2u], weights[(ty + 0u) * 32u + 16u + 4u * step + 3u]);
let w1 = vec4f(weights[(ty + 8u) * 32u + 16u + 4u * step + 0u], weights[(ty + 8u) * 32u + 16u + 4u * step + 1u], weights[(ty + 8u) * 32u + 16u + 4u * step + 2u], weights[(ty + 8u) * 32u + 16u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 0u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[0] * x0;
o0_1 += w0[0] * x1;
o1_0 += w1[0] * x0;
o1_1 += w1[0] * x1; }
{ let x0 = other[(4u * step + 1u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 1u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[1] * x0;
o0_1 += w0[1] * x1;
o1_0 += w1[1] * x0;
o1_1 += w1[1] * x1; }
{ let x0 = other[(4u * step + 2u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 2u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[2] * x0;
o0_1 += w0[2] * x1;
o1_0 += w1[2] * x0;
o1_1 += w1[2] * x1; }
{ let x0 = other[(4u * step + 3u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 3u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[3] * x0;
o0_1 += w0[3] * x1;
o1_0 += w1[3] * x0;
o1_1 += w1[3] * x1; }
}
workgroupBarrier();
{ let i = local.x + 0u;
let line = at + 24u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
{ let i = local.x + 128u;
let line = at + 24u + i / 32u;
let place = (keyBase + min(line, last - 1u)) * 32u + i % 32u;
other[i] = select(vec4f(0), v[place], line < last); }
workgroupBarrier();
for (var step = 0u; step < 2u; step++) {
let w0 = vec4f(weights[(ty + 0u) * 32u + 24u + 4u * step + 0u], weights[(ty + 0u) * 32u + 24u + 4u * step + 1u], weights[(ty + 0u) * 32u + 24u + 4u * step + 2u], weights[(ty + 0u) * 32u + 24u + 4u * step + 3u]);
let w1 = vec4f(weights[(ty + 8u) * 32u + 24u + 4u * step + 0u], weights[(ty + 8u) * 32u + 24u + 4u * step + 1u], weights[(ty + 8u) * 32u + 24u + 4u * step + 2u], weights[(ty + 8u) * 32u + 24u + 4u * step + 3u]);
{ let x0 = other[(4u * step + 0u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 0u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[0] * x0;
o0_1 += w0[0] * x1;
o1_0 += w1[0] * x0;
o1_1 += w1[0] * x1; }
{ let x0 = other[(4u * step + 1u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 1u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[1] * x0;
o0_1 += w0[1] * x1;
o1_0 += w1[1] * x0;
o1_1 += w1[1] * x1; }
{ let x0 = other[(4u * step + 2u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 2u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[2] * x0;
o0_1 += w0[2] * x1;
o1_0 += w1[2] * x0;
o1_1 += w1[2] * x1; }
{ let x0 = other[(4u * step + 3u) * 32u + min(tx + 0u, 31u)];
let x1 = other[(4u * step + 3u) * 32u + min(tx + 16u, 31u)]; o0_0 += w0[3] * x0;
o0_1 += w0[3] * x1;
o1_0 += w1[3] * x0;
o1_1 += w1[3] * x1; }
}
workgroupBarrier();
}
weights[(ty + 0u) * 32u + tx] = sum0;
weights[(ty + 8u) * 32u + tx] = sum1;
workgroupBarrier();
{
let query = start + ty + 0u;
if (query < u.queries) {
let row = head * u.queries + query;
let all = vec4f(weights[(ty + 0u) * 32u + 0u], weights[(ty + 0u) * 32u + 1u], weights[(ty + 0u) * 32u + 2u], weights[(ty + 0u) * 32u + 3u]) + vec4f(weights[(ty + 0u) * 32u + 4u], weights[(ty + 0u) * 32u + 5u], weights[(ty + 0u) * 32u + 6u], weights[(ty + 0u) * 32u + 7u]) + vec4f(weights[(ty + 0u) * 32u + 8u], weights[(ty + 0u) * 32u + 9u], weights[(ty + 0u) * 32u + 10u], weights[(ty + 0u) * 32u + 11u]) + vec4f(weights[(ty + 0u) * 32u + 12u], weights[(ty + 0u) * 32u + 13u], weights[(ty + 0u) * 32u + 14u], weights[(ty + 0u) * 32u + 15u]);
let inverse = 1.0 / ((all.x + all.y) + (all.z + all.w));
if (tx + 0u < 32u) { result[row * 32u + tx + 0u] = o0_0 * inverse; }
if (tx + 16u < 32u) { result[row * 32u + tx + 16u] = o0_1 * inverse; }
if (tx == 0u) { stats[2u * row] = top0; stats[2u * row + 1u] = inverse; }
}
}
{
let query = start + ty + 8u;
if (query < u.queries) {
let row = head * u.queries + query;
let all = vec4f(weights[(ty + 8u) * 32u + 0u], weights[(ty + 8u) * 32u + 1u], weights[(ty + 8u) * 32u + 2u], weights[(ty + 8u) * 32u + 3u]) + vec4f(weights[(ty + 8u) * 32u + 4u], weights[(ty + 8u) * 32u + 5u], weights[(ty + 8u) * 32u + 6u], weights[(ty + 8u) * 32u + 7u]) + vec4f(weights[(ty + 8u) * 32u + 8u], weights[(ty + 8u) * 32u + 9u], weights[(ty + 8u) * 32u + 10u], weights[(ty + 8u) * 32u + 11u]) + vec4f(weights[(ty + 8u) * 32u + 12u], weights[(ty + 8u) * 32u + 13u], weights[(ty + 8u) * 32u + 14u], weights[(ty + 8u) * 32u + 15u]);
let inverse = 1.0 / ((all.x + all.y) + (all.z + all.w));
if (tx + 0u < 32u) { result[row * 32u + tx + 0u] = o1_0 * inverse; }
if (tx + 16u < 32u) { result[row * 32u + tx + 16u] = o1_1 * inverse; }
if (tx == 0u) { stats[2u * row] = top1; stats[2u * row + 1u] = inverse; }
}
}
}
