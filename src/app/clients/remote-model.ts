/** Checkpoints on servers: what they have is asked for first, and fetched on a second press only. */
import { namesRepository, remoteAddress } from "../../engine/loading/remote/address.ts";
import type { Asked, RemoteListing } from "../../engine/loading/remote/listing.ts";
import { storageChoice } from "../../engine/loading/storage-settings.ts";
import type { RemoteCopy } from "../../protocol/data.ts";
import { requireHub } from "../stores/consent.ts";
import { sessionStore } from "../stores/session.ts";
import { lab } from "./lab.ts";
import { openModel } from "./loading.ts";

/**
 * Asks a server what a checkpoint has; of contents only config.json and the index of the weights are fetched.
 * @throws LabError in one sentence; nothing is changed then
 */
export async function askModel(text: string): Promise<Asked> {
  const { hub } = sessionStore.getState().config;
  const address = remoteAddress(text, hub);
  if (namesRepository(text)) await requireHub(hub);
  return lab().data.remote(address);
}

/** The copy that would be stored for the next visit, in the storage that is set; null if none can be. */
export function copyOf(asked: Asked): Promise<RemoteCopy | null> {
  return lab().data.copyOf(asked, storageChoice(sessionStore.getState().config));
}

/** Fetches and loads what was asked about. */
export function openRemoteModel(listing: RemoteListing): Promise<void> {
  return openModel({ kind: "remote", listing });
}
