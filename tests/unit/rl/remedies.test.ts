import { describe, expect, it } from "vitest";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import { forkConfig } from "../../../src/plugins/fork/fork.ts";
import { remediesOf } from "../../../src/plugins/fork/remedy.ts";

const config = requireConfig({ learningRate: 1e-4, beta: 0, maxGradNorm: 1, temperature: 1, numGenerations: 8 });

describe("the remedies of an alarm", () => {
  it.each([
    ["gradient-spike", ["Learning rate 0.0001 → 0.00005", "Gradient clip 1 → 0.5"]],
    ["gradient-spike-2", ["Learning rate 0.0001 → 0.00005", "Gradient clip 1 → 0.5"]],
    ["zero-spread-1", ["Temperature 1 → 1.25", expect.stringMatching(/8 → 16$/)]],
    ["tensors", []],
  ])("%s are changes of settings in words", (id, labels) => {
    expect(remediesOf(id, config).map(({ label }) => label)).toEqual(labels);
  });

  it("are settings that a fork can take", () => {
    for (const id of ["zero-spread-2", "collapse-1", "collapse-2", "sparse-1", "truncated-1", "kl-1", "skipped"]) {
      const remedies = remediesOf(id, config);
      expect(remedies.length, id).toBeGreaterThan(0);
      for (const { changes } of remedies) {
        expect(Object.keys(changes)).toHaveLength(1);
        expect(forkConfig(config, changes, 0)).toEqual({ ...config, ...changes });
      }
    }
  });

  it("leave out what a setting's range does not allow", () => {
    expect(remediesOf("truncated-1", { ...config, maxCompletionLength: 1024 })).toEqual([]);
  });
});
