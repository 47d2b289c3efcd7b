import { expect, test } from "vitest";
import { epochOrder, splitByImage } from "../../../src/engine/data/splits.ts";

const rows = Array.from({ length: 300 }, (_, at) => ({ imageId: `image-${Math.floor(at / 3)}` }));

test("no picture is on both sides, the share is met, the choice ignores the order of rows", () => {
  const { train, heldOut } = splitByImage(rows, 0.2, 7);
  expect(train.length + heldOut.length).toBe(300);
  expect(heldOut.length).toBe(60);
  const held = new Set(heldOut.map((index) => rows[index]?.imageId));
  expect(train.some((index) => held.has(rows[index]?.imageId))).toBe(false);
  const reversed = [...rows].reverse();
  const again = new Set(splitByImage(reversed, 0.2, 7).heldOut.map((index) => reversed[index]?.imageId));
  expect(again).toEqual(held);
  const other = new Set(splitByImage(rows, 0.2, 8).heldOut.map((index) => rows[index]?.imageId));
  expect(other).not.toEqual(held);
});

test("small sets keep both sides filled; 0 and 1 mean none and all", () => {
  const two = [{ imageId: "a" }, { imageId: "b" }];
  expect(splitByImage(two, 0.01, 1).heldOut.length).toBe(1);
  expect(splitByImage(two, 0.99, 1).train.length).toBe(1);
  expect(splitByImage(two, 0, 1).heldOut).toEqual([]);
  expect(splitByImage(two, 1, 1).train).toEqual([]);
  expect(splitByImage([], 0.5, 1)).toEqual({ train: [], heldOut: [] });
});

test("an epoch's order is a permutation, repeatable, different per epoch and seed, and evenly spread", () => {
  const order = epochOrder(1000, 3, 5);
  expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 1000 }, (_, at) => at));
  expect(epochOrder(1000, 3, 5)).toEqual(order);
  expect(epochOrder(1000, 3, 6)).not.toEqual(order);
  expect(epochOrder(1000, 4, 5)).not.toEqual(order);
  expect([...epochOrder(0, 1, 1)]).toEqual([]);
  expect([...epochOrder(1, 1, 1)]).toEqual([0]);
  // Each of 8 items at each of 8 places about equally often: chi-square with 49 degrees of freedom, 99.9 % is 85.4.
  const seen = Array.from({ length: 64 }, () => 0);
  for (let epoch = 0; epoch < 4000; epoch++) {
    for (const [place, item] of epochOrder(8, 11, epoch).entries()) seen[place * 8 + item]! += 1;
  }
  const chi = seen.reduce((sum, count) => sum + (count - 500) ** 2 / 500, 0);
  expect(chi).toBeLessThan(85.4);
});
