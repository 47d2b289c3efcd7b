/** A fingerprint of a model folder that does not read gigabytes. */
import { sha256Hex } from "../../bytes/hash.ts";
import { inOrder } from "../../bytes/pace.ts";
import type { ByteFolder, ByteSource } from "../../bytes/source.ts";
import { openSafetensors, type Safetensors } from "../../formats/safetensors.ts";

/** Bytes sampled at three places of every tensor; a smaller tensor is read as a whole. */
const SAMPLE = 1024;
/** Samples read at a time: a file answers each only after a few milliseconds. */
const AT_ONCE = 32;

/**
 * SHA-256 over config.json and, for every safetensors file, the names, types and shapes of its tensors and three pieces
 * of each tensor. Two checkpoints that differ in any trained tensor get different fingerprints, wherever it is in the
 * file. It does not prove that every byte is the same. A source with a known identity is not read.
 * @param onRead called with the share of a file's tensors that was read
 * @throws LabError naming a file whose header is wrong
 */
export async function weightsHash(folder: ByteFolder, onRead?: (path: string, share: number) => void): Promise<string> {
  const parts: string[] = [];
  for (const path of folder.paths) {
    const source = folder.get(path);
    if (source === undefined) continue;
    if (path.endsWith(".safetensors"))
      parts.push(`${path} ${await fileHash(source, (share) => onRead?.(path, share))}`);
    else if (path.endsWith("config.json")) parts.push(`${path} ${await sha256Hex(await source.read(0, source.size))}`);
  }
  return textHash(parts.join("\n"));
}

async function fileHash(source: ByteSource, onRead: (share: number) => void): Promise<string> {
  if (source.identity !== undefined) return textHash(`${source.size} ${source.identity}`);
  return tensorsHash(await openSafetensors(source), onRead);
}

/**
 * Hash over names, types, shapes and samples of the tensors of one file; begins to read the samples in byte order.
 * @param onRead called with the share of the tensors that was read
 */
export async function tensorsHash(file: Safetensors, onRead?: (share: number) => void): Promise<string> {
  const { names } = file;
  const samples = async (name: string): Promise<Uint8Array<ArrayBuffer>[]> => {
    const { dtype, shape, bytes } = file.info(name);
    const places =
      bytes <= 3 * SAMPLE
        ? [[0, bytes] as const]
        : [0, Math.floor((bytes - SAMPLE) / 2), bytes - SAMPLE].map((at) => [at, at + SAMPLE] as const);
    const read = places.map(([start, end]) => file.readRawRange(name, start, end));
    return [new TextEncoder().encode(`${name} ${dtype} ${shape.join(",")}\n`), ...(await Promise.all(read))];
  };
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let done = 0;
  for await (const settled of inOrder(names.length, AT_ONCE, (index) => samples(names[index] as string))) {
    if ("thrown" in settled) throw settled.thrown;
    pieces.push(...settled.value);
    onRead?.(++done / names.length);
  }
  return sha256Hex(new Uint8Array(await new Blob(pieces).arrayBuffer()));
}

function textHash(text: string): Promise<string> {
  return sha256Hex(new TextEncoder().encode(text));
}
