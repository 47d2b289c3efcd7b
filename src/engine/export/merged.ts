/**
 * The full checkpoint with the adapter merged, in the published layout. Tensors are read, merged and written one at
 * a time: W + scale · B A in double precision, stored in single by default, because bf16 loses most of a small update
 * (docs/spec/formats.md#10-handing-a-run-over-to-a-larger-engine).
 */

import { checkShape, readJson } from "../bytes/json.ts";
import type { ByteFolder } from "../bytes/source.ts";
import { badInput, LabError } from "../errors.ts";
import {
  isDtype,
  openSafetensors,
  type Safetensors,
  type StreamedTensor,
  streamSafetensors,
  tensorBytes,
} from "../formats/safetensors.ts";
import { MAX_CODE_BYTES, remoteCode } from "../model/remote-code.ts";
import { WEIGHT_INDEX } from "../model/weights/checkpoint.ts";
import { type FloatDtype, fromFloat32 } from "../model/weights/narrow.ts";
import type { TrainedTensors } from "../runs/checkpoint/trained.ts";
import type { TensorSource } from "../runs/checkpoint/trainer-state.ts";
import { type ExportFile, type ExportFiles, wholeFile } from "./export-file.ts";

interface MergeOptions {
  /** Element type of every float tensor; null keeps the type of the base and writes changed tensors as F32. */
  readonly dtype: FloatDtype | null;
  /** Bytes after which a new shard starts. */
  readonly shardBytes?: number;
  readonly onProgress?: (done: number, total: number) => void;
  /** Receives the Python files that the base's config.json needs for remote code but its folder lacks. */
  readonly onMissingCode?: (files: readonly string[]) => void;
  readonly signal?: AbortSignal;
}

const SINGLE = "model.safetensors";
const INDEX = "model.safetensors.index.json";
const SHARD_BYTES = 2 * 2 ** 30;
const PIECE = 16 * 2 ** 20;
const WEIGHTS = /\.(safetensors|bin|pt|pth|gguf|onnx)$|\.index\.json$/;
const NOT_OF_A_CHECKPOINT = /^(cases\.json|README\.md|adapter_config\.json|image\.png|\.)/;

/**
 * Unchanged configuration and tokenizer files, then the shards, then their index.
 * @throws LabError("bad-input") when a trained tensor has no counterpart in the base
 */
export async function* mergedFiles(base: ByteFolder, trained: TrainedTensors, options: MergeOptions): ExportFiles {
  const holders = await openHolders(base);
  checkFits(holders, trained);
  for (const path of base.paths) {
    const source = base.get(path);
    if (source === undefined || path.includes("/") || WEIGHTS.test(path) || NOT_OF_A_CHECKPOINT.test(path)) continue;
    const bytes = await source.read(0, source.size);
    yield wholeFile(path, path === "config.json" && options.dtype !== null ? retyped(bytes, options.dtype) : bytes);
  }
  const { missing } = await remoteCode(
    await Promise.all(["config.json", "tokenizer_config.json"].map((path) => jsonOf(base, path))),
    (path) => codeOf(base, path),
  );
  if (missing.length > 0) options.onMissingCode?.(missing);
  const tensors = [...holders].map(([name, file]) => streamed(name, file, trained, options));
  const shards = cutShards(tensors, options.shardBytes ?? SHARD_BYTES);
  const total = tensors.length;
  let done = 0;
  const watched = (tensor: StreamedTensor): StreamedTensor => ({
    ...tensor,
    async *pieces() {
      if (options.signal?.aborted === true) throw new LabError("cancelled", "The export was stopped; nothing is kept");
      yield* tensor.pieces();
      options.onProgress?.(++done, total);
    },
  });
  const weightMap: Record<string, string> = {};
  for (const [n, shard] of shards.entries()) {
    const path = shards.length === 1 ? SINGLE : `model-${five(n + 1)}-of-${five(shards.length)}.safetensors`;
    for (const { name } of shard) weightMap[name] = path;
    yield { path, pieces: () => streamSafetensors(shard.map(watched), PIECE) } satisfies ExportFile;
  }
  if (shards.length > 1) {
    const totalSize = tensors.reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
    const index = { metadata: { total_size: totalSize }, weight_map: weightMap };
    yield wholeFile(INDEX, `${JSON.stringify(index, null, 2)}\n`);
  }
}

/** The configuration with another element type, in which readers load the weights; everything else is unchanged. */
function retyped(bytes: Uint8Array<ArrayBuffer>, dtype: FloatDtype): string {
  const name = { F32: "float32", F16: "float16", BF16: "bfloat16" }[dtype];
  return new TextDecoder().decode(bytes).replace(/("(?:torch_)?dtype"\s*:\s*)"[^"]*"/g, `$1"${name}"`);
}

async function jsonOf(base: ByteFolder, path: string): Promise<unknown> {
  const source = base.get(path);
  return source === undefined ? null : await readJson(source);
}

async function codeOf(base: ByteFolder, path: string): Promise<string | null> {
  const source = base.get(path);
  if (source === undefined || source.size > MAX_CODE_BYTES) return null;
  return new TextDecoder().decode(await source.read(0, source.size));
}

