/**
 * Uploads weights to the GPU piece by piece: a whole small tensor in f32, or a block of rows of a packed matrix. At
 * most one piece is in host memory, whether the pieces come from a checkpoint or a stored conversion.
 */
import { badInput, LabError } from "../../errors.ts";
import { type PackedBlock, PackedMatrix, uploadBlock } from "../../gpu/packed/matrix.ts";
import { type PackedRows, packRows } from "../../gpu/packed/quantise.ts";
import { BLOCK_ELEMENTS, rowsPerBlock, type WeightStorage } from "../../gpu/packed/storage.ts";
import { uploadNow, uploadsDone } from "../../gpu/runtime/program.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { Checkpoint, LoadProgress } from "./checkpoint.ts";
import { ALL_F32, packedForm, type StorageChoice } from "./storage-choice.ts";
import { disposeWeights, type Matrix, tensorsOf } from "./weights.ts";

/** An f32 tensor, or rows of a packed matrix. */
export type WeightPiece =
  | {
      readonly kind: "tensor";
      readonly name: string;
      readonly shape: readonly number[];
      readonly values: Float32Array<ArrayBuffer>;
    }
  | {
      readonly kind: "rows";
      readonly name: string;
      /** Shape of the whole matrix, [out, in]. */
      readonly shape: readonly [number, number];
      readonly storage: WeightStorage;
      readonly first: number;
      readonly rows: number;
      readonly packed: PackedRows;
    };

export interface ConvertOptions {
  readonly choice: StorageChoice;
  /** Which tensors to read; by default all that pictures use. */
  readonly filter?: ((name: string) => boolean) | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Elements per block of rows; tests use fewer. */
  readonly blockElements?: number | undefined;
  /** Pieces to skip because they were read before, by name and first row. */
  readonly skip?: ((name: string, first: number) => boolean) | undefined;
}

/**
 * Reads and converts a checkpoint in file order, one block at a time.
 * @throws LabError("bad-input") naming file and tensor where an element is NaN or infinite; LabError("cancelled")
 */
export async function* convertCheckpoint(checkpoint: Checkpoint, options: ConvertOptions): AsyncGenerator<WeightPiece> {
  const { choice, filter = () => true, onProgress, signal, blockElements = BLOCK_ELEMENTS, skip } = options;
  const names = checkpoint.tensorNames.filter(filter);
  const totalBytes = names.reduce((sum, name) => sum + checkpoint.holder(name).info(name).bytes, 0);
  let bytes = 0;
  for (const [at, name] of names.entries()) {
    const file = checkpoint.holder(name);
    const info = file.info(name);
    const report = (read: number): void =>
      onProgress?.({
        done: at + (read === info.bytes ? 1 : 0),
        total: names.length,
        bytes: bytes + read,
        totalBytes,
        name,
      });
    const notFinite = (): LabError =>
      badInput(`${file.source}: tensor "${name}" holds NaN or infinite numbers; nothing was loaded`, name);
    // The total is known before the first tensor.
    if (at === 0) report(0);
    const storage = packedForm(name, info.shape, choice, blockElements);
    if (storage === undefined) {
      stopIf(signal);
      if (skip?.(name, 0) !== true) {
        const values = await file.read(name);
        if (!allFinite(values)) throw notFinite();
        report(info.bytes);
        yield { kind: "tensor", name, shape: info.shape, values };
      }
    } else {
      const shape = info.shape as readonly [number, number];
      const [total, inSize] = shape;
      const rowBytes = info.bytes / total;
      const step = rowsPerBlock(storage, inSize, blockElements);
      for (let first = 0; first < total; first += step) {
        stopIf(signal);
        if (skip?.(name, first) === true) continue;
        const rows = Math.min(step, total - first);
        const packed = packRows(
          storage,
          await file.readRange(name, first * rowBytes, (first + rows) * rowBytes),
          rows,
          inSize,
        );
        if (packed === undefined) throw notFinite();
        report(Math.round((info.bytes * (first + rows)) / total));
        yield { kind: "rows", name, shape, storage, first, rows, packed };
      }
    }
    bytes += info.bytes;
  }
}

