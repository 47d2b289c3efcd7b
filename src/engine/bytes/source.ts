import { badInput, LabError } from "../errors.ts";

/**
 * Random access to bytes of any origin: a dropped File, a URL, a Node file, an array. Parsers use only this interface.
 */
export interface ByteSource {
  /** Base name or relative path, for messages ("part1/data-00000-of-00003.arrow"). */
  readonly name: string;
  /** Total bytes. */
  readonly size: number;
  /** Identifies the content without reading it, such as a server's entity tag, if available. */
  readonly identity?: string;
  /** Reading backwards begins a new transfer from the start. */
  readonly sequential?: true;
  /** Bytes [start, end); throws LabError("bad-input") when the range is outside the source. */
  read(start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A folder as a flat group of sources. */
export interface ByteFolder {
  /** Paths relative to the folder, "/" separated, sorted. */
  readonly paths: readonly string[];
  /** The source at a path, or undefined. */
  get(path: string): ByteSource | undefined;
}

/** The directory of a path with its slash; empty at the top. */
export function directoryOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** @throws LabError("bad-input") unless 0 <= start <= end <= size, all whole numbers */
export function checkRange(name: string, size: number, start: number, end: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || end < start || end > size) {
    throw badInput(`${name} has ${size} bytes; the range ${start} to ${end} is outside it`, name);
  }
}

/** Bytes in memory as a source; reads are copies. */
export function memorySource(name: string, bytes: Uint8Array): ByteSource {
  return {
    name,
    size: bytes.length,
    read: async (start, end) => {
      checkRange(name, bytes.length, start, end);
      // Always a copy: slicing a Node buffer would return a view.
      return new Uint8Array(bytes.subarray(start, end));
    },
  };
}

/** The bytes of a source from start to end, in pieces of 4 MiB. */
export async function* piecesOf(source: ByteSource): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const piece = 4 * 2 ** 20;
  for (let at = 0; at < source.size; at += piece) yield await source.read(at, Math.min(source.size, at + piece));
}

/** A Blob or File as a source; each read fetches only its range. */
export function blobSource(name: string, blob: Blob): ByteSource {
  return {
    name,
    size: blob.size,
    read: async (start, end) => {
      checkRange(name, blob.size, start, end);
      try {
        return new Uint8Array(await blob.slice(start, end).arrayBuffer());
      } catch (thrown) {
        const cause = thrown instanceof Error ? thrown.message : String(thrown);
        throw new LabError("storage", `${name} could not be read (${cause}); the file may have changed or moved`, {
          subject: name,
          cause: thrown,
        });
      }
    },
  };
}

/** A folder of sources, by path. A string is stored as UTF-8. */
export function folderOf(files: ReadonlyMap<string, ByteSource>): ByteFolder {
  const paths = [...files.keys()].sort((a, b) => (a < b ? -1 : 1));
  return { paths, get: (path) => files.get(path) };
}

/** A folder of files in memory, for tests, tools and built-in data. */
export function memoryFolder(files: Readonly<Record<string, Uint8Array | string>>): ByteFolder {
  const encoder = new TextEncoder();
  return folderOf(
    new Map(
      Object.entries(files).map(([path, content]) => {
        const bytes = typeof content === "string" ? encoder.encode(content) : content;
        return [path, memorySource(path, bytes)];
      }),
    ),
  );
}

/** The part of a folder below a path, with paths relative to it. */
export function subFolder(folder: ByteFolder, prefix: string): ByteFolder {
  const start = prefix === "" || prefix.endsWith("/") ? prefix : `${prefix}/`;
  return {
    paths: folder.paths.filter((path) => path.startsWith(start)).map((path) => path.slice(start.length)),
    get: (path) => folder.get(start + path),
  };
}

/** The bytes of all parts, one after another. */
export function joinBytes(parts: readonly ArrayBufferView[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of parts) {
    whole.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return whole;
}

/** DataView over bytes, at any offset in their buffer. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Bytes per window, and number of windows kept. */
const WINDOW = 2 ** 20;
const KEPT = 24;
/** A read that starts this close behind the previous one counts as its continuation. */
const NEAR = 2 ** 16;

/**
 * The same source, read in windows of 1 MiB if reads follow one another or the kept windows can hold all of it.
 * Scattered reads of a larger source, and ranges longer than a window, pass through unchanged.
 */
export function windowed(source: ByteSource): ByteSource {
  const windows = new Map<number, Promise<Uint8Array<ArrayBuffer>>>();
  let last = 0;
  const windowAt = (start: number): Promise<Uint8Array<ArrayBuffer>> => {
    const bytes = windows.get(start) ?? source.read(start, Math.min(source.size, start + WINDOW));
    // Re-inserting makes the map a queue from least to most recently used.
    windows.delete(start);
    windows.set(start, bytes);
    if (windows.size > KEPT) windows.delete(windows.keys().next().value as number);
    // A failed read is tried again.
    bytes.catch(() => windows.delete(start));
    return bytes;
  };
  return {
    ...source,
    read: async (start, end) => {
      const inside = start >= 0 && start < end && end <= source.size && end - start <= WINDOW;
      const follows = start >= last && start - last <= NEAR;
      if (inside) last = end;
      const first = start - (start % WINDOW);
      if (!inside || !(follows || windows.has(first) || source.size <= KEPT * WINDOW)) return source.read(start, end);
      const head = await windowAt(first);
      if (end <= first + WINDOW) return head.slice(start - first, end - first);
      const tail = await windowAt(first + WINDOW);
      const bytes = new Uint8Array(end - start);
      bytes.set(head.subarray(start - first), 0);
      bytes.set(tail.subarray(0, end - first - WINDOW), first + WINDOW - start);
      return bytes;
    },
  };
}

// Pointers of Git LFS: text files that a clone without Git LFS leaves in place of the real files.

const START = "version https://git-lfs";

/** The end of a sentence about such a file. */
export const IS_POINTER =
  "is a Git LFS pointer, not the file itself; fetch the real file with `git lfs pull` and add it again";

/** Whether a file with these first bytes, or this text, is a pointer. */
export function isPointer(head: Uint8Array | string): boolean {
  if (typeof head === "string") return head.startsWith(START);
  return [...START].every((char, at) => head[at] === char.charCodeAt(0));
}

/** @throws LabError("bad-input") when the file is a pointer */
export async function refusePointer(source: ByteSource): Promise<void> {
  const head = await source.read(0, Math.min(START.length, source.size));
  if (isPointer(head)) throw badInput(`${source.name} ${IS_POINTER}`, source.name);
}
