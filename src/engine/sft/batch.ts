/** Pictures or clips with described regions as the arrays a supervised step reads; host only. */
import { joinBytes } from "../bytes/memory.ts";
import { type FrameView, frameOf } from "../data/clips/film-strip.ts";
import { badInput, LabError } from "../errors.ts";
import { nearestMask } from "../model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { fittedCaption } from "../policy/fit-caption.ts";
import { captionPrompt, countCells, regionCells, segmentPrompt } from "../policy/prompts.ts";
import type { Span } from "../text/prompt.ts";

/** One region of a picture, or the masklet of a clip, with its texts. */
export interface SftRegion {
  /** 0/1 row-major at picture size; for a clip, its frames below each other. */
  readonly mask: Uint8Array;
  /** Of all frames taken together. */
  readonly height: number;
  readonly width: number;
  /** Answer of the caption task. */
  readonly caption: string;
  /** Phrase of the mask task. */
  readonly phrase: string;
  /** Words of the phrase that describe the region, for the naming loss. */
  readonly words?: readonly string[];
}

/**
 * Words that describe each token of a picture, or of a clip frame by frame, for the naming loss; row-major. A token
 * without words is not supervised.
 */
export type CellWords = readonly (readonly string[])[];

export interface BatchShape {
  /** Padded length of every row in tokens; 0 takes the longest row. Fixed lengths keep the shapes of a run fixed. */
  readonly captionTokens: number;
  readonly segmentTokens: number;
  /** "nearest" shrinks masks as in the published recipe; "area" avoids its shift relative to enlarged logits. */
  readonly maskTarget: "nearest" | "area";
  /** Frames of every clip; absent or 1 for pictures. */
  readonly frames?: number;
}

/** R = n·k regions: k in each of n pictures, or of n clips of F frames. */
export interface SftBatch {
  readonly images: number;
  readonly regions: number;
  /** F; 1 for pictures. */
  readonly frames: number;
  /** Regions whose caption or phrase was cut to fit the model's context. */
  readonly cut: number;
  /** Common prefix of all prompts of these pictures, up to the end of the picture; for clips, that of the mask task. */
  readonly prefix: readonly number[];
  /** Positions of the tokens of the picture, or of each frame, in the prefix. */
  readonly spans: readonly Span[];
  readonly caption: {
    /** Number of tokens before the rows: the prefix, or 0 for clips, whose regions are between the frames. */
    readonly from: number;
    readonly length: number;
    /** Inputs [R, length], padded with 0. */
    readonly ids: readonly (readonly number[])[];
    /** For every input, the token of the last tile, or of all frames, that it copies; −1 for none. */
    readonly copies: readonly (readonly number[])[];
    /** Next tokens; 0 at unsupervised positions. */
    readonly labels: readonly (readonly number[])[];
    readonly labelled: readonly (readonly number[])[];
  };
  readonly segment: {
    readonly length: number;
    readonly ids: readonly (readonly number[])[];
    /** Position of [SEG] in each row. */
    readonly segAt: readonly number[];
  };
  /** Targets at stride 4, R · F of side²: ordered by picture, then frame, then region. */
  readonly maskSide: number;
  readonly masks: readonly Float32Array[];
  /** Share of each region in each token of the last tile, or of all frames, summing to 1. */
  readonly cells: readonly Float32Array[];
  /** The same on SAM2's stride-16 grid. */
  readonly samCells: readonly Float32Array[];
  /** Targets of the naming loss; null without it. */
  readonly naming: Naming | null;
}

/** Distributions over the vocabulary; rows of zeros are not supervised. */
export interface Naming {
  /** n · F · tokens rows of V. */
  readonly cells: Float32Array;
  /** R rows of V. */
  readonly seg: Float32Array;
}

/**
 * @param tiles tiles per picture, the same for all; a frame has one
 * @param pictures the regions of each picture or clip, equally many in each
 * @param cellWords for the naming loss: words of the tokens of each picture's last tile, or of all frames of each clip
 * @throws LabError("bad-input") when a region covers nothing or a row is longer than the shape allows
 */
