/** Opens the archives of a folder as directories: the content of `a/b.tar` has paths `a/b.tar/…`. */

import { crc32 } from "../../engine/bytes/hash.ts";
import { paced } from "../../engine/bytes/pace.ts";
import {
  type ByteFolder,
  type ByteSource,
  checkRange,
  folderOf,
  refusePointer,
  viewOf,
} from "../../engine/bytes/source.ts";
import { storedText } from "../../engine/bytes/text.ts";
import type { MountedFolder } from "../../engine/data/readers/reader.ts";
import type { SkippedRow } from "../../engine/data/sample.ts";
import { ARCHIVE } from "../../engine/data/siblings.ts";
import { badInput, type LabError, LONGEST_SENTENCE, markUnseen, shortened, toLabError } from "../../engine/errors.ts";
import { type DeflatedMember, type Unpacker, unpacker } from "./inflated.ts";
import {
  type Archive,
  isHidden,
  isTooLong,
  kept,
  LONG,
  leftOut,
  MAX_MEMBERS,
  type Member,
  OUTSIDE,
  part,
  readTar,
  safeName,
} from "./tar.ts";

// Zip archives by range: the directory at the end is read first, members on demand.

const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** Maximum bytes of the end record and its comment. */
const MAX_END = 22 + 65535;
/** Maximum bytes of the directory: 256 for each member. */
const MAX_DIRECTORY = 256 * MAX_MEMBERS;
/** Maximum bytes of an unpacked member. */
const MAX_UNPACKED = 2 ** 28;
/** An archive is refused that unpacks to more than this number of bytes and to more than this multiple of its packed ones. */
const MAX_TOTAL = 2 ** 30;
const MAX_RATIO = 100;
/** Work of reading one entry of the directory, in bytes: its name and its member. */
const ENTRY_WORK = 2 ** 11;

/**
 * Opens a zip archive of stored and deflated files. A stored member is read by range. A deflated member is unpacked
 * as far as it is read, up to the size in the directory, and kept. A whole member is checked against its checksum.
 * @param unpack unpacks the members, also those of other archives
 * @throws LabError("bad-input") when there is no directory, or it is truncated or has a wrong position, or when its
 *   members unpack to too much; "cancelled" when the signal is aborted
 */
export async function readZip(zip: ByteSource, signal?: AbortSignal, unpack = unpacker(signal)): Promise<Archive> {
  const bad = (what: string): LabError => badInput(`${zip.name} is a damaged zip archive: ${what}`, zip.name);
  const { start, size, count } = await directoryOf(zip, bad);
  if (size > MAX_DIRECTORY || count > MAX_MEMBERS) {
    const most = `more than ${MAX_MEMBERS} in ${MAX_DIRECTORY}`;
    throw badInput(
      `${zip.name} states ${count} members in a directory of ${size} bytes, ${most}; unpack it and add its folder`,
      zip.name,
    );
  }
  if (start + size > zip.size) throw bad(`its directory would be at bytes ${start} to ${start + size} of ${zip.size}`);
  const bytes = await zip.read(start, start + size);
  const view = viewOf(bytes);
  const pace = paced(`reading ${zip.name}`, signal);
  const found: { readonly name: string; readonly entry: Entry }[] = [];
  const problems: string[] = [];
  let [unsafe, long, locked, other] = [0, 0, 0, 0];
  let at = 0;
  for (let index = 0; index < count; index++) {
    await pace(ENTRY_WORK);
    if (at + 46 > bytes.length || view.getUint32(at, true) !== ENTRY) {
      problems.push(`${bad(`member ${index} of ${count} is missing`).message}; ${kept(found.length)}`);
      break;
    }
    const flags = view.getUint16(at + 8, true);
    const method = view.getUint16(at + 10, true);
    const [nameLength, extraLength] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true)];
    const end = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
    if (end > bytes.length) {
      problems.push(`${bad(`member ${index} of ${count} is cut off`).message}; ${kept(found.length)}`);
      break;
    }
    const name = storedText(bytes.subarray(at + 46, at + 46 + nameLength), UPPER);
    const extra = bytes.subarray(at + 46 + nameLength, at + 46 + nameLength + extraLength);
    const entry = { ...sizes(view, at, extra), method };
    at = end;
    if (name.endsWith("/")) continue;
    const safe = safeName(name);
    if (safe === undefined) unsafe++;
    else if (isTooLong(safe)) long++;
    else if (isHidden(safe)) continue;
    else if ((flags & 1) !== 0) locked++;
    else if (method !== 0 && method !== 8) other++;
    else found.push({ name: safe, entry });
  }
  const overlapping = overlaps(found.map(({ entry }) => entry));
  const apart = found.filter(({ entry }) => !overlapping.has(entry));
  checkTotal(
    apart.map(({ entry }) => entry),
    zip.name,
  );
  const members: Member[] = [];
  for (const { name, entry } of apart) {
    await pace(ENTRY_WORK);
    members.push({ name, source: memberSource(zip, name, entry, unpack) });
  }
  problems.push(
    ...leftOut(zip.name, [
      [unsafe, ...OUTSIDE],
      [long, ...LONG],
      [overlapping.size, "member that shares bytes with another", "members that share bytes with others"],
      [locked, "encrypted member", "encrypted members"],
      [other, "member compressed by a method other than deflate", "members compressed by a method other than deflate"],
    ]),
  );
  return { members, problems };
}

