/** A supervised batch with the targets of the losses that only the pocket model's builder uses; host only. */
import { frameOf } from "../../src/engine/data/film-strip.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import type { AskedTokens } from "../../src/engine/policy/prompts.ts";
import {
  type BatchShape,
  joined,
  type SftBatch,
  type SftRegion,
  sftBatch,
} from "../../src/plugins/supervised/batch.ts";

export interface PocketRegion extends SftRegion {
  /** Words of the phrase that describe the region, for the naming loss. */
  readonly words?: readonly string[];
}

/**
 * Words that describe each token of a picture, or of a clip frame by frame, for the naming loss; row-major. A token
 * without words is not supervised.
 */
export type CellWords = readonly (readonly string[])[];

/** Distributions over the vocabulary; rows of zeros are not supervised. */
export interface Naming {
  /** n · F · tokens rows of V. */
  readonly cells: Float32Array;
  /** R rows of V. */
  readonly seg: Float32Array;
}

/** Its masks have exact shares of area: nearest pixels, as published, are shifted relative to enlarged logits. */
export interface PocketBatch extends SftBatch {
  /** Share of each region in each token of the last tile, or of all frames, summing to 1. */
  readonly cells: readonly Float32Array[];
  /** The same on SAM2's stride-16 grid. */
  readonly samCells: readonly Float32Array[];
  /** Targets of the naming loss; null without it. */
  readonly naming: Naming | null;
}

/**
 * @param tiles tiles per picture, the same for all; a frame has one
 * @param pictures the regions of each picture or clip, equally many in each
 * @param cellWords for the naming loss: words of the tokens of each picture's last tile, or of all frames of each clip
 * @throws LabError("bad-input") when a region covers nothing or a row is longer than the shape allows
 */
export function pocketBatch(
  model: Sa2vaModel,
  picture: AskedTokens,
  pictures: readonly (readonly PocketRegion[])[],
  shape: BatchShape = {},
  cellWords?: readonly CellWords[],
): PocketBatch {
  const batch = sftBatch(model, picture, pictures, shape);
  const { frames, maskSide } = batch;
  /** The region on each frame, as its shares of the cells of a grid. */
  const onGrid = ({ mask, height, width }: SftRegion, side: number): Float32Array[] =>
    Array.from({ length: frames }, (_, frame) => shrink(frameOf(mask, frames, frame), height / frames, width, side));
  const targets = pictures.map((own) => own.map((region) => onGrid(region, maskSide)));
  const shareOf = (side: number): Float32Array[] =>
    pictures.flat().map((region) => normalised(joined(onGrid(region, side))));
  return {
    ...batch,
    masks: targets.flatMap((own) =>
      Array.from({ length: frames }, (_, frame) => own.map((one) => one[frame] as Float32Array)).flat(),
    ),
    cells: shareOf(model.config.tokenGridSide),
    samCells: shareOf(maskSide / 4),
    naming:
      cellWords === undefined
        ? null
        : {
            cells: wordRows(model, cellWords.flat()),
            seg: wordRows(
              model,
              pictures.flat().map((region) => region.words ?? []),
            ),
          },
  };
}

/** One distribution per row, uniform over its words. */
function wordRows(model: Sa2vaModel, rows: readonly (readonly string[])[]): Float32Array {
  const vocabulary = model.config.language.vocabSize;
  const out = new Float32Array(rows.length * vocabulary);
  // Cached, because most tokens of a picture have the same few words.
  const known = new Map<string, readonly number[]>();
  rows.forEach((words, row) => {
    const text = words.join(" ");
    const ids = known.get(text) ?? model.tokenizer.encode(text);
    known.set(text, ids);
    for (const id of ids) out[row * vocabulary + id] = 1 / ids.length;
  });
  return out;
}

/** Mean of the mask over each cell of a side × side grid, with exact shares of pixels cut by a border. */
export function shrink(mask: Uint8Array, height: number, width: number, side: number): Float32Array {
  const down = shares(height, side);
  const across = shares(width, side);
  const out = new Float32Array(side * side);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (mask[y * width + x] === 0) continue;
      for (const [row, tall] of down[y] as Share[]) {
        for (const [column, wide] of across[x] as Share[]) {
          const at = row * side + column;
          out[at] = (out[at] as number) + tall * wide;
        }
      }
    }
  }
  return out;
}

type Share = readonly [cell: number, share: number];

/** For every pixel, the cells that it lies in and the part of each cell that it fills. */
function shares(pixels: number, cells: number): Share[][] {
  const scale = cells / pixels;
  return Array.from({ length: pixels }, (_, at) => {
    const [from, to] = [at * scale, (at + 1) * scale];
    const found: Share[] = [];
    for (let cell = Math.floor(from + 1e-9); cell < to - 1e-9 && cell < cells; cell++) {
      found.push([cell, Math.min(to, cell + 1) - Math.max(from, cell)]);
    }
    return found;
  });
}

function normalised(values: Float32Array): Float32Array {
  const sum = values.reduce((total, value) => total + value, 0);
  return values.map((value) => value / sum);
}
