/** The held-out evaluation of a step of a run. */
import { activeLoops, weightedLoops } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { type EvalDeps, evaluateRows, runReward } from "../../eval/held-out.ts";
import { hollowAlarm, hollowGains } from "../../eval/hollow-gains.ts";
import { storeEvaluation } from "../../eval/report.ts";
import { trimPool } from "../../gpu/runtime/pool.ts";
import { reportPictures } from "../../runs/evaluations/evaluation-scores.ts";
import { readEvaluations } from "../../runs/evaluations/evaluations.ts";
import { aboutLoop, LOOP_IDS } from "../loops/abouts.ts";
import { LOOP_CODE } from "../loops/registry.ts";
import { evaluationRows } from "../step/clip-frames.ts";
import type { StepContext } from "../step/context.ts";
import { raiseAlarm } from "./raise-alarm.ts";
import type { TrainerDeps } from "./trainer-deps.ts";

/**
 * Evaluates held-out rows with the current weights, or at step 0 with those of the start, stores the result and emits it.
 * @throws LabError("cancelled") when stopped, LabError("held") when a reward is not available
 */
export async function evaluateRun(
  { config, run, rows, evaluated, emit, checkDevice }: TrainerDeps,
  context: StepContext,
): Promise<void> {
  const { step } = context;
  const total = evaluated.report.length + evaluated.selection.length;
  const weights = step === 0 ? { policy: context.start, partner: context.start } : {};
  const deps = { ...context, ...weights, rows: evaluationRows(rows, config), loops: evaluators(config) };
  const scores = await evaluateRows(deps, evaluated, (done) => emit({ type: "eval-rows", done, total }));
  await checkDevice();
  trimPool();
  const report = await storeEvaluation(run.store, run.id, step, scores, { ...config, ...runReward(config) });
  emit({ type: "eval", report, pictures: reportPictures(scores) });
  const baseline = (await readEvaluations(run.store, run.id)).find((own) => own.report.step === report.baseline);
  for (const gain of hollowGains({ report, rows: scores }, baseline, weightedLoops(config))) {
    await raiseAlarm(run, emit, hollowAlarm(gain, step));
  }
}

/** The loops that sample held-out rows: those with a fixed score, and those that train. */
function evaluators(config: LabConfig): EvalDeps["loops"] {
  const active = activeLoops(config);
  const found = LOOP_IDS.flatMap((id) => {
    const { evaluate } = LOOP_CODE[id];
    const asked = aboutLoop(id).heldOut !== undefined || active.includes(id);
    return evaluate === undefined || !asked ? [] : [[id, evaluate] as const];
  });
  return Object.fromEntries(found);
}
