/**
 * The backend's pool of buffers (docs/spec/webgpu.md#4-memory-rules). The stock backend keeps a disposed tensor's
 * buffer until the next submit, which costs one more tensor per recorded dispatch. Here the buffer is free at once:
 * commands run in the order in which they are recorded, so a later kernel may write it. Only the host must not write
 * it, and nothing may destroy it, before the submit. The stock pool never shrinks; here free buffers are destroyed
 * before a new one would exceed a bound.
 *
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/pool.test.ts guards them.
 */

import { FREE_BYTES, FREE_SHARE, KEPT_FREE_BYTES, PLANNED_FREE_SHARE, SUBMIT_DISPATCHES } from "../memory-sizes.ts";
import { tf } from "../tf.ts";
import { heldBytes, liveBytes, workInFlight } from "./counters.ts";
import { flushBackend } from "./program.ts";

interface Pool {
  readonly freeBuffers: Map<string, GPUBuffer[]>;
  numFreeBuffers: number;
  numBytesAllocated: number;
  readonly numBytesUsed: number;
  acquireBuffer(size: number, usage: number, mapped?: boolean, reuse?: boolean): GPUBuffer;
  releaseBuffer(buffer: GPUBuffer, reuse?: boolean): void;
}

interface Backend {
  readonly bufferManager?: Pool;
  readonly commandEncoder: GPUCommandEncoder | null;
  readonly commandQueueOwnedIds: WeakSet<object>;
  disposeData(id: object, force?: boolean): boolean;
  submitQueue(): void;
}

/**
 * Free buffers up to this size are kept between phases: most buffers of a step are smaller, and creating one takes
 * about the same time at any size.
 */
export const SMALL_BUFFER = 64 * 2 ** 10;

let planned: number | undefined;
let mostFree = FREE_BYTES;

/**
 * Bounds the bytes of all buffers of the device: free ones are kept up to it, and destroyed before a new one would
 * exceed it.
 * @param bytes bytes that the plan of the current work allows; undefined bounds the free buffers alone
 */
export function setPlannedBytes(bytes?: number): void {
  planned = bytes;
}

/**
 * Whether the GPU may still use too much of what is free or destroyed, which the next part of a recording then cannot use
 * for other sizes: more than a share of the room that the plan leaves besides the buffers in use. Without a plan, whether
 * destroyed buffers that the GPU still uses exceed the bound of free ones.
 */
export function memoryExceeded(): boolean {
  const unfinished = heldBytes() - liveBytes();
  if (planned === undefined) return unfinished > mostFree;
  const free = freeBytes();
  const most = ROOM_SHARE * (planned - (liveBytes() - free));
  return unfinished + free > Math.max(0, most) && unfinished + unendedBytes(most - unfinished) > Math.max(0, most);
}

/** Share of the room of a plan that the GPU may still use between two parts of a recording. */
const ROOM_SHARE = 1 / 4;

/** Bytes of the free buffers that the GPU may still use; counting ends once they exceed a bound, for it runs after every part. */
function unendedBytes(most: number): number {
  const inFlight = workInFlight();
  let bytes = 0;
  for (const buffers of currentPool()?.freeBuffers.values() ?? []) {
    for (const buffer of buffers) {
      if (inFlight?.isFinished(buffer) === true) continue;
      bytes += buffer.size;
      if (bytes > most) return bytes;
    }
  }
  return bytes;
}

/** For tests: bounds the bytes of free buffers. */
export function setMostFree(bytes: number = FREE_BYTES): void {
  mostFree = bytes;
}

/** Destroys the free buffers. */
export function trimPool(): void {
  destroyFree(0);
}

/**
 * Between two phases: destroys the large free buffers, and then the largest of the small ones until few enough bytes
 * are left.
 * @returns bytes of the kept buffers, which depend on everything that ran before
 */
export function trimPoolToSmall(): number {
  destroyFree(SMALL_BUFFER);
  for (let most = SMALL_BUFFER / 2; most >= 256 && freeBytes() > KEPT_FREE_BYTES; most /= 2) destroyFree(most);
  return freeBytes();
}

/**
 * A storage buffer for the queue to write: no recorded command uses it.
 * @param size bytes, a multiple of 4
 */
export function writableBuffer(size: number): GPUBuffer {
  const pool = currentPool() as Pool;
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const free = pool.freeBuffers.get(keyOf(size, usage)) ?? [];
  const inFlight = workInFlight();
  const at = free.findIndex((buffer) => inFlight?.isRecorded(buffer) === false);
  if (at >= 0) {
    // The pool takes the last buffer of the list.
    free.push(...free.splice(at, 1));
    return pool.acquireBuffer(size, usage);
  }
  pool.freeBuffers.set(keyOf(size, usage), free);
  return pool.acquireBuffer(size, usage, false, false);
}

