import { type ByteSource, viewOf } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import {
  type BinaryCell,
  type Cell,
  type Column,
  type ColumnType,
  fixedWidth,
  itemCost,
  numberReader,
  type ReadMeter,
  typeName,
} from "../tables/table.ts";
import { type BufferReader, bufferReader } from "./arrow-buffers.ts";
import type { ArrowBody } from "./arrow-frames.ts";

/** Dictionary values: a base and any deltas after it, in order. */
type DictionaryParts = readonly ArrowBody[];

/** Dictionaries by id, valid for a batch. */
export type DictionariesAt = Pick<ReadonlyMap<number, DictionaryParts>, "get">;

interface Version {
  /** First batch for which it is valid. */
  readonly from: number;
  /** Shared with later versions; the first `count` belong to this one. */
  readonly parts: ArrowBody[];
  readonly count: number;
}

/** Versions of the dictionaries along a file, stored so that the cost per message is constant. */
export class DictionaryHistory {
  private readonly versions = new Map<number, Version[]>();

  /**
   * Without the delta flag a dictionary replaces the previous one for the following batches.
   * @param batch number of the next batch
   */
  add(id: number, body: ArrowBody, isDelta: boolean, batch: number): void {
    const known = this.versions.get(id) ?? [];
    const parts = isDelta ? (known.at(-1)?.parts ?? []) : [];
    parts.push(body);
    if (known.at(-1)?.from === batch) known.pop();
    known.push({ from: batch, parts, count: parts.length });
    this.versions.set(id, known);
  }

  at(batch: number): DictionariesAt {
    return {
      get: (id) => {
        const version = this.versions.get(id)?.findLast(({ from }) => from <= batch);
        return version?.parts.slice(0, version.count);
      },
    };
  }
}

/** A column or child within one batch: its node and buffers in the header. */
export interface Slot {
  readonly type: ColumnType;
  readonly name: string;
  readonly node: number;
  /** Index of its first buffer. */
  readonly buffer: number;
  /** Number of data buffers of a view column. */
  readonly extra: number;
  readonly children: readonly Slot[];
}

/** Assigns the nodes and buffers of a batch header to the columns, depth first, as in the IPC format. */
export function layOut(body: ArrowBody, columns: readonly Column[]): Slot[] {
  let [node, buffer, variadic] = [0, 0, 0];
  const visit = ({ type, name }: Column): Slot => {
    const own = { type, name, node: node++, buffer };
    const isView = (type.kind === "text" || type.kind === "binary") && type.layout === "view";
    const extra = isView ? (body.variadicCounts[variadic++] ?? 0) : 0;
    buffer += rawBuffers(type) + extra;
    return { ...own, extra, children: childrenOf(type).map(visit) };
  };
  return columns.map(visit);
}

function childrenOf(type: ColumnType): readonly Column[] {
  switch (type.kind) {
    case "list":
    case "fixed-list":
    case "map":
      return [type.item];
    case "struct":
    case "union":
      return type.fields;
    case "run-end":
      return [type.ends, type.values];
    default:
      return [];
  }
}

/** Buffers of a column itself: validity first, if it has one. */
function rawBuffers(type: ColumnType): number {
  switch (type.kind) {
    case "null":
    case "run-end":
      return 0;
    case "struct":
    case "fixed-list":
      return 1;
    case "text":
    case "binary":
      return type.layout === "view" ? 2 : 3;
    case "list":
      return type.layout === "view" || type.layout === "large-view" ? 3 : 2;
    case "union":
      // Type ids, and offsets for dense unions; unions have no validity buffer.
      return type.dense ? 2 : 1;
    default:
      return 2;
  }
}

/** Reads single values of one batch. */
export interface BatchCells {
  /** Value of a column at a row of the batch. @throws LabError when it is damaged or of an unsupported type */
  cell(column: number, row: number, meter: ReadMeter): Promise<Cell>;
  /** Bytes of unpacked buffers that are kept. */
  unpacked(): number;
}

/**
 * Reader of single values of a batch: it fetches only the bytes of the value and small buffers around it.
 * @param columns the schema, in order
 * @param dictionaries dictionary values by id, valid for this batch
 */
