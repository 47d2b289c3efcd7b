/** GPU buffers outside the backend, which neither pools nor counts them. */
import { backendDevice, flushBackend } from "./program.ts";

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
