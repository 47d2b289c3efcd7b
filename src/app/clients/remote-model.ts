/** Checkpoints on servers: the first press lists the files, and only a second press downloads them. */
import { namesRepository, remoteAddress } from "../../engine/loading/remote/address.ts";
import type { Asked, RemoteListing } from "../../engine/loading/remote/listing.ts";
import { storageChoice } from "../../engine/loading/storage-settings.ts";
import type { RemoteCopy } from "../../protocol/data.ts";
import { requireHub } from "../stores/consent.ts";
import { useSession } from "../stores/session.ts";
import { lab } from "./lab.ts";
import { openModel } from "./loading.ts";

/**
 * Lists the files of a checkpoint on a server; only config.json and the index of the weights are downloaded.
 * @throws LabError in one sentence; nothing is changed then
 */
export async function askModel(text: string): Promise<Asked> {
  const { hub } = useSession.getState().config;
  const address = remoteAddress(text, hub);
  if (namesRepository(text)) await requireHub(hub);
  return lab().data.remote(address);
}

/** The copy that would be stored for the next visit, in the storage that is set; null if none can be. */
export function copyOf(asked: Asked): Promise<RemoteCopy | null> {
  return lab().data.copyOf(asked, storageChoice(useSession.getState().config));
}

/** Downloads and loads the listed checkpoint. */
export function openRemoteModel(listing: RemoteListing): Promise<void> {
  return openModel({ kind: "remote", listing });
}
