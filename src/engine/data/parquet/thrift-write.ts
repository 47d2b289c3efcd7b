/** Values of Thrift's compact protocol, as bytes. */

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
