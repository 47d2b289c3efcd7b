import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import { takenOver } from "../../../src/plugins/sweep/first-evaluation.ts";
import { evaluation } from "../runs/sample-evaluations.ts";

const manifest = (change: Partial<RunManifest> = {}): RunManifest => ({
  format: "sa2va-lab-run/1",
  id: "one",
  title: "one",
  created: "2026-01-01T00:00:00Z",
  version: "0.1.0",
  config: defaultConfig(),
  model: { name: "m", hash: "h", parameters: 1, trainableParameters: 1, template: "qwen_chat" },
  data: { name: "d", rows: 4, trainRows: 2, heldOutRows: 2, hash: "r" },
  adapter: { vendor: "v", architecture: "a", description: "gpu", software: true },
  state: "finished",
  ...change,
});
const first = { manifest: manifest(), evaluation: evaluation(0, 0.5) };
const config = (change: Partial<RunManifest["config"]>) => manifest({ config: { ...defaultConfig(), ...change } });

describe("the evaluation of a start", () => {
  it("is taken over where seed, length and update differ", () => {
    const own = config({ seed: 9, steps: 77, learningRate: 1, beta: 0.5, shuffleRewards: true });
    expect(takenOver(first, own)).toEqual(first.evaluation);
    const rows = first.evaluation.rows.map((row) => ({ ...row, judge: { calls: 3, cost: 1 } }));
    expect(takenOver({ ...first, evaluation: { ...first.evaluation, rows } }, own)).toEqual(first.evaluation);
  });

  it.each([
    ["another model", manifest({ model: { ...manifest().model, hash: "x" } }), /another model/],
    ["other rows", manifest({ data: { ...manifest().data, hash: "x" } }), /other rows/],
    ["another adapter", manifest({ startAdapter: { name: "a", hash: "x" } }), /another adapter/],
    ["another GPU", manifest({ adapter: { ...manifest().adapter, description: "x" } }), /another GPU/],
    ["other held-out rows", config({ splitSeed: 2 }), /splitSeed/],
    ["another reward", config({ loop2Iou: 1 }), /loop2Iou/],
    ["other noise", config({ fieldSigma: 2 }), /fieldSigma/],
  ])("is refused for %s", (_, own, sentence) => {
    expect(() => takenOver(first, own)).toThrow(sentence);
  });

  it("is refused where it is not of a start", () => {
    expect(() => takenOver({ ...first, evaluation: evaluation(5, 0.5) }, manifest())).toThrow(/step 5/);
  });
});
