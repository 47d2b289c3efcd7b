/** The pages of one column in one row group, found by their headers and unpacked when one of their rows is needed. */
import { Gunzip } from "fflate";
import { type PageHeader, snappyUncompress } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { PLUGIN_CODECS } from "../../../plugins/codecs.ts";
import { type ByteSource, viewOf } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import type { BinaryCell } from "../tables/table.ts";
import { type Chunk, checkStruct } from "./footer.ts";
import type { Leaf } from "./nodes.ts";
import { bitsFor, encodingOf, plainValues, readHybrid, readValues, type Values } from "./values.ts";

// Unpacks pages within limits: never more than the stated size, and never a page whose bytes cannot hold that much.

/** Maximum bytes of an unpacked page: one with 100 pictures of a few hundred kilobytes has 50 MB. */
const MAX_PAGE = 2 ** 28;

/** Maximum content bytes per packed byte of the formats that need no plug-in. */
const RATIOS: Readonly<Partial<Record<Chunk["codec"], number>>> = { UNCOMPRESSED: 1, SNAPPY: 64, GZIP: 1032 };

/**
 * The content of a page.
 * @param size its stated bytes
 * @throws LabError("unsupported") for other codecs; Error or RangeError when it is damaged
 */
function unpackPage(packed: Uint8Array, size: number, codec: Chunk["codec"]): Uint8Array {
  const plugin = PLUGIN_CODECS.find(({ name }) => name === codec);
  const ratio = plugin?.ratio ?? RATIOS[codec];
  if (ratio === undefined) {
    throw new LabError(
      "unsupported",
      `pages compressed with ${codec} cannot be read here, only Snappy, gzip and what plug-ins read`,
    );
  }
  if (size > MAX_PAGE || size > ratio * packed.length)
    throw new RangeError(`${packed.length} packed bytes cannot hold ${size} bytes`);
  if (size === 0) return new Uint8Array(0);
  if (plugin !== undefined) return plugin.decode(packed, size);
  switch (codec) {
    case "SNAPPY": {
      const out = new Uint8Array(size);
      snappyUncompress(packed, out);
      return out;
    }
    case "GZIP":
      return gunzip(packed, size);
    default:
      if (packed.length !== size) throw new RangeError(`it holds ${packed.length} bytes where ${size} are stated`);
      return packed;
  }
}

/** Input bytes inflated at a time, so that a decompression bomb is detected early. */
const PIECE = 2 ** 16;

function gunzip(packed: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let written = 0;
  const inflate = new Gunzip((piece) => {
    if (written + piece.length > size) throw new RangeError("it holds more bytes than it states");
    out.set(piece, written);
    written += piece.length;
  });
  for (let at = 0; at < packed.length; at += PIECE) {
    inflate.push(packed.subarray(at, at + PIECE), at + PIECE >= packed.length);
  }
  if (written !== size) throw new RangeError(`it holds ${written} bytes where ${size} are stated`);
  return out;
}

/** A data page's entries: one per value, null or empty list. */
export interface Page {
  readonly entries: number;
  /** Levels per entry; undefined if all are 0, or all at their maximum. */
  readonly rep: ArrayLike<number> | undefined;
  readonly def: ArrayLike<number> | undefined;
  /** Index of each entry's value among the page's values; undefined if every entry has one. */
  readonly places: Uint32Array | undefined;
  readonly values: Values;
  /** Bytes in memory. */
  readonly bytes: number;
}

/** Index of each entry's value among the values, if some entries have none. */
function placesOf(
  def: ArrayLike<number> | undefined,
  largest: number,
  entries: number,
): { readonly places: Uint32Array | undefined; readonly count: number } {
  if (def === undefined) return { places: undefined, count: entries };
  let count = 0;
  for (let entry = 0; entry < entries; entry++) if (def[entry] === largest) count++;
  if (count === entries) return { places: undefined, count };
  const places = new Uint32Array(entries);
  let place = 0;
  for (let entry = 0; entry < entries; entry++) {
    places[entry] = place;
    if (def[entry] === largest) place++;
  }
  return { places, count };
}

