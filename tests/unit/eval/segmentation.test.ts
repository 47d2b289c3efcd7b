import fc from "fast-check";
import { expect, it } from "vitest";
import { storeEvaluation } from "../../../src/engine/eval/report.ts";
import { type RowScores, readEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";

/** A row with that many shared pixels and that many in either mask. */
function scored(rowId: number, intersection: number, union: number): RowScores {
  const grounding = union === 0 ? 0 : intersection / union;
  return row(String(rowId), 0, { groundingPixels: [intersection, union], grounding_iou: grounding });
}

const before = [scored(0, 50, 100), scored(1, 0, 400), scored(2, 9, 10), scored(3, 70, 100)];
const after = [scored(0, 80, 100), scored(1, 300, 400), scored(2, 9, 10), scored(3, 70, 100)];

it("counts rows and pixels as papers do, with the paired difference", async () => {
  const store = memoryStore();
  const first = await storeEvaluation(store, "run", 0, before, TERMS);
  const last = await storeEvaluation(store, "run", 10, after, TERMS);
  const values = (report: typeof first) =>
    Object.fromEntries(Object.entries(report.segmentation ?? {}).map(([name, { value }]) => [name, value]));
  expect(values(first)).toEqual({
    giou: (0.5 + 0 + 0.9 + 0.7) / 4,
    ciou: 129 / 610,
    precision_50: 0.75,
    precision_70: 0.5,
    precision_90: 0.25,
  });
  expect(values(last)).toMatchObject({ ciou: 459 / 610, precision_50: 1, precision_70: 1, precision_90: 0.25 });
  expect(first.segmentation?.ciou.difference).toBeNull();
  const { ciou, giou, precision_90: strict } = last.segmentation as NonNullable<typeof last.segmentation>;
  expect(ciou.difference?.mean).toBeCloseTo(330 / 610, 12);
  expect(strict.difference).toEqual({ mean: 0, low: 0, high: 0 });
  // The mean of rows is the score that has always been there, to the bit of its interval.
  expect(giou.value).toBe(last.means.grounding_iou);
  expect(giou.difference?.mean).toBeCloseTo(last.difference?.grounding_iou.mean as number, 12);
  // It lies between what the best and the worst drawn rows give.
  expect(ciou.difference?.low).toBeGreaterThanOrEqual(0);
  expect(ciou.difference?.high).toBeLessThanOrEqual(0.75);
  // Kept as given.
  expect((await readEvaluations(store, "run")).map(({ report }) => report)).toEqual([first, last]);
});

it("is one number for cIoU and gIoU where all regions are of one size, and within 0 and 1 always", () => {
  const pixels = fc.integer({ min: 0, max: 500 });
  const drawn = fc.array(fc.tuple(pixels, pixels), { minLength: 1, maxLength: 12 });
  return fc.assert(
    fc.asyncProperty(drawn, async (pairs) => {
      const rows = pairs.map(([a, b], i) => scored(i, Math.min(a, b), Math.max(a, b)));
      const { segmentation } = await storeEvaluation(memoryStore(), "run", 0, rows, TERMS);
      for (const { value } of Object.values(segmentation ?? {})) {
        expect(value).toBeGreaterThanOrEqual(0);
        expect(value).toBeLessThanOrEqual(1);
      }
      const alike = pairs.map(([a], i) => scored(i, a, 500));
      const same = (await storeEvaluation(memoryStore(), "run", 0, alike, TERMS)).segmentation;
      expect(same?.ciou.value).toBeCloseTo(same?.giou.value as number, 12);
    }),
    { numRuns: 20 },
  );
});

it("refuses damaged counts when evaluations are read", async () => {
  const store = memoryStore();
  await storeEvaluation(store, "run", 0, before, TERMS);
  const text = await store.readText("run/eval.jsonl");
  await store.write("run/eval.jsonl", text.replace('"groundingPixels":[50,100]', '"groundingPixels":[50]'));
  await expect(readEvaluations(store, "run")).rejects.toThrow(/eval\.jsonl line 1/);
  await store.write("run/eval.jsonl", text.replace(/"giou":\{"value":[\d.]+/, '"giou":{"value":"much"'));
  await expect(readEvaluations(store, "run")).rejects.toThrow(/eval\.jsonl line 1/);
});

it("has no value without rows, as where no held-out mask covers a visual token", async () => {
  const { segmentation } = await storeEvaluation(memoryStore(), "run", 0, [], TERMS);
  for (const { value } of Object.values(segmentation ?? {})) expect(value).toBeNaN();
});
