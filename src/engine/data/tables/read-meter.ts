import { badInput } from "../../errors.ts";
import { type ColumnType, fixedWidth } from "./column-type.ts";

/** Remaining cost of reading, in approximate bytes of the values in memory. */
export interface ReadMeter {
  /** @throws LabError("bad-input") when the cost exceeds the rest */
  take(cost: number): void;
}

/** Maximum cost of one value: a bitmap of 4096 x 4096 pixels as a list of numbers. */
const VALUE = 2 ** 27;
/** Maximum cost of a pass over a file, plus the same per byte of it; the values of a regular file cost less. */
const PASS = 2 ** 28;
const PASS_PER_BYTE = 64;

/** Limit for one value, which also counts against its pass. */
export function valueMeter(pass?: ReadMeter): ReadMeter {
  return meter(VALUE, "a value is larger than 128 MiB", pass);
}

/**
 * Limit for one pass over a file of this size: values may share bytes, and a malicious file could keep a reader busy for
 * days.
 */
export function passMeter(bytes: number): ReadMeter {
  return meter(PASS + PASS_PER_BYTE * bytes, "the earlier rows have reached the memory limit for a file of this size");
}

/** Memory cost of a list item: a number, a big integer, anything else. */
const NUMBER = 8;
const BIG_INTEGER = 32;
const ITEM = 128;

/** Cost of a list item, without its content. @param type undefined for a list or struct */
export function itemCost(type?: ColumnType): number {
  if (type === undefined) return ITEM;
  if (type.kind === "bool" || type.kind === "null") return NUMBER;
  const width = fixedWidth(type);
  if (width === undefined || type.kind === "fixed-binary") return ITEM;
  return width > 4 ? BIG_INTEGER : NUMBER;
}

function meter(most: number, problem: string, above?: ReadMeter): ReadMeter {
  let left = most;
  return {
    take: (cost) => {
      left -= cost;
      if (left < 0) throw badInput(problem);
      above?.take(cost);
    },
  };
}
