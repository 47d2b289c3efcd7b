/** Cases of a target, drawn by a seed and the case's number, each with its verdict; faults are minimised. */
import fc from "fast-check";
import type { Files } from "./target.ts";
import { TARGETS, type TargetName } from "./targets/all.ts";
import type { Verdict } from "./thread-run.ts";
import type { Watched } from "./watch.ts";

export interface Fault {
  readonly target: TargetName;
  readonly seed: number;
  readonly case: number;
  readonly kind: Verdict["kind"];
  readonly said: string;
  /** The damages of the valid input, after minimising. */
  readonly what: string;
  readonly files: Files;
}

export interface Outcome {
  readonly target: TargetName;
  readonly seed: number;
  readonly cases: number;
  readonly accepted: number;
  readonly refused: number;
  readonly faults: readonly Fault[];
}

/** Smaller cases tried after a fault; a reader that hangs costs seconds each time. */
const NARROWING = { "raw error": 150, nonsense: 150, hang: 6, memory: 6 } as const;

/** 32 bits from a seed and a case's number. */
function seedOf(seed: number, number: number): number {
  let mixed = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d);
  return mixed ^ (mixed >>> 13);
}

/** The verdict on one case, and the smallest case that still gives a fault of the same kind. */
async function tried(name: TargetName, seed: number, number: number, reader: Watched): Promise<Fault | Verdict> {
  const { cases } = await TARGETS[name]();
  let first: Verdict | undefined;
  let fault: Fault | undefined;
  let left = 0;
  const property = fc.asyncProperty(cases, async ({ what, files }) => {
    if (first !== undefined && left-- <= 0) return;
    const input = files();
    const verdict = await reader.judge({ target: name, files: input });
    first ??= verdict;
    if (verdict.kind === "accepted" || verdict.kind === "refused" || verdict.kind !== first.kind) return;
    if (fault === undefined) left = NARROWING[verdict.kind];
    fault = { target: name, seed, case: number, kind: verdict.kind, said: verdict.said, what, files: input };
    throw new Error(verdict.said);
  });
  await fc.check(property, { seed: seedOf(seed, number), numRuns: 1 });
  return fault ?? (first as Verdict);
}

export interface FuzzOptions {
  readonly seed: number;
  /** Numbers of the cases. */
  readonly from: number;
  readonly to: number;
  readonly onFault?: (fault: Fault) => void;
}

/** Cases from `from` up to, but not including, `to`. */
export async function fuzz(name: TargetName, options: FuzzOptions, reader: Watched): Promise<Outcome> {
  const { seed, from, to } = options;
  let [accepted, refused] = [0, 0];
  const faults: Fault[] = [];
  for (let number = from; number < to; number++) {
    const found = await tried(name, seed, number, reader);
    if ("files" in found) {
      faults.push(found);
      options.onFault?.(found);
    } else if (found.kind === "accepted") accepted++;
    else refused++;
  }
  return { target: name, seed, cases: to - from, accepted, refused, faults };
}

/** A fault as text, with the command that repeats it. */
export function faultText({ target, seed, case: number, kind, said, what }: Fault): string {
  return `${target}: ${kind}: ${said}\n  by ${what}\n  again: npm run fuzz -- --target ${target} --seed ${seed} --case ${number}`;
}
