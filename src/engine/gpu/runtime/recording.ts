/**
 * Dispatches that are prepared once and encoded many times: bind groups and uniforms are fixed, only the grid may
 * differ between runs. For work outside the op layer, where creating a bind group per dispatch would be most of the
 * cost.
 */

import { compile, type GpuProgram, UNIFORM_STEP, uniformBytes } from "./pipelines.ts";
import { backendDevice, flushBackend } from "./program.ts";

// GPU buffers outside the backend, which neither pools nor counts them.

let customBytes = 0;

/** Bytes of all live buffers from `makeBuffer`. */
export function customBufferBytes(): number {
  return customBytes;
}

/** A storage buffer outside the backend's pool with these contents, owned by the caller. */
export function makeBuffer(words: Uint32Array<ArrayBuffer>, label: string): GPUBuffer {
  const device = backendDevice();
  const size = words.byteLength;
  const buffer = device.createBuffer({ label, size, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
  device.queue.writeBuffer(buffer, 0, words);
  customBytes += size;
  return buffer;
}

/** Submits the commands that use these buffers, then destroys the buffers. */
export function dropBuffers(buffers: readonly GPUBuffer[]): void {
  flushBackend();
  for (const buffer of buffers) {
    customBytes -= buffer.size;
    buffer.destroy();
  }
}

/** Reusable buffers by name. A buffer is replaced only when it is too small, so equal work allocates nothing. */
export class RawBuffers {
  readonly #device: GPUDevice;
  readonly #buffers = new Map<string, GPUBuffer>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** A buffer of at least `bytes` (rounded up to 16), with undefined contents. A name always has the same usage. */
  get(name: string, bytes: number, usage: number): GPUBuffer {
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const known = this.#buffers.get(name);
    if (known !== undefined && known.size >= size) return known;
    // Work that was already submitted keeps the old buffer alive until it ends.
    known?.destroy();
    const made = this.#device.createBuffer({ label: name, size, usage });
    this.#buffers.set(name, made);
    return made;
  }

  get bytes(): number {
    return [...this.#buffers.values()].reduce((sum, buffer) => sum + buffer.size, 0);
  }

  dispose(): void {
    for (const buffer of this.#buffers.values()) buffer.destroy();
    this.#buffers.clear();
  }
}

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
