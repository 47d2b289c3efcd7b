/** The table of `npm run compare`. */
import { expect, test } from "vitest";
import { type ComparedRun, compareTable } from "../../../scripts/lib/scores/compared-run.ts";

test("a run is said to have few pictures, as in evaluations of suites", () => {
  const run = (name: string, pictures: number): ComparedRun => ({
    run: name,
    seed: 1,
    splitSeed: 1,
    step: 4,
    pictures,
    n: 20,
    rowsHash: "0",
    maskPolicy: null,
    judge: "left-out",
    start: { grounding_iou: 0.5 },
    difference: { grounding_iou: { mean: 0.1, low: 0.05, high: 0.2 } },
    best: null,
    lacks: null,
    zeroSpread: {},
    gradNorm: {},
    stepTime: 1,
    evaluations: [],
  });
  const notes = compareTable([run("few", 9), run("many", 10)])
    .split("\n")
    .filter((line) => /^(?:few|many): \w/.test(line));
  expect(notes).toEqual([
    "few: run rewards are without judge",
    "few: with fewer than 10 pictures no interval can be trusted",
    "many: run rewards are without judge",
  ]);
});
