/** Remaining time of a run, computed from its events as the page receives them. */
import { beforeEach, describe, expect, it } from "vitest";
import {
  type Eta,
  etaAfter,
  evaluationSeconds,
  NO_PACE,
  roughly,
  runSeconds,
} from "../../../src/app/stores/run/eta.ts";
import { applyEvent, beginRun, noteSaveAsked, useRun } from "../../../src/app/stores/run/run.ts";
import type { Phase, RunState, TrainerEvent } from "../../../src/engine/rl/run/events.ts";
import type { EvalReport } from "../../../src/engine/runs/evaluations/evaluations.ts";
import type { PhaseCost } from "../../../src/engine/runs/phase-lines.ts";
import { manifest } from "../runs/sample-run.ts";

const NO_COST: PhaseCost = {
  seconds: 0,
  gpuSeconds: null,
  dispatches: 0,
  submits: 0,
  readBacks: 0,
  readBytes: 0,
  writtenBytes: 0,
  buffers: 0,
  bufferBytes: 0,
  programs: 0,
  peakBytes: 0,
};
const CONFIG = { steps: 20, evalSteps: 0, evalRows: 8, saveSteps: 0 };

/** Steps of these seconds, each spent in two phases. */
const costs = (...seconds: number[]) =>
  seconds.map((all, at) => ({
    step: at + 1,
    phases: { generate: { ...NO_COST, seconds: all / 4 }, loss: { ...NO_COST, seconds: (3 * all) / 4 } },
  }));
const phase = (name: Phase): TrainerEvent => ({ type: "phase", step: 1, loop: null, phase: name, programs: 0 });
const state = (name: RunState): TrainerEvent => ({ type: "state", state: name, step: 1 });
const evaluated = (step: number): TrainerEvent => ({ type: "eval", report: { step } as EvalReport, pictures: 20 });
const saved = (step: number): TrainerEvent => ({ type: "checkpoint", step, bytes: 1 });
const stepped = (step: number): TrainerEvent => ({ type: "step", step, metrics: {}, phaseTimes: {}, costs: {} });

/** The pace after events, each with the second at which it came. */
function etaOf(...events: readonly (readonly [second: number, event: TrainerEvent])[]): Eta {
  return events.reduce((eta, [second, event]) => etaAfter(eta, event, second * 1000), NO_PACE);
}

