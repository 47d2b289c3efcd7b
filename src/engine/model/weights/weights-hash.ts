/** A fingerprint of a model folder that does not read gigabytes. */
import { sha256Hex } from "../../bytes/hash.ts";
import type { ByteFolder, ByteSource } from "../../bytes/source.ts";
import { openSafetensors, type Safetensors } from "../../formats/safetensors.ts";

/** Bytes sampled at three places of every tensor; a smaller tensor is read as a whole. */
const SAMPLE = 1024;

/**
 * SHA-256 over config.json and, for every safetensors file, the names, types and shapes of its tensors and three pieces
 * of each tensor. Two checkpoints that differ in any trained tensor get different fingerprints, wherever it is in the
 * file. It does not prove that every byte is the same. A source with a known identity is not read.
 * @throws LabError naming a file whose header is wrong
 */
export async function weightsHash(folder: ByteFolder): Promise<string> {
  const parts: string[] = [];
  for (const path of folder.paths) {
    const source = folder.get(path);
    if (source === undefined) continue;
    if (path.endsWith(".safetensors")) parts.push(`${path} ${await fileHash(source)}`);
    else if (path.endsWith("config.json")) parts.push(`${path} ${await sha256Hex(await source.read(0, source.size))}`);
  }
  return textHash(parts.join("\n"));
}

async function fileHash(source: ByteSource): Promise<string> {
  if (source.identity !== undefined) return textHash(`${source.size} ${source.identity}`);
  return tensorsHash(await openSafetensors(source));
}

/** Hash over names, types, shapes and samples of the tensors of one file; reads the samples in byte order. */
export async function tensorsHash(file: Safetensors): Promise<string> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  for (const name of file.names) {
    const { dtype, shape, bytes } = file.info(name);
    pieces.push(new TextEncoder().encode(`${name} ${dtype} ${shape.join(",")}\n`));
    const places =
      bytes <= 3 * SAMPLE
        ? [[0, bytes]]
        : [0, Math.floor((bytes - SAMPLE) / 2), bytes - SAMPLE].map((at) => [at, at + SAMPLE]);
    for (const [start, end] of places) pieces.push(await file.readRawRange(name, start as number, end as number));
  }
  return sha256Hex(new Uint8Array(await new Blob(pieces).arrayBuffer()));
}

function textHash(text: string): Promise<string> {
  return sha256Hex(new TextEncoder().encode(text));
}
