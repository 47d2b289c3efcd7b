/** The pages of one column in one row group, found by their headers and unpacked when one of their rows is needed. */
import type { PageHeader } from "hyparquet";
import { parquetHeader } from "hyparquet/src/column.js";
import { viewOf } from "../../bytes/memory.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { unpackPage } from "./codecs.ts";
import type { Chunk } from "./footer.ts";
import { largeValues } from "./large-page.ts";
import { bitsFor, readHybrid } from "./levels.ts";
import type { Leaf } from "./nodes.ts";
import { type Page, placesOf } from "./page.ts";
import { checkStruct } from "./thrift.ts";
import { encodingOf, plainValues, readValues, type Values } from "./values.ts";

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
    const plain = await unpackPage(packed, header.uncompressed_page_size, chunk.codec);
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
      body = v2.is_compressed === false || rest.length === 0 ? rest : await unpackPage(rest, size, chunk.codec);
    } else {
      body = await unpackPage(packed, header.uncompressed_page_size, chunk.codec);
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
