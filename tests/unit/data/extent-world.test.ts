/** Scenes in which the extent of a mask matters. */
import { expect, it } from "vitest";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { shrink } from "../../../tools/pocket/batch.ts";
import { EXTENTS, type ExtentPicture, extentPicture } from "../../../tools/pocket/world/extent.ts";
import { pocketFiles } from "../../../tools/pocket/world/model-files.ts";
import { overlappingPicture } from "../../../tools/pocket/world/samples.ts";
import { vocabulary } from "../../../tools/pocket/world/vocabulary.ts";

const SIDE = 96;
const PICTURES = Array.from({ length: 24 }, (_, index) => extentPicture(5, index, SIDE));

const area = (mask: Uint8Array): number => mask.reduce((sum, inside) => sum + inside, 0);
const common = ([a, b]: ExtentPicture["regions"]): number =>
  a.mask.reduce((sum, inside, pixel) => sum + (inside & (b.mask[pixel] as number)), 0);

it("take turns, repeat from their seed and differ between seeds", () => {
  expect(new Set(PICTURES.map(({ extent }) => extent))).toEqual(new Set(EXTENTS));
  const drawn = ({ scene, ...rest }: ExtentPicture) => ({ ...rest, things: scene.things });
  expect(drawn(extentPicture(5, 3, SIDE))).toEqual(drawn(PICTURES[3] as ExtentPicture));
  expect(extentPicture(6, 3, SIDE).rgb.data).not.toEqual(PICTURES[3]?.rgb.data);
});

it("have two regions that share pixels, differ in extent and in caption, in words of the vocabulary", () => {
  const words = new Set(vocabulary());
  for (const { extent, regions } of PICTURES) {
    const [one, other] = regions;
    const shared = common(regions);
    const [smaller, larger] = [area(one.mask), area(other.mask)].sort((a, b) => a - b) as [number, number];
    expect(one.caption).not.toBe(other.caption);
    for (const word of `${one.caption} ${other.caption}`.split(" ")) expect(words.has(word), word).toBe(true);
    // One region holds the other, unless both are two of the three.
    if (extent === "two of three") {
      expect(shared).toBeGreaterThan(0.1 * smaller);
      expect(shared).toBeLessThan(0.9 * smaller);
    } else {
      expect(shared).toBe(smaller);
      expect(smaller).toBeLessThan(0.9 * larger);
      expect(smaller).toBeGreaterThan(0.1 * larger);
    }
    // Twelve cells of the pocket model's 7 × 7 for what is whole or two.
    if (extent === "half" || extent === "twins") expect(larger).toBeGreaterThan((12 / 49) * 0.5 * SIDE ** 2);
  }
});

it("put twins of one look against each other", () => {
  for (const { extent, regions } of PICTURES) {
    if (extent !== "twins") continue;
    const columns = Array.from({ length: SIDE }, (_, x) =>
      Array.from({ length: SIDE }, (_, y) => regions[1].mask[y * SIDE + x] as number).includes(1),
    );
    const [first, last] = [columns.indexOf(true), columns.lastIndexOf(true)];
    const gap = columns.slice(first, last).filter((seen) => !seen).length;
    expect(gap).toBeLessThanOrEqual(1);
  }
});

it("are drawn to train on too, and at 14 × 14 tokens what sets two regions apart covers more cells", () => {
  const files = pocketFiles(14);
  const config = parseSa2vaConfig(JSON.parse(files["config.json"] as string));
  expect(config.tokenGridSide).toBe(14);
  expect(parseSa2vaConfig(JSON.parse(pocketFiles()["config.json"] as string)).tokenGridSide).toBe(7);
  const cells = (grid: number, index: number): number => {
    const { regions } = overlappingPicture(5, index, SIDE);
    const [one, other] = regions.map(({ mask }) => Array.from(shrink(mask, SIDE, SIDE, grid), (share) => share >= 0.5));
    return (one ?? []).filter((inside, cell) => inside !== other?.[cell]).length;
  };
  for (const [index, picture] of PICTURES.entries()) {
    const drawn = overlappingPicture(5, index, SIDE);
    expect(drawn.regions.map(({ caption, phrase }) => [caption, phrase])).toEqual(
      picture.regions.map(({ caption }) => [caption, caption]),
    );
    // What the two regions differ by covers cells, and on the finer grid more of them.
    expect(cells(14, index)).toBeGreaterThan(cells(7, index));
    expect(cells(14, index)).toBeGreaterThan(3);
  }
});
