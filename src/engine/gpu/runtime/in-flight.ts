/**
 * Work that the GPU has not finished, and the memory that it keeps. A driver frees a destroyed buffer only when the GPU
 * has passed every submit made before, so the buffer's bytes count as held until then
 * (docs/spec/webgpu.md#4-memory-rules). The host learns that a submit is finished only when it waits for something;
 * until then the submit counts as unfinished, so the bytes are an upper bound.
 */

export class WorkInFlight {
  readonly #queue: GPUQueue;
  #made = 0;
  #finished = 0;
  #bytes = 0;
  /** Bytes destroyed after a submit, oldest first. */
  #destroyed: { readonly after: number; bytes: number }[] = [];
  #listening = false;

  constructor(queue: GPUQueue) {
    this.#queue = queue;
  }

  /** Bytes of destroyed buffers that the GPU may still use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Submits that are not known to be finished. */
  get submits(): number {
    return this.#made - this.#finished;
  }

  /** Call it after every submit. */
  submitted(): void {
    this.#made++;
  }

  /** Call it when a buffer of this many bytes is destroyed. */
  destroyed(bytes: number): void {
    if (this.submits === 0) return;
    const last = this.#destroyed.at(-1);
    if (last?.after === this.#made) last.bytes += bytes;
    else this.#destroyed.push({ after: this.#made, bytes });
    this.#bytes += bytes;
    void this.#listen();
  }

  /** Resolves when the GPU has finished every submit made so far, or is lost. */
  async finished(): Promise<void> {
    const made = this.#made;
    // A lost device holds no memory; gpu/runtime/device.ts reports the loss.
    await this.#queue.onSubmittedWorkDone().catch(() => undefined);
    this.#passed(made);
  }

  /** @param read resolves after every submit made so far; when it is refused, nothing is known */
  read(read: Promise<unknown>): void {
    const made = this.#made;
    void read.then(
      () => this.#passed(made),
      () => undefined,
    );
  }

  #passed(submit: number): void {
    this.#finished = Math.max(this.#finished, submit);
    while (this.#destroyed[0] !== undefined && this.#destroyed[0].after <= this.#finished) {
      this.#bytes -= (this.#destroyed.shift() as { bytes: number }).bytes;
    }
  }

  /** One question at a time until no destroyed buffer is in use. */
  async #listen(): Promise<void> {
    if (this.#listening) return;
    this.#listening = true;
    while (this.#bytes > 0) await this.finished();
    this.#listening = false;
  }
}
