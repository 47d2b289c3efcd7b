/**
 * Dispatches that are prepared once and encoded many times: bind groups and uniforms are fixed, only the grid may
 * differ between runs. For work outside the op layer, where creating a bind group per dispatch would be most of the
 * cost.
 */

import { compile, type GpuProgram } from "./pipelines.ts";
import type { RawBuffers } from "./raw-buffers.ts";
import { UNIFORM_STEP, uniformBytes } from "./uniforms.ts";

export interface Prepared<Load> {
  readonly program: GpuProgram;
  /** Inputs, then outputs. */
  readonly buffers: readonly GPUBuffer[];
  readonly uniforms: readonly number[];
  /** Workgroups; a dispatch without any is skipped. */
  readonly grid: (load: Load) => readonly [x: number, y: number, z?: number];
}

interface Bound<Load> extends Pick<Prepared<Load>, "grid"> {
  readonly pipeline: GPUComputePipeline;
  readonly group: GPUBindGroup;
}

export class Recording<Load> {
  readonly #bound: readonly Bound<Load>[];

  /** @param buffers holds the uniforms, under `name` */
  constructor(device: GPUDevice, buffers: RawBuffers, name: string, dispatches: readonly Prepared<Load>[]) {
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;
    const uniforms = buffers.get(name, dispatches.length * UNIFORM_STEP, usage);
    const bytes = new Uint8Array(dispatches.length * UNIFORM_STEP);
    this.#bound = dispatches.map(({ program, buffers: given, uniforms: values, grid }, at) => {
      const block = new Uint8Array(uniformBytes(program, values));
      bytes.set(block, at * UNIFORM_STEP);
      const { pipeline, layout } = compile(device, program);
      const own = { buffer: uniforms, offset: at * UNIFORM_STEP, size: block.byteLength };
      const entries = [own, ...given.map((buffer) => ({ buffer }))].map((resource, binding) => ({ binding, resource }));
      return { pipeline, group: device.createBindGroup({ label: program.name, layout, entries }), grid };
    });
    device.queue.writeBuffer(uniforms, 0, bytes);
  }

  encode(pass: GPUComputePassEncoder, load: Load): void {
    for (const { pipeline, group, grid } of this.#bound) {
      const [x, y, z = 1] = grid(load);
      if (x * y * z === 0) continue;
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(x, y, z);
    }
  }
}
