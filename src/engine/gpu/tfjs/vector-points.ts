/**
 * Element-wise programs that read and write four elements at a time, several groups per thread. On a software adapter
 * threads and loads cost more than arithmetic: 90,112 GELUs take a third of the time of one thread per element. Tensors
 * whose size is not a multiple of four use the same code over single elements, compiled only for them; the instructions
 * per element are the same either way.
 */

import { builtInForms } from "../forms/active.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { flatGrid, type OutputSpec, runProgram } from "../runtime/program.ts";
import { tf } from "../tf.ts";

const THREADS = 64;
/** Maximum groups per thread on a software adapter; a GPU hides its loads with more threads instead. */
const RUN = 16;
/** Minimum workgroups, so that all cores of the adapter have work. */
const FEWEST_GROUPS = 24;

export interface VectorProgram {
  /** Unique. */
  readonly name: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Functions; `V` is the type of a group of elements, a vector or a single number. */
  readonly header?: string;
  /** May use the elements of every input under its name; declares each output with `let`. */
  readonly body: string;
}

interface Made {
  readonly vectors: GpuProgram;
  readonly singles: GpuProgram;
}

const made = new WeakMap<VectorProgram, Made>();

function programOf(source: VectorProgram, vectors: boolean): GpuProgram {
  const type = vectors ? "vec4<f32>" : "f32";
  const buffers = (prefix: string, names: readonly string[]): Record<string, typeof type> =>
    Object.fromEntries(names.map((name) => [prefix + name, type]));
  return {
    name: `${source.name}-${vectors ? 4 : 1}`,
    inputs: buffers("from_", source.inputs),
    outputs: buffers("to_", source.outputs),
    uniforms: { size: "u32", run: "u32" },
    workgroup: [THREADS, 1],
    header: `alias V = ${type};\n${source.header ?? ""}`,
    body: `
      let begin = (group.y * groups.x + group.x) * ${THREADS}u * u.run + local.x;
      let end = min(u.size, begin + ${THREADS}u * u.run);
      for (var i = begin; i < end; i += ${THREADS}u) {
        ${source.inputs.map((name) => `let ${name} = from_${name}[i];`).join(" ")}
        ${source.body}
        ${source.outputs.map((name) => `to_${name}[i] = ${name};`).join(" ")}
      }`,
  };
}

/** Groups of elements per thread. */
export function runLength(groups: number): number {
  if (!builtInForms().runs) return 1;
  return Math.max(1, Math.min(RUN, Math.ceil(groups / (THREADS * FEWEST_GROUPS))));
}

/** Records the program over float32 tensors of one size; the outputs are new tensors of the first one's shape. */
export function runVectors(source: VectorProgram, inputs: readonly tf.TensorInfo[]): tf.TensorInfo[] {
  const programs = made.get(source) ?? { vectors: programOf(source, true), singles: programOf(source, false) };
  made.set(source, programs);
  const { shape } = inputs[0] as tf.TensorInfo;
  const size = tf.util.sizeFromShape(shape);
  const vectors = size % 4 === 0;
  const groups = vectors ? size / 4 : size;
  const run = runLength(groups);
  const outputs = source.outputs.map((): OutputSpec => ({ shape }));
  const grid = flatGrid(Math.ceil(groups / (THREADS * run)));
  return runProgram(vectors ? programs.vectors : programs.singles, inputs, outputs, [groups, run], grid);
}
