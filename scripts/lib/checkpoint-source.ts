/** A checkpoint for a tool: a directory, or an address or repository whose files are fetched. */
import { basename } from "node:path";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { SETTINGS } from "../../src/engine/config/table.ts";
import { badInput, LabError, plainLine } from "../../src/engine/errors.ts";
import type { OpenModelOptions } from "../../src/engine/loading/open-model.ts";
import { namesRepository, remoteAddress } from "../../src/plugins/hub/address.ts";
import { openRemote } from "../../src/plugins/hub/folder.ts";
import { askRemote, type RemoteListing } from "../../src/plugins/hub/listing.ts";
import { one, type Parsed } from "./arguments.ts";
import { nodeFolder } from "./node/node-files.ts";

/** Options of tools that take a checkpoint from a server. */
export const CHECKPOINT_OPTIONS = { checkpoint: { takes: 1 }, hub: { takes: 1 } } as const;

export interface CheckpointSource {
  readonly folder: ByteFolder;
  readonly name: string;
  /** The part of a conversion to store. */
  readonly keep: NonNullable<OpenModelOptions["keep"]>;
}

/** The given one of --model and --checkpoint. @throws LabError("bad-input") when both were */
export function checkpointText(parsed: Parsed): string | undefined {
  const [model, checkpoint] = [one(parsed, "model"), one(parsed, "checkpoint")];
  if (model !== undefined && checkpoint !== undefined) {
    throw badInput("--model and --checkpoint name two models; give only one of them", "checkpoint");
  }
  return checkpoint;
}

/**
 * Refuses a hub that only a file or a stored run names: the command line must name every contacted server.
 * @param from the file or run the settings came from
 * @throws LabError("bad-config") naming the option that allows it
 */
export function requireHub(parsed: Parsed, hub: string, from: string): void {
  const named = parsed.has("hub") || (parsed.get("set") ?? []).some((word) => word.startsWith("hub="));
  const checkpoint = one(parsed, "checkpoint");
  if (checkpoint === undefined || !namesRepository(checkpoint) || named || hub === SETTINGS.hub.default) return;
  throw new LabError(
    "bad-config",
    `${from} names the model hub ${plainLine(hub)}; nothing was fetched, allow it with --hub ${plainLine(hub)}`,
    { subject: "hub" },
  );
}

/** The files of a server's address, in one line. @throws LabError as `askRemote` does */
export async function askCheckpoint(
  text: string,
  hub: string,
  say: (sentence: string) => void,
): Promise<RemoteListing> {
  const { listing } = await askRemote(remoteAddress(text, hub, "any"), { onRepeat: say });
  const { files, bytes, ranges } = listing;
  say(
    `${listing.baseUrl}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB${
      ranges ? "" : "; the server does not support range requests, so each file is read from beginning to end"
    }`,
  );
  return listing;
}

/** The files behind --checkpoint. */
export async function remoteCheckpoint(
  text: string,
  hub: string,
  say: (sentence: string) => void,
): Promise<CheckpointSource> {
  const listing = await askCheckpoint(text, hub, say);
  const { folder, known } = await openRemote(listing, { onRepeat: say });
  if (!known) say("The server does not identify the version of these weights, so their conversion is not kept");
  return { folder, name: listing.name, keep: known ? "all" : "none" };
}

/** The files of a directory. */
export async function localCheckpoint(path: string): Promise<CheckpointSource> {
  return { folder: await nodeFolder(path), name: basename(path), keep: "packed" };
}
