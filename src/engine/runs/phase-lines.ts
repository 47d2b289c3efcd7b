/**
 * `phases.jsonl` of a run folder: the cost of every step by phase, one line per step. Separate from metrics.jsonl,
 * because costs depend on the machine and on caches: a resumed run repeats the metrics, not the costs.
 */
import * as z from "zod/mini";
import { intactJson } from "../bytes/json.ts";
import { runLines } from "./lines.ts";
import { MOST_STEPS } from "./step-name.ts";

/** Costs of one phase of a step. */
export interface PhaseCost {
  readonly seconds: number;
  /** Seconds of GPU work, by timestamp queries; null on adapters without them. */
  readonly gpuSeconds: number | null;
  readonly dispatches: number;
  /** Command submissions. */
  readonly submits: number;
  /** Buffers mapped for reading, and their bytes. */
  readonly readBacks: number;
  readonly readBytes: number;
  /** Bytes written to the GPU. */
  readonly writtenBytes: number;
  /** GPU buffers created (not those reused from the pool), and their bytes. */
  readonly buffers: number;
  readonly bufferBytes: number;
  /** Compute pipelines created; null for runs that did not count them. */
  readonly programs: number | null;
  /** Peak bytes of all GPU buffers; null for runs that did not measure them. */
  readonly peakBytes: number | null;
}

/** By the name of the phase. */
export type PhaseCosts = Readonly<Record<string, PhaseCost>>;

const KEYS: Readonly<Record<keyof PhaseCost, string>> = {
  seconds: "seconds",
  gpuSeconds: "gpu_seconds",
  dispatches: "dispatches",
  submits: "submits",
  readBacks: "read_backs",
  readBytes: "read_bytes",
  writtenBytes: "written_bytes",
  buffers: "buffers",
  bufferBytes: "buffer_bytes",
  programs: "programs",
  peakBytes: "peak_bytes",
};
/** Values that may be missing. */
const OPEN: ReadonlySet<keyof PhaseCost> = new Set(["gpuSeconds", "programs", "peakBytes"]);
const NAMES = Object.keys(KEYS) as (keyof PhaseCost)[];

const amount = z.number().check(z.gte(0));
const COST = NAMES.map((name) => [KEYS[name], OPEN.has(name) ? z.catch(z.nullable(amount), null) : amount] as const);
const LINE = z.object({
  step: amount.check(z.int(), z.lte(MOST_STEPS)),
  phases: z.record(z.string(), z.object(Object.fromEntries(COST))),
});

export interface StepCosts {
  readonly step: number;
  readonly phases: PhaseCosts;
}

/** `{"step":1,"phases":{"loss":{"seconds":0.2,"gpu_seconds":0.1,"dispatches":310,…}}}`. */
function phaseLine({ step, phases }: StepCosts): string {
  const rows = Object.entries(phases).map(([phase, cost]) => [
    phase,
    Object.fromEntries(NAMES.map((name) => [KEYS[name], cost[name]])),
  ]);
  return JSON.stringify({ step, phases: Object.fromEntries(rows) });
}

/** `phases.jsonl` of a run. Lines that cannot be read are skipped, because costs are not results. */
export const PHASES = runLines<StepCosts>({
  file: "phases.jsonl",
  format: phaseLine,
  parse: parsePhases,
  stepOf: ({ step }) => step,
});

export const { append: appendPhases, read: readPhases } = PHASES;

function parsePhases(line: string): StepCosts | undefined {
  const stored = intactJson(line, LINE);
  if (stored === undefined) return undefined;
  const phases = Object.entries(stored.phases).map(([phase, cost]) => [
    phase,
    Object.fromEntries(NAMES.map((name) => [name, cost[KEYS[name]]])),
  ]);
  return { step: stored.step, phases: Object.fromEntries(phases) };
}
