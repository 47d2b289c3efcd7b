/** Tar archives by range: headers are read first, contents on demand. */

import { type Pace, paced } from "../../engine/bytes/pace.ts";
import { type ByteSource, checkRange, windowed } from "../../engine/bytes/source.ts";
import { storedText } from "../../engine/bytes/text.ts";
import { badInput, LabError } from "../../engine/errors.ts";

// Common parts of archives: members with safe names, and a sentence if the archive is damaged.

/** A file inside an archive. */
export interface Member {
  /** "/" separated, never absolute and never outside the archive. */
  readonly name: string;
  readonly source: ByteSource;
}

/** The files of an archive. */
export interface Archive {
  readonly members: readonly Member[];
  /** One sentence per member that was skipped or damaged. */
  readonly problems: readonly string[];
}

/** Maximum members of the archives of a folder, each of which takes two kilobytes of memory while the folder is open. */
export const MAX_MEMBERS = 2 ** 18;

/** Maximum characters and folders of a member's name; operating systems allow few more. */
const MAX_NAME = 1024;
const MAX_FOLDERS = 64;

/** Whether a safe name is longer than any file's. */
export function isTooLong(name: string): boolean {
  return name.length > MAX_NAME || name.split("/").length > MAX_FOLDERS;
}

/** A member's name without "./" and doubled slashes; undefined for one that is absolute or leads outside. */
export function safeName(name: string): string | undefined {
  const parts = name.replaceAll("\\", "/").split("/");
  if (parts[0] === "" || /^[a-z]:$/i.test(parts[0] ?? "") || parts.includes("..")) return undefined;
  const clean = parts.filter((part) => part !== "" && part !== ".").join("/");
  return clean === "" || clean.includes("\0") ? undefined : clean;
}

/** Whether the operating system created the file, such as `.DS_Store`. */
export function isHidden(name: string): boolean {
  return name.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");
}

/** End of a sentence about damage in an archive. @param count files before the damage */
export function kept(count: number): string {
  if (count === 0) return "no file before it";
  return count === 1 ? "the file before it is kept" : `the ${count} files before it are kept`;
}

/** Problems that name what an archive has and is left out: a count, its noun for one, and its noun for several. */
export function leftOut(
  archive: string,
  kinds: readonly (readonly [count: number, one: string, many: string])[],
): string[] {
  return kinds.flatMap(([count, one, many]) => {
    if (count === 0) return [];
    return [`${archive} has ${count} ${count === 1 ? `${one}; it is` : `${many}; they are`} left out`];
  });
}

/** Kinds of `leftOut` that every archive may have. */
export const OUTSIDE = ["name that leads out of the archive", "names that lead out of the archive"] as const;
export const LONG = [
  `name longer than ${MAX_NAME} characters or ${MAX_FOLDERS} folders`,
  `names longer than ${MAX_NAME} characters or ${MAX_FOLDERS} folders`,
] as const;

const BLOCK = 512;
/** Work of reading one header, in bytes: its checksum and its member. */
const HEADER_WORK = 2 ** 13;
/** Maximum bytes of a name or PAX header. */
const MAX_HEADER_BODY = 2 ** 20;

/** A member of any type as its header describes it, for tests and comparisons. */
interface TarEntry {
  readonly name: string;
  readonly type: "file" | "directory" | "other";
  /** Offset of the content. */
  readonly offset: number;
  readonly size: number;
}

/**
 * All entries of a tar archive in order: ustar with prefixes, GNU long names and sizes, PAX paths and sizes. An archive
 * without its two final empty blocks counts as complete.
 * @throws LabError("bad-input") for a damaged header or truncated content; "cancelled" when the signal is aborted
 */
export async function tarEntries(tar: ByteSource, signal?: AbortSignal): Promise<TarEntry[]> {
  const entries: TarEntry[] = [];
  for await (const entry of walk(tar, signal)) entries.push(entry);
  return entries;
}

/**
 * Files of a tar archive. If it is damaged, the files after the damage are lost and a problem is reported. @throws
 * LabError("cancelled")
 */
export async function readTar(tar: ByteSource, signal?: AbortSignal): Promise<Archive> {
  const members: Member[] = [];
  const problems: string[] = [];
  let [unsafe, long, other] = [0, 0, 0];
  try {
    for await (const { name, type, offset, size } of walk(tar, signal)) {
      // The first member of many archives is ".", the packed directory.
      if (type === "directory") continue;
      const safe = safeName(name);
      if (safe === undefined) unsafe++;
      else if (isTooLong(safe)) long++;
      else if (isHidden(safe)) continue;
      else if (type === "other") other++;
      else members.push({ name: safe, source: part(tar, safe, offset, size) });
    }
  } catch (thrown) {
    if (!(thrown instanceof LabError) || thrown.code === "cancelled") throw thrown;
    problems.push(`${thrown.message}; ${kept(members.length)}`);
  }
  problems.push(
    ...leftOut(tar.name, [
      [unsafe, ...OUTSIDE],
      [long, ...LONG],
      [other, "link, device or sparse file", "links, devices or sparse files"],
    ]),
  );
  return { members, problems };
}

/** A range of a source as a separate source. */
export function part(whole: ByteSource, name: string, start: number, size: number): ByteSource {
  return {
    name,
    size,
    read: async (from, to) => {
      checkRange(name, size, from, to);
      return whole.read(start + from, start + to);
    },
  };
}

