/** Golden folders of the `optim` form: AdamW, schedules, clipping, moving average and a whole small training run. */
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";
import {
  type AdamCoefficients,
  type AdamSettings,
  AdamState,
  adamCoefficients,
  applyAdamw,
  disposeSet,
  rampedDecay,
} from "../../src/engine/rl/optim/optimiser.ts";
import { clipFactor, learningRate } from "../../src/engine/rl/optim/training-state.ts";
import { missed, type Tolerance } from "./compare.ts";
import {
  type CaseReport,
  flat,
  goldenFiles,
  type Json,
  numberOr,
  record,
  records,
  runCase,
  text,
} from "./golden-json.ts";
import { caseName } from "./grpo/grpo-loss.ts";
import { checkRunCase } from "./optim-run.ts";
import { checkSequenceCase } from "./optim-sequence.ts";
import { globalNorm, scaleGradients, updateEma } from "./optim-sets.ts";
import type { ParityRow } from "./row.ts";

/** From the golden README: float32 on parameters of order 1; relative for larger values. */
export const OPTIM_TOLERANCE: Tolerance = { absolute: 5e-6, relative: 1e-6 };
const DOUBLE: Tolerance = { absolute: 1e-12, relative: 1e-12 };

type CheckCase = (item: Json, report: CaseReport) => Promise<void> | void;

const CHECKS: Readonly<Record<string, CheckCase>> = {
  "optim-adamw": checkAdamwCase,
  "optim-clip": checkClipCase,
  "optim-ema": checkEmaCase,
  "optim-run": checkRunCase,
  "optim-sequence": checkSequenceCase,
};

const SCHEDULES = ["cosine_with_warmup", "cosine_with_floor", "linear_then_cosine_torch"] as const;

/** Runs every case of every JSON file of the folder on the current tf backend. */
export async function* optimParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  for (const [path, json] of await goldenFiles(folder)) {
    const check = CHECKS[schemaOf(json)];
    if (schemaOf(json) === "optim-schedule") {
      for (const kind of SCHEDULES)
        for (const [index, item] of records(json, kind).entries())
          yield* await runCase(`${path} ${kind} ${index}`, (report) => checkSchedule(kind, item, report));
    } else if (check === undefined) {
      yield missed(path, "recognise the file", `unknown schema "${text(json, "schema")}"`);
    } else {
      for (const [index, item] of records(json, "cases").entries())
        yield* await runCase(caseName(path, item, index), (report) => check(item, report));
    }
  }
}

function schemaOf(json: Json): string {
  return text(json, "schema").split("/")[0] ?? "";
}

function checkSchedule(kind: (typeof SCHEDULES)[number], item: Json, report: CaseReport): void {
  const common = { warmupSteps: numberOr(item, "warmup_steps", 0), totalSteps: numberOr(item, "total_steps", 1) };
  const floor = numberOr(item, "min_lr_ratio", 0);
  const settings =
    kind === "linear_then_cosine_torch"
      ? ({ kind: "linear-then-cosine", ...common, startFactor: numberOr(item, "start_factor", 1), floor } as const)
      : ({
          kind: "cosine",
          ...common,
          floor,
          cycles: numberOr(item, "num_cycles", 0.5),
        } as const);
  const rates = flat(item.step).map((step) => learningRate(numberOr(item, "base_lr", 1), step, settings));
  report.compare("rates", item.lr, rates, { absolute: 1e-15, relative: 1e-12 });
}

/** Settings of a golden case; all its tensors decay, whatever their rank. */
export function adamSettings(item: Json): AdamSettings {
  const [beta1 = 0.9, beta2 = 0.999] = flat(item.betas);
  return {
    beta1,
    beta2,
    eps: numberOr(item, "eps", 1e-8),
    weightDecay: numberOr(item, "weight_decay", 0),
    noDecay: () => false,
  };
}

