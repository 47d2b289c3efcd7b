import { expect, test } from "vitest";
import { checked, compareArrays, EXACT } from "../../../tools/parity/compare.ts";

test("errors are measured against the largest expected element", () => {
  const row = compareArrays("a", "b", [1, -4], [1.5, -4], { relative: 0.125 });
  expect(row).toMatchObject({ maxAbs: 0.5, maxRel: 0.125, pass: true, tolerance: "0.125 of the largest" });
  expect(compareArrays("a", "b", [1, -4], [1.5, -4], { relative: 0.12 }).pass).toBe(false);
  expect(compareArrays("a", "b", [0, 0], [0, 1e-7], { relative: 1, absolute: 1e-6 }).pass).toBe(true);
  expect(compareArrays("a", "b", [0, 0], [0, 1e-7], EXACT).note).toBe("element 1: 1e-7 instead of 0");
});

test("what is not finite, too short or throws is a miss", async () => {
  expect(compareArrays("a", "b", [1, 1], [1, Number.NaN], { absolute: 1 }).pass).toBe(false);
  expect(compareArrays("a", "b", [1, 1], [Number.NaN, 1], { absolute: 1 })).toMatchObject({ pass: false });
  expect(compareArrays("a", "b", [1, 1], [1, Number.POSITIVE_INFINITY], { absolute: 1 }).pass).toBe(false);
  expect(compareArrays("a", "b", [1, 1], [1], { absolute: 1 }).note).toBe("1 values instead of 2");
  const row = await checked("a", "b", [1], EXACT, () => {
    throw new Error("no such array");
  });
  expect([row.pass, row.note]).toEqual([false, "no such array"]);
});