describe("time left of a run", () => {
  const left = (eta: Eta, second: number, change: Partial<Parameters<typeof runSeconds>[0]> = {}): number | null =>
    runSeconds({ step: 4, config: CONFIG, heldOutRows: 8, costs: costs(30, 2, 2, 3), eta, ...change }, second * 1000);

  it("is the median step times the steps to come, without what has passed of the present one", () => {
    const eta = etaOf([100, stepped(4)]);
    expect(left(eta, 100)).toBe(16 * 2.5);
    expect(left(eta, 101)).toBe(39);
    // A step that takes longer than the others does not reduce the time of later ones.
    expect(left(eta, 900)).toBe(15 * 2.5);
    expect(left(eta, 100, { step: 20 })).toBe(0);
  });

  it("is not told before two steps, and goes by the last twenty", () => {
    const eta = etaOf([0, stepped(1)]);
    expect(left(eta, 0, { costs: [] })).toBeNull();
    expect(left(eta, 0, { costs: costs(9) })).toBeNull();
    expect(left(eta, 0, { costs: costs(9, 1) })).toBe(16 * 5);
    expect(left(eta, 0, { costs: costs(...Array(25).fill(9), ...Array(20).fill(1)) })).toBe(16);
  });

  it("counts in evaluations and checkpoints that are due, once one was timed", () => {
    const config = { ...CONFIG, evalSteps: 8, saveSteps: 10 };
    expect(left(etaOf([0, stepped(4)]), 0, { config })).toBe(40);
    const timed = etaOf(
      [0, phase("eval")],
      [7, evaluated(0)],
      [20, phase("checkpoint")],
      [21.5, saved(4)],
      [21.5, stepped(4)],
    );
    // Evaluations at 8, 16 and 20, checkpoints at 10 and 20.
    expect(left(timed, 21.5, { config })).toBe(40 + 3 * 7 + 2 * 1.5);
    expect(left(timed, 21.5, { config, heldOutRows: 0 })).toBe(40 + 2 * 1.5);
    expect(left(timed, 21.5, { config: { ...config, evalRows: 0 } })).toBe(40 + 2 * 1.5);
    // Without an interval the last step is saved all the same.
    expect(left(timed, 21.5, { config: CONFIG })).toBe(40 + 1.5);
    // At step 8 both are due in a moment; done, they are not.
    expect(left({ ...timed, evaluatedTo: 0 }, 21.5, { config, step: 8 })).toBe(12 * 2.5 + 3 * 7 + 2 * 1.5);
    expect(left({ ...timed, evaluatedTo: 8 }, 21.5, { config, step: 8 })).toBe(12 * 2.5 + 2 * 7 + 2 * 1.5);
    // After a lost device the run repeats them.
    expect(left({ ...timed, evaluatedTo: 16, savedTo: 10 }, 21.5, { config, step: 4 })).toBe(40 + 21 + 3);
  });

  it("takes what is left of an evaluation or a checkpoint in progress", () => {
    const config = { ...CONFIG, evalSteps: 4, saveSteps: 4 };
    const first = etaOf([0, phase("eval")], [8, evaluated(0)], [10, phase("checkpoint")], [12, saved(0)]);
    const begun = etaAfter(etaAfter(first, stepped(4), 20_000), phase("eval"), 20_000);
    // Four complete evaluations, one in progress, and five checkpoints.
    expect(left(begun, 23, { config })).toBe(40 + 4 * 8 + 5 + 5 * 2);
    const saving = etaAfter(begun, phase("checkpoint"), 30_000);
    expect(left(saving, 31, { config })).toBe(40 + 5 * 8 + 4 * 2 + 1);
  });

  it("leaves pauses out", () => {
    const eta = etaOf([0, stepped(4)], [1, state("paused")], [601, state("running")]);
    expect(left(eta, 602)).toBe(38);
  });
});

describe("time left of an evaluation", () => {
  it("goes by its rows, else by the one before", () => {
    const second = (eta: Eta, at: number): number | null => evaluationSeconds(eta, at * 1000);
    const begun = etaOf([10, phase("eval")]);
    expect(second(begun, 11)).toBeNull();
    const partly = etaAfter(begun, { type: "eval-rows", done: 8, total: 24 }, 14_000);
    expect(second(partly, 14)).toBe(8);
    expect(second(partly, 15)).toBe(7);
    const done = etaAfter(partly, evaluated(0), 20_000);
    expect(second(done, 20)).toBeNull();
    expect(done.rows).toBeNull();
    expect(second(etaAfter(done, phase("eval"), 40_000), 43)).toBe(7);
  });
});

describe("a checkpoint that was asked for", () => {
  beforeEach(() => beginRun(manifest(), 0, 0));

  it("is told from one of the beat", () => {
    applyEvent(saved(1), 5);
    expect(useRun.getState().lastCheckpoint).toMatchObject({ step: 1, asked: false });
    noteSaveAsked();
    expect(useRun.getState().saveAsked).toBe(true);
    applyEvent(saved(2), 6);
    expect(useRun.getState()).toMatchObject({ saveAsked: false, lastCheckpoint: { step: 2, asked: true } });
  });

  it("is not waited for after the run's end", () => {
    noteSaveAsked();
    applyEvent(state("paused"), 1);
    expect(useRun.getState().saveAsked).toBe(true);
    applyEvent(state("finished"), 2);
    expect(useRun.getState().saveAsked).toBe(false);
  });
});

describe("the words", () => {
  it("are coarse", () => {
    expect([3, 34, 88, 96, 720, 5340, 5400, 7800, 14_300, 40_000, 200_000].map(roughly)).toEqual([
      "a few seconds",
      "about 30 s",
      "about 90 s",
      "about 2 min",
      "about 12 min",
      "about 89 min",
      "about 1 h 30 min",
      "about 2 h 10 min",
      "about 4 h",
      "about 11 h",
      "about 2 days",
    ]);
  });
});
