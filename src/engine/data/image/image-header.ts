import { crc32 } from "../../bytes/hash.ts";
import { IS_POINTER, isPointer, viewOf } from "../../bytes/source.ts";
import { badInput } from "../../errors.ts";
import { MAX_MASK_PIXELS } from "../mask/rle.ts";
import type { EncodedImage } from "../sample.ts";

/** Allowed bits per channel by colour type: grey, colour, palette, grey with alpha, colour with alpha. */
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const IHDR = 0x49484452;

/** Whether bytes begin with the PNG signature. */
export function isPngHead(head: Uint8Array): boolean {
  return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a].every((byte, at) => head[at] === byte);
}

/**
 * The problem of a PNG's header chunk, as the rest of a sentence; undefined if it is valid.
 * @param head at least the first 33 bytes of the file
 */
export function pngProblem(head: Uint8Array): string | undefined {
  const view = viewOf(head);
  if (view.getUint32(8) !== 13 || view.getUint32(12) !== IHDR) return "does not begin with its size";
  const [depth, colour, compression, filter, interlace] = head.subarray(24, 29);
  if (DEPTHS[colour as number]?.includes(depth as number) !== true) {
    return `declares ${depth} bits of colour type ${colour}, which PNG does not allow`;
  }
  if (compression !== 0 || filter !== 0 || (interlace as number) > 1)
    return "declares a method that PNG does not allow";
  if (view.getUint32(29) !== crc32(head.subarray(12, 29))) return "is damaged: its checksum does not match";
  return undefined;
}

/** Unpacked bytes of a PNG's pixels with filters; an upper bound for interlaced pictures. */
export function pngBytes(head: Uint8Array): number {
  const view = viewOf(head);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const bits = (CHANNELS[view.getUint8(25)] ?? 4) * view.getUint8(24);
  // Each row of the seven passes of an interlaced picture starts at a byte and has a filter.
  const parts = view.getUint8(28) === 0 ? 0 : 2 * (height + 7) + 64;
  return height * (1 + Math.ceil((width * bits) / 8)) + 2 * parts;
}

/** Random access to an encoded picture, for reading only its header. */
export interface PictureBytes {
  readonly length: number;
  read(start: number, end: number): Promise<Uint8Array>;
}

/** Header of a picture: format by content, stored size in pixels, EXIF orientation 1..8. */
export type ImageHeader = Omit<EncodedImage, "bytes">;

const WINDOW = 4096;
/** Maximum marker segments read in a JPEG. */
const MAX_SEGMENTS = 512;

/**
 * Format and size of a JPEG, PNG, WebP, BMP or GIF, read from its content and never from its name.
 * @throws LabError("bad-input") for other formats, or an incomplete or impossible header
 */
export async function readImageHeader(picture: PictureBytes): Promise<ImageHeader> {
  const head = await picture.read(0, Math.min(WINDOW, picture.length));
  const header = await parse(picture, head);
  const { width, height, mime } = header;
  if (!(width >= 1 && height >= 1 && width <= 65535 && height <= 65535)) {
    throw badInput(`the ${mime} header declares an impossible size of ${width} x ${height}`);
  }
  if (width * height > MAX_MASK_PIXELS) {
    throw badInput(
      `the picture has ${width} x ${height} = ${width * height} pixels, more than the ${MAX_MASK_PIXELS} allowed; scale it down`,
    );
  }
  return header;
}

