/**
 * GPU buffers that are ours and not a tensor's, by name. They outlive the work that fills them: a buffer is made again
 * only when more is asked of it than it holds, so equal work allocates nothing.
 */

export class OwnBuffers {
  readonly #device: GPUDevice;
  readonly #buffers = new Map<string, GPUBuffer>();

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** A buffer of at least `bytes` (rounded up to 16), with arbitrary contents. Usage belongs to the name. */
  get(name: string, bytes: number, usage: number): GPUBuffer {
    const size = Math.max(16, Math.ceil(bytes / 16) * 16);
    const known = this.#buffers.get(name);
    if (known !== undefined && known.size >= size) return known;
    // Work that was submitted before keeps the old one alive until it is done.
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
