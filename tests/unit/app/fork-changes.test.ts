/** Changed settings of a fork, as they are typed. */
import { expect, it } from "vitest";
import { readChanges } from "../../../src/app/screens/runs/fork-run.tsx";
import { presetConfig } from "../../../src/engine/config/presets.ts";

const read = (text: string) => readChanges(text, presetConfig("demo"), 10);

it("reads pairs between spaces or commas", () => {
  expect(read("learningRate=0.0001, beta=0.04")).toEqual({ given: { learningRate: 0.0001, beta: 0.04 } });
  expect(read(" ")).toEqual({ given: {} });
});

it("keeps equals signs in a value", () => {
  const judgeUrl = "https://judge.example/v1?api-version=2024&tier=1";
  expect(read(`judgeUrl=${judgeUrl}`)).toEqual({ given: { judgeUrl } });
});

it("says what is wrong with a text that is none", () => {
  expect(read("beta 0.04")).toEqual({ problem: 'Write settings as name=value, not "beta"' });
  expect(read("betta=0.04")).toEqual({ problem: expect.stringMatching(/betta/) });
});

it("needs a step after the checkpoint", () => {
  expect(read("steps=11")).toEqual({ given: { steps: 11 } });
  const left = /^No step is left after step 10 of \d+; choose an earlier checkpoint, or fork with steps=20$/;
  expect(read("steps=10")).toEqual({ problem: expect.stringMatching(left) });
  expect(read("steps=5")).toEqual({ problem: expect.stringMatching(left) });
});
