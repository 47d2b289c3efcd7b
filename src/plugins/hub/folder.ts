/** A checkpoint on a server as a folder. */

import { sha256Hex } from "../../engine/bytes/hash.ts";
import { type ByteFolder, type ByteSource, checkRange, folderOf, memorySource } from "../../engine/bytes/source.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { ModelCache } from "../../engine/loading/model-cache.ts";
import { sameStorage } from "../../engine/loading/storage-settings.ts";
import type { StorageChoice } from "../../engine/model/weights/storage-choice.ts";
import { weightsHash } from "../../engine/model/weights/weights-hash.ts";
import { freeRoom, type RunStore } from "../../engine/storage/store.ts";
import type { FolderOpener } from "../../protocol/plugin-calls.ts";
import { fetchSmall, type RemoteFile, type RemoteListing } from "./listing.ts";
import { type Answer, explained, Passing, type RemoteDeps, refused, repeated, request } from "./request.ts";

// A file on a server that supports ranges: each read requests its range, and small consecutive reads share a request.

/** Bytes requested at once for small consecutive reads, and kept. */
const AHEAD = 8 * 2 ** 20;

interface RemotePlace {
  /** Path inside the folder. */
  readonly path: string;
  readonly url: string;
  /** Bytes. */
  readonly size: number;
  /** The version in the listing. */
  readonly version?: string | null;
}

function changedFile(path: string, why: string): LabError {
  return badInput(`${path} changed on the server while it was read (${why}); open the address again`, path);
}

/**
 * Compares the entity tag of every answer with the listing's, or else the first answer's. Weak and strong tags count as
 * equal, because compression makes a tag weak. Version names of a hub cannot be compared with them.
 */
