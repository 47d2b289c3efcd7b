/**
 * Work that the GPU has not finished, and the memory that it keeps. A destroyed buffer is freed only when the GPU has
 * passed the last submit that uses it, so its bytes count as held until then (docs/spec/webgpu.md#4-memory-rules). The
 * host learns that a submit is finished only when it waits for something; until then the submit counts as unfinished.
 */

export class WorkInFlight {
  readonly #queue: GPUQueue;
  #made = 0;
  #finished = 0;
  #bytes = 0;
  /** Bytes of destroyed buffers by the last submit that uses them. */
  readonly #destroyed = new Map<number, number>();
  /** Number of the last submit that uses a buffer of the pool. */
  readonly #uses = new WeakMap<GPUBuffer, number>();
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

  /**
   * Call it when nothing uses a buffer any more. @param recorded whether commands that are not submitted yet may use it
   */
  released(buffer: GPUBuffer, recorded: boolean): void {
    this.#uses.set(buffer, recorded ? this.#made + 1 : this.#made);
  }

  /** Whether commands that are not submitted yet may use a released buffer. */
  isRecorded(buffer: GPUBuffer): boolean {
    return (this.#uses.get(buffer) ?? 0) > this.#made;
  }

  /** Whether the GPU is known to have passed every use of a released buffer, so that destroying it frees its bytes. */
  isFinished(buffer: GPUBuffer): boolean {
    return (this.#uses.get(buffer) ?? this.#made) <= this.#finished;
  }

  /** Call it when a buffer is destroyed; one that was never released may be used by every submit so far. */
  destroyed(buffer: GPUBuffer): void {
    const last = this.#uses.get(buffer) ?? this.#made;
    if (last <= this.#finished) return;
    this.#destroyed.set(last, (this.#destroyed.get(last) ?? 0) + buffer.size);
    this.#bytes += buffer.size;
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
    for (const [last, bytes] of this.#destroyed) {
      if (last > this.#finished) continue;
      this.#bytes -= bytes;
      this.#destroyed.delete(last);
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
