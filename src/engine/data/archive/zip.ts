/** Zip archives by range: the directory at the end is read first, members on demand. */
import { Inflate } from "fflate";
import { crc32 } from "../../bytes/crc.ts";
import { checkRange, memorySource, viewOf } from "../../bytes/memory.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { storedText } from "../../bytes/text.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { type Archive, isHidden, MAX_MEMBERS, type Member, safeName } from "./members.ts";
import { part } from "./tar.ts";

const END = 0x06054b50;
const END64 = 0x06064b50;
const LOCATOR64 = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
/** Maximum bytes of the end record and its comment. */
const MAX_END = 22 + 65535;
/** Maximum bytes of the directory, enough for about two million members. */
const MAX_DIRECTORY = 2 ** 28;
/** Maximum bytes of an unpacked member, and of the cache of unpacked members. */
const MAX_UNPACKED = 2 ** 28;
const KEPT = 2 ** 25;
/** Packed bytes passed to the unpacker at a time. */
const PIECE = 2 ** 16;

/**
 * Opens a zip archive of stored and deflated files. A stored member is read by range. A deflated member is unpacked
 * whole, up to the size in the directory, and cached. A whole member is checked against its checksum.
 * @throws LabError("bad-input") when there is no directory, or it is truncated or has a wrong position
 */
export async function readZip(zip: ByteSource): Promise<Archive> {
  const bad = (what: string): LabError => badInput(`${zip.name} is a damaged zip archive: ${what}`, zip.name);
  const { start, size, count } = await directoryOf(zip, bad);
  if (size > MAX_DIRECTORY || count > MAX_MEMBERS) throw bad(`its directory states ${count} members in ${size} bytes`);
  if (start + size > zip.size) throw bad(`its directory would be at bytes ${start} to ${start + size} of ${zip.size}`);
  const bytes = await zip.read(start, start + size);
  const view = viewOf(bytes);
  const keep = unpackedCache();
  const members: Member[] = [];
  const problems: string[] = [];
  let [unsafe, locked, other] = [0, 0, 0];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + 46 > bytes.length || view.getUint32(at, true) !== ENTRY) {
      problems.push(
        `${bad(`member ${index} of ${count} is missing`).message}; the ${members.length} before it are kept`,
      );
      break;
    }
    const flags = view.getUint16(at + 8, true);
    const method = view.getUint16(at + 10, true);
    const [nameLength, extraLength] = [view.getUint16(at + 28, true), view.getUint16(at + 30, true)];
    const end = at + 46 + nameLength + extraLength + view.getUint16(at + 32, true);
    if (end > bytes.length) {
      problems.push(
        `${bad(`member ${index} of ${count} is cut off`).message}; the ${members.length} before it are kept`,
      );
      break;
    }
    const name = storedText(bytes.subarray(at + 46, at + 46 + nameLength), UPPER);
    const extra = bytes.subarray(at + 46 + nameLength, at + 46 + nameLength + extraLength);
    const entry = sizes(view, at, extra);
    at = end;
    if (name.endsWith("/")) continue;
    const safe = safeName(name);
    if (safe === undefined) unsafe++;
    else if (isHidden(safe)) continue;
    else if ((flags & 1) !== 0) locked++;
    else if (method !== 0 && method !== 8) other++;
    else members.push({ name: safe, source: memberSource(zip, safe, { ...entry, method }, keep) });
  }
  const left: readonly (readonly [number, string])[] = [
    [unsafe, "names that lead out of the archive"],
    [locked, "encrypted members"],
    [other, "members compressed by a method other than deflate"],
  ];
  for (const [n, what] of left) if (n > 0) problems.push(`${zip.name} has ${n} ${what}; they are left out`);
  return { members, problems };
}

/**
 * Upper half of code page 437, the encoding assumed for names that are not UTF-8; older programs use their system's
 * encoding.
 */
const UPPER =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";

