/** One line per step, as the tools print it. */

import type { TrainerEvent } from "../../src/engine/rl/events.ts";
import { EVAL_METRICS, type EvalReport } from "../../src/engine/runs/evaluations.ts";
import type { StepMetrics } from "../../src/engine/runs/records.ts";

type StepEvent = Extract<TrainerEvent, { type: "step" }>;

/** Metrics of one loop without their prefix. */
function ofLoop(metrics: StepMetrics, loop: number): Record<string, number> | undefined {
  const prefix = `loop${loop}/`;
  const own = Object.entries(metrics).filter(([name]) => name.startsWith(prefix));
  return own.length === 0
    ? undefined
    : Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
}

/** `{"step", "loop1", "loop2", "step_time", "phases", "costs", …}`, or a short sentence for people. */
export function stepLine({ step, metrics, phaseTimes, costs }: StepEvent, json: boolean): string {
  const loops = { loop1: ofLoop(metrics, 1), loop2: ofLoop(metrics, 2) };
  if (json) {
    const rest = Object.fromEntries(Object.entries(metrics).filter(([name]) => !/^(loop[12]|time)\//.test(name)));
    return JSON.stringify({ ...rest, step, ...loops, step_time: metrics.step_time, phases: phaseTimes, costs });
  }
  const show = (value: number | undefined): string => (value === undefined ? "–" : value.toFixed(3));
  const reward = (["loop1", "loop2"] as const).map((loop) => `${loop} ${show(loops[loop]?.reward)}`).join("  ");
  return `step ${step}  ${reward}  loss ${show(metrics.loss)}  grad ${show(metrics.grad_norm)}  ${show(metrics.step_time)} s`;
}

/** `{"eval": {"step", "loop1_sampled", …, "n", "ci", "difference"}}`, or a short sentence for people. */
export function evalLine({ step, n, means, ci, difference }: EvalReport, json: boolean): string {
  if (json) return JSON.stringify({ eval: { step, ...means, n, ci, difference } });
  const shown = EVAL_METRICS.map((metric) => {
    const change = difference?.[metric];
    const range =
      change === undefined ? "" : ` (${change.low.toFixed(3)} to ${change.high.toFixed(3)} against the start)`;
    return `${metric} ${means[metric].toFixed(3)}${range}`;
  });
  return `evaluation at step ${step} over ${n} rows: ${shown.join(", ")}`;
}
