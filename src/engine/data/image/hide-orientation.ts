/**
 * Browsers apply the EXIF orientation while decoding, but whether a mask fits the rotated or the stored picture is decided
 * per sample. So EXIF is hidden from the decoder and the sample's orientation is applied afterwards.
 */
import { viewOf } from "../../bytes/memory.ts";
import type { EncodedImage } from "../sample.ts";

/** A copy without recognisable EXIF data; pixels and length are unchanged. Returns the input if it has none. */
export function hideOrientation(bytes: Uint8Array<ArrayBuffer>, mime: EncodedImage["mime"]): Uint8Array<ArrayBuffer> {
  const chunks = mime === "image/png" || mime === "image/webp" ? chunkExif(bytes, mime === "image/png") : [];
  const places = mime === "image/jpeg" ? jpegExif(bytes) : chunks;
  if (places.length === 0) return bytes;
  const copy = bytes.slice();
  for (const { at, value } of places) copy[at] = value;
  return copy;
}

interface Change {
  readonly at: number;
  readonly value: number;
}

/** EXIF segments (APP1) become APP15 segments, which decoders ignore. */
function jpegExif(bytes: Uint8Array): Change[] {
  const changes: Change[] = [];
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff) {
    const code = bytes[at + 1] as number;
    if (code === 0xff || code === 0x01 || (code >= 0xd0 && code <= 0xd7)) {
      at += code === 0xff ? 1 : 2;
      continue;
    }
    if (code === 0xd9 || code === 0xda) break;
    if (code === 0xe1 && ascii(bytes, at + 4) === "Exif") changes.push({ at: at + 1, value: 0xef });
    at += 2 + Math.max(2, (bytes[at + 2] as number) * 256 + (bytes[at + 3] as number));
  }
  return changes;
}

/** Renames the EXIF chunk of a PNG or WebP; decoders skip unknown chunks. */
function chunkExif(bytes: Uint8Array, png: boolean): Change[] {
  const view = viewOf(bytes);
  const changes: Change[] = [];
  for (let at = png ? 8 : 12; at + (png ? 12 : 8) <= bytes.length; ) {
    const kind = at + (png ? 4 : 0);
    // A lower-case first letter lets PNG decoders skip the chunk, and WebP decoders skip unknown names.
    if (ascii(bytes, kind) === (png ? "eXIf" : "EXIF")) changes.push({ at: kind + (png ? 1 : 0), value: 0x78 });
    const length = view.getUint32(at + (png ? 0 : 4), !png);
    at += 8 + length + (png ? 4 : length % 2);
  }
  return changes;
}

function ascii(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}
