import { zipRun } from "../../src/engine/runs/zip.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";

/** Bytes of a run's zip. */
export async function zippedRun(store: RunStore, id: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of zipRun(store, id)) pieces.push(piece);
  return Buffer.concat(pieces);
}
