struct Uniforms { m: u32, n: u32, skip: u32, units: u32, rowUnits: u32, width: u32, first: u32, hasBias: u32, factor: f32, }
@group(0) @binding(0) var<uniform> u: Uniforms;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> w: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> scales: array<u32>;
@group(0) @binding(4) var<storage, read> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> result: array<f32>;
fn bytes(v: u32) -> vec4f { return vec4f((vec4i(bitcast<i32>(v)) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u)); }
fn scale(i: u32) -> f32 {
let pair = unpack2x16float(scales[i >> 1u]);
return select(pair.x, pair.y, (i & 1u) == 1u);
}
var<workgroup> parts: array<f32, 64>;
@compute @workgroup_size(8, 8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u,
@builtin(num_workgroups) groups: vec3u) {
let col = (group.y * groups.x + group.x) * 8u + local.y;
let q = (u.skip + min(col, u.n - 1u)) * u.rowUnits;
var c0 = 0.0; let x0 = min(0u, u.m - 1u) * 2u * u.units;
for (var unit = local.x; unit < u.units; unit += 8u) {
let br = w[q + unit]; let bl = bytes(br.x); let bh = bytes(br.y);
let s = scale((q + unit) / 4u);
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
