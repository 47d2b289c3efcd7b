/** Checkpoints on servers: the first press lists the files, and only a second press downloads them. */

import { pluginCalls } from "../../app/clients/lab.ts";
import { openModel } from "../../app/clients/loading.ts";
import { requireHub } from "../../app/stores/consent.ts";
import { useSession } from "../../app/stores/session.ts";
import { storageChoice } from "../../engine/loading/storage-settings.ts";
import { namesRepository, remoteAddress } from "./address.ts";
import type { HubCalls, RemoteCopy } from "./hub-calls.ts";
import type { Asked, RemoteListing } from "./listing.ts";

/**
 * Lists the files of a checkpoint on a server; only config.json and the index of the weights are downloaded.
 * @throws LabError in one sentence; nothing is changed then
 */
export async function askModel(text: string): Promise<Asked> {
  const { hub } = useSession.getState().config;
  const address = remoteAddress(text, hub);
  if (namesRepository(text)) await requireHub(hub);
  return pluginCalls<HubCalls>("data").remote(address);
}

/** The copy that would be stored for the next visit, in the storage that is set; null if none can be. */
export function copyOf(asked: Asked): Promise<RemoteCopy | null> {
  return pluginCalls<HubCalls>("data").copyOf(asked, storageChoice(useSession.getState().config));
}

/** Downloads and loads the listed checkpoint. */
export function openRemoteModel(listing: RemoteListing): Promise<void> {
  return openModel({ kind: "remote", name: listing.name, listing });
}
