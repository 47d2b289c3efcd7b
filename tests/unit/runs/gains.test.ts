import { expect, test } from "vitest";
import { SCORES } from "../../../src/engine/runs/evaluations/evaluation-scores.ts";
import { gainsOf } from "../../../src/engine/runs/evaluations/gains.ts";

const ids = (...asked: Parameters<typeof gainsOf>): string[][] =>
  gainsOf(...asked).map(({ name, scores }) => [name, ...scores.map(({ id }) => id)]);

test("every gain of a loop is greedy first, then sampled", () => {
  expect(ids(SCORES, [1, 2])).toEqual([
    ["loop 1 reward", "reward1_greedy", "reward1_sampled"],
    ["loop 2 reward", "reward2_greedy", "reward2_sampled"],
  ]);
  expect(ids(SCORES, [1, 2], "loop")[0]).toEqual(["loop 1 IoU", "loop1_greedy", "loop1_sampled"]);
});

test("a run that trains masks alone leads with their IoU", () => {
  expect(ids(SCORES, [2])).toEqual([
    ["mask IoU", "grounding_iou"],
    ["loop 2 reward", "reward2_greedy", "reward2_sampled"],
  ]);
});

test("a run without rewards has the scores against the data set", () => {
  expect(ids(["grounding_iou", "caption_meteor", "loop1_greedy"], [])).toEqual([
    ["mask IoU", "grounding_iou"],
    ["caption METEOR", "caption_meteor"],
  ]);
  expect(ids(["reward1_sampled"], [1])).toEqual([["loop 1 reward", "reward1_sampled"]]);
  expect(ids([], [1])).toEqual([]);
});
