/**
 * How small tensors get to the GPU. The backend makes a staging buffer for each, maps it, and breaks the open compute pass
 * for a copy; hundreds of constants a step go that way. Here the queue writes them. That keeps the order: a buffer comes
 * from the pool only when no recorded command that is not yet submitted knows it, and a write comes after all that was
 * submitted before it.
 *
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/uploads.test.ts guards them.
 */
import { tf } from "../tf.ts";

interface TensorData {
  values: tf.TypedArray | null;
  resource: GPUBuffer | null;
  readonly dtype: string;
  readonly shape: readonly number[];
}

interface Uploading {
  readonly queue: GPUQueue;
  readonly bufferManager: { acquireBuffer(size: number, usage: number): GPUBuffer };
  readonly tensorMap: { get(id: object): TensorData | undefined };
  uploadToGPU(id: object): void;
}

/** Larger ones keep the stock way, whose staging buffers are freed with the next submit. */
const SMALL_BYTES = 64 * 2 ** 10;

/** Changes the uploads of the current backend, which must be a new "webgpu" one. */
export function installSmallUploads(): void {
  const backend = tf.backend() as unknown as Uploading;
  const stock = backend.uploadToGPU.bind(backend);
  const { STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
  backend.uploadToGPU = (id) => {
    const data = backend.tensorMap.get(id);
    const words = data === undefined ? undefined : wordsOf(data);
    if (data === undefined || words === undefined) return stock(id);
    const buffer = backend.bufferManager.acquireBuffer(words.byteLength, STORAGE | COPY_SRC | COPY_DST);
    backend.queue.writeBuffer(buffer, 0, words);
    // As the stock way does: once on the GPU, the host's values are let go.
    data.values = null;
    data.resource = buffer;
  };
}

/** What is to be written; undefined for what is on the GPU already, has no values, is large or of another type. */
function wordsOf({ values, resource, dtype, shape }: TensorData): Float32Array | Int32Array | undefined {
  if (resource !== null && resource !== undefined) return undefined;
  const size = tf.util.sizeFromShape([...shape]);
  if (values === null || values === undefined || size === 0 || 4 * size > SMALL_BYTES) return undefined;
  if (dtype === "int32" || dtype === "bool") return values instanceof Int32Array ? values : Int32Array.from(values);
  if (dtype !== "float32") return undefined;
  return values instanceof Float32Array ? values : Float32Array.from(values);
}
