/** Checkpoints on servers: what they have is asked for first, and fetched on a second press only. */
import { namesRepository, remoteAddress } from "../../engine/loading/remote/address.ts";
import type { RemoteListing } from "../../engine/loading/remote/listing.ts";
import { storageChoice } from "../../engine/loading/storage-settings.ts";
import type { Sa2vaConfig } from "../../engine/model/config.ts";
import { requireHub } from "../stores/consent.ts";
import { sessionStore } from "../stores/session.ts";
import { lab } from "./lab.ts";
import { openModel } from "./loading.ts";

export interface AskedModel {
  readonly listing: RemoteListing;
  readonly config: Sa2vaConfig;
  /** Bytes free for the page. */
  readonly room: number;
}

/**
 * Asks a server what a checkpoint has; of contents only config.json and the index of the weights are fetched.
 * @throws LabError in one sentence; nothing is changed then
 */
export async function askModel(text: string): Promise<AskedModel> {
  const { hub } = sessionStore.getState().config;
  const address = remoteAddress(text, hub);
  if (namesRepository(text)) await requireHub(hub);
  const asked = await lab().data.remote(address);
  const { usage = 0, quota = Number.POSITIVE_INFINITY } = await navigator.storage.estimate();
  return { ...asked, room: quota - usage };
}

/** Bytes of the copy that is kept for the next visit, in the storage that is set. */
export function keptBytes({ config }: AskedModel): Promise<number> {
  return lab().data.keptBytes(config, storageChoice(sessionStore.getState().config));
}

/** Fetches and loads what was asked about. */
export function openRemoteModel(listing: RemoteListing): Promise<void> {
  return openModel({ kind: "remote", listing });
}