export function sftBatch(
  model: Sa2vaModel,
  tiles: number,
  pictures: readonly (readonly SftRegion[])[],
  shape: BatchShape,
  cellWords?: readonly CellWords[],
): SftBatch {
  const regions = pictures[0]?.length ?? 0;
  if (regions === 0 || pictures.some((picture) => picture.length !== regions)) {
    throw new LabError("internal", "Pictures of a batch must have equally many regions, at least one");
  }
  const { frames = 1 } = shape;
  const view = { total: frames, frames: Array.from({ length: frames }, (_, frame) => frame) };
  const rows = pictures.flat().map((region) => regionRow(model, tiles, region, view));
  const first = rows[0] as RegionRow;
  const end = (first.spans.at(-1) as Span).end + 1;
  const prefix = first.segmentIds.slice(0, end);
  const from = frames === 1 ? end : 0;
  for (const row of rows) {
    const own = [row.captionIds.slice(0, from), row.segmentIds.slice(0, end)];
    if (own.some((ids) => String(ids) !== String(prefix.slice(0, ids.length)))) {
      throw new LabError("internal", "The prompts of a picture differ before its end, so they cannot share it");
    }
  }
  const captions = rows.map((row) => ({ ...row, ids: row.captionIds.slice(from, -1) }));
  const segments = rows.map((row) => row.segmentIds.slice(end));
  const captionSizes = captions.map((row) => row.ids.length);
  const captionLength = padded(captionSizes, shape.captionTokens);
  const segmentSizes = segments.map((ids) => ids.length);
  const segmentLength = padded(segmentSizes, shape.segmentTokens);
  const maskSide = model.config.sam2.imageSize / 4;
  /** The region on each frame, as its shares of the cells of a grid. */
  const onGrid = ({ mask, height, width }: SftRegion, side: number): Float32Array[] =>
    view.frames.map((frame) => shrink(frameOf(mask, frames, frame), height / frames, width, side));
  const targets = pictures.map((own) =>
    own.map((region) =>
      shape.maskTarget === "area"
        ? onGrid(region, maskSide)
        : view.frames.map((frame) => {
            const { mask, height, width } = region;
            return Float32Array.from(
              nearestMask(frameOf(mask, frames, frame), height / frames, width, maskSide, maskSide),
            );
          }),
    ),
  );
  const shareOf = (side: number): Float32Array[] =>
    pictures.flat().map((region) => normalised(joined(onGrid(region, side))));
  return {
    images: pictures.length,
    regions,
    frames,
    cut: rows.filter((row) => row.cut).length,
    prefix,
    spans: first.spans,
    caption: {
      from,
      length: captionLength,
      ids: captions.map(({ ids }) => fill(ids, captionLength, 0)),
      copies: captions.map(({ ids, copies }) => {
        const placed = new Array<number>(captionLength).fill(-1);
        for (const [at, token] of copies) {
          if (at - from >= ids.length) throw new LabError("internal", "A region lies outside its prompt");
          if (at >= from) placed[at - from] = token;
        }
        return placed;
      }),
      labels: captions.map((row) => fill(labelsOf(row, from), captionLength, 0)),
      labelled: captions.map((row) =>
        fill(
          row.ids.map((_, at) => Number(at + from + 1 >= row.answerStart)),
          captionLength,
          0,
        ),
      ),
    },
    segment: {
      length: segmentLength,
      ids: segments.map((ids) => fill(ids, segmentLength, 0)),
      segAt: segments.map((ids) => ids.length - 1),
    },
    maskSide,
    masks: targets.flatMap((own) => view.frames.flatMap((frame) => own.map((one) => one[frame] as Float32Array))),
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

interface RegionRow {
  readonly cut: boolean;
  /** Positions of the picture's tokens, or of each frame's in the prompt of the mask task. */
  readonly spans: readonly Span[];
  /** Positions in the caption prompt that copy a token of the last tile, or of all frames, and the copied token. */
  readonly copies: readonly (readonly [at: number, token: number])[];
  /** Prompt, caption and stop token. */
  readonly captionIds: readonly number[];
  readonly answerStart: number;
  readonly segmentIds: readonly number[];
}

function regionRow(model: Sa2vaModel, tiles: number, region: SftRegion, view: FrameView): RegionRow {
  const cells = regionCells(model, region.mask, region.height, region.width, true, view);
  if (countCells(cells) === 0) throw badInput(`The region "${region.caption}" covers no pixel`);
  const prompt = captionPrompt(model, tiles, cells);
  const fitted = fittedCaption(model, region.caption, prompt.ids.length);
  const answer = fitted.made;
  const segment = segmentPrompt(model, tiles, region.phrase, view.total);
  const marked = Array.from(cells.keys()).filter((cell) => cells[cell] !== 0);
  const places = prompt.regionSpans.flatMap((span) => range(span));
  return {
    cut: fitted.cut || segment.cut,
    spans: segment.frameSpans ?? [segment.imageSpan],
    copies: [
      ...(prompt.frameSpans ?? []).flatMap(range).map((at, token): [number, number] => [at, token]),
      ...places.map((at, n): [number, number] => [at, marked[n] as number]),
    ],
    captionIds: [...prompt.ids, ...answer.ids],
    answerStart: prompt.ids.length,
    segmentIds: segment.forcedIds,
  };
}

function range({ start, end }: Span): number[] {
  return Array.from({ length: end - start }, (_, at) => start + at);
}

function labelsOf(row: RegionRow, from: number): number[] {
  return row.captionIds.slice(from + 1).map((id, at) => (at + from + 1 >= row.answerStart ? id : 0));
}

function padded(lengths: readonly number[], wanted: number): number {
  const longest = Math.max(...lengths);
  if (wanted !== 0 && longest > wanted) {
    throw badInput(`A prompt has ${longest} tokens after the picture, this run has room for ${wanted}`);
  }
  return wanted === 0 ? longest : wanted;
}

function fill(ids: readonly number[], length: number, value: number): number[] {
  return [...ids, ...new Array<number>(length - ids.length).fill(value)];
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

/** Concatenates parts of any lengths. */
export function joined(parts: readonly Float32Array[]): Float32Array {
  return new Float32Array(joinBytes(parts).buffer);
}

function normalised(values: Float32Array): Float32Array {
  const sum = values.reduce((total, value) => total + value, 0);
  return values.map((value) => value / sum);
}
