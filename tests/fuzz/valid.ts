/** Valid inputs from the repository's own files. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";
import type { RunStore } from "../../src/engine/storage/store.ts";
import type { Bytes } from "./bytes.ts";
import type { Files } from "./target.ts";

export const stored = (path: string): Bytes => new Uint8Array(readFileSync(join(root, path)));

/** Files of a folder of the repository by name. */
export function folderFiles(path: string, names: readonly string[]): Files {
  return Object.fromEntries(names.map((name) => [name, stored(`${path}/${name}`)]));
}

/** All files of a store. */
export async function storeFiles(store: RunStore, below = ""): Promise<Files> {
  const files: Record<string, Bytes> = {};
  for (const { path } of await store.list(below)) files[path] = new Uint8Array(await store.read(path));
  return files;
}

/** Writes files into a store. */
export async function intoStore(store: RunStore, files: Files): Promise<void> {
  for (const [path, bytes] of Object.entries(files)) await store.write(path, bytes);
}