/**
 * Upper half of code page 437, the encoding assumed for names that are not UTF-8; older programs use their system's
 * encoding.
 */
const UPPER =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

interface Entry {
  readonly method: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
  readonly crc: number;
}

/** Sizes and position of a member, from the 64-bit extra field if the short fields are full. */
function sizes(view: DataView, at: number, extra: Uint8Array): Omit<Entry, "method"> {
  const short = [view.getUint32(at + 24, true), view.getUint32(at + 20, true), view.getUint32(at + 42, true)];
  const fields = viewOf(extra);
  for (let place = 0; place + 4 <= extra.length; ) {
    const length = fields.getUint16(place + 2, true);
    if (fields.getUint16(place, true) === 1) {
      let next = place + 4;
      const last = Math.min(extra.length, next + length);
      for (const [index, value] of short.entries()) {
        if (value !== 0xffffffff || next + 8 > last) continue;
        short[index] = Number(fields.getBigUint64(next, true));
        next += 8;
      }
    }
    place += 4 + length;
  }
  const [size, packed, offset] = short as [number, number, number];
  return { size, packed, offset, crc: view.getUint32(at + 16, true) };
}

async function directoryOf(
  zip: ByteSource,
  bad: (what: string) => LabError,
): Promise<{ readonly start: number; readonly size: number; readonly count: number }> {
  const from = Math.max(0, zip.size - MAX_END);
  const tail = await zip.read(from, zip.size);
  const view = viewOf(tail);
  let at = tail.length - 22;
  while (at >= 0 && view.getUint32(at, true) !== END) at--;
  if (at < 0) throw bad("there is no directory at its end; it is cut off");
  const short = {
    count: view.getUint16(at + 10, true),
    size: view.getUint32(at + 12, true),
    start: view.getUint32(at + 16, true),
  };
  const locator = at - 20;
  if (locator < 0 || view.getUint32(locator, true) !== LOCATOR64) return short;
  const place = Number(view.getBigUint64(locator + 8, true));
  if (!(place + 56 <= zip.size)) throw bad("its 64-bit directory is outside the file");
  const long = viewOf(await zip.read(place, place + 56));
  if (long.getUint32(0, true) !== END64) throw bad("its 64-bit directory is missing");
  const [count, size, start] = [32, 40, 48].map((field) => Number(long.getBigUint64(field, true))) as [
    number,
    number,
    number,
  ];
  return { count, size, start };
}

/** Members that share bytes with others: a small archive of such members unpacks to any size. */
function overlaps(entries: readonly Entry[]): ReadonlySet<Entry> {
  const found = new Set<Entry>();
  let last: Entry | undefined;
  for (const entry of entries.toSorted((a, b) => a.offset - b.offset)) {
    if (last !== undefined && entry.offset < endOf(last)) found.add(last).add(entry);
    if (last === undefined || endOf(entry) > endOf(last)) last = entry;
  }
  return found;
}

/** A lower bound: the header in front of the packed bytes has a name and extra fields, too, of unknown length. */
function endOf({ offset, packed }: Entry): number {
  return offset + LOCAL_BYTES + packed;
}

/** @throws LabError when the deflated members unpack to too much */
function checkTotal(entries: readonly Entry[], name: string): void {
  let [size, packed] = [0, 0];
  for (const entry of entries) {
    if (entry.method !== DEFLATED || entry.size > MAX_UNPACKED) continue;
    size += entry.size;
    packed += entry.packed;
  }
  if (size <= MAX_TOTAL || size <= MAX_RATIO * packed) return;
  const times = Math.round(size / Math.max(1, packed));
  throw badInput(
    `${name} unpacks to ${size} bytes, ${times} times its size, and is not opened; unpack it and add its folder`,
    name,
  );
}

const DEFLATED = 8;
/** Bytes of the header in front of a member, without its name. */
const LOCAL_BYTES = 30;

