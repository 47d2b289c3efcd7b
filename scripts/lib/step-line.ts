/** One line per step, as the tools print it. */

import { isRecord } from "../../src/engine/bytes/json.ts";
import { LOOP_IDS } from "../../src/engine/rl/loops/abouts.ts";
import type { TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { differenceText, fewPicturesText } from "../../src/engine/runs/evaluations/difference-text.ts";
import { lackingText, SCORES, scoreOf, selectionName } from "../../src/engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport } from "../../src/engine/runs/evaluations/evaluations.ts";
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

/** JSON of the tools: the ends of an interval without spread are null. */
export function intervalJson(value: unknown): string {
  return JSON.stringify(value, (key, own: unknown) => {
    if (!isRecord(own)) return own;
    // Intervals of means are stored as pairs.
    if (key === "ci") {
      return Object.fromEntries(
        Object.entries(own as EvalReport["ci"]).map(([of, [low, high]]) => [
          of,
          low === high ? [null, null] : [low, high],
        ]),
      );
    }
    return "low" in own && own.low === own.high ? { ...own, low: null, high: null } : own;
  });
}

/** One clause that says how an evaluation chooses the best checkpoint. */
export function selectionText(report: EvalReport): string {
  const { selection } = report;
  if (selection === null) return "no rows choose the best checkpoint";
  const value = selection.value === null ? "missing" : selection.value.toFixed(3);
  return `${selectionName(report)} of the selection rows is ${value}`;
}
