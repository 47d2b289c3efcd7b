/** Prompts of the two tasks, and how answers are read. */

import { regionGrid } from "../model/preprocess/region-grid.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import {
  buildPrompt,
  cleanPhrase,
  encodeAnswer,
  type Prompt,
  REFERRING_WORDING,
  REGION_CAPTION_WORDING,
  SEG_ANSWER,
} from "../text/prompt.ts";
import { type StopRule, stopRule } from "../text/template.ts";
import { fitCaption } from "./fit-caption.ts";

/** A marked region on the visual-token grid of the thumbnail: 0/1 per cell, row-major. */
export type RegionCells = Uint8Array;

/** Cells that a mask covers; with `keepTiny` a mask that covers none gets the cell that holds most of it. */
export function regionCells(
  model: Sa2vaModel,
  mask: Uint8Array,
  height: number,
  width: number,
  keepTiny: boolean,
): RegionCells {
  return regionGrid(mask, height, width, model.config.tokenGridSide, { keepTiny });
}

export function countCells(cells: RegionCells): number {
  return cells.reduce((sum, cell) => sum + cell, 0);
}

export interface CaptionPrompt extends Prompt {
  readonly cells: RegionCells;
}

/** "Describe region 1": the caption task. @throws LabError("bad-input") when no cell is set */
export function captionPrompt(model: Sa2vaModel, tiles: number, cells: RegionCells): CaptionPrompt {
  const prompt = buildPrompt(model.tokenizer, model.config, {
    text: REGION_CAPTION_WORDING,
    tiles,
    regionTokenCounts: [countCells(cells)],
  });
  return { ...prompt, cells };
}

export interface SegmentPrompt extends Prompt {
  /** Ids of the prompt and the forced answer up to [SEG], whose hidden state prompts the mask decoder. */
  readonly forcedIds: readonly number[];
  readonly answer: string;
  /** Whether the phrase was too long for the model's context and was cut. */
  readonly cut: boolean;
}

/** "Segment …": the mask task. The answer is forced, because sampled answers barely vary. */
export function segmentPrompt(model: Sa2vaModel, tiles: number, phrase: string): SegmentPrompt {
  const answer = encodeAnswer(model.tokenizer, model.config.template, SEG_ANSWER);
  const upToSeg = answer.ids.slice(0, (answer.segPositions[0] as number) + 1);
  const { made, cut } = fitCaption(
    model,
    phrase,
    (text) => buildPrompt(model.tokenizer, model.config, { text: REFERRING_WORDING, phrase: cleanPhrase(text), tiles }),
    ({ ids }) => ids.length + upToSeg.length,
  );
  return { ...made, forcedIds: [...made.ids, ...upToSeg], answer: SEG_ANSWER, cut };
}

export function answerRule(model: Sa2vaModel): StopRule {
  return stopRule(model.tokenizer, model.config.template);
}
