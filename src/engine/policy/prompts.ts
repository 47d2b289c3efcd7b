/** Prompts of the two tasks, and how answers are read. */

import { type FrameView, frameOf, ONE_PICTURE, stacked } from "../data/clips/film-strip.ts";
import type { TrainingRow } from "../data/training-row.ts";
import { badInput } from "../errors.ts";
import { regionGrid } from "../model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { buildClipPrompt } from "../text/clip-prompt.ts";
import {
  buildPrompt,
  cleanPhrase,
  encodeAnswer,
  type Prompt,
  plainPhrase,
  REFERRING_WORDING,
  REGION_CAPTION_WORDING,
  SEG_ANSWER,
} from "../text/prompt.ts";
import { type StopRule, stopRule } from "../text/template.ts";
import { fitCaption } from "./fit-caption.ts";

/**
 * A marked region on the visual-token grid of the thumbnail, or of each frame of a clip in order: 0/1 per cell,
 * row-major.
 */
export type RegionCells = Uint8Array;

/**
 * Cells that a mask covers; with `keepTiny` a mask that covers none gets the cell that holds most of it.
 * @param height of the mask; for a clip, of all frames together
 * @param view the frames of a clip to return cells for
 */
export function regionCells(
  model: Sa2vaModel,
  mask: Uint8Array,
  height: number,
  width: number,
  keepTiny: boolean,
  view: FrameView = ONE_PICTURE,
): RegionCells {
  const { tokenGridSide } = model.config;
  const grids = view.frames.map((frame) =>
    regionGrid(frameOf(mask, view.total, frame), height / view.total, width, tokenGridSide, { keepTiny }),
  );
  return stacked(grids);
}

/** Cells of a row's region; for a clip, on the frames of its view. */
export function rowCells(model: Sa2vaModel, { mask, rgb, view }: TrainingRow, keepTiny: boolean): RegionCells {
  return regionCells(model, mask, rgb.height, rgb.width, keepTiny, view);
}

export function countCells(cells: RegionCells): number {
  return cells.reduce((sum, cell) => sum + cell, 0);
}

export interface CaptionPrompt extends Prompt {
  readonly cells: RegionCells;
}

/**
 * "Describe region 1": the caption task, in a picture or a clip; the number of frames follows from the cells. In a clip
 * the region is marked on every frame where it covers a cell.
 * @throws LabError("bad-input") when no cell is set
 */
export function captionPrompt(model: Sa2vaModel, tiles: number, cells: RegionCells): CaptionPrompt {
  const { tokenizer, config } = model;
  const text = REGION_CAPTION_WORDING;
  const each = config.tokenGridSide ** 2;
  const frames = cells.length / each;
  const counts = Array.from({ length: frames }, (_, frame) => countCells(frameOf(cells, frames, frame)));
  if (frames > 1 && countCells(cells) === 0) {
    throw badInput("The region covers no visual token of any frame, so it cannot be described", "region");
  }
  const prompt =
    frames > 1
      ? buildClipPrompt(tokenizer, config, { text, frames, regionTokenCounts: counts })
      : buildPrompt(tokenizer, config, { text, tiles, regionTokenCounts: counts });
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
export function segmentPrompt(model: Sa2vaModel, tiles: number, phrase: string, frames = 1): SegmentPrompt {
  const answer = encodeAnswer(model.tokenizer, model.config.template, SEG_ANSWER);
  const upToSeg = answer.ids.slice(0, (answer.segPositions[0] as number) + 1);
  const { made, cut } = fitCaption(
    model,
    plainPhrase(phrase),
    (text) => {
      const asked = { text: REFERRING_WORDING, phrase: cleanPhrase(text) };
      return frames > 1
        ? buildClipPrompt(model.tokenizer, model.config, { ...asked, frames })
        : buildPrompt(model.tokenizer, model.config, { ...asked, tiles });
    },
    ({ ids }) => ids.length + upToSeg.length,
  );
  return { ...made, forcedIds: [...made.ids, ...upToSeg], answer: SEG_ANSWER, cut };
}

export function answerRule(model: Sa2vaModel): StopRule {
  return stopRule(model.tokenizer, model.config.template);
}
