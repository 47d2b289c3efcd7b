import { DataType, type Dictionary, type Field, type FixedSizeList, type Float, type Int, Type } from "apache-arrow";
import { viewOf } from "../bytes/memory.ts";
import type { ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { type BufferReader, bufferReader } from "./arrow-buffers.ts";
import type { ArrowBody } from "./arrow-frames.ts";
import type { DictionaryParts } from "./arrow-index.ts";
import { fixedWidth, typeName } from "./arrow-types.ts";

/** Items of one list value: masks, turns and run lengths stay far below. */
const MAX_LIST = 2 ** 24;

/** A binary value that has not been read: its length is known, its bytes are fetched on demand. */
export interface BinaryCell {
  readonly length: number;
  /** Bytes [start, end) of the value, the whole by default; a copy of its own. Throws LabError on a bad range. */
  read(start?: number, end?: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A value of a table: 64-bit integers are big integers, binary is lazy, structs and lists are plain. */
export type Cell =
  | null
  | boolean
  | number
  | bigint
  | string
  | BinaryCell
  | readonly Cell[]
  | { readonly [key: string]: Cell };

/** Whether a cell is a lazy binary value. */
export function isBinaryCell(cell: unknown): cell is BinaryCell {
  return typeof cell === "object" && cell !== null && typeof (cell as { read?: unknown }).read === "function";
}

/** Reads single values of one batch. */
export interface BatchCells {
  /** Value of a column at a row of the batch. @throws LabError when it is damaged or of a type not read here */
  cell(column: number, row: number): Promise<Cell>;
}

/** A column or child within one batch: which node and buffers of the header are its own. */
interface Slot {
  readonly type: DataType;
  readonly name: string;
  readonly node: number;
  readonly buffer: number;
  readonly extra: number;
  readonly children: readonly Slot[];
}

/**
 * Reader of single values of a batch: only the bytes of the value asked for (and small buffers around it) are fetched.
 * @param fields the schema, in order
 * @param dictionaries dictionary values by id, as they stand at this batch
 */
export function batchCells(
  source: ByteSource,
  body: ArrowBody,
  fields: readonly Field[],
  dictionaries: ReadonlyMap<number, DictionaryParts>,
): BatchCells {
  const buffers = bufferReader(source, body);
  const slots = layOut(body, fields);
  const lookups = new Map<number, Promise<{ parts: readonly (readonly [number, BatchCells])[]; size: number }>>();

  const lookup = async (type: Dictionary, index: number): Promise<Cell> => {
    let table = lookups.get(type.id);
    if (table === undefined) {
      const parts = dictionaries.get(type.id);
      if (parts === undefined) throw damaged(source, `dictionary ${type.id} is missing`);
      let size = 0;
      const cells = parts.map((part) => {
        const from = size;
        size += part.rows;
        const field = { name: "value", type: type.dictionary } as Field;
        return [from, batchCells(source, part, [field], dictionaries)] as const;
      });
      table = Promise.resolve({ parts: cells, size });
      lookups.set(type.id, table);
    }
    const { parts, size } = await table;
    if (!(index >= 0 && index < size)) throw damaged(source, `index ${index} lies outside a dictionary of ${size}`);
    const [from, cells] = parts.findLast(([start]) => start <= index) as readonly [number, BatchCells];
    return cells.cell(0, index - from);
  };

  const read = async (slot: Slot, row: number): Promise<Cell> => {
    const node = body.nodes[slot.node];
    if (node === undefined) throw damaged(source, `column ${slot.name} has no entry in a batch header`);
    if (!(row >= 0 && row < node.length)) throw damaged(source, `row ${row} lies outside column ${slot.name}`);
    const { type } = slot;
    if (type.typeId === Type.Null) return null;
    if (node.nullCount > 0 && !DataType.isUnion(type) && (await buffers.size(slot.buffer)) > 0) {
      const [byte] = await buffers.read(slot.buffer, row >> 3, (row >> 3) + 1);
      if ((((byte as number) >> (row & 7)) & 1) === 0) return null;
    }
    switch (type.typeId) {
      case Type.Bool: {
        const [byte] = await buffers.read(slot.buffer + 1, row >> 3, (row >> 3) + 1);
        return (((byte as number) >> (row & 7)) & 1) === 1;
      }
      case Type.Utf8:
      case Type.LargeUtf8:
      case Type.Binary:
      case Type.LargeBinary: {
        const wide = type.typeId === Type.LargeUtf8 || type.typeId === Type.LargeBinary;
        const [start, end] = await offsets(buffers, slot.buffer + 1, row, wide);
        return value(type, slot.buffer + 2, start, end);
      }
      case Type.Utf8View:
      case Type.BinaryView:
        return view(slot, row);
      case Type.List:
      case Type.LargeList:
      case Type.Map: {
        const [start, end] = await offsets(buffers, slot.buffer + 1, row, type.typeId === Type.LargeList);
        return items(slot.children[0] as Slot, start, end);
      }
      case Type.FixedSizeList: {
        const size = (type as FixedSizeList).listSize;
        return items(slot.children[0] as Slot, row * size, (row + 1) * size);
      }
      case Type.Struct: {
        const record: Record<string, Cell> = {};
        for (const child of slot.children) record[child.name] = await read(child, row);
        return record;
      }
    }
    if (DataType.isDictionary(type)) {
      const index = await fixed((type as Dictionary).indices, slot.buffer + 1, row);
      return lookup(type as Dictionary, Number(index));
    }
    return fixed(type, slot.buffer + 1, row);
  };

  const items = async (child: Slot, start: number, end: number): Promise<Cell[]> => {
    const length = body.nodes[child.node]?.length ?? 0;
    if (!(start >= 0 && start <= end && end <= length && end - start <= MAX_LIST)) {
      throw damaged(source, `a list spans ${start} to ${end} of ${length} values in ${child.name}`);
    }
    const list: Cell[] = [];
    for (let at = start; at < end; at++) list.push(await read(child, at));
    return list;
  };

  const value = async (type: DataType, buffer: number, start: number, end: number): Promise<Cell> => {
    const size = await buffers.size(buffer);
    if (!(start >= 0 && start <= end && end <= size)) {
      throw damaged(source, `a value spans ${start} to ${end} of a buffer of ${size} bytes`);
    }
    if (type.typeId === Type.Utf8 || type.typeId === Type.LargeUtf8 || type.typeId === Type.Utf8View) {
      return new TextDecoder().decode(await buffers.read(buffer, start, end));
    }
    return lazy(buffers, buffer, start, end - start);
  };

  /** Views: int32 length; up to 12 bytes lie in the view itself, longer ones name a data buffer and an offset. */
  const view = async (slot: Slot, row: number): Promise<Cell> => {
    const bytes = await buffers.read(slot.buffer + 1, row * 16, row * 16 + 16);
    const header = viewOf(bytes);
    const length = header.getInt32(0, true);
    if (length < 0) throw damaged(source, `a value of column ${slot.name} has a length of ${length}`);
    if (length <= 12) return value(slot.type, slot.buffer + 1, row * 16 + 4, row * 16 + 4 + length);
    const buffer = header.getInt32(8, true);
    if (!(buffer >= 0 && buffer < slot.extra))
      throw damaged(source, `column ${slot.name} has no data buffer ${buffer}`);
    const start = header.getInt32(12, true);
    return value(slot.type, slot.buffer + 2 + buffer, start, start + length);
  };

  const fixed = async (type: DataType, buffer: number, row: number): Promise<Cell> => {
    const width = fixedWidth(type);
    if (width === undefined) {
      throw new LabError("unsupported", `${source.name}: values of type ${typeName(type)} are not read here`);
    }
    if (type.typeId === Type.FixedSizeBinary) return lazy(buffers, buffer, row * width, width);
    const bytes = await buffers.read(buffer, row * width, (row + 1) * width);
    const data = viewOf(bytes);
    if (type.typeId === Type.Float) return float(data, (type as Float).precision);
    const signed = type.typeId !== Type.Int || (type as Int).isSigned;
    if (width === 1) return signed ? data.getInt8(0) : data.getUint8(0);
    if (width === 2) return signed ? data.getInt16(0, true) : data.getUint16(0, true);
    if (width === 4) return signed ? data.getInt32(0, true) : data.getUint32(0, true);
    if (width === 8) return signed ? data.getBigInt64(0, true) : data.getBigUint64(0, true);
    throw new LabError("unsupported", `${source.name}: values of type ${typeName(type)} are not read here`);
  };

  return {
    cell: async (column, row) => {
      const slot = slots[column];
      if (slot === undefined) throw new LabError("internal", `${source.name} has no column ${column}`);
      return read(slot, row);
    },
  };
}

function lazy(buffers: BufferReader, buffer: number, from: number, length: number): BinaryCell {
  return {
    length,
    read: async (start = 0, end = length) => {
      if (!(start >= 0 && start <= end && end <= length)) {
        throw new LabError("bad-input", `bytes ${start} to ${end} lie outside a value of ${length} bytes`);
      }
      const bytes = await buffers.read(buffer, from + start, from + end, true);
      // A copy where the reader hands out a view: nobody keeps a whole shard alive through one picture.
      return bytes.byteLength === bytes.buffer.byteLength ? bytes : bytes.slice();
    },
  };
}

async function offsets(buffers: BufferReader, buffer: number, row: number, wide: boolean): Promise<[number, number]> {
  const width = wide ? 8 : 4;
  const bytes = await buffers.read(buffer, row * width, (row + 2) * width);
  const view = viewOf(bytes);
  return wide
    ? [Number(view.getBigInt64(0, true)), Number(view.getBigInt64(8, true))]
    : [view.getInt32(0, true), view.getInt32(4, true)];
}

/** Half, single or double precision; a half is 1 sign, 5 exponent and 10 fraction bits. */
function float(data: DataView, precision: number): number {
  if (precision === 1) return data.getFloat32(0, true);
  if (precision === 2) return data.getFloat64(0, true);
  const bits = data.getUint16(0, true);
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}

/** Deals out the nodes and buffers of a batch header to the columns, depth first, as the IPC format prescribes. */
function layOut(body: ArrowBody, fields: readonly Field[]): Slot[] {
  let [node, buffer, variadic] = [0, 0, 0];
  const visit = (field: Field): Slot => {
    const { type, name } = field;
    const own = { type, name, node: node++, buffer };
    const isView = type.typeId === Type.Utf8View || type.typeId === Type.BinaryView;
    const extra = isView ? (body.variadicCounts[variadic++] ?? 0) : 0;
    buffer += ownBuffers(type) + extra;
    const children = DataType.isDictionary(type) ? [] : (type.children ?? []).map(visit);
    return { ...own, extra, children };
  };
  return fields.map(visit);
}

function ownBuffers(type: DataType): number {
  switch (type.typeId) {
    case Type.Null:
      return 0;
    case Type.Struct:
    case Type.FixedSizeList:
      return 1;
    case Type.Utf8:
    case Type.LargeUtf8:
    case Type.Binary:
    case Type.LargeBinary:
      return 3;
    case Type.Union:
      // Type ids, and offsets where the union is dense; unions have no validity of their own.
      return (type as unknown as { mode: number }).mode === 1 ? 2 : 1;
    default:
      return 2;
  }
}

function damaged(source: ByteSource, what: string): LabError {
  return new LabError("bad-input", `${source.name}: ${what}; the file is damaged`, { subject: source.name });
}
