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
const PIECE = 32 * 2 ** 20;

/**
 * Hash of large content: SHA-256 over the hexadecimal SHA-256 of each 32 MiB piece, one per line.
 * @param read bytes [start, end)
 */
export async function piecewiseHash(
  size: number,
  read: (start: number, end: number) => Promise<Uint8Array<ArrayBuffer>>,
): Promise<string> {
  const digests: string[] = [];
  for (let at = 0; at < size; at += PIECE) digests.push(await sha256Hex(await read(at, Math.min(size, at + PIECE))));
  return sha256Hex(new TextEncoder().encode(digests.join("\n")));
}
