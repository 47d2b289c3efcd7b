import { LabError } from "../errors.ts";

/** What reading may still cost, in about the bytes that values take in memory. */
export interface ReadMeter {
  /** @throws LabError("bad-input") when that is more than is left */
  take(cost: number): void;
}

/** Most that one value may cost: a bitmap of 4096 x 4096 pixels as a list of numbers. */
const VALUE = 2 ** 27;
/** What a pass over a file may cost, beside so much for each of its bytes; the values of an honest file cost less. */
const PASS = 2 ** 28;
const PASS_A_BYTE = 64;

/** For one value, which also counts for the pass it is read in. */
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
