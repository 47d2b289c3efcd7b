struct Uniforms { tiles: u32, d4: u32, eps: f32, heads: u32, keyHeads: u32, stride4: u32, queryFirst4: u32, queryGroup: u32, queryStride4: u32, keyFirst4: u32, keyGroup: u32, keyStride4: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> queryWeight: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> keyWeight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> projected: array<vec4<f32>>;
var<workgroup> shared_sum: array<f32, 64>;
fn sum(value: f32, lane: u32) -> f32 {
workgroupBarrier();
shared_sum[lane] = value;
workgroupBarrier();
for (var span = 32u; span > 0u; span >>= 1u) {
if (lane < span) { shared_sum[lane] = shared_sum[lane] + shared_sum[lane + span]; }
workgroupBarrier();
}
return workgroupUniformLoad(&shared_sum[0]);
}
fn column(head: u32, first4: u32, perGroup: u32, stride4: u32) -> u32 {
return first4 + (head / perGroup) * stride4 + (head % perGroup) * u.d4;
}
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let each = u.heads + u.keyHeads;
let which = tile % each;
let isQuery = which < u.heads;
var origin = column(which, u.queryFirst4, u.queryGroup, u.queryStride4);
if (!isQuery) { origin = column(which - u.heads, u.keyFirst4, u.keyGroup, u.keyStride4); }
let base = (tile / each) * u.stride4 + origin;
var squares = 0.0;
for (var i = first; i < u.d4; i += step) { squares += dot(projected[base + i], projected[base + i]); }
let scale = inverseSqrt(sum(squares, lane) / f32(u.d4 * 4u) + u.eps);
for (var i = first; i < u.d4; i += step) {
projected[base + i] *= scale * select(keyWeight[i], queryWeight[i], isQuery);
}
}