interface Entry {
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
  readonly crc: number;
}

/** Sizes and position of a member, from the 64-bit extra field if the short fields are full. */
function sizes(view: DataView, at: number, extra: Uint8Array): Entry {
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

type Keep = (key: ByteSource, unpack: () => Promise<Uint8Array>) => Promise<Uint8Array>;

function memberSource(
  zip: ByteSource,
  name: string,
  entry: Entry & { readonly method: number },
  keep: Keep,
): ByteSource {
  const bad = (what: string): LabError => badInput(`${name} in ${zip.name} cannot be read: ${what}`, name);
  const body = async (): Promise<ByteSource> => {
    if (entry.offset + 30 > zip.size) throw bad("its position is outside the archive");
    const head = viewOf(await zip.read(entry.offset, entry.offset + 30));
    if (head.getUint32(0, true) !== LOCAL) throw bad("there is no header at its position");
    const start = entry.offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
    if (start + entry.packed > zip.size) throw bad(`it states ${entry.packed} bytes, more than follow`);
    return part(zip, name, start, entry.packed);
  };
  const { size } = entry;
  const checked = <B extends Uint8Array>(bytes: B): B => {
    if (crc32(bytes) !== entry.crc) throw bad("its checksum differs, so the archive is damaged");
    return bytes;
  };
  const source: ByteSource = {
    name,
    size,
    read: async (start, end) => {
      checkRange(name, size, start, end);
      if (entry.method === 0) {
        if (entry.packed !== size) throw bad(`it states ${size} bytes but stores ${entry.packed}`);
        const bytes = await (await body()).read(start, end);
        return start === 0 && end === size ? checked(bytes) : bytes;
      }
      if (size > MAX_UNPACKED) throw bad(`it unpacks to ${size} bytes, more than ${MAX_UNPACKED}; unpack the archive`);
      const bytes = await keep(source, async () => checked(await unpack(await body(), size, bad)));
      return memorySource(name, bytes).read(start, end);
    },
  };
  return source;
}

/** Inflates a source; stops as soon as the result exceeds the stated size. */
async function unpack(packed: ByteSource, size: number, bad: (what: string) => LabError): Promise<Uint8Array> {
  // The declared size is allocated only once that many bytes have arrived.
  let bytes = new Uint8Array(Math.min(size, 2 ** 20));
  let filled = 0;
  const inflate = new Inflate((chunk) => {
    if (filled + chunk.length > size) throw bad(`it unpacks to more than the ${size} bytes it states`);
    if (filled + chunk.length > bytes.length) {
      const larger = new Uint8Array(Math.min(size, Math.max(2 * bytes.length, filled + chunk.length)));
      larger.set(bytes.subarray(0, filled));
      bytes = larger;
    }
    bytes.set(chunk, filled);
    filled += chunk.length;
  });
  for (let at = 0; at < packed.size; at += PIECE) {
    const end = Math.min(packed.size, at + PIECE);
    const piece = await packed.read(at, end);
    try {
      inflate.push(piece, end === packed.size);
    } catch (thrown) {
      throw thrown instanceof LabError ? thrown : bad(thrownText(thrown));
    }
  }
  if (filled !== size) throw bad(`it unpacks to ${filled} of ${size} bytes`);
  return bytes;
}

/** The most recently unpacked members, within KEPT bytes. */
function unpackedCache(): Keep {
  const kept = new Map<ByteSource, Promise<Uint8Array>>();
  return async (key, make) => {
    const bytes = kept.get(key) ?? make();
    kept.delete(key);
    kept.set(key, bytes);
    bytes.catch(() => kept.delete(key));
    let total = 0;
    for (const one of kept.keys()) total += one.size;
    for (const oldest of kept.keys()) {
      if (total <= KEPT || oldest === key) break;
      kept.delete(oldest);
      total -= oldest.size;
    }
    return bytes;
  };
}
