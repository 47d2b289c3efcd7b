/** Lower-case hexadecimal of bytes. */
export function toHex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** SHA-256 of bytes as 64 hexadecimal digits. */
export async function sha256Hex(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Bytes hashed at a time, because files may be larger than memory. */
export const HASH_PIECE = 32 * 2 ** 20;

/** Hash of large content: SHA-256 over the hexadecimal SHA-256 of each piece of `HASH_PIECE` bytes, one per line. */
export class PiecewiseHash {
  readonly #digests: string[] = [];

  /** Adds the next piece; only the last one may be shorter than `HASH_PIECE`. */
  async add(piece: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#digests.push(await sha256Hex(piece));
  }

  end(): Promise<string> {
    return sha256Hex(new TextEncoder().encode(this.#digests.join("\n")));
  }
}

/** The piecewise hash of content that is read. @param read bytes [start, end) */
export async function piecewiseHash(
  size: number,
  read: (start: number, end: number) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<string> {
  const hash = new PiecewiseHash();
  for (let at = 0; at < size; at += HASH_PIECE) await hash.add(await read(at, Math.min(size, at + HASH_PIECE)));
  return hash.end();
}

/** Reflected polynomials: Castagnoli's for event files, the IEEE one for PNG and zip. */
const crc32cTable = table(0x82f63b78);
const crc32Table = table(0xedb88320);

function table(polynomial: number): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    return crc;
  });
}

/** CRC-32C of bytes, 0 to 2^32 - 1. */
export function crc32c(data: Uint8Array): number {
  return checksum(crc32cTable, data);
}

/** CRC-32 of bytes, 0 to 2^32 - 1. @param before the checksum of the bytes before them */
export function crc32(data: Uint8Array, before = 0): number {
  return checksum(crc32Table, data, before);
}

function checksum(of: Uint32Array, data: Uint8Array, before = 0): number {
  let crc = before ^ 0xffffffff;
  for (const byte of data) crc = (crc >>> 8) ^ (of[(crc ^ byte) & 0xff] as number);
  return (crc ^ 0xffffffff) >>> 0;
}