/** @throws LabError("cancelled") when the signal is aborted */
export function stopIf(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new LabError("cancelled", "Loading the checkpoint was stopped");
}

function allFinite(values: Float32Array): boolean {
  for (let at = 0; at < values.length; at++) {
    if (!Number.isFinite(values[at] as number)) return false;
  }
  return true;
}

/** Uploads wait for the GPU after this many bytes; otherwise staging copies would accumulate in host memory. */
const WAIT_BYTES = 64 * 2 ** 20;

/**
 * Uploads all pieces. The caller owns the result; after an error nothing stays allocated.
 * @throws the errors of the pieces; LabError("bad-input") when a matrix is not complete
 */
export async function collectWeights(pieces: AsyncIterable<WeightPiece>): Promise<Map<string, Matrix>> {
  const weights = new Map<string, Matrix>();
  const open = new Map<string, { shape: readonly [number, number]; storage: WeightStorage; blocks: PackedBlock[] }>();
  let waiting = 0;
  try {
    for await (const piece of pieces) {
      if (piece.kind === "tensor") {
        weights.set(piece.name, toGpu(piece.values, piece.shape));
        waiting += 4 * piece.values.length;
      } else {
        const { name, shape, storage, first, rows, packed } = piece;
        const matrix = open.get(name) ?? { shape, storage, blocks: [] };
        open.set(name, matrix);
        matrix.blocks.push(uploadBlock(packed, first, rows, name));
        waiting += 4 * (packed.values.length + packed.scales.length);
        if (first + rows === shape[0]) {
          weights.set(name, new PackedMatrix(shape, storage, matrix.blocks));
          open.delete(name);
        }
      }
      if (waiting > WAIT_BYTES && tf.getBackend() === "webgpu") {
        await uploadsDone();
        waiting = 0;
      }
    }
    const [broken] = open.keys();
    if (broken !== undefined) throw badInput(`Only a part of tensor "${broken}" arrived; nothing was loaded`, broken);
  } catch (thrown) {
    disposeWeights(weights.values());
    for (const { shape, storage, blocks } of open.values()) {
      const rows = blocks.reduce((sum, block) => sum + block.rows, 0);
      new PackedMatrix([rows, shape[1]], storage, blocks).dispose();
    }
    if (tf.getBackend() === "webgpu") await uploadsDone();
    throw thrown;
  }
  if (tf.getBackend() === "webgpu") await uploadsDone();
  return weights;
}

/**
 * Uploads tensors that are read one at a time; the caller owns them.
 * @throws the errors of the reads, after which nothing stays allocated
 */
export async function uploadTensors(
  tensors: Iterable<
    readonly [string, { readonly shape: readonly number[]; read(): Promise<Float32Array<ArrayBuffer>> }]
  >,
): Promise<Map<string, Tensor>> {
  const pieces = async function* (): AsyncGenerator<WeightPiece> {
    for (const [name, { shape, read }] of tensors) yield { kind: "tensor", name, shape, values: await read() };
  };
  return tensorsOf(await collectWeights(pieces()));
}

function toGpu(values: Float32Array<ArrayBuffer>, shape: readonly number[]): Tensor {
  const tensor = tf.tensor(values, [...shape], "float32");
  if (tf.getBackend() === "webgpu" && tensor.size > 0) uploadNow(tensor);
  return tensor;
}

/**
 * Tensors of a checkpoint in f32, owned by the caller.
 * @throws LabError("unsupported") when one is too large for a tensor
 */
export async function loadTensors(
  checkpoint: Checkpoint,
  filter?: (name: string) => boolean,
): Promise<Map<string, Tensor>> {
  return tensorsOf(await collectWeights(convertCheckpoint(checkpoint, { choice: ALL_F32, filter })));
}
