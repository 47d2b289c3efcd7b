/** Prompts with a picture and marked regions, as text, ids and places of the visual tokens (reference: sa2va.md §6). */
import { LabError } from "../errors.ts";
import { TEMPLATES, type TemplateName } from "./template.ts";
import type { Tokenizer } from "./tokenizer.ts";

export const IMAGE_PLACEHOLDER = "<image>";
/** "{phrase}" is replaced by the expression. */
export const REFERRING_WORDING = "<image>\nPlease segment {phrase} in this image.";
export const REGION_CAPTION_WORDING =
  "<image>\nPlease give me a short description of the region in the picture marked by region1.";
/** The answer a mask is read from when it is not sampled. */
export const SEG_ANSWER = "Sure, [SEG].";

/** Half-open range of token positions. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What of a checkpoint's configuration a prompt depends on. */
export interface PromptShape {
  readonly template: TemplateName;
  readonly tokensPerTile: number;
}

export interface PromptRequest {
  /** The user's text with exactly one "<image>". */
  readonly text: string;
  /** Tiles of the picture, the thumbnail included. */
  readonly tiles: number;
  /** Visual tokens of each marked region; absent or empty for none. */
  readonly regionTokenCounts?: readonly number[];
}

export interface Prompt {
  readonly ids: readonly number[];
  /** Places of the tiles' tokens. */
  readonly imageSpan: Span;
  /** Places of each region's copied tokens. */
  readonly regionSpans: readonly Span[];
  /** The text the ids were made from. */
  readonly full: string;
  /** The same with every run of visual tokens written as its length, for people. */
  readonly text: string;
}

/**
 * Builds the reference's string and encodes it as a whole, since pieces encoded alone may merge differently.
 * @throws LabError("bad-input") for a text without exactly one "<image>" or a region without tokens
 */
export function buildPrompt(tokenizer: Tokenizer, shape: PromptShape, request: PromptRequest): Prompt {
  const regions = request.regionTokenCounts ?? [];
  const parts = request.text.split(IMAGE_PLACEHOLDER);
  if (parts.length !== 2) {
    throw new LabError("bad-input", `The prompt has ${parts.length - 1} "<image>" places, it must have exactly one`, {
      subject: "prompt",
    });
  }
  const empty = regions.findIndex((count) => count < 1);
  if (empty >= 0) {
    throw new LabError("bad-input", `Region ${empty + 1} covers no visual token, so it cannot be described`, {
      subject: "region",
    });
  }
  const template = TEMPLATES[shape.template];
  const imageTokens = request.tiles * shape.tokensPerTile;
  const render = (context: (count: number) => string): string =>
    template.wrap(parts.join(`<img>${context(imageTokens)}</img>${regionSentence(regions, context)}`));
  const full = render((count) => "<IMG_CONTEXT>".repeat(count));
  const ids = [...sequenceBegin(tokenizer, shape.template), ...tokenizer.encode(full)];
  const [imageSpan, ...regionSpans] = contextRuns(ids, tokenizer.special.imageContext);
  const lengths = [imageSpan, ...regionSpans].map((span) => (span === undefined ? 0 : span.end - span.start));
  if (imageSpan === undefined || String(lengths) !== String([imageTokens, ...regions])) {
    throw new LabError(
      "bad-input",
      `The prompt came out with ${lengths.join(" + ")} visual tokens instead of ${[imageTokens, ...regions].join(" + ")}`,
      { subject: "prompt" },
    );
  }
  return { ids, imageSpan, regionSpans, full, text: render((count) => `${count}×`) };
}

/** Ids in front of a whole sequence: the tokenizer's own, or where it is silent the template's. */
function sequenceBegin(tokenizer: Tokenizer, template: TemplateName): readonly number[] {
  const { bos } = tokenizer.special;
  return tokenizer.start ?? (TEMPLATES[template].bos && bos !== undefined ? [bos] : []);
}

function regionSentence(regions: readonly number[], context: (count: number) => string): string {
  if (regions.length === 0) return "";
  const marked = regions.map((count, at) => `region${at + 1}<vp>${context(count)}</vp>`).join(", ");
  return `\nThere are ${regions.length} part regions in the picture: ${marked}.\n`;
}

/** Runs of the visual-token id. */
export function contextRuns(ids: readonly number[], imageContext: number): Span[] {
  const runs: Span[] = [];
  let start = -1;
  for (let at = 0; at <= ids.length; at++) {
    const inside = ids[at] === imageContext;
    if (inside && start < 0) start = at;
    if (!inside && start >= 0) {
      runs.push({ start, end: at });
      start = -1;
    }
  }
  return runs;
}

/** An expression as in training prompts: lower case, no full stop at the end. */
export function cleanPhrase(phrase: string): string {
  return phrase.trim().toLowerCase().replace(/\.+$/, "").trim();
}

/** The user's text that asks for the mask of an expression. */
export function referringText(phrase: string, wording = REFERRING_WORDING): string {
  return wording.replaceAll("{phrase}", () => cleanPhrase(phrase));
}

/** A teacher-forced answer. */
export interface Answer {
  /** With the template's first stop word at the end. */
  readonly ids: readonly number[];
  /** Indices of [SEG] in `ids`. */
  readonly segPositions: readonly number[];
}

/** @param text without stop word, e.g. `SEG_ANSWER` */
export function encodeAnswer(tokenizer: Tokenizer, template: TemplateName, text: string): Answer {
  const ids = tokenizer.encode(`${text}${TEMPLATES[template].stopWords[0]}`);
  return { ids, segPositions: ids.flatMap((id, at) => (id === tokenizer.special.seg ? [at] : [])) };
}
