/** Golden schema `optim-sequence`: accumulate, clip, AdamW, schedule, moving average, with a checkpoint in the middle. */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";
import {
  type AdamSettings,
  AdamState,
  applyAdamw,
  copySet,
  disposeSet,
  mapSet,
  member,
} from "../../src/engine/rl/optim/optimiser.ts";
import { clipFactor, learningRate, type ScheduleSettings } from "../../src/engine/rl/optim/training-state.ts";
import type { Tolerance } from "./compare.ts";
import { type CaseReport, flat, type Json, numberOr, record, records, shapeOf } from "./golden-json.ts";
import { globalNorm, scaleGradients, updateEma } from "./optim-sets.ts";

const TOLERANCE: Tolerance = { absolute: 5e-6, relative: 1e-6 };

interface Run {
  params: ParameterSet;
  ema: ParameterSet;
  readonly adam: AdamState;
}

/** Everything that must survive a restart, as plain arrays. */
interface Saved {
  readonly step: number;
  readonly params: Float32Array[];
  readonly ema: Float32Array[];
  readonly m: Float32Array[];
  readonly v: Float32Array[];
}

export async function checkSequenceCase(item: Json, report: CaseReport): Promise<void> {
  const initial = tensorsOf(item.initial);
  const run: Run = { params: initial, ema: copySet(initial), adam: AdamState.fresh(initial) };
  const trace = records(item, "trace");
  const checkpoint = record(item, "checkpoint");
  const after = numberOr(checkpoint, "after_step", -1);
  let saved: Saved | undefined;
  for (const [index, wanted] of trace.entries()) {
    const { loss, norm, lr } = await trainStep(item, run, index);
    const name = `step ${index}`;
    report.compare(`${name} loss`, wanted.loss, loss, TOLERANCE);
    report.compare(`${name} norm before clipping`, wanted.grad_norm_before_clip, norm, TOLERANCE);
    report.compare(`${name} rate`, wanted.lr_used, lr, { absolute: 1e-15 });
    report.compare(
      `${name} parameters`,
      wanted.params,
      (await arrays(run.params)).flatMap((a) => [...a]),
      TOLERANCE,
    );
    report.compare(
      `${name} moving average`,
      wanted.ema,
      (await arrays(run.ema)).flatMap((a) => [...a]),
      TOLERANCE,
    );
    if (index === after) saved = await save(run);
  }
  if (saved !== undefined) {
    report.compare("checkpoint step", checkpoint.adam_step, saved.step, {});
    report.compare(
      "checkpoint parameters",
      checkpoint.params,
      saved.params.flatMap((a) => [...a]),
      TOLERANCE,
    );
    report.compare(
      "checkpoint moving average",
      checkpoint.ema,
      saved.ema.flatMap((a) => [...a]),
      TOLERANCE,
    );
    report.compare(
      "checkpoint m",
      checkpoint.exp_avg,
      saved.m.flatMap((a) => [...a]),
      TOLERANCE,
    );
    report.compare(
      "checkpoint v",
      checkpoint.exp_avg_sq,
      saved.v.flatMap((a) => [...a]),
      TOLERANCE,
    );
    await checkResumption(item, saved, run, after + 1, trace.length, report);
  }
  disposeRun(run);
}

/** The rest of the run from the saved arrays must end bit for bit like the uninterrupted run. */
async function checkResumption(
  item: Json,
  saved: Saved,
  whole: Run,
  from: number,
  steps: number,
  report: CaseReport,
): Promise<void> {
  const shapes = tensorsOf(item.initial);
  const restore = (values: readonly Float32Array[]): ParameterSet =>
    Object.fromEntries(
      Object.entries(shapes).map(([name, tensor], i) => [name, tf.tensor(values[i] as Float32Array, tensor.shape)]),
    );
  const adam = new AdamState(saved.step, restore(saved.m), restore(saved.v));
  const run: Run = { params: restore(saved.params), ema: restore(saved.ema), adam };
  disposeSet(shapes);
  for (let index = from; index < steps; index++) await trainStep(item, run, index);
  const end = await save(run);
  const straight = await save(whole);
  for (const key of ["params", "ema", "m", "v"] as const)
    report.compare(
      `resumed ${key}`,
      straight[key].flatMap((a) => [...a]),
      end[key].flatMap((a) => [...a]),
      {},
    );
  disposeRun(run);
}

