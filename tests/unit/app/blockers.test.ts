import { describe, expect, it } from "vitest";
import { loadedBlocker, startBlocker } from "../../../src/app/clients/run/blockers.ts";
import { actionBlocker, type RunAction } from "../../../src/app/clients/run/run-actions.ts";
import { DRY_RUN, startJob, stopJob } from "../../../src/app/stores/jobs.ts";
import { type SessionState, useSession } from "../../../src/app/stores/session.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import type { RunState } from "../../../src/engine/rl/run/events.ts";
import type { Plan as RunPlan } from "../../../src/engine/session/plan.ts";
import type { ModelInfo } from "../../../src/protocol/trainer.ts";
import { untilStopped } from "./fake-lab.ts";

const before = useSession.getState();
/** Everything that a run draws from is there; what it is does not matter to the blockers. */
const ready: SessionState = {
  ...before,
  rows: [{ id: "row" } as RegionSummary],
  dataInfo: { name: "rows", checks: [] as SetInfo["checks"] } as SetInfo,
  model: { name: "model" } as ModelInfo,
};

describe("what keeps a run from beginning", () => {
  it("is nothing once rows and model are there", () => {
    expect(startBlocker(ready)).toBeNull();
    expect(loadedBlocker(ready)).toBeNull();
  });

  it("is not a check that does not block", () => {
    const checks = [{ name: "data set named", ok: false, blocks: false, detail: "another name" }] as const;
    expect(startBlocker({ ...ready, dataInfo: { checks } as unknown as SetInfo })).toBeNull();
  });

  it.each<[string, Partial<SessionState>, RegExp]>([
    ["no GPU", { gpuError: { code: "unsupported", message: "There is no WebGPU" } }, /no WebGPU/],
    ["no rows", { rows: [] }, /No rows are loaded/],
    [
      "rows that fail a check",
      {
        dataInfo: {
          checks: [{ name: "masks decode", ok: false, blocks: true, detail: "9 of 9 masks" }],
        } as unknown as SetInfo,
      },
      /not ready for training: 9 of 9 masks/,
    ],
    ["rows under way", { opening: { files: 0, filesTotal: 1, rows: 0, totalRows: 0 } }, /still loading/],
    ["no model", { model: null }, /No model is loaded/],
    [
      "a model under way",
      { modelProgress: { loadedBytes: 0, totalBytes: 0, what: "Reading the folder", rate: 0 } },
      /still loading/,
    ],
  ])("is %s, for a new run and a resumed one", (_, change, sentence) => {
    expect(startBlocker({ ...ready, ...change })).toMatch(sentence);
    expect(loadedBlocker({ ...ready, ...change })).toMatch(sentence);
  });

  it("is a dry run, until it ends", async () => {
    const over = startJob(DRY_RUN, null, untilStopped);
    expect(startBlocker(ready)).toMatch(/A dry run is in progress/);
    expect(loadedBlocker(ready)).toMatch(/A dry run is in progress/);
    stopJob(DRY_RUN);
    await expect(over).rejects.toThrow("stopped");
    expect(startBlocker(ready)).toBeNull();
  });

  it.each<[string, Partial<SessionState>, RegExp]>([
    [
      "a judge without an address",
      { config: { ...before.config, judge: "dlc", judgeUrl: "" } },
      /The judge is on but has no address/,
    ],
    ["a run of another tab", { otherTabs: ["its-id"] }, /training in another tab/],
    [
      "a plan that does not fit",
      { plan: { problems: [{ sentence: "It takes too much" }] } as unknown as RunPlan },
      /takes too much/,
    ],
  ])("is %s for a new run alone: a resumed one has settings of its own", (_, change, sentence) => {
    expect(startBlocker({ ...ready, ...change })).toMatch(sentence);
    expect(loadedBlocker({ ...ready, ...change })).toBeNull();
  });
});

describe("what keeps an action from being done", () => {
  const allowed = (state: RunState): RunAction[] =>
    (["start", "pause", "play", "step", "phase", "checkpoint", "stop"] as const).filter(
      (action) => actionBlocker(action, state) === null,
    );

  it("follows from the state of the run; a pause that waits for its phase can be taken back", () => {
    expect(allowed("ready")).toEqual(["start", "step", "phase"]);
    expect(allowed("starting")).toEqual([]);
    expect(allowed("running")).toEqual(["pause", "checkpoint", "stop"]);
    expect(allowed("pausing")).toEqual(["play", "checkpoint", "stop"]);
    expect(allowed("paused")).toEqual(["play", "step", "phase", "checkpoint", "stop"]);
    expect(allowed("stopping")).toEqual([]);
  });

  it("is named", () => {
    expect(actionBlocker("pause", "pausing")).toBe("The run is pausing");
    expect(actionBlocker("step", "pausing")).toBe("The run pauses after this phase");
    expect(actionBlocker("step", "running")).toBe("Pause the run first");
    expect(actionBlocker("play", "failed")).toBe("No run is in progress");
  });
});
