struct Uniforms { slots: u32, width4: u32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> pairs: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> result: array<vec4<f32>>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let at = (group.y * groups.x + group.x) * 64u + local.x;
let slot = at / u.width4;
if (slot >= u.slots) { return; }
let base = 2u * slot * u.width4 + at % u.width4;
let g = pairs[base];
result[at] = g / (1.0 + exp(-max(g, vec4f(-80.0)))) * pairs[base + u.width4];
}
