/**
 * All measurements of a card, the most important first, in calls of limited length: completed stages are not repeated,
 * and checks and kernels continue with the next case.
 */
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { LabError } from "../../src/engine/errors.ts";
import { CARD_STAGES, type CardSizes, type CardStage } from "../../src/plugins/card/card-line.ts";
import { cardStage } from "../../src/plugins/card/measure.ts";
import { SUITES, type Suite } from "../context.ts";
import { nodePlace } from "../tool/node-place.ts";
import type { BatteryRecord } from "./record.ts";
import { RUN_STAGES, type RunStage, runStage } from "./runs.ts";

export const STAGES = [...CARD_STAGES, ...SUITES, ...RUN_STAGES] as const;
export type Stage = (typeof STAGES)[number];

interface Turn {
  readonly record: BatteryRecord;
  /** Remaining seconds. */
  readonly left: () => number;
  /** Seconds of the whole call. */
  readonly seconds: number;
  /** Names of the card's measurements; the suites of the bench have their own. */
  readonly sizes: CardSizes;
}

/**
 * Runs the stages that are not complete yet, until the time is up.
 * @param left remaining seconds
 * @returns whether all requested stages are complete
 */
export async function runBattery(asked: readonly Stage[], turn: Turn): Promise<boolean> {
  const { record, left } = turn;
  for (const stage of STAGES.filter((one) => asked.includes(one) && !record.isDone(one))) {
    if (left() <= 0) return false;
    try {
      const whole = isSuite(stage) ? benched(stage, turn) : isRun(stage) ? ran(stage, turn) : measured(stage, turn);
      if (!(await whole)) return false;
    } catch (thrown) {
      // The record names the failure; the other stages still run.
      const { message, stack } = thrown instanceof Error ? thrown : new LabError("internal", String(thrown));
      record.add({ stage, failed: message, where: thrown instanceof LabError ? undefined : stack });
    }
    record.add({ stage, end: true });
  }
  return true;
}

const isSuite = (stage: Stage): stage is Suite => (SUITES as readonly string[]).includes(stage);

const isRun = (stage: Stage): stage is RunStage => (RUN_STAGES as readonly string[]).includes(stage);

/** Starts only in the first half of a call, because a run that is cut off begins anew. */
async function ran(stage: RunStage, { record, left, seconds, sizes }: Turn): Promise<boolean> {
  if (left() < seconds / 2) return false;
  await runStage(stage, sizes, (line) => record.add({ stage, ...line }));
  return true;
}

/** Checks of earlier calls are not repeated. */
async function measured(stage: CardStage, { record, left, sizes }: Turn): Promise<boolean> {
  const device = await openNodeDevice();
  try {
    const known = new Set(record.cases(stage));
    const work = { device, sizes, now: () => performance.now(), known };
    for await (const line of cardStage(stage, work)) {
      record.add(stage === "adapter" ? { ...line, node: process.version } : line);
      // The last check completes the memory test.
      if (left() <= 0 && line.case !== "Memory given back") return false;
    }
    return true;
  } finally {
    device.close();
  }
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
