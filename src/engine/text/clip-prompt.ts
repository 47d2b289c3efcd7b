/** Prompts with several frames of a clip (docs/spec/video.md#10-clips-and-prompts). */
import { LabError } from "../errors.ts";
import {
  contextRuns,
  filled,
  IMAGE_PLACEHOLDER,
  type PromptShape,
  regionSentence,
  type Span,
  sequenceBegin,
} from "./prompt.ts";
import { TEMPLATES } from "./template.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** An expression is used as it is written. */
export const CLIP_WORDING = "<image>\nPlease segment {phrase}.";
/** For an expression that asks; the blank is published. */
export const CLIP_QUESTION_WORDING = "<image>\n {phrase} Please respond with a segmentation mask.";
export const CLIP_CAPTION_WORDING =
  "<image>\nPlease give me a short description of the region in the video marked by region1.";

export interface ClipPromptRequest {
  /** The user's text with exactly one "<image>". */
  readonly text: string;
  /** Put in the place of "{phrase}"; it is text, whatever tokens it spells. */
  readonly phrase?: string;
  /** Frames, at least one; one tile each. */
  readonly frames: number;
  /** Visual tokens of the marked region on each frame, 0 where it is not seen; none when no region is marked. */
  readonly regionTokenCounts?: readonly number[];
}

export interface ClipPromptText {
  readonly ids: readonly number[];
  /** Places of each frame's tokens. */
  readonly frameSpans: readonly Span[];
  /** Places of the region's copies on each frame; undefined where it is not seen. */
  readonly regionSpans: readonly (Span | undefined)[];
  readonly full: string;
}

/**
 * Builds the whole text and encodes it at once, as `buildPrompt` does; with one frame it is that of a picture of one tile.
 * @throws LabError("bad-input") for a text without exactly one "<image>", or no frame
 */
export function buildClipPrompt(
  tokenizer: Tokenizer,
  shape: PromptShape,
  { text, phrase, frames, regionTokenCounts = [] }: ClipPromptRequest,
): ClipPromptText {
  const parts = text.split(IMAGE_PLACEHOLDER);
  if (parts.length !== 2 || frames < 1) {
    const found = `${parts.length - 1} "<image>" places and ${frames} frames`;
    throw new LabError("bad-input", `The prompt has ${found}; it needs one place and at least one frame`, {
      subject: "prompt",
    });
  }
  const context = (count: number): string => "<IMG_CONTEXT>".repeat(count);
  const seen = Array.from({ length: frames }, (_, at) => regionTokenCounts[at] ?? 0);
  const images = seen.map((count) => {
    const region = count === 0 ? "" : regionSentence([count], context);
    return `<img>${context(shape.tokensPerTile)}</img>${region}`;
  });
  const template = TEMPLATES[shape.template];
  const { text: full, literal } = filled(template.wrap(parts.join(joined(images))), phrase);
  const ids = [...sequenceBegin(tokenizer, shape.template), ...tokenizer.encode(full, literal)];
  const runs = contextRuns(ids, tokenizer.special.imageContext);
  const wanted = seen.flatMap((count) => (count === 0 ? [shape.tokensPerTile] : [shape.tokensPerTile, count]));
  const lengths = runs.map(({ start, end }) => end - start);
  if (String(lengths) !== String(wanted)) {
    throw new LabError(
      "bad-input",
      `The prompt came out with ${lengths.join(" + ")} visual tokens instead of ${wanted.join(" + ")}`,
      { subject: "prompt" },
    );
  }
  let at = 0;
  const frameSpans: Span[] = [];
  const regionSpans = seen.map((count) => {
    frameSpans.push(runs[at++] as Span);
    return count === 0 ? undefined : runs[at++];
  });
  return { ids, frameSpans, regionSpans, full };
}

/** Frames line by line; a region's sentence ends its line already. */
function joined(images: readonly string[]): string {
  return images.map((image, at) => (at === images.length - 1 || image.endsWith("\n") ? image : `${image}\n`)).join("");
}
