import { describe, expect, it } from "vitest";
import { loadedObstacle, startObstacle } from "../../../src/app/clients/obstacles.ts";
import { type SessionState, sessionStore } from "../../../src/app/stores/session.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { DataSetInfo } from "../../../src/protocol/data.ts";
import type { ModelInfo, RunPlan } from "../../../src/protocol/trainer.ts";

const before = sessionStore.getState();
/** Everything that a run draws from is there; what it is does not matter to the obstacles. */
const ready: SessionState = {
  ...before,
  rows: [{ id: "row" } as RegionSummary],
  dataInfo: { name: "rows" } as DataSetInfo,
  model: { name: "model" } as ModelInfo,
};

describe("what keeps a run from beginning", () => {
  it("is nothing once rows and model are there", () => {
    expect(startObstacle(ready)).toBeNull();
    expect(loadedObstacle(ready)).toBeNull();
  });

  it.each<[string, Partial<SessionState>, RegExp]>([
    ["no GPU", { gpuError: { code: "unsupported", message: "There is no WebGPU" } }, /no WebGPU/],
    ["no rows", { rows: [] }, /No rows are loaded/],
    ["rows under way", { opening: { files: 0, filesTotal: 1, rows: 0, file: "" } }, /still being read/],
    ["no model", { model: null }, /No model is loaded/],
    [
      "a model under way",
      { modelProgress: { loadedBytes: 0, totalBytes: 0, what: "Reading the folder", rate: 0 } },
      /still being loaded/,
    ],
  ])("is %s, for a new run and a resumed one", (_, change, sentence) => {
    expect(startObstacle({ ...ready, ...change })).toMatch(sentence);
    expect(loadedObstacle({ ...ready, ...change })).toMatch(sentence);
  });

  it.each<[string, Partial<SessionState>, RegExp]>([
    [
      "a judge without an address",
      { config: { ...before.config, judge: "dlc", judgeProvider: "server", judgeUrl: "" } },
      /The judge is on but has no address/,
    ],
    ["a plan that does not fit", { plan: { problems: ["It takes too much"] } as unknown as RunPlan }, /takes too much/],
  ])("is %s for a new run alone: a resumed one has settings of its own", (_, change, sentence) => {
    expect(startObstacle({ ...ready, ...change })).toMatch(sentence);
    expect(loadedObstacle({ ...ready, ...change })).toBeNull();
  });
});
