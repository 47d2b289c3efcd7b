struct Uniforms { tiles: u32, width4: u32, eps: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<f32>>;
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
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let lane = local.x; let first = local.x; let step = 64u; let tile = group.y * groups.x + group.x;
if (tile >= u.tiles) { return; } let inside = true;
let base = tile * u.width4;
var squares = 0.0;
for (var i = first; i < u.width4; i += step) { squares += dot(x[base + i], x[base + i]); }
let scale = inverseSqrt(sum(squares, lane) / f32(u.width4 * 4u) + u.eps);
for (var i = first; i < u.width4; i += step) { result[base + i] = x[base + i] * scale * weight[i]; }
}