async function checkAdamwCase(item: Json, report: CaseReport): Promise<void> {
  const settings = adamSettings(item);
  const start = flat(item.initial_param);
  const grads = Array.isArray(item.grads) ? item.grads.map(flat) : [];
  const double = {
    param: Float64Array.from(start),
    m: new Float64Array(start.length),
    v: new Float64Array(start.length),
  };
  let params: ParameterSet = { p: tf.tensor1d(start) };
  const state = AdamState.fresh(params);
  for (const [index, step] of records(item, "trace").entries()) {
    const grad = grads[index] as number[];
    const perStep = Array.isArray(item.lr_per_step) ? flat(item.lr_per_step)[index] : undefined;
    const lr = perStep ?? numberOr(item, "lr", 0);
    adamwInDouble(double, grad, settings, adamCoefficients(index + 1, lr, settings, true));
    report.compare(`step ${index + 1} parameter in double`, step.param, double.param, DOUBLE);
    report.compare(`step ${index + 1} m in double`, step.exp_avg, double.m, DOUBLE);
    report.compare(`step ${index + 1} v in double`, step.exp_avg_sq, double.v, DOUBLE);
    const given = { p: tf.tensor1d(grad) };
    const next = applyAdamw(params, given, state, lr, settings);
    disposeSet(params);
    disposeSet(given);
    params = next;
    report.compare(`step ${index + 1} parameter`, step.param, await (params.p as Tensor).data(), OPTIM_TOLERANCE);
    for (const [what, which, wanted] of [
      ["m", "first", step.exp_avg],
      ["v", "second", step.exp_avg_sq],
    ] as const) {
      const moments = state.moments(which);
      report.compare(`step ${index + 1} ${what}`, wanted, await (moments.p as Tensor).data(), OPTIM_TOLERANCE);
      disposeSet(moments);
    }
  }
  disposeSet(params);
  state.dispose();
}

/** AdamW on plain numbers in double precision, in place. */
function adamwInDouble(
  { param, m, v }: { param: Float64Array; m: Float64Array; v: Float64Array },
  grad: readonly number[],
  settings: AdamSettings,
  { keep, stepSize, rootScale }: AdamCoefficients,
): void {
  for (const [i, g] of grad.entries()) {
    m[i] = settings.beta1 * (m[i] as number) + (1 - settings.beta1) * g;
    v[i] = settings.beta2 * (v[i] as number) + (1 - settings.beta2) * g * g;
    const root = Math.sqrt(v[i] as number) * rootScale + settings.eps;
    param[i] = keep * (param[i] as number) - (stepSize * (m[i] as number)) / root;
  }
}

async function checkClipCase(item: Json, report: CaseReport): Promise<void> {
  const expected = record(item, "expected");
  const tensors = Array.isArray(item.grads) ? item.grads.map(flat) : [];
  const grads: ParameterSet = Object.fromEntries(tensors.map((values, i) => [`g${i}`, tf.tensor1d(values)]));
  const kind = item.norm_type === "inf" || numberOr(item, "norm_type", 2) === Number.POSITIVE_INFINITY ? "max" : "l2";
  const norm = await globalNorm(grads, kind);
  const broken = tensors.flat().some((g) => !Number.isFinite(g));
  if (broken) {
    // On a device the kind of a broken norm is unreliable; the trainer only checks whether it is finite.
    report.compare("norm is not finite", 1, Number(!Number.isFinite(norm)), {});
    const double = tensors.flat().reduce((sum, g) => sum + g * g, 0);
    const factor = clipFactor(Math.sqrt(double), numberOr(item, "max_norm", 1));
    report.compare("norm in double", expected.total_norm, Math.sqrt(double), DOUBLE);
    report.compare(
      "clipped in double",
      expected.clipped,
      tensors.flat().map((g) => g * factor),
      DOUBLE,
    );
  } else {
    report.compare("norm", expected.total_norm, norm, OPTIM_TOLERANCE);
    const clipped = scaleGradients(grads, clipFactor(norm, numberOr(item, "max_norm", 1)));
    const values: number[] = [];
    for (const tensor of Object.values(clipped)) values.push(...(await tensor.data()));
    report.compare("clipped", expected.clipped, values, OPTIM_TOLERANCE);
    disposeSet(clipped);
  }
  disposeSet(grads);
}

async function checkEmaCase(item: Json, report: CaseReport): Promise<void> {
  const decay = numberOr(item, "decay", 0.999);
  const ramped = typeof item.decay_ramp === "string";
  let double: number[] = flat(item.initial);
  let ema: ParameterSet = { p: tf.tensor1d(double) };
  const students = Array.isArray(item.student_after_step) ? item.student_after_step.map(flat) : [];
  for (const [index, step] of records(item, "trace").entries()) {
    const student = students[index] as number[];
    const used = ramped ? rampedDecay(decay, numberOr(step, "step", index + 1)) : decay;
    report.compare(`update ${index + 1} decay`, step.decay_used, used, DOUBLE);
    double = double.map((average, i) => average + (1 - used) * ((student[i] as number) - average));
    report.compare(`update ${index + 1} in double`, step.ema, double, DOUBLE);
    const params = { p: tf.tensor1d(student) };
    const next = updateEma(ema, params, used);
    disposeSet(ema);
    disposeSet(params);
    ema = next;
    report.compare(`update ${index + 1}`, step.ema, await (ema.p as Tensor).data(), OPTIM_TOLERANCE);
  }
  disposeSet(ema);
}