function memberSource(zip: ByteSource, name: string, entry: Entry, unpack: Unpacker): ByteSource {
  const bad = (what: string): LabError => badInput(`${name} in ${zip.name} cannot be read: ${what}`, name);
  const packed = async (): Promise<ByteSource> => {
    if (entry.offset + LOCAL_BYTES > zip.size) throw bad("its position is outside the archive");
    const head = viewOf(await zip.read(entry.offset, entry.offset + LOCAL_BYTES));
    if (head.getUint32(0, true) !== LOCAL) throw bad("there is no header at its position");
    const start = entry.offset + LOCAL_BYTES + head.getUint16(26, true) + head.getUint16(28, true);
    if (start + entry.packed > zip.size) throw bad(`it states ${entry.packed} bytes, more than follow`);
    return part(zip, name, start, entry.packed);
  };
  const { size, crc, method } = entry;
  const member: DeflatedMember = { name, size, crc, packed, bad };
  return {
    name,
    size,
    read: async (start, end) => {
      if (method === DEFLATED) {
        if (size > MAX_UNPACKED)
          throw bad(`it unpacks to ${size} bytes, more than ${MAX_UNPACKED}; unpack the archive`);
        return unpack.read(member, start, end);
      }
      checkRange(name, size, start, end);
      if (entry.packed !== size) throw bad(`it states ${size} bytes but stores ${entry.packed}`);
      const bytes = await (await packed()).read(start, end);
      if (start === 0 && end === size && crc32(bytes) !== crc) {
        throw bad("its checksum differs, so the archive is damaged");
      }
      return bytes;
    },
  };
}

/** Maximum depth of archives inside archives. */
const MAX_DEPTH = 1;
const TOO_MANY = `the archives of the folder hold more than ${MAX_MEMBERS} files; unpack it and add its folder`;
/** Work of a file besides reading it, in bytes. */
const FILE_WORK = 2 ** 10;

/**
 * Opens the tar and zip archives of a folder, recognised by their endings and content, including nested ones. Only
 * headers and directories are read.
 * @throws LabError("cancelled") when the signal is aborted; a damaged archive is a problem, never an error
 */
export async function mountArchives(folder: ByteFolder, signal?: AbortSignal): Promise<MountedFolder> {
  const files = new Map<string, ByteSource>();
  const archives = new Set<string>();
  const problems: SkippedRow[] = [];
  let members = 0;
  const waiting = folder.paths.map((path) => ({ path, source: folder.get(path) as ByteSource, depth: 0 }));
  // An archive inside another one is unpacked while its container is.
  const pace = paced("reading the folder", signal);
  const unpackers = Array.from({ length: MAX_DEPTH + 1 }, () => unpacker(signal));
  // The list grows during the loop: archives inside archives follow.
  for (const { path, source, depth } of waiting) {
    await pace(FILE_WORK);
    files.set(path, source);
    if (!ARCHIVE.test(path) || depth > MAX_DEPTH) continue;
    const problem = (reason: string): void => {
      problems.push({ file: path, row: -1, column: "", reason });
    };
    try {
      await refusePointer(source);
      const kind = await kindOf(source);
      if (kind === undefined) {
        problem(`${path} is neither a tar nor a zip archive, despite its name`);
        continue;
      }
      const found = kind === "zip" ? await readZip(source, signal, unpackers[depth]) : await readTar(source, signal);
      members += found.members.length;
      if (members > MAX_MEMBERS) throw badInput(`${path} is not opened: ${TOO_MANY}`, path);
      archives.add(path);
      for (const reason of found.problems) problem(shortened(reason, LONGEST_SENTENCE));
      // As in unpacking, a later file replaces an earlier one of the same name.
      const inside = new Map<string, ByteSource>();
      for (const { name, source } of found.members) {
        await pace(FILE_WORK);
        const inner = markUnseen(`${path}/${name}`);
        inside.set(inner, { ...source, name: inner });
      }
      const replaced = found.members.length - inside.size;
      if (replaced > 0) {
        const [are, names] = replaced === 1 ? ["1 member is", "its name"] : [`${replaced} members are`, "their names"];
        problem(`${path}: ${are} left out, because later members have ${names}`);
      }
      for (const [inner, source] of inside) waiting.push({ path: inner, source, depth: depth + 1 });
    } catch (thrown) {
      const error = toLabError(thrown);
      if (error.code === "cancelled") throw error;
      problem(error.message);
    }
  }
  return { folder: archives.size === 0 ? folder : folderOf(files), archives, problems };
}

async function kindOf(source: ByteSource): Promise<"tar" | "zip" | undefined> {
  const head = await source.read(0, Math.min(512, source.size));
  const [a, b] = head;
  if (a === 0x50 && b === 0x4b) return "zip";
  // Old tar files have no magic number; `readTar` verifies their checksum.
  const empty = head.length === 512 && head.every((byte) => byte === 0);
  const ustar = String.fromCharCode(...head.subarray(257, 262)) === "ustar";
  if (empty && source.size > 0) throw badInput(`${source.name} is an empty tar archive`);
  return ustar || (head.length === 512 && /^[0-7 \0]{8}$/.test(String.fromCharCode(...head.subarray(148, 156))))
    ? "tar"
    : undefined;
}
