import { badInput, LabError } from "../errors.ts";
import type { ByteFolder, ByteSource } from "./source.ts";

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