// Large uncompressed pages of pictures: single values are read instead of the whole page.

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
async function largeValues(
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

/** Maximum entries of one page: a page of 1 MiB with one bit each has eight million. */
const MAX_ENTRIES = 2 ** 25;
/** Header bytes read first, and maximum; statistics in headers may contain long texts. */
const HEADER = 2 ** 10;
const MAX_HEADER = 2 ** 20;

/** A data page that is not unpacked yet. */
export interface PageAt {
  readonly start: number;
  readonly header: PageHeader;
  /** Offset of the next page. */
  readonly next: number;
}

/** Reads pages of a chunk. Errors name the file. */
export interface PageReader {
  /** The data page at or after an offset of the file, skipping dictionary pages; undefined at the end. */
  at(start: number): Promise<PageAt | undefined>;
  read(page: PageAt): Promise<Page>;
}

/** Rows that a page states; undefined for pages of lists in the older form, which do not state them. */
export function statedRows({ header }: PageAt, leaf: Leaf): number | undefined {
  if (header.data_page_header_v2 !== undefined) return header.data_page_header_v2.num_rows;
  return leaf.rep === 0 ? header.data_page_header?.num_values : undefined;
}

export function pageReader(source: ByteSource, chunk: Chunk, leaf: Leaf): PageReader {
  type Dictionary = { readonly values: Values; readonly count: number };
  let dictionary: Promise<Dictionary> | undefined;

  const readDictionary = async (start: number, header: PageHeader): Promise<Dictionary> => {
    const packed = await source.read(start, start + header.compressed_page_size);
    const count = header.dictionary_page_header?.num_values ?? 0;
    if (!(count >= 0 && count <= MAX_ENTRIES))
      throw new RangeError(`a dictionary states an impossible number of values, ${count}`);
    const plain = unpackPage(packed, header.uncompressed_page_size, chunk.codec);
    return { values: plainValues(plain, count, leaf), count };
  };

  const at = async (start: number): Promise<PageAt | undefined> => {
    for (let place = start; place < chunk.end; ) {
      const { header, length } = await readHeader(source, place, chunk.end);
      const body = place + length;
      const next = body + header.compressed_page_size;
      if (!(header.compressed_page_size >= 0 && header.uncompressed_page_size >= 0 && next <= chunk.end)) {
        throw new RangeError(`a page of ${header.compressed_page_size} bytes extends beyond its column`);
      }
      if (header.type === "DICTIONARY_PAGE") {
        dictionary ??= readDictionary(body, header);
        // The error is reported when its values are needed, which may never happen.
        dictionary.catch(() => undefined);
      } else if (header.type !== "INDEX_PAGE") return { start: body, header, next };
      place = next;
    }
    return undefined;
  };

  const read = async ({ start, header }: PageAt): Promise<Page> => {
    const { data_page_header: v1, data_page_header_v2: v2 } = header;
    const entries = (v1 ?? v2)?.num_values;
    const encoding = encodingOf(header);
    if (entries === undefined || encoding === undefined || !(entries >= 0 && entries <= MAX_ENTRIES)) {
      throw new RangeError(`a page states an impossible number of values, ${entries}`);
    }
    const large = await largeValues(source, start, header, chunk.codec, leaf);
    if (large !== undefined) return large;
    const packed = await source.read(start, start + header.compressed_page_size);
    const [repBits, defBits] = [bitsFor(leaf.rep), bitsFor(leaf.def)];
    let body: Uint8Array;
    let [rep, def]: (ArrayLike<number> | undefined)[] = [];
    if (v2 !== undefined) {
      const [repBytes, defBytes] = [v2.repetition_levels_byte_length, v2.definition_levels_byte_length];
      const levels = repBytes + defBytes;
      if (!(repBytes >= 0 && defBytes >= 0 && levels <= packed.length))
        throw new RangeError("its levels extend beyond the page");
      if (repBits > 0) rep = readHybrid(packed.subarray(0, repBytes), 0, repBits, entries).numbers;
      if (defBits > 0) def = readHybrid(packed.subarray(repBytes, levels), 0, defBits, entries).numbers;
      const size = header.uncompressed_page_size - levels;
      const rest = packed.subarray(levels);
      body = v2.is_compressed === false || rest.length === 0 ? rest : unpackPage(rest, size, chunk.codec);
    } else {
      body = unpackPage(packed, header.uncompressed_page_size, chunk.codec);
      // Levels of each kind are stored as the length of their runs in 32 bits, then the runs.
      const take = (bits: number): ArrayLike<number> => {
        const length = viewOf(body).getUint32(0, true);
        if (4 + length > body.length) throw new RangeError("its levels extend beyond the page");
        const { numbers } = readHybrid(body.subarray(4, 4 + length), 0, bits, entries);
        body = body.subarray(4 + length);
        return numbers;
      };
      if (repBits > 0) rep = take(repBits);
      if (defBits > 0) def = take(defBits);
    }
    const { places, count } = placesOf(def, leaf.def, entries);
    const values = readValues(body, encoding, count, leaf, await dictionary);
    const bytes = body.length + 2 * entries * (leaf.rep > 0 ? 1 : 0) + (places === undefined ? 0 : 4 * entries);
    return { entries, rep, def, places, values, bytes };
  };

  /** Adds the file and the column to any error. */
  const named = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (thrown) {
      const where = `${source.name}: column ${leaf.element.name}`;
      if (thrown instanceof LabError) {
        if (thrown.code !== "unsupported") throw thrown;
        throw new LabError("unsupported", `${where}: ${thrown.message}`, { subject: source.name, cause: thrown });
      }
      throw badInput(`${where} has a damaged page (${thrownText(thrown)})`, source.name, thrown);
    }
  };
  return { at: (start) => named(at(start)), read: (page) => named(read(page)) };
}

async function readHeader(
  source: ByteSource,
  start: number,
  end: number,
): Promise<{ readonly header: PageHeader; readonly length: number }> {
  for (let size = HEADER; ; size *= 8) {
    const bytes = await source.read(start, Math.min(end, start + size));
    let length: number;
    try {
      length = checkStruct(bytes, 0);
    } catch (thrown) {
      if (start + size >= end || size >= MAX_HEADER) throw thrown;
      continue;
    }
    return { header: parquetHeader({ view: viewOf(bytes), offset: 0 }), length };
  }
}
