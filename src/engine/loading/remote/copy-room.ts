/** Finds out whether the copy of a checkpoint on a server fits into storage, before any of it is downloaded. */
import type { StorageChoice } from "../../model/weights/storage-choice.ts";
import { weightsHash } from "../../model/weights/weights-hash.ts";
import { freeRoom, type RunStore } from "../../storage/store.ts";
import { ModelCache } from "../model-cache.ts";
import { sameStorage } from "../storage-settings.ts";
import { openRemote } from "./folder.ts";
import type { RemoteListing } from "./listing.ts";
import type { RemoteDeps } from "./request.ts";

/** Whether versions of the weights can be distinguished; without that no copy is stored. */
export function hasVersion({ files, ranges }: RemoteListing): boolean {
  return ranges || files.every(({ path, version }) => !path.endsWith(".safetensors") || version !== null);
}

/**
 * Bytes available to a copy, at least `bytes` if it fits; parts stored by an earlier visit count as available.
 * @param bytes size of the whole copy
 * @param store holds the stored conversions
 * @throws LabError as `openRemote` does, which is needed to tell whether a stored part belongs to this version
 */
export async function copyRoom(
  listing: RemoteListing,
  choice: StorageChoice,
  bytes: number,
  store: RunStore,
  deps: RemoteDeps = {},
): Promise<number> {
  const free = await freeRoom(store, bytes);
  if (free >= bytes) return free;
  const stored = await storedBytes(listing, choice, new ModelCache(store), deps);
  return stored === 0 ? free : stored + (await freeRoom(store, Math.max(0, bytes - stored)));
}

async function storedBytes(
  listing: RemoteListing,
  choice: StorageChoice,
  cache: ModelCache,
  deps: RemoteDeps,
): Promise<number> {
  const entries = (await cache.list()).filter((entry) => sameStorage(entry.choice, choice));
  if (entries.length === 0) return 0;
  const { folder, close } = await openRemote(listing, deps);
  try {
    const source = await weightsHash(folder);
    return entries.find((entry) => entry.source === source)?.bytes ?? 0;
  } finally {
    close();
  }
}
