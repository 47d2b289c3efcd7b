import { Lru, remember } from "../../bytes/collections.ts";
import { toHex } from "../../bytes/hash.ts";
import { joinBytes, viewOf } from "../../bytes/source.ts";
import { badInput, quote } from "../../errors.ts";
import type { FindFile } from "../siblings.ts";
import { isBinaryCell } from "../tables/table.ts";
import { type ImageHeader, isCutOff, type PictureBytes, readImageHeader } from "./image-header.ts";

// Encoded pictures in every supported form of a cell.

/**
 * The encoded picture in a cell: a struct of bytes and path, plain bytes, a list of byte values, base64 text with or
 * without a `data:` prefix, or the path of a file next to the shard.
 * @throws LabError("bad-input") if the cell contains none of these
 */
export function pictureBytes(cell: unknown, find: FindFile, what = "picture"): PictureBytes {
  if (cell === null || cell === undefined) throw badInput(`the ${what} is null`);
  if (isBinaryCell(cell)) return cell;
  if (Array.isArray(cell)) return fromNumbers(cell as unknown[], what);
  if (typeof cell === "string") return fromText(cell, find, what);
  if (typeof cell === "object") {
    const { bytes, path } = cell as { bytes?: unknown; path?: unknown };
    if (bytes !== null && bytes !== undefined) return pictureBytes(bytes, find, what);
    if (typeof path === "string" && path !== "") return fromText(path, find, what);
  }
  throw badInput(`the ${what} has neither bytes nor a path`);
}

/** Whether a text is an encoded picture and not a path: base64 with the first bytes of a known format. */
export function isBase64Picture(text: string): boolean {
  return /^data:[^,]{0,100}?base64,/.test(text) || BASE64_PICTURE.test(text.slice(0, 64));
}

/** Base64 of the first bytes of JPEG, PNG, GIF, WebP (RIFF), BMP. */
const BASE64_PICTURE = /^(\/9j\/|iVBORw0KGgo|R0lGOD|UklGR|Qk[0-3])[A-Za-z0-9+/\s]*={0,2}$/;

/** First bytes of JPEG and PNG in a pickle, whose bytes are read as text of one character each. */
const PICTURE_IN_PICKLE = /^(?:\u00ff\u00d8\u00ff|\u0089PNG)/;

/** The path in a cell of a picture that is a file next to the shard. */
export function pathIn(cell: unknown): string | undefined {
  if (typeof cell === "string") return isBase64Picture(cell) || PICTURE_IN_PICKLE.test(cell) ? undefined : cell;
  if (typeof cell !== "object" || cell === null || isBinaryCell(cell)) return undefined;
  const { bytes, path } = cell as { bytes?: unknown; path?: unknown };
  return pathIn(bytes ?? path);
}

function fromText(text: string, find: FindFile, what: string): PictureBytes {
  if (isBase64Picture(text)) return fromBase64(text.replace(/^data:[^,]{0,100}?base64,/, ""), what);
  if (PICTURE_IN_PICKLE.test(text)) return inMemory(Uint8Array.from(text, (char) => char.charCodeAt(0)));
  const file = find(text);
  if (file !== undefined) return { length: file.size, read: (start, end) => file.read(start, end) };
  throw badInput(`the ${what} is not in the shard, only its path ${quote(text, 80)}, and that file does not exist`);
}

function fromBase64(text: string, what: string): PictureBytes {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    throw badInput(`the ${what}'s base64 text is damaged`, undefined, cause);
  }
  return inMemory(Uint8Array.from(binary, (char) => char.charCodeAt(0)));
}

function fromNumbers(values: readonly unknown[], what: string): PictureBytes {
  const bytes = new Uint8Array(values.length);
  for (const [at, value] of values.entries()) {
    const number = typeof value === "bigint" ? Number(value) : value;
    if (typeof number !== "number" || !Number.isInteger(number) || number < -128 || number > 255) {
      throw badInput(`the ${what} is a list whose item ${at} is ${quote(value)}, not a byte`);
    }
    bytes[at] = number;
  }
  return inMemory(bytes);
}

function inMemory(bytes: Uint8Array): PictureBytes {
  return { length: bytes.length, read: async (start, end) => bytes.slice(start, end) };
}

/** Bytes at the head, middle and end of a picture that determine its id. */
const SAMPLE = 4096;
const MIN_SIDE = 10;

