/** Prompts of the two tasks, and how answers are read. */

import { type FrameView, frameOf, ONE_PICTURE, stacked } from "../data/film-strip.ts";
import type { TrainingRow } from "../data/training-row.ts";
import { badInput } from "../errors.ts";
import { visionFamily } from "../model/families/registry.ts";
import { regionGrid } from "../model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { buildClipPrompt } from "../text/clip-prompt.ts";
import {
  buildPrompt,
  cleanPhrase,
  encodeAnswer,
  IMAGE_PLACEHOLDER,
  type Prompt,
  plainPhrase,
  QUESTION_WORDING,
  REFERRING_WORDING,
  REGION_CAPTION_WORDING,
  SEG_ANSWER,
  tileTokens,
  type VisualGrid,
} from "../text/prompt.ts";
import { type StopRule, stopRule } from "../text/template.ts";
import type { ImageFeatures, RegionMarks } from "./features.ts";
import { contextTokens, fitCaption } from "./fit-caption.ts";
import type { RegionMark } from "./region-marks.ts";

/**
 * A marked region on the visual-token grid of the thumbnail, or of each frame of a clip in order: 0/1 per cell,
 * row-major.
 */
export type RegionCells = Uint8Array;

/**
 * Cells that a mask covers; with `keepTiny` a mask that covers none gets the cell that holds most of it.
 * @param height of the mask; for a clip, of all frames together
 * @param view the frames of a clip to return cells for
 * @param grid of the picture's features; by default that of a picture of this size
 */
export function regionCells(
  model: Sa2vaModel,
  mask: Uint8Array,
  height: number,
  width: number,
  keepTiny: boolean,
  view: FrameView = ONE_PICTURE,
  grid: VisualGrid = visionFamily(model.config).grid(model.config, height / view.total, width),
): RegionCells {
  const grids = view.frames.map((frame) =>
    regionGrid(frameOf(mask, view.total, frame), height / view.total, width, grid, { keepTiny }),
  );
  return stacked(grids);
}

/** Cells of a row's region; for a clip, on the frames of its view. */
export function rowCells(
  model: Sa2vaModel,
  { mask, rgb, view }: TrainingRow,
  keepTiny: boolean,
  grid?: VisualGrid,
): RegionCells {
  return regionCells(model, mask, rgb.height, rgb.width, keepTiny, view, grid);
}

export function countCells(cells: RegionCells): number {
  return cells.reduce((sum, cell) => sum + cell, 0);
}

export interface CaptionPrompt extends Prompt {
  readonly cells: RegionCells;
}

/** The regions whose tokens a prompt copies: none if it has none, or draws its region into the picture. */
export function promptRegions({ cells, regionSpans }: Prompt & Partial<CaptionPrompt>): readonly RegionCells[] {
  return cells === undefined || regionSpans.length === 0 ? [] : [cells];
}

/** The tokens of a picture or clip, and how regions are drawn into it. */
export type AskedTokens = Pick<ImageFeatures, "tiles"> &
  Partial<Pick<ImageFeatures, "grid" | "frames">> & { readonly marks?: Pick<RegionMarks, "form"> | undefined };

/** Wordings for a region that is drawn into the picture. */
const DRAWN: Readonly<Record<RegionMark, string>> = {
  outline: "the region with the red outline",
  dim: "the region that is not dimmed",
};

/** Marks that can be drawn. */
export const REGION_MARKS = Object.keys(DRAWN) as readonly RegionMark[];

/** Prompt for the caption of a drawn region. */
export function drawnCaptionWording(form: RegionMark): string {
  return `${IMAGE_PLACEHOLDER}\nPlease give me a short description of ${DRAWN[form]}.`;
}

/** Prompt of a user's question about a drawn region. */
export function drawnQuestionWording(form: RegionMark): string {
  return `${IMAGE_PLACEHOLDER}\nregion1 is ${DRAWN[form]}.\n{phrase}`;
}

/**
 * "Describe region 1": the caption task, in a picture or a clip; the number of frames follows from the cells. In a clip
 * the region is marked on every frame where it covers a cell.
 * @throws LabError("bad-input") when no cell is set
 */
