import { joinBytes } from "../../src/engine/bytes/source.ts";
import type { ExportFiles } from "../../src/engine/export/export-file.ts";

/** All files of an export in memory. */
export async function collectFiles(files: ExportFiles): Promise<Record<string, Uint8Array<ArrayBuffer>>> {
  const found: Record<string, Uint8Array<ArrayBuffer>> = {};
  for await (const file of files) {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for await (const piece of file.pieces()) parts.push(piece);
    found[file.path] = joinBytes(parts);
  }
  return found;
}
