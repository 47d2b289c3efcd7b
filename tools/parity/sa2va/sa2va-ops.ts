/** Golden set of single operators and preprocessing: each entry runs through the model's function. */

import { isRecord, readJson } from "../../../src/engine/bytes/json.ts";
import type { ByteFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, parseRle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { gelu, silu } from "../../../src/engine/gpu/kernels/activation.ts";
import { attention, causalMask } from "../../../src/engine/gpu/kernels/attention/attention.ts";
import { conv2d, convTranspose2x2 } from "../../../src/engine/gpu/kernels/conv.ts";
import { layerNorm, rmsNorm } from "../../../src/engine/gpu/kernels/norm.ts";
import { nearestTwice, resizeBilinear } from "../../../src/engine/gpu/kernels/resize.ts";
import { applyRope, ropeTable } from "../../../src/engine/gpu/kernels/rope.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { resizeBicubic } from "../../../src/engine/model/preprocess/pillow-bicubic.ts";
import { regionGrid } from "../../../src/engine/model/preprocess/region-grid.ts";
import { chooseGrid, type TilingConfig, tileCount } from "../../../src/engine/model/preprocess/tiling.ts";
import { maxPool2x2 } from "../../../src/engine/model/sam2/hiera.ts";
import { resizeBicubicClamped } from "../../../src/engine/model/sam2/interpolation.ts";
import { fourierPositions } from "../../../src/engine/model/sam2/prompt-encoder.ts";
import { pixelShuffle } from "../../../src/engine/model/vision.ts";
import { sinePositions } from "../../../src/plugins/clips/sam2/memory-attention.ts";
import { samplePoints } from "../../../src/plugins/supervised/point-loss.ts";
import { checked, compareArrays, EXACT, missed, type Tolerance } from "../compare.ts";
import { type GoldenArrays, openArrays } from "../golden-arrays.ts";
import type { ParityRow } from "../row.ts";

const FILES = {
  ops: "ops.safetensors",
  resize: "pil_bicubic.safetensors",
  tiling: "tiling.json",
  masks: "region_masks.json",
  grids: "region_grid.safetensors",
} as const;

const TOLERANCE: Tolerance = { absolute: 1e-5 };
/** Base of the rotary angles in the `rope.*` entries. */
const ROPE_THETA = 1e6;

export function isSa2vaOpsGolden(folder: ByteFolder): boolean {
  return [FILES.ops, FILES.resize, FILES.tiling].some((path) => folder.get(path) !== undefined);
}

/** One row per expected array, per resized picture, per region mask and for the tiling table. */
export async function* sa2vaOpsParity(folder: ByteFolder): AsyncGenerator<ParityRow> {
  if (folder.get(FILES.tiling) !== undefined) yield await tilingRow(folder);
  if (folder.get(FILES.resize) !== undefined) yield* resizeRows(await openArrays(folder, FILES.resize));
  if (folder.get(FILES.grids) !== undefined) yield* regionRows(folder);
  if (folder.get(FILES.ops) !== undefined) yield* operatorRows(await openArrays(folder, FILES.ops));
}

async function tilingRow(folder: ByteFolder): Promise<ParityRow> {
  const json = await readJson(folder.get(FILES.tiling)!);
  if (!isRecord(json) || !Array.isArray(json.rows) || typeof json.tile_size !== "number") {
    return missed(FILES.tiling, "tile grids", "the file has no rows or no tile_size");
  }
  const tileSize = json.tile_size;
  const rows = json.rows as number[][];
  const got = rows.flatMap(([width, height, minTiles, maxTiles]) => {
    const config = { tileSize, minTiles, maxTiles, useThumbnail: true } as TilingConfig;
    const grid = chooseGrid(width as number, height as number, config);
    return [grid.cols, grid.rows, tileCount(grid, config)];
  });
  const expected = rows.flatMap((row) => row.slice(4, 7));
  return compareArrays(FILES.tiling, `columns, rows and tiles of ${rows.length} sizes`, expected, got, EXACT);
}

async function* resizeRows(arrays: GoldenArrays): AsyncGenerator<ParityRow> {
  for (const name of arrays.names) {
    if (!name.endsWith(".out")) continue;
    const input = name.replace(/out$/, "in");
    yield await checked(name, "bicubic with antialiasing on bytes", await arrays.read(name), EXACT, async () => {
      const [inHeight, inWidth] = arrays.shape(input) as [number, number];
      const [height, width] = arrays.shape(name) as [number, number];
      const data = Uint8Array.from(await arrays.read(input));
      return resizeBicubic({ width: inWidth, height: inHeight, data }, width, height).data;
    });
  }
}

async function* regionRows(folder: ByteFolder): AsyncGenerator<ParityRow> {
  const masks = await readJson(folder.get(FILES.masks) ?? missing(FILES.masks));
  const arrays = await openArrays(folder, FILES.grids);
  if (!Array.isArray(masks)) {
    yield missed(FILES.masks, "region masks", "the file is not a list");
    return;
  }
  for (const [index, item] of (masks as unknown[]).entries()) {
    const name = `grid.${index}`;
    const expected = await arrays.read(name);
    const json = isRecord(item) ? item : {};
    const numbers = [...expected, json.tokens, ...(json.area === undefined ? [] : [json.area])] as number[];
    yield await checked(name, "cells, tokens and area of a region", numbers, EXACT, () => {
      const rle = parseRle(item);
      const [height, width] = rle.size;
      const [side] = arrays.shape(name) as [number];
      const cells = regionGrid(decodeRle(rle), height, width, { rows: side, cols: side });
      const tokens = cells.reduce((sum, cell) => sum + cell, 0);
      return [...cells, tokens, ...(json.area === undefined ? [] : [rleArea(rle)])];
    });
  }
}

function missing(path: string): never {
  throw new Error(`${path} is missing`);
}

type Inputs = (name: string) => Tensor;
/** How each expected array follows from the inputs, given its shape. */
type Operator = { readonly what: string; readonly run: (input: Inputs, shape: readonly number[]) => Tensor };

async function* operatorRows(arrays: GoldenArrays): AsyncGenerator<ParityRow> {
  const tensors = new Map<string, Tensor>();
  for (const name of arrays.names) {
    tensors.set(name, tf.tensor(await arrays.read(name), [...arrays.shape(name)]));
  }
  const input: Inputs = (name) => tensors.get(name) ?? missing(`the array ${name}`);
  const positions = arrays.names.includes("rope.positions") ? [...(await arrays.read("rope.positions"))] : [];
  try {
    for (const name of arrays.names) {
      const operator = operatorFor(name, arrays.names, positions);
      if (operator === undefined) {
        if (isResult(name)) yield missed(name, "operator", "there is no operator for this array");
        continue;
      }
      const expected = await arrays.read(name);
      yield await checked(name, operator.what, expected, TOLERANCE, async () => {
        const result = tf.tidy(() => operator.run(input, arrays.shape(name)));
        const values = await result.data();
        if (!tensors.has(name) || tensors.get(name) !== result) result.dispose();
        return values;
      });
    }
  } finally {
    tf.dispose([...tensors.values()]);
  }
}

function isResult(name: string): boolean {
  return /(^|[._])out(_|$)/.test(name) || /\.v[12]$/.test(name);
}

function operatorFor(name: string, names: readonly string[], positions: readonly number[]): Operator | undefined {
  const size = /^(bicubic|bilinear|sine_pe|fourier_pe)\.out_/.exec(name)?.[1] ?? name;
  const rope = (x: Tensor): Tensor => {
    const table = ropeTable([positions], x.shape[3] as number, ROPE_THETA);
    return applyRope(x, table);
  };
  const operators: Readonly<Record<string, Operator>> = {
    bicubic: {
      what: "bicubic, a = -0.75",
      run: (input, shape) =>
        channelsFirst(resizeBicubicClamped(channelsLast(input("bicubic.in")), shape[2] as number, shape[3] as number)),
    },
    bilinear: {
      what: "bilinear",
      run: (input, shape) => {
        // The square enlargement starts from the input, the others from the square.
        const isSquare = (other: string): boolean => /^bilinear\.out_\d+$/.test(other);
        const square = isSquare(name) ? undefined : names.find(isSquare);
        const source = square ?? "bilinear.in";
        return channelsFirst(resizeBilinear(channelsLast(input(source)), shape[2] as number, shape[3] as number));
      },
    },
    "nearest2x.out": {
      what: "nearest, twice the size",
      run: (input) => channelsFirst(nearestTwice(channelsLast(input("nearest2x.in")))),
    },
    "point_sample.out": {
      what: "bilinear point samples",
      run: (input, shape) => {
        const maps = input("point_sample.in");
        const [count, , height, width] = maps.shape as [number, number, number, number];
        return samplePoints(maps.reshape([count, height, width]), input("point_sample.coords")).reshape([...shape]);
      },
    },
    "layernorm2d.out": {
      what: "normalisation over channels",
      run: (input) => {
        const x = channelsLast(input("layernorm2d.in"));
        return channelsFirst(layerNorm(x, input("layernorm2d.weight"), input("layernorm2d.bias"), 1e-6));
      },
    },
    "convtranspose.out": {
      what: "transposed convolution 2x2",
      run: (input) => {
        const x = channelsLast(input("convtranspose.in"));
        return channelsFirst(convTranspose2x2(x, input("convtranspose.weight"), input("convtranspose.bias")));
      },
    },
    "conv7s4p3.out": {
      what: "convolution 7x7, stride 4",
      run: (input) => {
        const x = channelsLast(input("conv7s4p3.in"));
        return channelsFirst(conv2d(x, input("conv7s4p3.weight"), input("conv7s4p3.bias"), 4, 3));
      },
    },
    "patch14.out": {
      what: "convolution 14x14, stride 14",
      run: (input) => {
        const x = channelsLast(input("patch14.in"));
        return channelsFirst(conv2d(x, input("patch14.weight"), input("patch14.bias"), 14, 0));
      },
    },
    "maxpool2.out": {
      what: "2x2 max pooling",
      run: (input) => channelsFirst(maxPool2x2(channelsLast(input("maxpool2.in")))),
    },
    "gelu.out": { what: "GELU, erf form", run: (input) => gelu(input("gelu.in")) },
    "silu.out": { what: "SiLU", run: (input) => silu(input("gelu.in")) },
    "rmsnorm.out": {
      what: "RMSNorm",
      run: (input) => rmsNorm(input("rmsnorm.in"), input("rmsnorm.weight"), 1e-6),
    },
    "pixel_shuffle.v2": { what: "pixel shuffle", run: (input) => shuffled(input, "v2") },
    "pixel_shuffle.v1": { what: "pixel shuffle", run: (input) => shuffled(input, "v1") },
    sine_pe: {
      what: "sine position embedding",
      run: (_input, shape) => {
        const [, channels, height, width] = shape as [number, number, number, number];
        return tf.tensor(sinePositions(channels, height, width), [...shape]);
      },
    },
    fourier_pe: {
      what: "Fourier position encoding",
      run: (input, shape) => {
        const [channels, height, width] = shape as [number, number, number];
        const rows = fourierPositions(input("fourier_pe.matrix"), height, width);
        return rows.transpose().reshape([channels, height, width]);
      },
    },
    "rope.q_out": { what: "rotary embedding", run: (input) => rope(input("rope.q")) },
    "rope.k_out": { what: "rotary embedding", run: (input) => rope(input("rope.k")) },
    "gqa.out": {
      what: "causal grouped-query attention",
      run: (input) => {
        const [q, k] = [rope(input("rope.q")), rope(input("rope.k"))];
        const [length, depth] = [q.shape[2] as number, q.shape[3] as number];
        return attention(q, k, input("rope.v"), 1 / Math.sqrt(depth), causalMask(length, length, 0));
      },
    },
  };
  return operators[size];
}

function shuffled(input: Inputs, psVersion: "v1" | "v2"): Tensor {
  const x = input("pixel_shuffle.in");
  const [count, height, width, channels] = x.shape as [number, number, number, number];
  return pixelShuffle({ psVersion }, x.reshape([count, height * width, channels]));
}

function channelsLast(x: Tensor): Tensor {
  return x.transpose([0, 2, 3, 1]);
}

function channelsFirst(x: Tensor): Tensor {
  return x.transpose([0, 3, 1, 2]);
}
