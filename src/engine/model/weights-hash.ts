/** A fingerprint of a model folder that does not read gigabytes. */
import { sha256Hex } from "../bytes/hash.ts";
import type { ByteFolder } from "../bytes/source.ts";

/** Bytes taken from either end of every file. */
const EDGE = 2 ** 20;

/**
 * SHA-256 over name, size, first and last mebibyte of config.json and every safetensors file, in path order: tells two
 * checkpoints apart, does not prove that every byte is the same.
 */
export async function weightsHash(folder: ByteFolder): Promise<string> {
  const parts: string[] = [];
  for (const path of folder.paths) {
    const source = folder.get(path);
    if (source === undefined || !(path.endsWith(".safetensors") || path.endsWith("config.json"))) continue;
    const head = await source.read(0, Math.min(EDGE, source.size));
    const tail = await source.read(Math.max(0, source.size - EDGE), source.size);
    parts.push(`${path} ${source.size} ${await sha256Hex(head)} ${await sha256Hex(tail)}`);
  }
  return await sha256Hex(new TextEncoder().encode(parts.join("\n")));
}
