/**
 * The time of reading alone: the lower bound of every product that uses each number once, such as products of one row.
 */
import { builtInForms } from "../../src/engine/gpu/forms/active.ts";
import { toTensor } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { GpuProgram } from "../../src/engine/gpu/runtime/pipelines.ts";
import { runProgram } from "../../src/engine/gpu/runtime/program.ts";
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { Case } from "./case.ts";

const SIDE = 1024;
const GROUPS = SIDE / 4;
/** Threads per workgroup and rows per thread; the fastest of four variants on both software adapters. */
const SOFTWARE = { threads: 4, rows: 4 };
/** Adjacent threads read adjacent vectors. */
const CARD_THREADS = 64;

const FEW_THREADS: GpuProgram = {
  name: "bench-reading-software",
  inputs: { x: "vec4<f32>" },
  outputs: { result: "f32" },
  uniforms: { groups: "u32" },
  workgroup: [SOFTWARE.threads, 1],
  body: `
    let row = ${SOFTWARE.rows}u * (group.x * ${SOFTWARE.threads}u + local.x);
    var sum = vec4f(0);
    for (var k = 0u; k < u.groups; k++) {
      sum += ${Array.from({ length: SOFTWARE.rows }, (_, r) => `x[(row + ${r}u) * u.groups + k]`).join(" + ")};
    }
    result[group.x * ${SOFTWARE.threads}u + local.x] = sum.x + sum.y + sum.z + sum.w;`,
};

const MANY_THREADS: GpuProgram = {
  ...FEW_THREADS,
  name: "bench-reading-card",
  workgroup: [CARD_THREADS, 1],
  body: `
    var sum = vec4f(0);
    for (var k = local.x; k < u.groups; k += ${CARD_THREADS}u) { sum += x[group.x * u.groups + k]; }
    result[group.x * ${CARD_THREADS}u + local.x] = sum.x + sum.y + sum.z + sum.w;`,
};

function read(x: Tensor): Tensor {
  const [program, sums, groups] =
    builtInForms().rows === "thread"
      ? [FEW_THREADS, SIDE / SOFTWARE.rows, SIDE / SOFTWARE.rows / SOFTWARE.threads]
      : [MANY_THREADS, SIDE * CARD_THREADS, SIDE];
  return toTensor(runProgram(program, [x], [{ shape: [sums] }], [GROUPS], [groups, 1, 1])[0]);
}

/** Adds up all numbers, into one sum per thread. */
export function reading(): Case {
  return {
    name: `reading ${SIDE} x ${SIDE} numbers once, nothing else`,
    inputs: [[SIDE, SIDE]],
    run: (x) => read(x as Tensor),
    alone: true,
  };
}
