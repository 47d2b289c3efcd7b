/** Prompts with several frames of a clip (docs/spec/video.md#10-clips-and-prompts). */
import { badInput } from "../errors.ts";
import {
  contextRuns,
  filled,
  IMAGE_PLACEHOLDER,
  type Prompt,
  type PromptShape,
  regionSentence,
  type Span,
  sequenceBegin,
  tileTokens,
  type VisualGrid,
} from "./prompt.ts";
import { TEMPLATES } from "./template.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** Wording for an expression, which is used as written. */
export const CLIP_WORDING = "<image>\nPlease segment {phrase}.";
/** Wording for an expression that is a question; the blank is in the published text. */
export const CLIP_QUESTION_WORDING = "<image>\n {phrase} Please respond with a segmentation mask.";

interface ClipPromptRequest {
  /** The user's text with exactly one "<image>". */
  readonly text: string;
  /** Replaces "{phrase}"; tokens that it spells are read as text. */
  readonly phrase?: string;
  /** Number of frames, at least one; one tile each. */
  readonly frames: number;
  /** Visual tokens of each frame; by default the model's square ones. */
  readonly grid?: VisualGrid | undefined;
  /** Visual tokens of the marked region on each frame, 0 where it is not visible; empty when no region is marked. */
  readonly regionTokenCounts?: readonly number[];
}

/**
 * Builds the whole text and encodes it at once, as `buildPrompt` does; one frame gives the prompt of a picture with one
 * tile.
 * @throws LabError("bad-input") for a text without exactly one "<image>", or no frame
 */
export function buildClipPrompt(
  tokenizer: Tokenizer,
  shape: PromptShape,
  { text, phrase, frames, grid, regionTokenCounts = [] }: ClipPromptRequest,
): Prompt {
  const parts = text.split(IMAGE_PLACEHOLDER);
  if (parts.length !== 2 || frames < 1) {
    const found = `${parts.length - 1} "<image>" placeholders and ${frames} frames`;
    throw badInput(`The prompt has ${found}; it needs one placeholder and at least one frame`, "prompt");
  }
  const seen = Array.from({ length: frames }, (_, at) => regionTokenCounts[at] ?? 0);
  const { start, context: token, end } = tokenizer.visual;
  const tokens = tileTokens(shape, grid);
  const render = (context: (count: number) => string) => {
    const images = seen.map((count) => {
      const region = count === 0 ? "" : regionSentence([count], context);
      return `${start}${context(tokens)}${end}${region}`;
    });
    return filled(TEMPLATES[shape.template].wrap(parts.join(joined(images))), phrase);
  };
  const { text: full, literal } = render((count) => token.repeat(count));
  const ids = [...sequenceBegin(tokenizer, shape.template), ...tokenizer.encode(full, literal)];
  const runs = contextRuns(ids, tokenizer.special.imageContext);
  const wanted = seen.flatMap((count) => (count === 0 ? [tokens] : [tokens, count]));
  const lengths = runs.map((run) => run.end - run.start);
  if (String(lengths) !== String(wanted)) {
    throw badInput(`The prompt has ${lengths.join(" + ")} visual tokens instead of ${wanted.join(" + ")}`, "prompt");
  }
  const frameSpans: Span[] = [];
  const regionSpans: Span[] = [];
  for (const count of seen) {
    frameSpans.push(runs.shift() as Span);
    if (count > 0) regionSpans.push(runs.shift() as Span);
  }
  const [imageSpan] = frameSpans as [Span];
  return { ids, imageSpan, frameSpans, grid, regionSpans, full, text: render((count) => `${count}×`).text };
}

/** Frames are separated by line breaks; a region's sentence already ends its line. */
function joined(images: readonly string[]): string {
  return images.map((image, at) => (at === images.length - 1 || image.endsWith("\n") ? image : `${image}\n`)).join("");
}
