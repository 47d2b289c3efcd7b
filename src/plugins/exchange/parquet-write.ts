/**
 * Writes a flat table as Parquet: one row group, one uncompressed page per column, PLAIN values, every column optional.
 * Format: apache/parquet-format, version 1 of data pages; headers in Thrift's compact protocol.
 */
import { joinBytes } from "../../engine/bytes/source.ts";

/** A value with its type. */
export interface Thrift {
  readonly type: number;
  readonly bytes: readonly number[];
}

export const i32 = (value: number): Thrift => ({ type: 5, bytes: varint(value * 2) });
export const i64 = (value: number): Thrift => ({ type: 6, bytes: varint(value * 2) });

export function text(value: string): Thrift {
  const bytes = [...new TextEncoder().encode(value)];
  return { type: 8, bytes: [...varint(bytes.length), ...bytes] };
}

export function list(items: readonly Thrift[]): Thrift {
  const type = items[0]?.type ?? 0;
  const head = items.length < 15 ? [items.length * 16 + type] : [0xf0 + type, ...varint(items.length)];
  return { type: 9, bytes: [...head, ...items.flatMap(({ bytes }) => bytes)] };
}

/** @param fields by id, at most 15 apart */
export function struct(fields: Readonly<Record<number, Thrift>>): Thrift {
  const bytes: number[] = [];
  let last = 0;
  for (const [id, { type, bytes: own }] of Object.entries(fields)) {
    bytes.push((Number(id) - last) * 16 + type, ...own);
    last = Number(id);
  }
  return { type: 12, bytes: [...bytes, 0] };
}

/** Seven bits per byte, lowest first. @param value whole, from 0 to 2⁵³ */
export function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}

/** A column of numbers (DOUBLE), whole numbers (INT64) or texts (UTF-8 BYTE_ARRAY); null for a missing value. */
export interface WrittenColumn {
  readonly name: string;
  readonly values: readonly (number | null)[] | readonly (string | null)[];
  readonly kind: "number" | "whole" | "text";
}

/** Physical types by kind. */
const TYPES = { number: 5, whole: 2, text: 6 } as const;
const OPTIONAL = 1;
const UTF8 = 0;
const RLE = 3;
const MAGIC = [0x50, 0x41, 0x52, 0x31];

/** The bytes of a Parquet file. @param columns of equal length, at least one */
export function writeParquet(columns: readonly WrittenColumn[], createdBy: string): Uint8Array<ArrayBuffer> {
  const rows = columns[0]?.values.length ?? 0;
  const parts: Uint8Array[] = [Uint8Array.from(MAGIC)];
  let offset = MAGIC.length;
  const chunks = columns.map((column) => {
    const page = pageOf(column);
    const entries = struct({ 1: i32(rows), 2: i32(0), 3: i32(RLE), 4: i32(RLE) });
    const header = struct({ 1: i32(0), 2: i32(page.length), 3: i32(page.length), 5: entries });
    const [start, size] = [offset, header.bytes.length + page.length];
    parts.push(Uint8Array.from(header.bytes), page);
    offset += size;
    const facts = { 1: i32(TYPES[column.kind]), 2: list([i32(0), i32(RLE)]), 3: list([text(column.name)]), 4: i32(0) };
    const sizes = { 5: i64(rows), 6: i64(size), 7: i64(size), 9: i64(start) };
    return struct({ 2: i64(start), 3: struct({ ...facts, ...sizes }) });
  });
  const schema = [
    struct({ 4: text("table"), 5: i32(columns.length) }),
    ...columns.map((column) => {
      const utf8 = column.kind === "text" ? { 6: i32(UTF8) } : {};
      return struct({ 1: i32(TYPES[column.kind]), 3: i32(OPTIONAL), 4: text(column.name), ...utf8 });
    }),
  ];
  const group = struct({ 1: list(chunks), 2: i64(offset - MAGIC.length), 3: i64(rows) });
  const facts = { 1: i32(1), 2: list(schema), 3: i64(rows), 4: list([group]), 6: text(createdBy) };
  const footer = struct(facts).bytes;
  const size = new Uint8Array(4);
  new DataView(size.buffer).setUint32(0, footer.length, true);
  return joinBytes([...parts, Uint8Array.from(footer), size, Uint8Array.from(MAGIC)]);
}

/** Definition levels, then the existing values. */
function pageOf({ values, kind }: WrittenColumn): Uint8Array {
  const groups = Math.ceil(values.length / 8);
  const bits = new Uint8Array(groups);
  for (const [at, value] of values.entries())
    if (value !== null) bits[at >> 3] = (bits[at >> 3] as number) | (1 << (at & 7));
  // One bit-packed run of width 1.
  const head = varint(groups * 2 + 1);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, head.length + groups, true);
  const encoder = new TextEncoder();
  const written = values.flatMap((value): Uint8Array[] => {
    if (value === null) return [];
    if (typeof value === "number") {
      const stored = kind === "whole" ? new BigInt64Array([BigInt(value)]) : new Float64Array([value]);
      return [new Uint8Array(stored.buffer)];
    }
    const bytes = encoder.encode(value);
    return [new Uint8Array(new Uint32Array([bytes.length]).buffer), bytes];
  });
  return joinBytes([length, Uint8Array.from(head), bits, ...written]);
}
