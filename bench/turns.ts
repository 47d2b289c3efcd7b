/** Times several baselines in turn, so that all run under the same load of a shared machine. */
import type { Clock } from "../src/plugins/tuner/peak.ts";
import type { Baseline, Times } from "./row.ts";

/** Records this number of calls and resolves when the last result is available. */
export type Calls = (calls: number) => Promise<void>;

export type { Clock };
export const wallClock: Clock = () => performance.now();

const MEASURE = { leastCalls: 1, mostCalls: 20, milliseconds: 60 };

export interface TurnLimits {
  /** Maximum rounds; the first is always measured. */
  readonly rounds: number;
  /** Maximum wall milliseconds for the case, compiling included; no round begins later. */
  readonly budget: number;
  readonly clock: Clock;
}

/**
 * Times of every baseline in milliseconds per call, measured in turn. The first call of each compiles and does not
 * count. Short calls are repeated within a measurement.
 */
export async function inTurn(
  baselines: Readonly<Partial<Record<Baseline, Calls>>>,
  limits: TurnLimits,
): Promise<Times> {
  const { rounds, budget, clock } = limits;
  const entries = Object.entries(baselines) as [Baseline, Calls][];
  const begin = performance.now();
  const repeat = new Map<Baseline, number>();
  for (const [name, run] of entries) {
    const first = await wallTime(run);
    // A compiled call that takes this long is measured alone.
    const once = first > 1000 ? Math.min(first, MEASURE.milliseconds) : await wallTime(run);
    const wanted = Math.round(MEASURE.milliseconds / Math.max(once, 1e-3));
    repeat.set(name, Math.min(MEASURE.mostCalls, Math.max(MEASURE.leastCalls, wanted)));
  }
  const times: Partial<Record<Baseline, number[]>> = {};
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of entries) {
      const calls = repeat.get(name) ?? 1;
      const start = await clock();
      await run(calls);
      const time = ((await clock()) - start) / calls;
      times[name] = [...(times[name] ?? []), time];
    }
    if (performance.now() - begin > budget) break;
  }
  return times;
}

async function wallTime(run: Calls): Promise<number> {
  const start = performance.now();
  await run(1);
  return performance.now() - start;
}
