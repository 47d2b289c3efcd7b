/**
 * Uploads of small tensors. The backend makes and maps a staging buffer for each and ends the open compute pass for a
 * copy; a step would do that for hundreds of constants. Here the queue writes them. The order stays correct: no
 * recorded but unsubmitted command uses the buffer, and a write runs after everything submitted before it.
 *
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/uploads.test.ts guards them.
 */
import { tf } from "../tf.ts";
import { writableBuffer } from "./pool.ts";

interface TensorData {
  values: tf.TypedArray | null;
  resource: GPUBuffer | null;
  readonly dtype: string;
  readonly shape: readonly number[];
}

interface Uploading {
  readonly queue: GPUQueue;
  readonly tensorMap: { get(id: object): TensorData | undefined };
  uploadToGPU(id: object): void;
}

/** Larger tensors use the stock upload, whose staging buffers are freed with the next submit. */
const SMALL_BYTES = 64 * 2 ** 10;

/** Replaces the uploads of the current backend, which must be a new "webgpu" one. */
export function installSmallUploads(): void {
  const backend = tf.backend() as unknown as Uploading;
  const stock = backend.uploadToGPU.bind(backend);
  backend.uploadToGPU = (id) => {
    const data = backend.tensorMap.get(id);
    const words = data === undefined ? undefined : wordsOf(data);
    if (data === undefined || words === undefined) return stock(id);
    const buffer = writableBuffer(words.byteLength);
    backend.queue.writeBuffer(buffer, 0, words);
    // As in the stock backend, the host's values are freed once they are on the GPU.
    data.values = null;
    data.resource = buffer;
  };
}

/** The values to write; undefined if the tensor is on the GPU already, has no values, is large or has another type. */
function wordsOf({ values, resource, dtype, shape }: TensorData): Float32Array | Int32Array | undefined {
  if (resource !== null && resource !== undefined) return undefined;
  const size = tf.util.sizeFromShape([...shape]);
  if (values === null || values === undefined || size === 0 || 4 * size > SMALL_BYTES) return undefined;
  if (dtype === "int32" || dtype === "bool") return values instanceof Int32Array ? values : Int32Array.from(values);
  if (dtype !== "float32") return undefined;
  return values instanceof Float32Array ? values : Float32Array.from(values);
}