async function* walk(tar: ByteSource, signal?: AbortSignal): AsyncGenerator<TarEntry> {
  const source = windowed(tar);
  const pace = paced(`reading ${tar.name}`, signal);
  const bad = (what: string): LabError => badInput(`${tar.name} is a damaged tar archive: ${what}`, tar.name);
  let global: Pax = {};
  let own: Pax = {};
  let longName: string | undefined;
  let count = 0;
  let at = 0;
  while (at + BLOCK <= tar.size) {
    await pace(HEADER_WORK);
    const header = await source.read(at, at + BLOCK);
    if (header.every((byte) => byte === 0)) return;
    checkSum(header, at, bad);
    if (++count > MAX_MEMBERS)
      throw badInput(`${tar.name} has more than ${MAX_MEMBERS} members; unpack it and add its folder`, tar.name);
    const type = String.fromCharCode(header[156] as number);
    const offset = at + BLOCK;
    const stated = type === "L" || type === "x" || type === "g" || type === "K" ? undefined : (own.size ?? global.size);
    const size = stated ?? numberAt(header, 124, 12);
    if (size === undefined) throw bad(`the size at byte ${at + 124} is not a number`);
    if (offset + size > tar.size) {
      throw bad(`the member at byte ${at} states ${size} bytes, but only ${tar.size - offset} follow`);
    }
    const extensions = type === "S" ? await sparseBlocks(source, header, offset, pace) : 0;
    at = offset + (extensions + Math.ceil(size / BLOCK)) * BLOCK;
    if (type === "L" || type === "x" || type === "g") {
      if (size > MAX_HEADER_BODY) throw bad(`it has a name of ${size} bytes`);
      const body = await source.read(offset, offset + size);
      if (type === "L") longName = storedText(body.subarray(0, endOf(body)));
      else if (type === "x") own = readPax(body);
      else global = { ...global, ...readPax(body) };
      continue;
    }
    // Long names of link targets.
    if (type === "K") continue;
    const sparse = own.sparse === true;
    const name = longName ?? own.path ?? global.path ?? nameOf(header);
    [own, longName] = [{}, undefined];
    const plainFile = (type === "0" || type === "\0" || type === "7") && !sparse;
    const kind = plainFile ? "file" : type === "5" ? "directory" : "other";
    const plain = kind === "file" && name.endsWith("/") ? "directory" : kind;
    yield { name: plain === "directory" ? name.replace(/\/+$/, "") : name, type: plain, offset, size };
  }
  if (at < tar.size) throw bad("it ends inside a header");
  if (count === 0) throw bad("it does not begin with a header");
}

interface Pax {
  readonly path?: string;
  readonly size?: number;
  /** The content is a map of the file's parts and the parts, without the gaps between them. */
  readonly sparse?: true;
}

/** Blocks after the header of a GNU sparse file that continue its map; its size does not count them. */
async function sparseBlocks(source: ByteSource, header: Uint8Array, offset: number, pace: Pace): Promise<number> {
  let more = header[482] !== 0;
  let count = 0;
  for (; more && offset + (count + 1) * BLOCK <= source.size; count++) {
    await pace(BLOCK);
    const block = await source.read(offset + count * BLOCK, offset + (count + 1) * BLOCK);
    more = block[504] !== 0;
  }
  return count;
}

/** Reads path and size from the records "LENGTH KEY=VALUE\n". */
function readPax(body: Uint8Array): Pax {
  let found: Pax = {};
  for (let at = 0; at < body.length; ) {
    const space = body.indexOf(0x20, at);
    const length = space < 0 ? Number.NaN : Number(storedText(body.subarray(at, space)));
    if (!(length > space - at) || at + length > body.length) break;
    const [key = "", ...rest] = storedText(body.subarray(space + 1, at + length - 1)).split("=");
    const value = rest.join("=");
    if (key.startsWith("GNU.sparse.")) found = { ...found, sparse: true };
    if (key === "path") found = { ...found, path: value };
    if (key === "size" && /^\d{1,15}$/.test(value)) found = { ...found, size: Number(value) };
    at += length;
  }
  return found;
}

/** Name with its prefix; GNU headers have none. */
function nameOf(header: Uint8Array): string {
  const name = field(header, 0, 100);
  const ustar = storedText(header.subarray(257, 263)) === "ustar\0";
  const prefix = ustar ? field(header, 345, 155) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

function field(header: Uint8Array, start: number, length: number): string {
  const bytes = header.subarray(start, start + length);
  return storedText(bytes.subarray(0, endOf(bytes)));
}

function endOf(bytes: Uint8Array): number {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes.length : end;
}

/** Octal digits, or a base-256 number if the first bit is set; undefined for anything else. */
function numberAt(header: Uint8Array, start: number, length: number): number | undefined {
  const bytes = header.subarray(start, start + length);
  if (((bytes[0] as number) & 0x80) !== 0) {
    let value = (bytes[0] as number) & 0x7f;
    for (const byte of bytes.subarray(1)) value = value * 256 + byte;
    return Number.isSafeInteger(value) ? value : undefined;
  }
  const text = storedText(bytes).replaceAll("\0", " ").trim();
  return /^[0-7]*$/.test(text) ? Number.parseInt(text === "" ? "0" : text, 8) : undefined;
}

/** The checksum treats its own field as blanks; old writers added signed bytes. */
function checkSum(header: Uint8Array, at: number, bad: (what: string) => LabError): void {
  let [sum, signed] = [0, 0];
  for (const [index, byte] of header.entries()) {
    const value = index >= 148 && index < 156 ? 32 : byte;
    sum += value;
    signed += value > 127 ? value - 256 : value;
  }
  const stated = numberAt(header, 148, 8);
  if (stated === sum || stated === signed) return;
  const wrong = stated === undefined ? "its checksum is not a number" : `its checksum is ${stated}, not ${sum}`;
  throw bad(`there is no header at byte ${at}: ${wrong}`);
}
