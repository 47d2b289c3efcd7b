import { IS_POINTER, isPointer } from "../../bytes/git-lfs.ts";
import { viewOf } from "../../bytes/memory.ts";
import type { ByteSource } from "../../bytes/source.ts";

/** Format by the first bytes of a file: an Arrow layout, or a sentence part that names the other format. */
export type Sniffed = { readonly kind: "stream" | "file" } | { readonly kind: "other"; readonly what: string };

const text = (bytes: Uint8Array): string => String.fromCharCode(...bytes);

/** Other file formats, by their first bytes. */
const MAGICS: readonly (readonly [string, string])[] = [
  ["FEA1", "is a Feather version 1 file; only Arrow IPC streams and files are supported"],
  ["PK\u0003\u0004", "is a ZIP archive; give it the ending .zip"],
  ["\u001f\u008b", "is gzip-compressed; unpack it and add the .arrow files"],
  ["\u0028\u00b5\u002f\u00fd", "is zstd-compressed as a whole; unpack it and add the .arrow files"],
  ["\u0004\u0022\u004d\u0018", "is lz4-compressed as a whole; unpack it and add the .arrow files"],
];

/** Reads at most 512 bytes of a source and names its format. Does not throw for invalid content. */
export async function sniffArrow(source: ByteSource): Promise<Sniffed> {
  if (source.size === 0) return other("is empty (0 bytes)");
  const head = await source.read(0, Math.min(512, source.size));
  if (isPointer(head)) return other(IS_POINTER);
  const start = text(head);
  for (const [magic, what] of MAGICS) if (start.startsWith(magic)) return other(what);
  if (start.startsWith("ARROW1")) return { kind: "file" };
  if (start.slice(257, 262) === "ustar") {
    return other("is a tar archive; give it the ending .tar");
  }
  const wanted = /\.(parquet|pq)$/i.test(source.name) ? "Parquet" : "Arrow";
  if (looksLikeText(head)) {
    const shown = start.slice(0, 40).replace(/\s+/g, " ").trim();
    return other(`is text, not ${wanted}; it begins with ${JSON.stringify(shown)}`);
  }
  // Files are often renamed, but random bytes that state a length are not Arrow because of it.
  const isMarked = head.length >= 8 && viewOf(head).getInt32(0, true) === -1;
  if (wanted === "Parquet" && !isMarked) return other("is not a Parquet file: it does not begin with PAR1");
  if (head.length < 8) return other(`has only ${source.size} bytes, too few for an Arrow file`);
  const view = viewOf(head);
  const [first, second] = [view.getInt32(0, true), view.getInt32(4, true)];
  // The continuation marker, or before Arrow 0.15 the length of the schema message alone.
  const length = first === -1 ? second : first;
  if (length === 0) return other("has an Arrow end marker but no schema");
  if (length < 8 || length > MAX_METADATA) return other("is not an Arrow IPC stream or file");
  return { kind: "stream" };
}

/** Maximum metadata of one message: a header describes buffers but does not hold them. */
export const MAX_METADATA = 2 ** 26;

function other(what: string): Sniffed {
  return { kind: "other", what };
}

/** Whether all bytes are printable: no control characters except tab and line ends (bytes from 128 may be UTF-8). */
function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte >= 32 || byte === 9 || byte === 10 || byte === 13) && bytes[0] !== 0xff;
}
