/** One line per step, as the tools print it. */

import { LOOP_IDS } from "../../src/engine/rl/loops/abouts.ts";
import type { TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { differenceText, fewPicturesText, intervalJson } from "../../src/engine/runs/evaluations/difference-text.ts";
import { lackingText, SCORES, scoreOf, selectionText } from "../../src/engine/runs/evaluations/evaluation-scores.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";

type StepEvent = Extract<TrainerEvent, { type: "step" }>;
type EvalEvent = Omit<Extract<TrainerEvent, { type: "eval" }>, "type">;

/** Metrics of one loop without their prefix. */
function ofLoop(metrics: StepMetrics, loop: number): Record<string, number> | undefined {
  const prefix = `loop${loop}/`;
  const own = Object.entries(metrics).filter(([name]) => name.startsWith(prefix));
  return own.length === 0
    ? undefined
    : Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
}

/** `{"step", "loop1", …, "step_time", "phases", "costs", …}`, or a short sentence for people. */
export function stepLine({ step, metrics, phaseTimes, costs }: StepEvent, json: boolean): string {
  const loops = Object.fromEntries(LOOP_IDS.map((id) => [`loop${id}`, ofLoop(metrics, id)]));
  if (json) {
    const rest = Object.fromEntries(Object.entries(metrics).filter(([name]) => !/^(loop\d+|time)\//.test(name)));
    return JSON.stringify({ ...rest, step, ...loops, step_time: metrics.step_time, phases: phaseTimes, costs });
  }
  const show = (value: number | undefined): string => (value === undefined ? "–" : value.toFixed(3));
  const reward = Object.entries(loops)
    .flatMap(([loop, own]) => (own === undefined ? [] : [`${loop} ${show(own.reward)}`]))
    .join("  ");
  return `step ${step}  ${reward}  loss ${show(metrics.loss)}  grad ${show(metrics.grad_norm)}  ${show(metrics.step_time)} s`;
}

/** `{"eval": {"step", "loop1_sampled", …, "n", "ci", "difference", "reward", "selection", …}}`, or sentences for people. */
export function evalLine({ report, pictures }: EvalEvent, json: boolean): string {
  const { step, n, means, ci, difference, reward, selection, maskPolicy, baseline } = report;
  if (json) {
    return intervalJson({
      eval: { step, ...means, n, pictures, ci, difference, reward, selection, maskPolicy, baseline },
    });
  }
  const shown = SCORES.flatMap((id) => {
    const score = scoreOf(report, id);
    if (score === null) return [];
    const { difference: change, start } = score;
    const from =
      change === null ? "" : ` from ${start?.toFixed(3)} at step ${baseline ?? 0}, ${differenceText(change)}`;
    const lacking = lackingText(score.n, n);
    return [`${id} ${score.mean.toFixed(3)}${from}${lacking === "" ? "" : ` (${lacking})`}`];
  });
  const few = fewPicturesText(pictures);
  return `evaluation at step ${step} over ${n} report rows: ${shown.join(", ")}; ${selectionText(report)}${few === "" ? "" : `; ${few}`}`;
}