/** A row's picture, described by its header, without pixels. */
export interface PictureProbe extends ImageHeader {
  readonly imageId: string;
}

/**
 * Reads a picture's header and computes its id. `imageId` is the SHA-256 (first 16 hexadecimal digits) of its length and
 * its first, middle and last 4 KiB (all bytes of a BMP). Pictures with the same id are treated as equal; an index over
 * gigabytes of pictures reads a few megabytes.
 * @throws LabError("bad-input") when it cannot be decoded, is truncated, or has a side under 10 pixels
 */
export async function probePicture(picture: PictureBytes): Promise<PictureProbe> {
  const { length } = picture;
  const small = length <= 3 * SAMPLE;
  const head = await picture.read(0, small ? length : SAMPLE);
  // The header parser reads the head again; it is cached here.
  const header = await readImageHeader({
    length,
    read: async (start, end) => (end <= head.length ? head.subarray(start, end) : picture.read(start, end)),
  });
  const parts = await samples(picture, header.mime, head);
  const tail = parts.at(-1) as Uint8Array;
  // Phones append a video to a motion photo.
  if (isCutOff(header.mime, tail.subarray(-SAMPLE)) && isCutOff(header.mime, await fromFrame(picture, header))) {
    throw badInput(`the ${header.mime} picture has no end marker; it is cut off after ${length} bytes`);
  }
  if (Math.min(header.width, header.height) < MIN_SIDE) {
    throw badInput(`the picture is only ${header.width} x ${header.height} pixels, under ${MIN_SIDE}`);
  }
  return { ...header, imageId: await nameOf(length, parts) };
}

/**
 * The bytes of a picture; for a JPEG those from its frame header on, because a preview before it also has an end
 * marker.
 */
async function fromFrame(picture: PictureBytes, { mime, width, height }: ImageHeader): Promise<Uint8Array> {
  const bytes = await picture.read(0, picture.length);
  if (mime !== "image/jpeg") return bytes;
  const size = [height >> 8, height & 255, width >> 8, width & 255];
  const isFrame = (byte: number, at: number): boolean =>
    byte === 0xff && ((bytes[at + 1] as number) & 0xfc) === 0xc0 && size.every((one, n) => bytes[at + 5 + n] === one);
  return bytes.subarray(bytes.findIndex(isFrame));
}

/** The id that `probePicture` gives to any bytes except a BMP's. */
export async function pictureId(bytes: PictureBytes): Promise<string> {
  const { length } = bytes;
  const head = await bytes.read(0, length <= 3 * SAMPLE ? length : SAMPLE);
  return await nameOf(length, await samples(bytes, "image/png", head));
}

/**
 * The bytes that determine a picture's id. For a BMP all bytes count: it is not compressed, so a local change affects
 * few bytes.
 */
async function samples(picture: PictureBytes, mime: ImageHeader["mime"], head: Uint8Array): Promise<Uint8Array[]> {
  const { length } = picture;
  if (length === head.length) return [head];
  if (mime === "image/bmp") return [await picture.read(0, length)];
  const middle = (length - SAMPLE) >> 1;
  return [head, await picture.read(middle, middle + SAMPLE), await picture.read(length - SAMPLE, length)];
}

async function nameOf(length: number, parts: readonly Uint8Array[]): Promise<string> {
  const head = new Uint8Array(8);
  viewOf(head).setFloat64(0, length, true);
  const text = joinBytes([head, ...parts]);
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", text)).subarray(0, 8));
}

/** Number of cached pictures by path; rows with the same picture are often far apart. */
const MOST_PATHS = 2 ** 15;

/**
 * Probes the pictures in cells; a file next to the shard is read once, however many rows name it.
 * @param find finds such files
 */
export function pictureProbes(find: FindFile): (cell: unknown) => Promise<PictureProbe> {
  const known = new Lru<string, Promise<PictureProbe>>(MOST_PATHS);
  return (cell) => {
    const probe = (): Promise<PictureProbe> => probePicture(pictureBytes(cell, find));
    // Not cached, because an unreadable file may become readable.
    return typeof cell !== "string" || cell.length > LONGEST_PATH ? probe() : remember(known, cell, probe);
  };
}

/** Longer texts are pictures, not paths. */
const LONGEST_PATH = 512;