function sameVersion({ path, url, size, version }: RemotePlace): (headers: Headers) => void {
  const told = `${url} ${size} `;
  const strong = (tag: string | undefined): string | undefined => tag?.replace(/^W\//, "");
  const listed = strong(version?.startsWith(told) === true ? version.slice(told.length) : undefined);
  let known = listed?.startsWith('"') === true ? listed : undefined;
  return (headers) => {
    const tag = strong(headers.get("etag") ?? undefined);
    if (known !== undefined && tag !== undefined && tag !== known) throw changedFile(path, "another entity tag");
    known ??= tag;
  };
}

/**
 * @param ahead bytes to request beyond a small read; 0 requests exactly the read
 * @throws in reads LabError("network") after all retries, LabError("bad-input") when the file changed meanwhile
 */
function rangeSource(place: RemotePlace, deps: RemoteDeps, ahead: number = AHEAD): ByteSource {
  const { path, url, size } = place;
  let held = { start: 0, bytes: new Uint8Array() };
  const checkVersion = sameVersion(place);

  const check = (response: Response, from: number): void => {
    const { status, headers } = response;
    if (status === 416) throw changedFile(path, `it no longer has ${size} bytes`);
    if (status === 200) throw new Passing("the server sent the whole file where a part was requested");
    if (status !== 206) throw refused(url, status);
    const said = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
    if (said !== null && Number(said[1]) !== from) {
      throw badInput(`${path}: the server sent byte ${said[1]} where ${from} was requested`, path);
    }
    if (said !== null && said[2] !== "*" && Number(said[2]) !== size)
      throw changedFile(path, `${said[2]} bytes, not ${size}`);
    checkVersion(headers);
  };

  /** Fills `into` with the bytes from `start` on; an interrupted transfer continues where it stopped. */
  const fill = async (into: Uint8Array, start: number): Promise<void> => {
    let done = 0;
    const attempt = async (): Promise<void> => {
      const range = `bytes=${start + done}-${start + into.length - 1}`;
      const answer = await request(url, { headers: { Range: range } }, deps);
      try {
        check(answer.response, start + done);
        for await (const piece of answer.pieces()) {
          if (done + piece.length > into.length) {
            throw badInput(`${path}: the server sent more bytes than requested (${range})`, path);
          }
          into.set(piece, done);
          done += piece.length;
        }
      } finally {
        answer.close();
      }
      if (done < into.length) throw new Passing(`the answer ended ${into.length - done} bytes early`);
    };
    try {
      await repeated(path, deps, attempt, () => done);
    } catch (thrown) {
      throw thrown instanceof LabError ? await explained(thrown, url, deps) : thrown;
    }
  };

  return {
    name: path,
    size,
    read: async (start, end) => {
      checkRange(path, size, start, end);
      const out = new Uint8Array(end - start);
      // Bytes that are already in memory.
      const offset = start - held.start;
      const have = offset < 0 ? 0 : Math.max(0, Math.min(held.bytes.length - offset, out.length));
      if (have > 0) out.set(held.bytes.subarray(offset, offset + have));
      const from = start + have;
      if (from === end) return out;
      if (end - from > ahead) {
        await fill(out.subarray(have), from);
        return out;
      }
      const window = new Uint8Array(Math.min(size, Math.max(end, from + ahead)) - from);
      await fill(window, from);
      held = { start: from, bytes: window };
      out.set(window.subarray(0, end - from), have);
      return out;
    },
  };
}

// A file on a server without range support: one response is read from start to end and stays open between reads. Going
// back means downloading from the start again, so readers should move forward.

/** The open response of a folder. There is at most one, because browsers limit connections per server. */
interface OpenStream {
  close: (() => void) | null;
}

interface Flow {
  readonly answer: Answer;
  readonly pieces: AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Bytes read so far. */
  at: number;
  /** The unread rest of the last piece; starts at `at`. */
  rest: Uint8Array<ArrayBuffer>;
}

/** @param open shared by the files of a folder */
function streamSource(place: RemotePlace, deps: RemoteDeps, open: OpenStream): ByteSource {
  const { path, url, size } = place;
  const checkVersion = sameVersion(place);
  let flow: Flow | null = null;

  const stop = (): void => {
    flow?.answer.close();
    flow = null;
  };
  const begin = async (): Promise<Flow> => {
    open.close?.();
    open.close = stop;
    const answer = await request(url, {}, deps);
    try {
      if (answer.response.status !== 200) throw refused(url, answer.response.status);
      checkVersion(answer.response.headers);
    } catch (thrown) {
      answer.close();
      throw thrown;
    }
    flow = { answer, pieces: answer.pieces(), at: 0, rest: new Uint8Array() };
    return flow;
  };
  /** Advances by the rest of the current piece, at most `most` bytes. */
  const next = async (from: Flow, most: number): Promise<Uint8Array> => {
    if (from.rest.length === 0) {
      const { done, value } = await from.pieces.next();
      if (done === true) throw new Passing(`the answer ended ${size - from.at} bytes early`);
      from.rest = value;
    }
    const taken = from.rest.subarray(0, most);
    from.rest = from.rest.subarray(taken.length);
    from.at += taken.length;
    return taken;
  };

  return {
    name: path,
    size,
    sequential: true,
    read: async (start, end) => {
      checkRange(path, size, start, end);
      const out = new Uint8Array(end - start);
      let done = 0;
      /**
       * Farthest byte that this read's attempts have reached; a file that always stops at the same byte fails in the
       * end.
       */
      let reached = 0;
      const attempt = async (): Promise<void> => {
        try {
          const from = flow !== null && flow.at <= start + done ? flow : await begin();
          while (from.at < start + done) {
            await next(from, start + done - from.at);
            reached = Math.max(reached, from.at);
          }
          while (done < out.length) {
            const piece = await next(from, out.length - done);
            out.set(piece, done);
            done += piece.length;
            reached = Math.max(reached, from.at);
          }
        } catch (thrown) {
          stop();
          throw thrown;
        }
      };
      try {
        if (out.length > 0) await repeated(path, deps, attempt, () => reached);
      } catch (thrown) {
        throw thrown instanceof LabError ? await explained(thrown, url, deps) : thrown;
      }
      // Nothing follows the last byte, so the connection is closed.
      if (end === size) stop();
      return out;
    },
  };
}

/** Samples of a file that identify it, and bytes per sample. */
const PLACES = 32;
const PLACE_BYTES = 1024;

interface RemoteFolder {
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

// Finds out whether the copy of a checkpoint on a server fits into storage, before any of it is downloaded.

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

/** Folders of servers (`folders.ts`), by their listing. */
export const hubFolders: FolderOpener = {
  open: (listing, fetching) => openRemote(listing as RemoteListing, fetching),
};
