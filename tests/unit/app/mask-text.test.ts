import { expect, test } from "vitest";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { maskText } from "../../../src/plugins/try-out/answer.tsx";

const found = { mask: encodeRle([1, 1, 0, 0, 0, 0], 2, 3), confidence: 0.5 };

test("a mask is compared with one of its own size", () => {
  expect(maskText(found, encodeRle([1, 0, 0, 0, 0, 0], 2, 3))).toMatch(
    /^33.* of the picture · confidence 0\.5.* IoU with the row's mask 0\.5/,
  );
  expect(maskText(found, null)).not.toMatch(/IoU/);
});

test("the mask of another picture is not compared with", () => {
  expect(maskText(found, encodeRle([1, 0, 0, 0, 0, 0], 3, 2))).not.toMatch(/IoU/);
});

test("an empty mask is called so", () => {
  expect(maskText({ mask: encodeRle([0, 0], 1, 2), confidence: null }, null)).toBe("an empty mask");
});
