/**
 * Everything that is measured of a card, most wanted first, in calls of limited length: a stage that is complete is not
 * repeated, kernels go on with the next case.
 */
import { openNodeDevice } from "../../scripts/lib/node-gpu.ts";
import { LabError } from "../../src/engine/errors.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { lengthProblems, longProblems, type Problem, problems } from "../../src/engine/self-test/checks.ts";
import { passed } from "../../src/engine/self-test/self-check.ts";
import { selfTest } from "../../src/engine/self-test/self-test.ts";
import type { Suite } from "../context.ts";
import { nodePlace } from "../tool/node-place.ts";
import { roofline } from "./rates.ts";
import type { BatteryRecord } from "./record.ts";

export const STAGES = ["adapter", "self-test", "long", "rates", "kernels", "decode", "step"] as const;
export type Stage = (typeof STAGES)[number];

interface Turn {
  readonly record: BatteryRecord;
  /** Seconds that are left. */
  readonly left: () => number;
}

/**
 * Runs the stages that are not complete yet, until the time is up.
 * @param left seconds that are left
 * @returns whether all asked stages are complete
 */
export async function runBattery(asked: readonly Stage[], turn: Turn): Promise<boolean> {
  const { record, left } = turn;
  for (const stage of STAGES.filter((one) => asked.includes(one) && !record.isDone(one))) {
    if (left() <= 0) return false;
    try {
      if (!(await RUNS[stage](turn))) return false;
    } catch (thrown) {
      // The record names the failure; the other stages still run.
      const { message, stack } = thrown instanceof Error ? thrown : new LabError("internal", String(thrown));
      record.add({ stage, failed: message, where: thrown instanceof LabError ? undefined : stack });
    }
    record.add({ stage, end: true });
  }
  return true;
}

const RUNS: Readonly<Record<Stage, (turn: Turn) => Promise<boolean>>> = {
  adapter: ({ record }) =>
    onDevice(async ({ report }) => {
      record.add({ stage: "adapter", ...report, node: process.version });
      return true;
    }),
  "self-test": (turn) => onDevice((device) => checked("self-test", device, [...problems(), ...lengthProblems()], turn)),
  long: (turn) => onDevice((device) => checked("long", device, longProblems(), turn)),
  rates: ({ record }) =>
    onDevice(async (device) => {
      record.add({ stage: "rates", ...(await roofline(device)) });
      return true;
    }),
  kernels: (turn) => benched("kernels", turn),
  decode: (turn) => benched("decode", turn),
  step: (turn) => benched("step", turn),
};

async function onDevice(work: (device: EngineDevice) => Promise<boolean>): Promise<boolean> {
  const device = await openNodeDevice();
  try {
    return await work(device);
  } finally {
    device.close();
  }
}

/** Checks by name; those of earlier calls are not repeated. */
async function checked(
  stage: Stage,
  device: EngineDevice,
  all: readonly Problem[],
  { record, left }: Turn,
): Promise<boolean> {
  const known = new Set(record.cases(stage));
  const rest = all.filter(({ name }) => !known.has(name));
  let done = 0;
  for await (const check of selfTest(device, () => performance.now() / 1000, rest)) {
    record.add({ stage, case: check.name, passed: passed(check), ...check });
    done++;
    if (left() <= 0 && done < rest.length) return false;
  }
  return true;
}

async function benched(suite: Suite, { record, left }: Turn): Promise<boolean> {
  let whole = true;
  const options = {
    suite,
    rounds: 5,
    budget: Math.max(1, left()),
    only: "",
    measured: record.cases(suite),
    jax: true,
    ort: false,
    card: false,
    processorTime: false,
    disguised: null,
  };
  const place = nodePlace();
  try {
    const { rates } = await place.run(options, {
      onRow: (row) => record.add({ stage: suite, ...row }),
      onLeftOut(what, why) {
        if (why === "the time was up") whole = false;
        else record.add({ stage: suite, leftOut: what, why });
      },
    });
    record.add({ stage: suite, rates });
  } finally {
    await place.close();
  }
  return whole;
}