async function parse(picture: PictureBytes, head: Uint8Array): Promise<ImageHeader> {
  const view = viewOf(head);
  const starts = (text: string, at = 0): boolean =>
    head.length >= at + text.length && [...text].every((char, i) => head[at + i] === char.charCodeAt(0));
  const plain = (mime: ImageHeader["mime"], width: number, height: number, orientation = 1): ImageHeader => ({
    mime,
    width,
    height,
    orientation,
  });
  if (head.length === 0) throw badInput("the picture has 0 bytes");
  if (isPointer(head)) throw badInput(`the picture ${IS_POINTER}`);
  if (starts("\u00ff\u00d8\u00ff")) return jpeg(picture);
  if (isPngHead(head) && head.length >= 33) {
    const problem = pngProblem(head);
    if (problem !== undefined) throw badInput(`the PNG header ${problem}`);
    return plain("image/png", view.getUint32(16), view.getUint32(20), await chunkOrientation(picture, "eXIf"));
  }
  if (starts("RIFF") && starts("WEBP", 8) && head.length >= 30) {
    return plain("image/webp", ...webp(head, view), starts("VP8X", 12) ? await chunkOrientation(picture, "EXIF") : 1);
  }
  if ((starts("GIF87a") || starts("GIF89a")) && head.length >= 10) {
    return plain("image/gif", view.getUint16(6, true), view.getUint16(8, true));
  }
  if (starts("BM") && head.length >= 30) {
    const old = view.getUint32(14, true) === 12;
    const bits = view.getUint16(old ? 24 : 28, true);
    if (!BMP_HEADERS.includes(view.getUint32(14, true)) || ![1, 4, 8, 16, 24, 32].includes(bits)) {
      throw badInput("the BMP header is damaged");
    }
    // The height of a bitmap is negative if its rows run from top to bottom.
    return old
      ? plain("image/bmp", view.getUint16(18, true), view.getUint16(20, true))
      : plain("image/bmp", view.getInt32(18, true), Math.abs(view.getInt32(22, true)));
  }
  if (starts("II*\u0000") || starts("MM\u0000*")) throw badInput("the picture is a TIFF, which browsers do not decode");
  const bytes = [...head.subarray(0, 4)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  throw badInput(`the picture is not a JPEG, PNG, WebP, BMP or GIF; it begins with the bytes ${bytes}`);
}

/** Header lengths of BMP versions, from OS/2 to version 5. */
const BMP_HEADERS = [12, 40, 52, 56, 108, 124];

/** Width and height of the three kinds of WebP: lossy, lossless, extended. */
function webp(head: Uint8Array, view: DataView): [number, number] {
  const kind = String.fromCharCode(...head.subarray(12, 16));
  const damaged = kind === "VP8 " ? !(head[23] === 0x9d && head[24] === 1 && head[25] === 0x2a) : head[20] !== 0x2f;
  if (damaged && kind !== "VP8X") throw badInput("the WebP header is damaged");
  if (kind === "VP8 ") return [view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff];
  if (kind === "VP8L") {
    const bits = view.getUint32(21, true);
    return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
  }
  if (kind === "VP8X") {
    return [(view.getUint32(23, true) & 0xffffff00) >>> 8, view.getUint32(26, true) >>> 8].map((n) => n + 1) as [
      number,
      number,
    ];
  }
  throw badInput(`the WebP picture has an unknown chunk ${JSON.stringify(kind)}`);
}

/** Maximum chunks read before the EXIF chunk, and its maximum bytes. */
const MAX_CHUNKS = 64;
const MAX_EXIF = 2 ** 16;

/** Orientation in the EXIF chunk of a WebP, or of a PNG if the chunk precedes the pixels; 1 without one. */
async function chunkOrientation(picture: PictureBytes, exif: "eXIf" | "EXIF"): Promise<number> {
  const png = exif === "eXIf";
  let at = png ? 8 : 12;
  for (let chunk = 0; chunk < MAX_CHUNKS && at + 8 <= picture.length; chunk++) {
    const head = await picture.read(at, at + 8);
    const size = viewOf(head).getUint32(png ? 0 : 4, !png);
    const kind = String.fromCharCode(...(png ? head.subarray(4) : head.subarray(0, 4)));
    if (kind === exif) {
      const body = await picture.read(at + 8, Math.min(picture.length, at + 8 + Math.min(size, MAX_EXIF)));
      // Some writers start the chunk with "Exif" and two zeros, as in a JPEG.
      return orientationOf(body[0] === 0x45 ? body.subarray(6) : body) ?? 1;
    }
    if (kind === "IDAT") break;
    at += 8 + size + (png ? 4 : size % 2);
  }
  return 1;
}

/** Orientation in a TIFF block; undefined without a valid one. */
function orientationOf(tiff: Uint8Array): number | undefined {
  const value = readTiffTags(tiff).get(0x0112);
  return value !== undefined && value >= 1 && value <= 8 ? value : undefined;
}

/** Stored position of the pixel shown at (x, y), by EXIF orientation 1..8. */
export function storedPlace(
  x: number,
  y: number,
  width: number,
  height: number,
  orientation: number,
): [number, number] {
  switch (orientation) {
    case 2:
      return [width - 1 - x, y];
    case 3:
      return [width - 1 - x, height - 1 - y];
    case 4:
      return [x, height - 1 - y];
    case 5:
      return [y, x];
    case 6:
      return [y, height - 1 - x];
    case 7:
      return [width - 1 - y, height - 1 - x];
    case 8:
      return [width - 1 - y, x];
    default:
      return [x, y];
  }
}

/** Reads the marker segments up to the frame header; an EXIF segment on the way gives the orientation. */
async function jpeg(picture: PictureBytes): Promise<ImageHeader> {
  let orientation = 1;
  let position = 2;
  let window: Uint8Array = new Uint8Array(0);
  let windowStart = 0;
  const at = async (start: number, length: number): Promise<Uint8Array> => {
    if (start + length > picture.length)
      throw badInput(`the JPEG is cut off after ${picture.length} bytes, inside its header`);
    if (start < windowStart || start + length > windowStart + window.length) {
      windowStart = start;
      window = await picture.read(start, Math.min(picture.length, start + Math.max(length, WINDOW)));
    }
    return window.subarray(start - windowStart, start - windowStart + length);
  };
  for (let segment = 0; segment < MAX_SEGMENTS; segment++) {
    const [mark, code] = (await at(position, 2)) as Uint8Array & [number, number];
    if (mark !== 0xff) throw badInput(`the JPEG header is damaged at byte ${position}`);
    // Fill bytes and markers without a length.
    if (code === 0xff) {
      position += 1;
      continue;
    }
    if (code === 0x01 || (code >= 0xd0 && code <= 0xd7)) {
      position += 2;
      continue;
    }
    if (code === 0xd9 || code === 0xda) break;
    const lengthBytes = await at(position + 2, 2);
    const length = (lengthBytes[0] as number) * 256 + (lengthBytes[1] as number);
    if (length < 2) throw badInput(`the JPEG header is damaged at byte ${position}`);
    const isFrame = code >= 0xc0 && code <= 0xcf && code !== 0xc4 && code !== 0xc8 && code !== 0xcc;
    if (isFrame) {
      const frame = await at(position + 4, 6);
      const [bits, h1, h0, w1, w0, parts] = frame as Uint8Array & [number, number, number, number, number, number];
      if (![1, 3, 4].includes(parts) || length !== 8 + 3 * parts)
        throw badInput("the frame header of the JPEG is damaged");
      if (bits !== 8 || code > 0xc2) throw badInput("browsers do not decode this kind of JPEG");
      return { mime: "image/jpeg", width: w1 * 256 + w0, height: h1 * 256 + h0, orientation };
    }
    if (code === 0xe1 && length >= 16) {
      const body = await at(position + 4, Math.min(length - 2, picture.length - position - 4));
      if (String.fromCharCode(...body.subarray(0, 6)) === "Exif\0\0") {
        orientation = orientationOf(body.subarray(6)) ?? orientation;
      }
    }
    position += 2 + length;
  }
  throw badInput("the JPEG has no frame header");
}

/**
 * Whether a picture is truncated: no end marker in its last bytes.
 * @param tail the last bytes, up to 4 KiB
 */
export function isCutOff(mime: ImageHeader["mime"], tail: Uint8Array): boolean {
  const end = mime === "image/jpeg" ? [0xff, 0xd9] : mime === "image/png" ? [0x49, 0x45, 0x4e, 0x44] : [];
  if (end.length === 0) return false;
  for (let at = tail.length - end.length; at >= 0; at--) {
    if (end.every((byte, i) => tail[at + i] === byte)) return false;
  }
  return true;
}

/**
 * Short and long values of the first directory of a TIFF block (the format of EXIF), by tag. For a damaged block it
 * returns the readable entries, because a wrong orientation must not reject a picture.
 */
function readTiffTags(bytes: Uint8Array): Map<number, number> {
  const tags = new Map<number, number>();
  if (bytes.length < 8) return tags;
  const view = viewOf(bytes);
  const order = view.getUint16(0);
  if (order !== 0x4949 && order !== 0x4d4d) return tags;
  const little = order === 0x4949;
  const directory = view.getUint32(4, little);
  if (directory + 2 > bytes.length) return tags;
  const count = view.getUint16(directory, little);
  for (let entry = 0; entry < count; entry++) {
    const at = directory + 2 + entry * 12;
    if (at + 12 > bytes.length) break;
    const type = view.getUint16(at + 2, little);
    if (view.getUint32(at + 4, little) !== 1) continue;
    if (type === 3) tags.set(view.getUint16(at, little), view.getUint16(at + 8, little));
    if (type === 4) tags.set(view.getUint16(at, little), view.getUint32(at + 8, little));
  }
  return tags;
}
