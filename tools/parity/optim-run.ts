/** Golden schema `optim-run`: whole updates of both loops, as in a step, against torch's optimiser and schedules. */
import { defaultConfig } from "../../src/engine/config/parse.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";
import type { GradientSum } from "../../src/engine/rl/optim/gradient-sum.ts";
import {
  disposeState,
  freshState,
  gradientSum,
  joinLoops,
  updateState,
} from "../../src/engine/rl/optim/training-state.ts";
import type { LoopId } from "../../src/engine/runs/rollouts/records.ts";
import type { Tolerance } from "./compare.ts";
import { type CaseReport, flat, type Json, numberOr, record, records, shapeOf, text } from "./golden-json.ts";

/** For a rate of 0.02: Adam scales every gradient to full size, so rounding of a gradient near 0 shows in the weights. */
const TOLERANCE: Tolerance = { absolute: 5e-6, relative: 2e-6 };

export async function checkRunCase(item: Json, report: CaseReport): Promise<void> {
  const config = { ...defaultConfig(), ...record(item, "settings") };
  const tensors = records(item, "tensors");
  const blocks = new Map(tensors.map((tensor) => [text(tensor, "name"), text(tensor, "block")]));
  const shapes = new Map(tensors.map((tensor) => [text(tensor, "name"), shapeOf(tensor.values)]));
  const tensorOf = (name: string, values: unknown) => tf.tensor(flat(values), shapes.get(name) ?? []);
  const start = tensors.map((tensor) => [text(tensor, "name"), tensorOf(text(tensor, "name"), tensor.values)] as const);
  const state = freshState(Object.fromEntries(start), (name) => blocks.get(name) ?? "", 1);
  for (const [index, update] of records(item, "updates").entries()) {
    const sums = new Map<LoopId, GradientSum>();
    for (const batch of records(update, "batches")) {
      const loop = numberOr(batch, "loop", 1) as LoopId;
      const sum = sums.get(loop) ?? gradientSum(state);
      sums.set(loop, sum);
      const given = Object.entries(record(batch, "gradients"));
      sum.add(Object.fromEntries(given.map(([name, values]) => [name, tensorOf(name, values)])));
    }
    const wanted = record(update, "expected");
    const { stepped, metrics } = await updateState(state, await joinLoops(sums, config), config, async () => {});
    const name = `update ${index + 1}`;
    report.compare(`${name} is made`, wanted.stepped, Number(stepped), {});
    report.compare(`${name} rate`, wanted.rate, metrics.learning_rate ?? Number.NaN, { absolute: 1e-15 });
    report.compare(`${name} norm before any clip`, wanted.norm, metrics.grad_norm ?? Number.NaN, TOLERANCE);
    report.compare(
      `${name} distance of the average`,
      wanted.distance,
      metrics["ema/distance"] ?? Number.NaN,
      TOLERANCE,
    );
    report.compare(`${name} parameters`, wanted.params, await numbers(state.params), TOLERANCE);
    report.compare(`${name} moving average`, wanted.ema, await numbers(state.ema), TOLERANCE);
  }
  disposeState(state);
}

async function numbers(set: ParameterSet): Promise<number[]> {
  const values: number[] = [];
  for (const tensor of Object.values(set)) values.push(...(await tensor.data()));
  return values;
}
