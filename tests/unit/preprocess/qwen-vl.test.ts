/** Sizes and resized pictures of Qwen-VL beside those of transformers and PyTorch (tests/golden/qwen-vl). */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { resizedPicture, smartResize } from "../../../src/plugins/qwen-vl/tower.ts";

interface Sizes {
  /** Height, width, factor, and the resized height and width. */
  readonly grids: readonly (readonly number[])[];
  readonly pictures: readonly { height: number; width: number; bytes?: readonly number[]; sha256: string }[];
}

const SIZES = JSON.parse(readFileSync("tests/golden/qwen-vl/sizes.json", "utf8")) as Sizes;

/** The pattern of the larger pictures. */
function pattern(height: number, width: number): Uint8Array {
  return Uint8Array.from({ length: 3 * height * width }, (_, at) => {
    const [x, y] = [Math.floor(at / 3) % width, Math.floor(at / (3 * width))];
    if (at % 3 === 0) return (7 * x + 3 * y) % 256;
    return at % 3 === 1 ? (x * y) % 251 : (Math.floor(x / 9) * 40 + Math.floor(y / 5) * 60) % 256;
  });
}

test("sizes are those of transformers, halves going to the even neighbour", () => {
  for (const [height = 0, width = 0, factor = 0, ...expected] of SIZES.grids) {
    const { height: high, width: wide } = smartResize(height, width, factor);
    expect([high, wide], `${height} x ${width} by ${factor}`).toEqual(expected);
  }
  // 80 / 32 is 2.5 and 112 / 32 is 3.5.
  expect(smartResize(80, 112, 32, 1)).toEqual({ height: 64, width: 128 });
  expect(() => smartResize(1, 201, 28)).toThrow(/more than 200 times/);
});

test("bytes are those of PyTorch's antialiased bicubic resize", () => {
  for (const { height, width, bytes, sha256 } of SIZES.pictures) {
    const own = bytes === undefined ? pattern(height, width) : Uint8Array.from(bytes);
    const { data } = resizedPicture({ height, width, data: own }, 16, false);
    expect(createHash("sha256").update(data).digest("hex"), `${height} x ${width}`).toBe(sha256);
  }
});

test("resizing twice follows the sizes of published inference", () => {
  const picture = { height: 480, width: 640, data: new Uint8Array(3 * 480 * 640) };
  const sides = (patch: number, twice: boolean): number[] => {
    const { height, width } = resizedPicture(picture, patch, twice);
    return [height / patch, width / patch];
  };
  expect(sides(16, false)).toEqual([36, 46]);
  expect(sides(16, true)).toEqual([36, 48]);
  expect(sides(14, true)).toEqual([40, 54]);
});