export function captionPrompt(model: Sa2vaModel, picture: AskedTokens, cells: RegionCells): CaptionPrompt {
  const { tokenizer, config } = model;
  const { tiles, grid, marks } = picture;
  if (marks !== undefined) {
    const text = drawnCaptionWording(marks.form);
    const { frames = 1 } = picture;
    const prompt =
      frames > 1
        ? buildClipPrompt(tokenizer, config, { text, frames, grid })
        : buildPrompt(tokenizer, config, { text, tiles, grid });
    return { ...prompt, cells };
  }
  const text = REGION_CAPTION_WORDING;
  const each = tileTokens(config, grid);
  const frames = cells.length / each;
  const counts = Array.from({ length: frames }, (_, frame) => countCells(frameOf(cells, frames, frame)));
  if (frames > 1 && countCells(cells) === 0) {
    throw badInput("The region covers no visual token of any frame, so it cannot be described", "region");
  }
  const prompt =
    frames > 1
      ? buildClipPrompt(tokenizer, config, { text, frames, grid, regionTokenCounts: counts })
      : buildPrompt(tokenizer, config, { text, tiles, grid, regionTokenCounts: counts });
  return { ...prompt, cells };
}

export interface SegmentPrompt extends Prompt {
  /** Ids of the prompt and the forced answer up to [SEG], whose hidden state prompts the mask decoder. */
  readonly forcedIds: readonly number[];
  readonly answer: string;
  /** Whether the phrase was too long for the model's context and was cut. */
  readonly cut: boolean;
}

/**
 * "Segment …": the mask task, worded for clips as in the published training. The answer is forced, because sampled
 * answers barely vary.
 */
export function segmentPrompt(
  model: Sa2vaModel,
  { tiles, grid, frames = 1 }: AskedTokens,
  phrase: string,
): SegmentPrompt {
  const answer = encodeAnswer(model.tokenizer, model.config.template, SEG_ANSWER);
  const upToSeg = answer.ids.slice(0, (answer.segPositions[0] as number) + 1);
  const { made, cut } = fitCaption(
    model,
    plainPhrase(phrase),
    (text) => {
      const asked = { text: REFERRING_WORDING, phrase: cleanPhrase(text) };
      return frames > 1
        ? buildClipPrompt(model.tokenizer, model.config, { ...asked, frames, grid })
        : buildPrompt(model.tokenizer, model.config, { ...asked, tiles, grid });
    },
    ({ ids }) => ids.length + upToSeg.length,
  );
  return { ...made, forcedIds: [...made.ids, ...upToSeg], answer: SEG_ANSWER, cut };
}

/**
 * The prompt of a user's question. Line breaks are kept; special tokens in it are read as text.
 * @throws LabError("bad-input") when the question leaves no room for an answer in the model's context
 */
export function questionPrompt(
  model: Sa2vaModel,
  question: string,
  about: {
    readonly features: ImageFeatures;
    /** Marked regions in the order of their numbers; each covers at least one cell. */
    readonly regions: readonly RegionCells[];
  },
): Prompt {
  const { features, regions } = about;
  const { marks } = features;
  const drawn = marks !== undefined && regions.length > 0;
  if (drawn && regions.length > 1) {
    throw badInput("One region can be drawn into the picture; ask about one region at a time", "regions");
  }
  const regionTokenCounts = drawn ? [] : regions.map(countCells);
  const text = drawn ? drawnQuestionWording(marks.form) : QUESTION_WORDING;
  const { made, cut } = fitCaption(
    model,
    question.trim(),
    (phrase) =>
      buildPrompt(model.tokenizer, model.config, {
        text,
        phrase,
        tiles: features.tiles,
        grid: features.grid,
        regionTokenCounts,
      }),
    ({ ids }) => ids.length,
  );
  if (!cut) return made;
  throw badInput(
    `The question leaves no room for an answer in the model's context of ${contextTokens(model)} tokens; nothing was asked`,
    "question",
  );
}

export function answerRule(model: Sa2vaModel): StopRule {
  return stopRule(model.tokenizer, model.config.template);
}
