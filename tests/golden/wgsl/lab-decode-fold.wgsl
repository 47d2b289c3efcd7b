struct Uniforms { k4: u32, rows: u32, row0: u32, rank: u32, scale: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> b: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<vec4<f32>>;
@compute @workgroup_size(64, 1)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let at = (group.y * groups.x + group.x) * 64u + local.x;
let row = at / u.k4;
let k = at % u.k4;
if (row >= u.rows) { return; }
var value = w[at];
for (var r = 0u; r < u.rank; r++) { value += u.scale * b[row * u.rank + r] * a[r * u.k4 + k]; }
result[u.row0 * u.k4 + at] = value;
}
