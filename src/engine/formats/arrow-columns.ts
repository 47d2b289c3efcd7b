/**
 * Arrow columns from plain values. The library's builders compile code from text, which the content security policy
 * forbids, so this module lays out the buffers of the Arrow columnar format.
 */
import { Bool, type Data, type DataType, Float64, Int32, List, makeData, Struct, Utf8 } from "apache-arrow";
import { LabError } from "../errors.ts";

/**
 * The column of `values`, null where a value is null or undefined. Structs take objects, lists take arrays.
 * @throws LabError("internal") for a type other than Utf8, Int32, Float64, Bool, Struct and List
 */
export function columnData(type: DataType, values: readonly unknown[]): Data {
  const length = values.length;
  const nullBitmap = bits(values, (value) => value !== null && value !== undefined);
  const nullCount = values.filter((value) => value === null || value === undefined).length;
  const common = { length, nullCount, nullBitmap };
  if (type instanceof Utf8) {
    const texts = values.map((value) => new TextEncoder().encode(typeof value === "string" ? value : ""));
    return makeData({ type, ...common, ...joined(texts) });
  }
  if (type instanceof Int32)
    return makeData({ type, ...common, data: Int32Array.from(values, (value) => Number(value)) });
  if (type instanceof Float64) {
    const data = Float64Array.from(values, (value) => (value === null || value === undefined ? 0 : Number(value)));
    return makeData({ type, ...common, data });
  }
  if (type instanceof Bool) return makeData({ type, ...common, data: bits(values, (value) => value === true) });
  if (type instanceof Struct) {
    const children = type.children.map((field) =>
      columnData(
        field.type as DataType,
        values.map((value) => (value as Record<string, unknown> | null)?.[field.name]),
      ),
    );
    return makeData({ type, ...common, children });
  }
  if (type instanceof List) {
    const lists = values.map((value) => (value ?? []) as readonly unknown[]);
    const child = columnData(type.valueType as DataType, lists.flat(1));
    return makeData({ type, ...common, valueOffsets: offsets(lists), child });
  }
  throw new LabError("internal", `A column of type ${String(type)} cannot be written`);
}

/** One bit per value, the first in the lowest bit of the first byte. */
function bits(values: readonly unknown[], set: (value: unknown) => boolean): Uint8Array {
  const bitmap = new Uint8Array(Math.ceil(values.length / 64) * 8);
  for (const [at, value] of values.entries()) {
    if (set(value)) bitmap[at >> 3] = (bitmap[at >> 3] as number) | (1 << (at & 7));
  }
  return bitmap;
}

/** Start of each item, then the end of the last. */
function offsets(items: readonly { readonly length: number }[]): Int32Array {
  const starts = new Int32Array(items.length + 1);
  for (const [at, item] of items.entries()) starts[at + 1] = (starts[at] as number) + item.length;
  return starts;
}

function joined(texts: readonly Uint8Array[]): { valueOffsets: Int32Array; data: Uint8Array } {
  const valueOffsets = offsets(texts);
  const data = new Uint8Array(valueOffsets.at(-1) ?? 0);
  for (const [at, text] of texts.entries()) data.set(text, valueOffsets[at]);
  return { valueOffsets, data };
}
