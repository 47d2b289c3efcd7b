struct Uniforms { m: u32, n: u32, skip: u32, units: u32, rowUnits: u32, width: u32, first: u32, hasBias: u32, factor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;
var<workgroup> parts: array<f32, 256>;
@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let col = (group.y * groups.x + group.x) * 8u + local.y;
let q = (u.skip + min(col, u.n - 1u)) * u.rowUnits;
var c0 = 0.0; let x0 = min(0u, u.m - 1u) * 2u * u.units;
var c1 = 0.0; let x1 = min(1u, u.m - 1u) * 2u * u.units;
var c2 = 0.0; let x2 = min(2u, u.m - 1u) * 2u * u.units;
var c3 = 0.0; let x3 = min(3u, u.m - 1u) * 2u * u.units;
for (var unit = local.x; unit < u.units; unit += 8u) {
let bl = w[2u * (q + unit)]; let bh = w[2u * (q + unit) + 1u];
let s = 1.0;
c0 += s * (dot(x[x0 + 2u * unit], bl) + dot(x[x0 + 2u * unit + 1u], bh));
c1 += s * (dot(x[x1 + 2u * unit], bl) + dot(x[x1 + 2u * unit + 1u], bh));
c2 += s * (dot(x[x2 + 2u * unit], bl) + dot(x[x2 + 2u * unit + 1u], bh));
c3 += s * (dot(x[x3 + 2u * unit], bl) + dot(x[x3 + 2u * unit + 1u], bh));
}
let place = local.y * 32u + local.x;
parts[place + 0u] = c0;
parts[place + 8u] = c1;
parts[place + 16u] = c2;
parts[place + 24u] = c3;
workgroupBarrier();
// Thread r of the eight sums row r.
if (local.x >= 4u || local.x >= u.m || col >= u.n) { return; }
var sum = 0.0;
for (var i = 0u; i < 8u; i++) { sum += parts[local.y * 32u + 8u * local.x + i]; }
sum *= u.factor;
if (u.hasBias != 0u) { sum += bias[u.first + col]; }
let at = local.x * u.width + u.first + col;
result[at] = sum;
}