/**
 * The file of each tensor, among the files that the model is opened from; a single file takes precedence over an index.
 */
export async function openHolders(base: ByteFolder): Promise<ReadonlyMap<string, Safetensors>> {
  const index = base.get(INDEX);
  const shards =
    base.get(SINGLE) !== undefined || index === undefined
      ? [SINGLE]
      : new Set(Object.values(checkShape(await readJson(index), WEIGHT_INDEX, INDEX).weight_map));
  const holders = new Map<string, Safetensors>();
  for (const path of shards) {
    const source = base.get(path);
    if (source === undefined) throw badInput(`The base model's folder has no ${path}`, path);
    const file = await openSafetensors(source);
    for (const name of file.names) holders.set(name, file);
  }
  return holders;
}

function checkFits(holders: ReadonlyMap<string, Safetensors>, { tensors }: TrainedTensors): void {
  for (const [name, { shape }] of tensors) {
    const factor = /^(.+)\.lora_([AB])\.weight$/.exec(name);
    const target = factor === null ? name : `${factor[1]}.weight`;
    const file = holders.get(target);
    const bad = (why: string): LabError => badInput(`The base model does not fit the run: "${target}" ${why}`, target);
    if (file === undefined) throw bad("is not in it");
    const found = file.info(target).shape;
    const fits =
      factor === null
        ? String(found) === String(shape)
        : factor[2] === "A"
          ? found[1] === shape[1]
          : found[0] === shape[0];
    if (!fits) throw bad(`is [${found.join(", ")}], the trained tensor "${name}" is [${shape.join(", ")}]`);
  }
}

function streamed(name: string, file: Safetensors, trained: TrainedTensors, options: MergeOptions): StreamedTensor {
  const { dtype, shape } = file.info(name);
  if (!isDtype(dtype)) {
    throw new LabError("unsupported", `${file.source}: tensor "${name}" is ${dtype}, which cannot be written`, {
      subject: name,
    });
  }
  const isFloat = dtype === "F32" || dtype === "F16" || dtype === "BF16";
  const replaced = trained.tensors.get(name);
  const factors = name.endsWith(".weight") ? lowRank(trained, name.slice(0, -".weight".length)) : null;
  if (replaced === undefined && factors === null) {
    const target = options.dtype !== null && isFloat ? options.dtype : dtype;
    return { name, shape, dtype: target, pieces: () => copied(file, name, target === dtype ? null : options.dtype) };
  }
  const target = options.dtype ?? "F32";
  return {
    name,
    shape,
    dtype: target,
    async *pieces() {
      const values = await (replaced?.read() ?? file.read(name));
      if (factors !== null) addLowRank(values, await factors.a.read(), await factors.b.read(), factors);
      yield fromFloat32(values, target);
    },
  };
}

/** A stored tensor, unchanged or in another element type, without holding it in memory. */
async function* copied(
  file: Safetensors,
  name: string,
  dtype: FloatDtype | null,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { bytes } = file.info(name);
  for (let at = 0; at < bytes; at += PIECE) {
    const end = Math.min(bytes, at + PIECE);
    yield dtype === null
      ? await file.readRawRange(name, at, end)
      : fromFloat32(await file.readRange(name, at, end), dtype);
  }
}

interface LowRankFactors {
  readonly a: TensorSource;
  readonly b: TensorSource;
  readonly rank: number;
  readonly scale: number;
}

function lowRank({ tensors, lora }: TrainedTensors, path: string): LowRankFactors | null {
  const [a, b] = [tensors.get(`${path}.lora_A.weight`), tensors.get(`${path}.lora_B.weight`)];
  if (a === undefined || b === undefined || lora === null) return null;
  return { a, b, rank: lora.r, scale: lora.alpha / lora.r };
}

/**
 * values += scale · B A, each element summed in double precision.
 * @param values [out, in], changed in place @param a [r, in] @param b [out, r]
 */
export function addLowRank(
  values: Float32Array,
  a: Float32Array,
  b: Float32Array,
  { rank, scale }: Pick<LowRankFactors, "rank" | "scale">,
): void {
  const inSize = a.length / rank;
  const outSize = b.length / rank;
  const row = new Float64Array(inSize);
  for (let out = 0; out < outSize; out++) {
    row.fill(0);
    for (let k = 0; k < rank; k++) {
      const factor = scale * (b[out * rank + k] as number);
      if (factor === 0) continue;
      const start = k * inSize;
      for (let at = 0; at < inSize; at++) row[at] = (row[at] as number) + factor * (a[start + at] as number);
    }
    const start = out * inSize;
    for (let at = 0; at < inSize; at++) values[start + at] = (values[start + at] as number) + (row[at] as number);
  }
}

function cutShards(tensors: readonly StreamedTensor[], limit: number): StreamedTensor[][] {
  const shards: StreamedTensor[][] = [];
  let room = 0;
  for (const tensor of tensors) {
    const size = tensorBytes(tensor);
    if (shards.length === 0 || size > room) {
      shards.push([]);
      room = limit;
    }
    (shards.at(-1) as StreamedTensor[]).push(tensor);
    room -= size;
  }
  return shards;
}

function five(n: number): string {
  return String(n).padStart(5, "0");
}
