/**
 * How much one dispatch and one submit may work. Windows resets the driver after two seconds of one submit, and a long
 * dispatch freezes the desktop (docs/spec/webgpu.md#9-errors-loss-watchdogs: a dispatch below 0.1 s, a submit below
 * 0.5 s). The limits are in
 * multiply-adds, the same on every adapter: what is cut by a measured speed would not repeat. At 0.1 TFLOP/s, a slow
 * integrated GPU, they are 43 ms and 0.34 s.
 */
import { flushBackend } from "./program.ts";

/** Multiply-adds of one dispatch at most, as far as it can be cut into 64 rows. */
export const DISPATCH_WORK = 2 ** 31;
/** Multiply-adds after which what is recorded is handed in. */
const SUBMIT_WORK = 8 * DISPATCH_WORK;

/** Chunks are whole runs of rows: their bytes are then multiples of what a binding may begin at. */
export const ROW_STEP = 64;

let budget = DISPATCH_WORK;

/** Tests make it small. */
export function setDispatchWork(work: number = DISPATCH_WORK): void {
  budget = work;
}

export interface RowRange {
  readonly from: number;
  readonly count: number;
}

/**
 * The rows of a product in runs that keep to the budget, as even as whole steps allow; one run where it is small.
 * @param perRow multiply-adds of one row
 * @param least rows whose multiples the runs begin at, and that one has at least
 */
export function rowRuns(rows: number, perRow: number, least = ROW_STEP): RowRange[] {
  const most = Math.max(least, Math.floor(budget / Math.max(1, perRow) / least) * least);
  if (rows <= most) return [{ from: 0, count: rows }];
  const step = Math.ceil(rows / Math.ceil(rows / most) / least) * least;
  return Array.from({ length: Math.ceil(rows / step) }, (_, run) => {
    const from = run * step;
    return { from, count: Math.min(step, rows - from) };
  });
}

let pending = 0;

/** Told after a heavy dispatch was recorded; hands in what is recorded when it has become much. */
export function countWork(multiplyAdds: number): void {
  pending += multiplyAdds;
  if (pending < (SUBMIT_WORK / DISPATCH_WORK) * budget) return;
  pending = 0;
  flushBackend();
}
