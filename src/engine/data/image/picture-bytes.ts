/** Encoded pictures in every supported form of a cell. */
import { badInput, quote } from "../../errors.ts";
import type { FindFile } from "../siblings.ts";
import { isBinaryCell } from "../tables/table.ts";
import type { PictureBytes } from "./image-header.ts";

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
