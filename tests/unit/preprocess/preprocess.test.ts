import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { resizeBicubic } from "../../../src/engine/model/preprocess/pillow-bicubic.ts";
import { regionGrid } from "../../../src/engine/model/preprocess/region-grid.ts";
import {
  chooseGrid,
  imageTiles,
  normalisePixels,
  type TilingConfig,
} from "../../../src/engine/model/preprocess/tiling.ts";
import { openArrays } from "../../../tools/parity/golden-arrays.ts";

const GOLDEN = fileURLToPath(new URL("../../golden/sa2va-ops/", import.meta.url));
const CONFIG: TilingConfig = { tileSize: 448, minTiles: 1, maxTiles: 12, useThumbnail: true };

describe("bicubic resize on bytes", () => {
  it("equals Pillow byte for byte", async () => {
    const arrays = await openArrays(await nodeFolder(GOLDEN), "pil_bicubic.safetensors");
    const outputs = arrays.names.filter((name) => name.endsWith(".out"));
    expect(outputs.length).toBe(9);
    for (const name of outputs) {
      const [inHeight, inWidth] = arrays.shape(name.replace(/out$/, "in")) as [number, number];
      const [height, width] = arrays.shape(name) as [number, number];
      const data = Uint8Array.from(await arrays.read(name.replace(/out$/, "in")));
      const resized = resizeBicubic({ width: inWidth, height: inHeight, data }, width, height);
      expect(Buffer.compare(resized.data, Uint8Array.from(await arrays.read(name))), name).toBe(0);
    }
  });

  it("refuses impossible sizes and pixels that do not fit", () => {
    const image = { width: 2, height: 1, data: new Uint8Array(6) };
    expect(() => resizeBicubic(image, 0, 4)).toThrow(/resized to 0 x 4/);
    expect(() => resizeBicubic({ ...image, height: 2 }, 4, 4)).toThrow(/2 x 2 has 6 RGB bytes/);
  });
});

describe("tiles", () => {
  it("cuts row-major and appends the thumbnail", () => {
    const size = 4;
    const config = { tileSize: size, minTiles: 1, maxTiles: 4, useThumbnail: true };
    const data = new Uint8Array(8 * 4 * 3);
    for (let y = 0; y < 4; y++) for (let x = 4; x < 8; x++) data.fill(200, (y * 8 + x) * 3, (y * 8 + x) * 3 + 3);
    const { tiles, count, cols, rows } = imageTiles({ width: 8, height: 4, data }, config);
    expect([count, cols, rows]).toEqual([3, 2, 1]);
    expect(new Set(tiles.subarray(0, 48))).toEqual(new Set([0]));
    expect(new Set(tiles.subarray(48, 96))).toEqual(new Set([200]));
    const thumbnail = resizeBicubic({ width: 8, height: 4, data }, size, size).data;
    expect(Array.from(tiles.subarray(96))).toEqual(Array.from(thumbnail));
  });

  it("has no thumbnail for one tile and respects a minimum", () => {
    const square = { width: 3, height: 3, data: new Uint8Array(27) };
    expect(imageTiles(square, { ...CONFIG, tileSize: 2 }).count).toBeGreaterThan(1);
    expect(imageTiles(square, { ...CONFIG, tileSize: 448 }).count).toBe(1);
    expect(chooseGrid(100, 100, { ...CONFIG, minTiles: 4 })).toEqual({ cols: 2, rows: 2 });
    expect(() => chooseGrid(1, 1, { ...CONFIG, minTiles: 3, maxTiles: 2 })).toThrow(/between 3 and 2/);
  });

  it("decides a tie by area", () => {
    expect(chooseGrid(1920, 1080, CONFIG)).toEqual({ cols: 4, rows: 2 });
    expect(chooseGrid(640, 360, CONFIG)).toEqual({ cols: 2, rows: 1 });
    expect(chooseGrid(633, 633, CONFIG)).toEqual({ cols: 1, rows: 1 });
    expect(chooseGrid(634, 634, CONFIG)).toEqual({ cols: 2, rows: 2 });
    expect(chooseGrid(951, 951, CONFIG)).toEqual({ cols: 3, rows: 3 });
  });
});

describe("pixel values", () => {
  it("normalises each channel with its own mean and deviation", () => {
    const values = normalisePixels(Uint8Array.from([0, 0, 0, 255, 255, 255]));
    const expected = [-0.485 / 0.229, -0.456 / 0.224, -0.406 / 0.225, 0.515 / 0.229, 0.544 / 0.224, 0.594 / 0.225];
    for (const [at, value] of expected.entries()) expect(values[at]).toBeCloseTo(value, 6);
  });
});

describe("region grid", () => {
  it("samples floor(i h / grid) and calls every value but 0 foreground", () => {
    const mask = new Uint8Array(5 * 7);
    mask[2 * 7 + 3] = 255; // row floor(1 * 5 / 2), column floor(1 * 7 / 2)
    expect(Array.from(regionGrid(mask, 5, 7, { rows: 2, cols: 2 }))).toEqual([0, 0, 0, 1]);
    expect(() => regionGrid(mask, 5, 8, { rows: 2, cols: 2 })).toThrow(/5 x 8 has 35 pixels/);
  });

  it("keeps a region that falls between the samples only when asked", () => {
    const mask = new Uint8Array(64 * 64);
    mask[33 * 64 + 50] = 1;
    expect(regionGrid(mask, 64, 64, { rows: 4, cols: 4 })).toEqual(new Uint8Array(16));
    const kept = regionGrid(mask, 64, 64, { rows: 4, cols: 4 }, { keepTiny: true });
    expect(Array.from(kept.entries()).filter(([, cell]) => cell === 1)).toEqual([[11, 1]]);
    expect(regionGrid(new Uint8Array(16), 4, 4, { rows: 2, cols: 2 }, { keepTiny: true })).toEqual(new Uint8Array(4));
  });
});
