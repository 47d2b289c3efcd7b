/** Golden preprocessing: tiles, SAM2 input and region masks from the picture and the cases of the set. */
import { isRecord } from "../../../src/engine/bytes/json.ts";
import { decodeRle, parseRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import { resizeBicubic } from "../../../src/engine/model/preprocess/pillow-bicubic.ts";
import { regionGrid } from "../../../src/engine/model/preprocess/region-grid.ts";
import { imageTiles, normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import { checked, compareArrays, EXACT, type Tolerance } from "../compare.ts";
import type { GoldenArrays } from "../golden-arrays.ts";
import { fileBytes, type GoldenModel, type ParityDeps } from "../golden-model.ts";
import type { ParityRow } from "../row.ts";

export const PREPROCESS_FILE = "golden_preprocess.safetensors";
const PIXELS: Tolerance = { relative: 1e-6 };

/** A row per array of the preprocessing file. */
export async function* preprocessRows(model: GoldenModel, deps: ParityDeps): AsyncGenerator<ParityRow> {
  const golden = await model.arrays(PREPROCESS_FILE);
  const { config } = model;
  const image = await goldenImage(model, deps);
  const { tiles, count } = imageTiles(image, config);
  yield compareArrays("tiles_u8", "tiles on bytes", await golden.read("tiles_u8"), tiles, EXACT);
  const sam = resizeBicubic(image, config.sam2.imageSize, config.sam2.imageSize).data;
  yield compareArrays("sam_u8", "SAM2 input on bytes", await golden.read("sam_u8"), sam, EXACT);
  yield await checked(
    "pixel_values_corner",
    "normalised pixels",
    await golden.read("pixel_values_corner"),
    PIXELS,
    () => corners(normalisePixels(tiles), count, config.tileSize, golden.shape("pixel_values_corner")),
  );
  yield* regionRows(model, golden);
}

async function* regionRows(model: GoldenModel, golden: GoldenArrays): AsyncGenerator<ParityRow> {
  const regions = goldenRegions(model);
  const masks = regions.map(decodeRle);
  const side = model.config.tokenGridSide;
  yield await checked("region_masks_u8", "region masks", await golden.read("region_masks_u8"), EXACT, () =>
    joined(masks),
  );
  yield await checked(
    "region_masks_grid",
    "masks on the token grid",
    await golden.read("region_masks_grid"),
    EXACT,
    () => joined(masks.map((mask, at) => regionGrid(mask, ...(regions[at] as Rle).size, { rows: side, cols: side }))),
  );
}

/** The picture of a golden set, whatever its file name in the cases. */
export async function goldenImage(model: GoldenModel, deps: ParityDeps): Promise<RgbImage> {
  const name = typeof model.cases.image === "string" ? model.cases.image : "image.png";
  return await deps.decodeImage(await fileBytes(model.folder, name));
}

/** Region masks of a golden set. */
export function goldenRegions(model: GoldenModel): Rle[] {
  const regions = Array.isArray(model.cases.regions) ? (model.cases.regions as unknown[]) : [];
  return regions.filter(isRecord).map(parseRle);
}

/** The top-left [h, w] of every tile, channels first. */
function corners(values: Float32Array, count: number, size: number, shape: readonly number[]): Float32Array {
  const [, channels, height, width] = shape as [number, number, number, number];
  const out = new Float32Array(count * channels * height * width);
  let at = 0;
  for (let tile = 0; tile < count; tile++) {
    for (let channel = 0; channel < channels; channel++) {
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          out[at++] = values[((tile * size + y) * size + x) * channels + channel] as number;
        }
      }
    }
  }
  return out;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