/** Changes when the current backend frees buffers and when it submits. The backend must be a new "webgpu" one. */
export function installPool(): void {
  tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", SUBMIT_DISPATCHES);
  const backend = tf.backend() as unknown as Backend;
  const pool = backend.bufferManager as Pool;
  const inFlight = workInFlight();
  const dispose = backend.disposeData.bind(backend);
  backend.disposeData = (id, force) => {
    backend.commandQueueOwnedIds.delete(id);
    return dispose(id, force);
  };
  const release = pool.releaseBuffer.bind(pool);
  pool.releaseBuffer = (buffer, reuse) => {
    release(buffer, reuse);
    inFlight?.released(buffer, backend.commandEncoder !== null);
    // Lists whose sizes were freed least recently come first.
    const key = keyOf(buffer.size, buffer.usage);
    const same = pool.freeBuffers.get(key);
    if (same === undefined) return;
    pool.freeBuffers.delete(key);
    pool.freeBuffers.set(key, same);
  };
  const acquire = pool.acquireBuffer.bind(pool);
  pool.acquireBuffer = (size, usage, mapped, reuse) => {
    const found = reuse !== false && (pool.freeBuffers.get(keyOf(size, usage))?.length ?? 0) > 0;
    // The many small buffers are created without this check.
    if (!found && size >= 256 && (usage & GPUBufferUsage.UNIFORM) === 0) makeRoom(pool, size);
    return acquire(size, usage, mapped, reuse);
  };
}

/** Share of the bound that is left when free buffers exceed it, so that this does not happen for every new buffer. */
const KEPT_SHARE = 15 / 16;

/** Finished submits when the free buffers were last searched for such that the GPU has finished with. */
let searched: number | undefined;

/**
 * If free buffers and a new one of this size exceed the bound, destroys those of the sizes that were freed longest ago;
 * first those that the GPU has finished with, also where only destroyed buffers that it still uses exceed the bound. The
 * others keep their memory for now.
 */
function makeRoom(pool: Pool, size: number): void {
  const free = (): number => pool.numBytesAllocated - pool.numBytesUsed;
  const bound = (taken: number): number =>
    planned === undefined
      ? Math.max(mostFree, FREE_SHARE * pool.numBytesUsed)
      : Math.max(planned - (taken - free()) - size, PLANNED_FREE_SHARE * planned);
  const inFlight = workInFlight();
  const most = bound(heldBytes());
  // A search that has ended finds nothing new before the GPU finishes more.
  if (free() > most && searched !== inFlight?.finishedSubmits) {
    for (const buffers of pool.freeBuffers.values()) {
      for (let at = buffers.length - 1; at >= 0; at--) {
        if (free() <= KEPT_SHARE * most) return;
        if (inFlight?.isFinished(buffers[at] as GPUBuffer) === true) destroyOne(pool, buffers, at);
      }
    }
    searched = inFlight?.finishedSubmits;
  }
  const kept = bound(liveBytes());
  if (free() <= kept) return;
  flushBackend();
  for (const buffers of pool.freeBuffers.values()) {
    while (buffers.length > 0) {
      if (free() <= KEPT_SHARE * kept) return;
      destroyOne(pool, buffers);
    }
  }
}

/** Destroys free buffers larger than `most` bytes. */
function destroyFree(most: number): void {
  const pool = currentPool();
  if (pool === undefined) return;
  flushBackend();
  for (const buffers of pool.freeBuffers.values()) {
    // Buffers of one list have one size.
    if (buffers[0] !== undefined && buffers[0].size > most) while (buffers.length > 0) destroyOne(pool, buffers);
  }
}

function destroyOne(pool: Pool, buffers: GPUBuffer[], at = buffers.length - 1): void {
  const [buffer] = buffers.splice(at, 1) as [GPUBuffer];
  pool.numBytesAllocated -= buffer.size;
  pool.numFreeBuffers -= 1;
  buffer.destroy();
}

function freeBytes(): number {
  const pool = currentPool();
  return pool === undefined ? 0 : pool.numBytesAllocated - pool.numBytesUsed;
}

function currentPool(): Pool | undefined {
  return (tf.backend() as unknown as Backend).bufferManager;
}

function keyOf(size: number, usage: number): string {
  return `${size}_${usage}`;
}
