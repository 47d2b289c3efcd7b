/** Pictures or clips with described regions as the arrays a supervised step reads; host only. */
import { joinBytes } from "../../engine/bytes/source.ts";
import { type FrameView, frameOf } from "../../engine/data/film-strip.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { nearestMask } from "../../engine/model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import { fittedCaption } from "../../engine/policy/fit-caption.ts";
import {
  type AskedTokens,
  captionPrompt,
  countCells,
  regionCells,
  segmentPrompt,
} from "../../engine/policy/prompts.ts";
import type { Span, VisualGrid } from "../../engine/text/prompt.ts";

/** One region of a picture, or the masklet of a clip, with its texts. */
export interface SftRegion {
  /** 0/1 row-major at picture size; for a clip, its frames below each other. */
  readonly mask: Uint8Array;
  /** Height of all frames together. */
  readonly height: number;
  readonly width: number;
  /** Answer of the caption task. */
  readonly caption: string;
  /** Phrase of the mask task. */
  readonly phrase: string;
}

export interface BatchShape {
  /** Padded length of every row in tokens; absent or 0 takes the longest. Fixed lengths keep the shapes of a run fixed. */
  readonly captionTokens?: number;
  readonly segmentTokens?: number;
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
  /** Visual tokens of each tile or frame, if the picture decides it. */
  readonly grid?: VisualGrid | undefined;
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
}

/**
 * @param picture tiles and tokens of each picture, the same for all; a frame has one tile
 * @param pictures the regions of each picture or clip, the same number in each
 * @throws LabError("bad-input") when a region covers nothing or a row is longer than the shape allows
 */
export function sftBatch(
  model: Sa2vaModel,
  picture: AskedTokens,
  pictures: readonly (readonly SftRegion[])[],
  { captionTokens = 0, segmentTokens = 0, frames = 1 }: BatchShape = {},
): SftBatch {
  const regions = pictures[0]?.length ?? 0;
  if (regions === 0 || pictures.some((picture) => picture.length !== regions)) {
    throw new LabError("internal", "All pictures of a batch must have the same number of regions, at least one");
  }
  const view = { total: frames, frames: Array.from({ length: frames }, (_, frame) => frame) };
  const rows = pictures.flat().map((region) => regionRow(model, { ...picture, frames }, region, view));
  const first = rows[0] as RegionRow;
  const end = (first.spans.at(-1) as Span).end + 1;
  const prefix = first.segmentIds.slice(0, end);
  const from = frames === 1 ? end : 0;
  for (const row of rows) {
    const own = [row.captionIds.slice(0, from), row.segmentIds.slice(0, end)];
    if (own.some((ids) => String(ids) !== String(prefix.slice(0, ids.length)))) {
      throw new LabError("internal", "The prompts differ before the end of their picture, so they cannot share it");
    }
  }
  const captions = rows.map((row) => ({ ...row, ids: row.captionIds.slice(from, -1) }));
  const segments = rows.map((row) => row.segmentIds.slice(end));
  const captionSizes = captions.map((row) => row.ids.length);
  const captionLength = padded(captionSizes, captionTokens);
  const segmentSizes = segments.map((ids) => ids.length);
  const segmentLength = padded(segmentSizes, segmentTokens);
  const maskSide = model.config.sam2.imageSize / 4;
  const targets = pictures.map((own) =>
    own.map(({ mask, height, width }) =>
      view.frames.map((frame) =>
        Float32Array.from(nearestMask(frameOf(mask, frames, frame), height / frames, width, maskSide, maskSide)),
      ),
    ),
  );
  return {
    images: pictures.length,
    regions,
    frames,
    grid: picture.grid,
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
  };
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

function regionRow(model: Sa2vaModel, picture: AskedTokens, region: SftRegion, view: FrameView): RegionRow {
  const cells = regionCells(model, region.mask, region.height, region.width, true, view, picture.grid);
  if (countCells(cells) === 0) throw badInput(`The region "${region.caption}" covers no pixel`);
  const prompt = captionPrompt(model, picture, cells);
  const fitted = fittedCaption(model, region.caption, prompt.ids.length);
  const answer = fitted.made;
  const segment = segmentPrompt(model, picture, region.phrase);
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
    throw badInput(`A prompt has ${longest} tokens after the picture, but this run has room for ${wanted}`);
  }
  return wanted === 0 ? longest : wanted;
}

function fill(ids: readonly number[], length: number, value: number): number[] {
  return [...ids, ...new Array<number>(length - ids.length).fill(value)];
}

/** Concatenates parts of any lengths. */
export function joined(parts: readonly Float32Array[]): Float32Array {
  return new Float32Array(joinBytes(parts).buffer);
}
