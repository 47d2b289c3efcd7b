/** Assigns rows to prompts: a pure function of the counters, so a resume needs only the step. */
import { STREAM, uniform } from "../../gpu/random.ts";
import type { LoopId } from "../../runs/records.ts";

/**
 * Row of the n-th prompt of a loop: epochs are independent permutations in sequence.
 * @param rows usable training rows, at least 1
 * @param n earlier prompts of this loop in the whole run
 * @returns position in 0 … rows − 1
 */
export function promptRow(rows: number, n: number, loop: LoopId, seed: number): number {
  const epoch = Math.floor(n / rows);
  const order = Array.from({ length: rows }, (_, i) => i);
  // Fisher–Yates from the end, as far as this draw needs it.
  const place = n % rows;
  for (let i = 0; i <= place; i++) {
    const u = uniform({ seed, step: epoch, loop, row: i, rollout: 0, position: 0, stream: STREAM.data });
    const other = i + Math.floor(u * (rows - i));
    [order[i], order[other]] = [order[other] as number, order[i] as number];
  }
  return order[place] as number;
}
