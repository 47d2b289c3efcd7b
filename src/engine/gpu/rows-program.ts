/**
 * Building blocks of kernels that process rows over the last axis. On software adapters each row has one thread,
 * because a barrier switches all threads. On a GPU a workgroup shares the row and sums through workgroup memory in a
 * fixed tree. Both are repeatable bit for bit.
 */

import { builtInForms } from "./forms/active.ts";
import { type GpuProgram, programOnce } from "./runtime/pipelines.ts";
import { flatGrid, type OutputInto, type OutputSpec, runProgram } from "./runtime/program.ts";
import type { tf } from "./tf.ts";

/** Threads that share a row on a GPU. */
export const GPU_THREADS = 64;
/** Rows per workgroup where each has one thread. */
const SOFTWARE_ROWS = 8;

/** A row kernel; its body may call `sum(x)` and `largest(x)`, which reduce over the row's threads. */
export interface RowProgram extends Omit<GpuProgram, "workgroup"> {
  /**
   * May use `row`, `first` and `step`; it loops over the row's elements with `for (var i = first; i < u.width; i +=
   * step)`.
   */
  readonly body: string;
}

function programOf(source: RowProgram): GpuProgram {
  const name = `${source.name}-${builtInForms().rows === "thread" ? 1 : GPU_THREADS}`;
  return programOnce(name, () =>
    builtInForms().rows === "thread" ? oneThread(source, name) : oneWorkgroup(source, name),
  );
}

function oneThread(source: RowProgram, name: string): GpuProgram {
  return {
    ...source,
    name,
    workgroup: [SOFTWARE_ROWS, 1],
    header: `
      fn sum(value: f32, lane: u32) -> f32 { return value; }
      fn largest(value: f32, lane: u32) -> f32 { return value; }
      ${source.header ?? ""}`,
    body: `
      let lane = 0u; let first = 0u; let step = 1u;
      let row = (group.y * groups.x + group.x) * ${SOFTWARE_ROWS}u + local.x;
      if (row >= u.rows) { return; }
      ${source.body}`,
  };
}

function oneWorkgroup(source: RowProgram, name: string): GpuProgram {
  const reduce = (fold: string): string => `
      workgroupBarrier();
      shared_values[lane] = value;
      workgroupBarrier();
      for (var span = ${GPU_THREADS / 2}u; span > 0u; span >>= 1u) {
        if (lane < span) { shared_values[lane] = ${fold}; }
        workgroupBarrier();
      }
      return shared_values[0];`;
  return {
    ...source,
    name,
    workgroup: [GPU_THREADS, 1],
    header: `
      var<workgroup> shared_values: array<f32, ${GPU_THREADS}>;
      fn sum(value: f32, lane: u32) -> f32 {${reduce("shared_values[lane] + shared_values[lane + span]")}}
      fn largest(value: f32, lane: u32) -> f32 {${reduce("max(shared_values[lane], shared_values[lane + span])")}}
      ${source.header ?? ""}`,
    body: `
      let lane = local.x; let first = local.x; let step = ${GPU_THREADS}u;
      let row = group.y * groups.x + group.x;
      if (row >= u.rows) { return; }
      ${source.body}`,
  };
}

/** Records a row kernel; its first uniforms must be `rows` and `width`. */
export function runRows(
  source: RowProgram,
  inputs: readonly tf.TensorInfo[],
  outputs: readonly (OutputSpec | OutputInto)[],
  rows: number,
  width: number,
  uniforms: readonly number[] = [],
): tf.TensorInfo[] {
  const groups = builtInForms().rows === "thread" ? Math.ceil(rows / SOFTWARE_ROWS) : rows;
  return runProgram(programOf(source), inputs, outputs, [rows, width, ...uniforms], flatGrid(groups));
}

const POINTS = 64;

/** Makes an element-wise program; the body may use `i`, which is below `u.size`. */
export function pointProgram(source: Omit<GpuProgram, "workgroup">): GpuProgram {
  return {
    ...source,
    workgroup: [POINTS, 1],
    body: `
      let i = (group.y * groups.x + group.x) * ${POINTS}u + local.x;
      if (i >= u.size) { return; }
      ${source.body}`,
  };
}

/** Records an element-wise program, whose first uniform must be `size`, over that many elements. */
export function runPoints(
  program: GpuProgram,
  inputs: readonly tf.TensorInfo[],
  outputs: readonly (OutputSpec | OutputInto)[],
  size: number,
  uniforms: readonly number[] = [],
): tf.TensorInfo[] {
  return runProgram(program, inputs, outputs, [size, ...uniforms], flatGrid(Math.ceil(size / POINTS)));
}