export function batchCells(
  source: ByteSource,
  body: ArrowBody,
  columns: readonly Column[],
  dictionaries: DictionariesAt,
): BatchCells {
  const buffers = bufferReader(source, body);
  const slots = layOut(body, columns);
  const lookups = new Map<number, { parts: readonly (readonly [number, BatchCells])[]; size: number }>();

  const lookup = async (id: number, values: ColumnType, index: number, meter: ReadMeter): Promise<Cell> => {
    let table = lookups.get(id);
    if (table === undefined) {
      const parts = dictionaries.get(id);
      if (parts === undefined) throw damaged(source, `dictionary ${id} is missing`);
      let size = 0;
      const column: Column = { name: "value", type: values, nullable: true };
      const cells = parts.map((part) => {
        const from = size;
        size += part.rows;
        return [from, batchCells(source, part, [column], dictionaries)] as const;
      });
      table = { parts: cells, size };
      lookups.set(id, table);
    }
    const { parts, size } = table;
    if (!(index >= 0 && index < size)) throw damaged(source, `index ${index} is outside a dictionary of ${size}`);
    const [from, cells] = parts.findLast(([start]) => start <= index) as readonly [number, BatchCells];
    return cells.cell(0, index - from, meter);
  };

  /** Validity of the values [start, end); undefined if all are valid. */
  const validity = async (slot: Slot, start: number, end: number): Promise<((at: number) => boolean) | undefined> => {
    const hasOwn = slot.type.kind !== "null" && slot.type.kind !== "union" && slot.type.kind !== "run-end";
    if (!hasOwn || nodeOf(slot).nullCount === 0 || (await buffers.size(slot.buffer)) === 0) return undefined;
    return bits(slot.buffer, start, end);
  };

  /** Bits [start, end) of a buffer, by position in the column. */
  const bits = async (buffer: number, start: number, end: number): Promise<(at: number) => boolean> => {
    const first = start >> 3;
    const bytes = await buffers.read(buffer, first, (end + 7) >> 3);
    return (at) => (((bytes[(at >> 3) - first] as number) >> (at & 7)) & 1) === 1;
  };

  const nodeOf = (slot: Slot): ArrowBody["nodes"][number] => {
    const node = body.nodes[slot.node];
    if (node === undefined) throw damaged(source, `column ${slot.name} has no entry in a batch header`);
    return node;
  };

  const read = async (slot: Slot, row: number, meter: ReadMeter): Promise<Cell> => {
    if (!(row >= 0 && row < nodeOf(slot).length)) throw damaged(source, `row ${row} is outside column ${slot.name}`);
    const { type } = slot;
    if (type.kind === "null") return null;
    if ((await validity(slot, row, row + 1))?.(row) === false) return null;
    switch (type.kind) {
      case "bool":
        return (await bits(slot.buffer + 1, row, row + 1))(row);
      case "text":
      case "binary": {
        if (type.layout === "view") return view(slot, row, meter);
        const [start, end] = await offsets(buffers, slot.buffer + 1, row, type.layout === "large");
        return value(type, slot.buffer + 2, start, end, meter);
      }
      case "list":
      case "map": {
        const layout = type.kind === "map" ? "small" : type.layout;
        const [child] = slot.children as [Slot];
        if (layout === "small" || layout === "large") {
          const [start, end] = await offsets(buffers, slot.buffer + 1, row, layout === "large");
          return items(child, start, end, meter);
        }
        // Offsets and sizes are in separate buffers.
        const int: ColumnType = { kind: "int", bits: layout === "view" ? 32 : 64, signed: true };
        const start = Number(await fixed(int, slot.buffer + 1, row));
        return items(child, start, start + Number(await fixed(int, slot.buffer + 2, row)), meter);
      }
      case "fixed-list":
        return items(slot.children[0] as Slot, row * type.size, (row + 1) * type.size, meter);
      case "struct": {
        const entries: [string, Cell][] = [];
        for (const child of slot.children) entries.push([child.name, await read(child, row, meter)]);
        // Makes a field named `__proto__` a plain property.
        return Object.fromEntries(entries);
      }
      case "dictionary":
        return lookup(type.id, type.values, Number(await fixed(type.index, slot.buffer + 1, row)), meter);
      case "run-end":
        return read(slot.children[1] as Slot, await runOf(slot.children[0] as Slot, row), meter);
      default:
        return fixed(type, slot.buffer + 1, row);
    }
  };

  /** Index of the run that holds a row: the first that ends after it. */
  const runOf = async (ends: Slot, row: number): Promise<number> => {
    let [low, high] = [0, nodeOf(ends).length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Number(await fixed(ends.type, ends.buffer + 1, middle)) > row) high = middle;
      else low = middle + 1;
    }
    return low;
  };

  const items = async (child: Slot, start: number, end: number, meter: ReadMeter): Promise<Cell[]> => {
    const { length } = nodeOf(child);
    if (!(start >= 0 && start <= end && end <= length)) {
      throw damaged(source, `a list spans ${start} to ${end} of ${length} values in ${child.name}`);
    }
    const list: Cell[] = [];
    if (start === end) return list;
    meter.take((end - start) * itemCost(child.type));
    const at = await run(child, start, end);
    if (at === undefined) for (let row = start; row < end; row++) list.push(await read(child, row, meter));
    else for (let row = start; row < end; row++) list.push(at(row));
    return list;
  };

  /** Values [start, end) of numbers and bits, fetched together; undefined for other types. */
  const run = async (slot: Slot, start: number, end: number): Promise<((at: number) => Cell) | undefined> => {
    const reader = numberReader(slot.type);
    if (reader === undefined && slot.type.kind !== "bool") return undefined;
    const valid = await validity(slot, start, end);
    let at: (row: number) => Cell;
    if (reader === undefined) at = await bits(slot.buffer + 1, start, end);
    else {
      const width = fixedWidth(slot.type) as number;
      const data = viewOf(await buffers.read(slot.buffer + 1, start * width, end * width));
      at = (row) => reader(data, (row - start) * width);
    }
    return valid === undefined ? at : (row) => (valid(row) ? at(row) : null);
  };

  const value = async (
    type: ColumnType,
    buffer: number,
    start: number,
    end: number,
    meter: ReadMeter,
  ): Promise<Cell> => {
    const size = await buffers.size(buffer);
    if (!(start >= 0 && start <= end && end <= size)) {
      throw damaged(source, `a value spans ${start} to ${end} of a buffer of ${size} bytes`);
    }
    if (type.kind === "text") {
      meter.take(2 * (end - start));
      return new TextDecoder().decode(await buffers.read(buffer, start, end));
    }
    return lazy(buffers, buffer, start, end - start);
  };

  /**
   * Views: int32 length; values of up to 12 bytes are in the view itself, longer ones are given by a data buffer and an
   * offset.
   */
  const view = async (slot: Slot, row: number, meter: ReadMeter): Promise<Cell> => {
    const bytes = await buffers.read(slot.buffer + 1, row * 16, row * 16 + 16);
    const header = viewOf(bytes);
    const length = header.getInt32(0, true);
    if (length < 0) throw damaged(source, `a value of column ${slot.name} has a length of ${length}`);
    if (length <= 12) return value(slot.type, slot.buffer + 1, row * 16 + 4, row * 16 + 4 + length, meter);
    const buffer = header.getInt32(8, true);
    if (!(buffer >= 0 && buffer < slot.extra))
      throw damaged(source, `column ${slot.name} has no data buffer ${buffer}`);
    const start = header.getInt32(12, true);
    return value(slot.type, slot.buffer + 2 + buffer, start, start + length, meter);
  };

  const fixed = async (type: ColumnType, buffer: number, row: number): Promise<Cell> => {
    const width = fixedWidth(type);
    if (type.kind === "fixed-binary") return lazy(buffers, buffer, row * type.width, type.width);
    const reader = numberReader(type);
    if (width === undefined || reader === undefined) {
      throw new LabError("unsupported", `${source.name}: values of type ${typeName(type)} are not supported`);
    }
    return reader(viewOf(await buffers.read(buffer, row * width, (row + 1) * width)), 0);
  };

  return {
    unpacked: () => {
      let sum = buffers.unpacked();
      for (const { parts } of lookups.values()) for (const [, cells] of parts) sum += cells.unpacked();
      return sum;
    },
    cell: async (column, row, meter) => {
      const slot = slots[column];
      if (slot === undefined) throw new LabError("internal", `${source.name} has no column ${column}`);
      return read(slot, row, meter);
    },
  };
}

/** Binary values up to this length are fetched with their neighbours, because an index reads all of them. */
const NEIGHBOURS = 2 ** 14;

function lazy(buffers: BufferReader, buffer: number, from: number, length: number): BinaryCell {
  return {
    length,
    read: async (start = 0, end = length) => {
      if (!(start >= 0 && start <= end && end <= length)) {
        throw badInput(`bytes ${start} to ${end} are outside a value of ${length} bytes`);
      }
      const bytes = await buffers.read(buffer, from + start, from + end, length > NEIGHBOURS);
      // A copy if the reader returns a view, so that one picture does not keep a whole shard in memory.
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

function damaged(source: ByteSource, what: string): LabError {
  return badInput(`${source.name}: ${what}; the file is damaged`, source.name);
}
