import { describe, expect, it } from "vitest";
import type { RowSource, TrainingRow } from "../../../src/engine/data/training-row.ts";
import { REGION_ROWS } from "../../../src/engine/rl/loops/loop.ts";
import { drawRow } from "../../../src/engine/rl/step/data-order.ts";

/** Rows whose mask is their own index, so that a test can see which was drawn. */
const asked: number[] = [];
const rows: RowSource = async (index) => {
  asked.push(index);
  return { mask: Uint8Array.of(index) } as unknown as TrainingRow;
};
const { needs } = REGION_ROWS;
const indexOf = (row: TrainingRow): number => row.mask[0] as number;

describe("the row of a prompt", () => {
  it("is the one the order names when it can be used, and no other is read", async () => {
    asked.length = 0;
    expect(indexOf(await drawRow(rows, [4, 7, 9], 1, { usable: () => true, needs }))).toBe(7);
    expect(asked).toEqual([7]);
  });

  it("is the next usable one, around the end", async () => {
    expect(indexOf(await drawRow(rows, [4, 7, 9], 1, { usable: (row) => indexOf(row) === 4, needs }))).toBe(4);
  });

  it("does not exist when no row can be used, and the sentence names the setting", async () => {
    await expect(drawRow(rows, [4, 7], 0, { usable: () => false, needs })).rejects.toThrow(
      /^None of the 2 training rows .* smallRegions/,
    );
  });
});
