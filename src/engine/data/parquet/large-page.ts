/** Large uncompressed pages of pictures: single values are read instead of the whole page. */
import type { PageHeader } from "hyparquet";
import { viewOf } from "../../bytes/memory.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput } from "../../errors.ts";
import type { BinaryCell } from "../tables/table.ts";
import type { Chunk } from "./footer.ts";
import { bitsFor, readHybrid } from "./levels.ts";
import type { Leaf } from "./nodes.ts";
import { type Page, placesOf } from "./page.ts";

/** Pages up to this size are read whole. */
const WHOLE = 2 ** 20;
/** Minimum mean bytes per value at which reading only the lengths is faster. */
const LARGE_VALUE = 2 ** 14;
/** Maximum bytes of the levels; a page of large values has few entries. */
const MAX_LEVELS = 2 ** 16;

/**
 * The page if its values are large, uncompressed and not in lists; undefined for every other page.
 * @param start offset of the page's content in the file
 * @throws RangeError when it is damaged
 */
export async function largeValues(
  source: ByteSource,
  start: number,
  header: PageHeader,
  codec: Chunk["codec"],
  leaf: Leaf,
): Promise<Page | undefined> {
  const page = header.data_page_header;
  const size = header.compressed_page_size;
  if (page === undefined || codec !== "UNCOMPRESSED" || page.encoding !== "PLAIN" || leaf.rep > 0) return undefined;
  const entries = page.num_values;
  if (leaf.type.kind !== "binary" || size <= WHOLE || size < entries * LARGE_VALUE) return undefined;
  const end = start + size;
  let at = start;
  let def: ArrayLike<number> | undefined;
  if (leaf.def > 0) {
    const length = viewOf(await source.read(at, at + 4)).getUint32(0, true);
    if (length > Math.min(MAX_LEVELS, size - 4)) throw new RangeError("its levels extend beyond the page");
    def = readHybrid(await source.read(at + 4, at + 4 + length), 0, bitsFor(leaf.def), entries).numbers;
    at += 4 + length;
  }
  const { places, count } = placesOf(def, leaf.def, entries);
  const found: { readonly from: number; readonly length: number }[] = [];
  while (found.length < count) {
    if (at + 4 > end) throw new RangeError(`${size} bytes do not hold its ${count} values`);
    const length = viewOf(await source.read(at, at + 4)).getUint32(0, true);
    if (at + 4 + length > end) throw new RangeError(`${size} bytes do not hold its ${count} values`);
    found.push({ from: at + 4, length });
    at += 4 + length;
  }
  const values = (place: number): BinaryCell => {
    const { from, length } = found[place] as (typeof found)[number];
    return {
      length,
      read: async (first = 0, last = length) => {
        if (!(first >= 0 && first <= last && last <= length)) {
          throw badInput(`bytes ${first} to ${last} lie outside a value of ${length} bytes`);
        }
        return source.read(from + first, from + last);
      },
    };
  };
  return { entries, rep: undefined, def, places, values, bytes: 16 * count };
}
