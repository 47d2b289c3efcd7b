import { LabError } from "../errors.ts";

/** Remaining cost of reading, in approximate bytes of the values in memory. */
export interface ReadMeter {
  /** @throws LabError("bad-input") when the cost exceeds the rest */
  take(cost: number): void;
}

/** Maximum cost of one value: a bitmap of 4096 x 4096 pixels as a list of numbers. */
const VALUE = 2 ** 27;
/** Maximum cost of a pass over a file, plus the same per byte of it; the values of a regular file cost less. */
const PASS = 2 ** 28;
const PASS_A_BYTE = 64;

/** Limit for one value, which also counts for its pass. */
export function valueMeter(pass?: ReadMeter): ReadMeter {
  return meter(VALUE, "a value is larger than 128 MiB", pass);
}

/**
 * Limit for one pass over a file of this size: values may share bytes, and a malicious file could keep a reader busy for
 * days.
 */
export function passMeter(bytes: number): ReadMeter {
  return meter(PASS + PASS_A_BYTE * bytes, "the rows before it have used up what a file of this size may unfold to");
}

function meter(most: number, problem: string, above?: ReadMeter): ReadMeter {
  let left = most;
  return {
    take: (cost) => {
      left -= cost;
      if (left < 0) throw new LabError("bad-input", problem);
      above?.take(cost);
    },
  };
}
