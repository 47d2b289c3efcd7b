import { expect, test } from "vitest";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { type PixelMask, regionIou, shapedIou, shapeIou } from "../../../src/engine/rewards/terms/iou.ts";

const mask = (rows: string): PixelMask => {
  const lines = rows.split("/");
  return {
    height: lines.length,
    width: lines[0]?.length ?? 0,
    pixels: Uint8Array.from(lines.join(""), Number),
  };
};
const rle = ({ pixels, height, width }: PixelMask) => encodeRle(pixels, height, width);

test("pixels and run lengths give the same counts; 2 counts as foreground", () => {
  const [a, b] = [mask("1100/1200"), mask("0110/0110")];
  expect(regionIou(a, b)).toEqual({ intersection: 2, union: 6, iou: 1 / 3 });
  expect(regionIou(rle(a), rle(b))).toEqual(regionIou(a, b));
  expect(regionIou(a, a).iou).toBe(1);
});

test("two empty masks take the value that is asked for, everything else does not", () => {
  const empty = mask("000/000");
  expect(regionIou(empty, empty)).toEqual({ intersection: 0, union: 0, iou: 0 });
  expect(regionIou(rle(empty), rle(empty), 1).iou).toBe(1);
  expect(regionIou(empty, mask("100/000"), 1).iou).toBe(0);
});

test("masks of different size or form are an error even with equally many pixels", () => {
  expect(() => regionIou(mask("10/00/00"), mask("100/000"))).toThrow(
    "3 x 2 pixels cannot be compared with one of 2 x 3",
  );
  expect(() => regionIou(rle(mask("10/00/00")), rle(mask("100/000")))).toThrow("cannot be compared");
  expect(() => regionIou(mask("10"), rle(mask("10")))).toThrow("same form");
  const short = { height: 2, width: 2, pixels: new Uint8Array(3) };
  expect(() => regionIou(short, short)).toThrow("has 3 pixels");
});

test("forms of the reward keep order and ends; tiers pay from their bound on", () => {
  for (const kind of ["plain", "squared", "tiered"] as const) {
    expect([shapeIou(kind, 0), shapeIou(kind, 1)]).toEqual([0, 1]);
    for (let at = 1; at <= 100; at++) {
      expect(shapeIou(kind, at / 100)).toBeGreaterThanOrEqual(shapeIou(kind, (at - 1) / 100));
    }
    for (const bad of [-0.1, 1.1, Number.NaN]) expect(() => shapeIou(kind, bad)).toThrow("outside 0 to 1");
  }
  expect(shapeIou("plain", 0.3)).toBe(0.3);
  expect(shapeIou("squared", 0.5)).toBe(0.25);
  const tiers = [0.49, 0.5, 0.69, 0.7, 0.89, 0.9].map((iou) => shapeIou("tiered", iou));
  expect(tiers).toEqual([0, 1 / 3, 1 / 3, 2 / 3, 2 / 3, 1]);
});

test("the reward term shows its computation", () => {
  const [a, empty] = [mask("11/00"), mask("00/00")];
  expect(shapedIou(a, mask("10/00"), "squared")).toEqual({ value: 0.25, iou: { intersection: 1, union: 2 } });
  expect(shapedIou(a, null)).toEqual({ value: 0, note: "no mask" });
  expect(shapedIou(a, empty)).toMatchObject({ value: 0, note: "empty mask" });
  expect(shapedIou(a, mask("00/11"))).toEqual({ value: 0, iou: { intersection: 0, union: 4 } });
  expect(shapedIou(empty, empty)).toMatchObject({ value: 1, note: "both masks empty" });
  expect(shapedIou(empty, empty, "tiered", 0).value).toBe(0);
});