async function trainStep(item: Json, run: Run, index: number): Promise<{ loss: number; norm: number; lr: number }> {
  const micros = (item.data as unknown[][])[index] as unknown[];
  const weights = tensorsOf(item.weights);
  let grads: ParameterSet | undefined;
  let loss = 0;
  for (const data of micros) {
    const micro = await gradients(run.params, weights, tensorsOf(data), micros.length);
    loss += micro.loss;
    if (grads === undefined) grads = micro.grads;
    else {
      const { grads: other } = micro;
      const sum = mapSet(grads, (tensor, name) => tensor.add(member(other, name)));
      disposeSet(grads);
      disposeSet(micro.grads);
      grads = sum;
    }
  }
  const accumulated = grads ?? {};
  const norm = await globalNorm(accumulated);
  const clipped = scaleGradients(accumulated, clipFactor(norm, numberOr(item, "max_norm", 1)));
  const schedule: ScheduleSettings = {
    kind: "cosine",
    warmupSteps: numberOr(item, "warmup_steps", 0),
    totalSteps: numberOr(item, "total_steps", 1),
    floor: 0,
    cycles: 0.5,
  };
  const lr = learningRate(numberOr(item, "lr", 0), index, schedule);
  const params = applyAdamw(run.params, clipped, run.adam, lr, sequenceAdam(item));
  const ema = updateEma(run.ema, params, numberOr(item, "ema_decay", 0.999));
  for (const set of [run.params, run.ema, weights, accumulated, clipped]) disposeSet(set);
  run.params = params;
  run.ema = ema;
  return { loss, norm, lr };
}

/** mean(0.5·((p - data)·weight)²) summed over the tensors, divided by the micro-batches; owns `data`. */
async function gradients(
  params: ParameterSet,
  weights: ParameterSet,
  data: ParameterSet,
  micros: number,
): Promise<{ loss: number; grads: ParameterSet }> {
  const names = Object.keys(params);
  const { value, grads } = tf.valueAndGrads(
    (...ps) =>
      names
        .map((name, i) =>
          (ps[i] as Tensor)
            .sub(data[name] as Tensor)
            .mul(weights[name] as Tensor)
            .square()
            .mul(0.5)
            .mean(),
        )
        .reduce((a, b) => a.add(b))
        .div(micros) as tf.Scalar,
  )(names.map((name) => params[name] as Tensor));
  const loss = (await value.data())[0] as number;
  tf.dispose([value]);
  disposeSet(data);
  return { loss, grads: Object.fromEntries(names.map((name, i) => [name, grads[i] as Tensor])) };
}

function sequenceAdam(item: Json): AdamSettings {
  const [beta1 = 0.9, beta2 = 0.999] = flat(item.betas);
  return {
    beta1,
    beta2,
    eps: numberOr(item, "eps", 1e-8),
    weightDecay: numberOr(item, "weight_decay", 0),
    noDecay: () => false,
  };
}

function tensorsOf(value: unknown): ParameterSet {
  const list = Array.isArray(value) ? value : [];
  return Object.fromEntries(list.map((one, i) => [`t${i}`, tf.tensor(flat(one), shapeOf(one), "float32")]));
}

async function arrays(set: ParameterSet): Promise<Float32Array[]> {
  const result: Float32Array[] = [];
  for (const tensor of Object.values(set)) result.push((await tensor.data()).slice() as Float32Array);
  return result;
}

async function momentArrays({ adam }: Run, which: "first" | "second"): Promise<Float32Array[]> {
  const set = adam.moments(which);
  return await arrays(set).finally(() => disposeSet(set));
}

async function save(run: Run): Promise<Saved> {
  return {
    step: run.adam.step,
    params: await arrays(run.params),
    ema: await arrays(run.ema),
    m: await momentArrays(run, "first"),
    v: await momentArrays(run, "second"),
  };
}

function disposeRun(run: Run): void {
  disposeSet(run.params);
  disposeSet(run.ema);
  run.adam.dispose();
}
