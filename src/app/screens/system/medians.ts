import type { PhaseCost, StepCosts } from "../../../engine/runs/phase-lines.ts";
import { median } from "../../styles/median.ts";

/** A cost of a phase in the last step, and its median over the steps that ran the phase; null if unknown. */
export interface LastAndMedian {
  readonly last: number | null;
  readonly median: number | null;
}

export type PhaseRow = Readonly<Record<keyof PhaseCost, LastAndMedian>>;

const NAMES: readonly (keyof PhaseCost)[] = [
  "seconds",
  "gpuSeconds",
  "dispatches",
  "submits",
  "readBacks",
  "readBytes",
  "writtenBytes",
  "buffers",
  "bufferBytes",
  "programs",
  "peakBytes",
];

/** Sum over the phases of a step, or the highest for peaks; null if unknown for any phase. */
function wholeStep({ phases }: StepCosts): PhaseCost {
  const costs = Object.values(phases);
  const sum = (name: keyof PhaseCost): number | null => {
    if (costs.some((cost) => cost[name] === null)) return null;
    const values = costs.map((cost) => cost[name] ?? 0);
    return name === "peakBytes" ? Math.max(...values) : values.reduce((total, value) => total + value, 0);
  };
  return Object.fromEntries(NAMES.map((name) => [name, sum(name)])) as unknown as PhaseCost;
}

function rowOf(last: PhaseCost | undefined, all: readonly PhaseCost[]): PhaseRow {
  const entry = (name: keyof PhaseCost): LastAndMedian => ({
    last: last?.[name] ?? null,
    median: median(all.flatMap((cost) => cost[name] ?? [])),
  });
  return Object.fromEntries(NAMES.map((name) => [name, entry(name)])) as unknown as PhaseRow;
}

/** One row per phase that any step ran, and the whole step; null before the first step. */
export function phaseRows(
  steps: readonly StepCosts[],
): { readonly phases: ReadonlyMap<string, PhaseRow>; readonly total: PhaseRow } | null {
  const last = steps.at(-1);
  if (last === undefined) return null;
  const names = new Set(steps.flatMap(({ phases }) => Object.keys(phases)));
  const phases = new Map<string, PhaseRow>();
  for (const name of names) {
    const costs = steps.flatMap((step) => step.phases[name] ?? []);
    phases.set(name, rowOf(last.phases[name], costs));
  }
  return { phases, total: rowOf(wholeStep(last), steps.map(wholeStep)) };
}
