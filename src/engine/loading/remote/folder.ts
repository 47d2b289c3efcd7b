/** A checkpoint on a server as a folder. */
import { sha256Hex } from "../../bytes/hash.ts";
import { type ByteFolder, type ByteSource, folderOf, memorySource } from "../../bytes/source.ts";
import { badInput } from "../../errors.ts";
import { fetchSmall, type RemoteFile, type RemoteListing } from "./listing.ts";
import { rangeSource } from "./range-source.ts";
import type { RemoteDeps } from "./request.ts";
import { type OpenStream, streamSource } from "./stream-source.ts";

/** Samples of a file that identify it, and bytes per sample. */
const PLACES = 32;
const PLACE_BYTES = 1024;

export interface RemoteFolder {
  readonly folder: ByteFolder;
  /** False if versions of the weights cannot be distinguished; then a conversion must not be stored. */
  readonly known: boolean;
  /** Closes open requests; later reads open new ones. */
  close(): void;
}

/**
 * Downloads the small files and creates sources for the weights, which are downloaded when they are read.
 * @throws LabError naming the file that is refused, truncated or of another size than announced
 */
export async function openRemote(listing: RemoteListing, deps: RemoteDeps = {}): Promise<RemoteFolder> {
  const { baseUrl, files, ranges } = listing;
  const sources = new Map<string, ByteSource>();
  const open: OpenStream = { close: null };
  let known = true;
  for (const file of files) {
    if (!file.path.endsWith(".safetensors")) {
      sources.set(file.path, memorySource(file.path, await fetchSmall(file.path, baseUrl, deps)));
      continue;
    }
    const place = { ...file, url: baseUrl + file.path };
    const source = ranges ? rangeSource(place, deps, deps.ahead) : streamSource(place, deps, open);
    if (file.version === null && !ranges) known = false;
    sources.set(file.path, { ...source, identity: await identityOf(file, place.url, ranges, source, deps) });
  }
  return { folder: folderOf(sources), known, close: () => open.close?.() };
}

/** The version that the server gives, else a hash of samples from the whole file, else a hash of its header. */
async function identityOf(
  file: RemoteFile,
  url: string,
  ranges: boolean,
  source: ByteSource,
  deps: RemoteDeps,
): Promise<string> {
  if (file.version !== null) return file.version;
  const { size } = file;
  if (size < 8) throw badInput(`${file.path} has ${size} bytes and is not a weight file`);
  if (!ranges) return sha256Hex(await source.read(0, Math.min(size, PLACES * PLACE_BYTES)));
  const exact = rangeSource({ path: file.path, url, size }, deps, 0);
  const parts: string[] = [String(size)];
  for (let n = 0; n < PLACES; n++) {
    const start = Math.floor((Math.max(0, size - PLACE_BYTES) * n) / (PLACES - 1));
    parts.push(await sha256Hex(await exact.read(start, Math.min(size, start + PLACE_BYTES))));
  }
  return sha256Hex(new TextEncoder().encode(parts.join(" ")));
}
