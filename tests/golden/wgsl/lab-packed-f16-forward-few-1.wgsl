struct Uniforms { m: u32, n: u32, skip: u32, units: u32, rowUnits: u32, width: u32, first: u32, hasBias: u32, factor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
var<workgroup> parts: array<f32, 64>;
@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let col = (group.y * groups.x + group.x) * 8u + local.y;
let q = (u.skip + min(col, u.n - 1u)) * u.rowUnits;
var c0 = 0.0; let x0 = min(0u, u.m - 1u) * 2u * u.units;
for (var unit = local.x; unit < u.units; unit += 8u) {
let br = w[q + unit];
let bl = vec4f(unpack2x16float(br.x), unpack2x16float(br.y));
let bh = vec4f(unpack2x16float(br.z), unpack2x16float(br.w));
let s = 1.0;
c0 += s * (dot(x[x0 + 2u * unit], bl) + dot(x[x0 + 2u * unit + 1u], bh));
}
let place = local.y * 8u + local.x;
parts[place + 0u] = c0;
workgroupBarrier();
// Thread r of the eight sums row r.
if (local.x >= 1u || local.x >= u.m || col >= u.n) { return; }
var sum = 0.0;
for (var i = 0u; i < 8u; i++) { sum += parts[local.y * 8u + 8u * local.x + i]; }
sum *= u.factor;
if (u.hasBias != 0u) { sum += bias[u.first + col]; }
let at = local.x * u.width + u.first + col;
result[at] = sum;
}
