import { expect, test } from "vitest";
import { bootstrapMean } from "../../../src/engine/eval/bootstrap.ts";
import { differenceText } from "../../../src/engine/sweep/table.ts";

test("a difference over one picture has no interval, one over several has, and one of 0 is no change", () => {
  expect(differenceText(bootstrapMean([0, 0], ["a", "b"], 1))).toBe("0.000 (no change)");
  expect(differenceText(bootstrapMean([0.25, 0.75], ["a", "a"], 1))).toBe("+0.500 (no interval)");
  expect(differenceText(bootstrapMean([0.25, 0.75], ["a", "b"], 1))).toBe("**+0.500 (+0.250 to +0.750)**");
});
