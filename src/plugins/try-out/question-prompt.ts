/** The prompt of a question about a picture and its regions. */
import { badInput } from "../../engine/errors.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import type { ImageFeatures } from "../../engine/policy/features.ts";
import { contextTokens, fitCaption } from "../../engine/policy/fit-caption.ts";
import { countCells, drawnQuestionWording, type RegionCells } from "../../engine/policy/prompts.ts";
import { buildPrompt, type Prompt, QUESTION_WORDING } from "../../engine/text/prompt.ts";

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
