import { expect, test } from "vitest";
import {
  decodeRle,
  encodeRle,
  maskIou,
  maskIouCrowd,
  mergeRles,
  parseRle,
  type Rle,
  rleArea,
  rleBox,
  rleFromPolygons,
  rleFromRuns,
  rleIsEmpty,
  rleRuns,
} from "../../../src/engine/data/mask/rle.ts";

const mask = (counts: string, height = 3, width = 4): Rle => ({ size: [height, width], counts });

test("the worked examples decode: empty, full, one pixel", () => {
  expect(rleRuns(mask("<"))).toEqual([12]);
  expect(rleRuns(mask("0<"))).toEqual([0, 12]);
  expect([...decodeRle(mask("714"))]).toEqual([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0]);
  expect(rleFromRuns([0, 2073600], 1080, 1920).counts).toBe("0PPYo1");
  expect(rleIsEmpty(mask("<"))).toBe(true);
  expect(rleBox(mask("<"))).toEqual([0, 0, 0, 0]);
});

test.each([
  [mask("704"), "add up to 11"],
  [mask("715"), "more than 12"],
  [mask("7"), "add up to 7"],
  [mask(""), "add up to 0"],
  [mask("71 4"), 'the character " "'],
  [mask("71p"), 'the character "p"'],
  [mask("71é"), "the character"],
  [mask("P"), "ends inside a number"],
  [mask("PPPPPP1"), "more than 6 characters"],
  [mask("O"), "negative"],
  [mask("312N0"), "negative"],
  [mask("<", 0, 12), "not a pair of whole numbers"],
  [mask("<", 1.5, 8), "not a pair of whole numbers"],
  [mask("<", 1e6, 1e6), "more than the 67108864 allowed"],
])("a broken mask is refused with its cause: %j", (rle, cause) => {
  for (const use of [decodeRle, rleArea, rleBox, rleRuns]) expect(() => use(rle)).toThrow(cause);
});

test("any mask survives encode and decode, and runs hold one colour after the other", () => {
  let state = 7;
  for (let n = 0; n < 200; n++) {
    const next = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) % below;
    };
    const [height, width, share] = [1 + next(20), 1 + next(20), next(101)];
    const pixels = Uint8Array.from({ length: height * width }, () => (next(100) < share ? 1 : 0));
    const rle = encodeRle(pixels, height, width);
    expect(decodeRle(rle)).toEqual(pixels);
    expect(
      rleRuns(rle)
        .slice(1)
        .every((run) => run > 0),
    ).toBe(true);
    expect(rleArea(rle)).toBe(pixels.reduce((a, b) => a + b, 0));
    const other = Uint8Array.from(pixels, (pixel) => (next(3) === 0 ? 1 - pixel : pixel));
    const otherRle = encodeRle(other, height, width);
    expect(maskIou(rle, otherRle)).toEqual(maskIou(pixels, other));
    const union = encodeRle(
      pixels.map((pixel, at) => pixel | (other[at] ?? 0)),
      height,
      width,
    );
    const both = encodeRle(
      pixels.map((pixel, at) => pixel & (other[at] ?? 0)),
      height,
      width,
    );
    expect(mergeRles([rle, otherRle], "union")).toEqual(union);
    expect(mergeRles([rle, otherRle], "intersection")).toEqual(both);
  }
});

test("the border takes text, bytes, number lists, big integers and typed arrays", () => {
  const dot = mask("714");
  expect(parseRle({ counts: "714", size: [3, 4] })).toEqual(dot);
  expect(parseRle({ counts: new TextEncoder().encode("714"), size: [3n, 4n] })).toEqual(dot);
  expect(parseRle({ counts: [7, 1, 4], size: new Float64Array([3, 4]) })).toEqual(dot);
  expect(parseRle({ counts: new BigInt64Array([7n, 1n, 4n]), size: new BigInt64Array([3n, 4n]) })).toEqual(dot);
  for (const bad of [
    null,
    3,
    {},
    { counts: "714" },
    { counts: [7, "1", 4], size: [3, 4] },
    { counts: "714", size: [3] },
  ]) {
    expect(() => parseRle(bad)).toThrow();
  }
  expect(() => parseRle({ counts: [7, 1.5, 3.5], size: [3, 4] })).toThrow("not a whole number");
});

test("values above 1 count as foreground, sizes must agree, empty pairs score 0", () => {
  expect(encodeRle([0, 2, 0, 0], 2, 2).counts).toBe(encodeRle([0, 1, 0, 0], 2, 2).counts);
  expect(maskIou([2, 0], [1, 0]).iou).toBe(1);
  expect(maskIou(mask("<"), mask("<"))).toEqual({ intersection: 0, union: 0, iou: 0 });
  expect(() => maskIou(mask("<"), mask("<", 4, 3))).toThrow("cannot be compared");
  expect(() => maskIou([1], [1, 0])).toThrow("cannot be compared");
  expect(maskIouCrowd(mask("714"), mask("0<"))).toBe(1);
});

test("a polygon with absurd coordinates is refused before it is walked", () => {
  expect(() => rleFromPolygons([[0, 0, 1e12, 0, 5, 5]], 10, 10)).toThrow("impossible coordinate");
  expect(() => rleFromPolygons([[0, 0, Number.NaN, 0, 5, 5]], 10, 10)).toThrow("impossible coordinate");
  expect(() => rleFromPolygons([[0, 0, 1, 0]], 10, 10)).toThrow("4 coordinates");
  expect(() => rleFromPolygons([], 10, 10)).toThrow("no polygon");
});

test("parts of fewer than three points cover nothing, as in the reference", () => {
  const box = [1, 1, 5, 1, 5, 4, 1, 4];
  expect(rleFromPolygons([[2, 3], box, [7, 7, 9, 9], []], 10, 10)).toEqual(rleFromPolygons([box], 10, 10));
  expect(() => rleFromPolygons([box, [1, 2, 3]], 10, 10)).toThrow("3 coordinates");
});

test("an outline is refused for its crossings, which its area and points bound, and not for its length", () => {
  // Far outside the picture nothing is crossed.
  expect(rleFromPolygons([[0, 0, 8e5, 0, 8e5, 8e5, 0, 8e5]], 10, 10).counts).toBe("0T3");
  const zigzag = Array.from({ length: 4000 }, (_, at) => [at % 2 === 0 ? 0 : 400, at / 400]).flat();
  const crossings = 4000 * 400;
  expect(crossings).toBeGreaterThan(2 ** 16 + 2 * 20 * 400 + 4 * 4000);
  expect(() => rleFromPolygons([zigzag], 20, 400)).toThrow(
    "the outline of the mask crosses columns too often, more than the 97536 that 400 x 20 pixels and its points allow",
  );
});
