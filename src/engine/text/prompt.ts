/**
 * Prompts with a picture and marked regions: text, ids and positions of the visual tokens
 * (docs/spec/sa2va.md#6-tokens-and-prompts).
 */
import { badInput } from "../errors.ts";
import type { TextRange } from "./added-tokens.ts";
import { TEMPLATES, type TemplateName } from "./template.ts";
import { type Tokenizer, VISUAL_TOKENS, type VisualMarks } from "./tokenizer.ts";

export const IMAGE_PLACEHOLDER = "<image>";
/** Placeholder for text from the data or the user. */
const PHRASE = "{phrase}";
export const REFERRING_WORDING = `<image>\nPlease segment ${PHRASE} in this image.`;
/** Prompt of a user's question. */
export const QUESTION_WORDING = `<image>\n${PHRASE}`;
export const REGION_CAPTION_WORDING =
  "<image>\nPlease give me a short description of the region in the picture marked by region1.";
/** The forced answer from which a mask is read. */
export const SEG_ANSWER = "Sure, [SEG].";

/** Visual tokens of a tile, or of a whole picture: rows times columns, row by row. */
export interface VisualGrid {
  readonly rows: number;
  readonly cols: number;
}

/** Half-open range of token positions. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The parts of a checkpoint's configuration that prompts depend on. */
export interface PromptShape {
  readonly template: TemplateName;
  readonly tokensPerTile: number;
}

interface PromptRequest {
  /** The user's text with exactly one "<image>". */
  readonly text: string;
  /** Replaces "{phrase}"; tokens that it spells are read as text. Without it the text is unchanged. */
  readonly phrase?: string;
  /** Tiles of the picture, including the thumbnail. */
  readonly tiles: number;
  /** Visual tokens of each tile; by default the model's square ones. */
  readonly grid?: VisualGrid | undefined;
  /** Visual tokens of each marked region; absent or empty for none. */
  readonly regionTokenCounts?: readonly number[];
}

export interface Prompt {
  readonly ids: readonly number[];
  /** Positions of the tiles' tokens. */
  readonly imageSpan: Span;
  /** Positions of the tokens of each frame of a clip, starting with `imageSpan`; absent for a picture. */
  readonly frameSpans?: readonly Span[];
  /** Visual tokens of each tile or frame, if the picture decides it. */
  readonly grid?: VisualGrid | undefined;
  /** Positions of each region's copied tokens; in a clip, those on each frame where the region has tokens. */
  readonly regionSpans: readonly Span[];
  /** The text of the ids. */
  readonly full: string;
  /** The text with every run of visual tokens replaced by its length, for display. */
  readonly text: string;
}

/**
 * Builds the reference's string and encodes it as a whole, because separately encoded pieces may merge differently.
 * @throws LabError("bad-input") for a text without exactly one "<image>" or a region without tokens
 */
export function buildPrompt(tokenizer: Tokenizer, shape: PromptShape, request: PromptRequest): Prompt {
  const regions = request.regionTokenCounts ?? [];
  const parts = request.text.split(IMAGE_PLACEHOLDER);
  if (parts.length !== 2) {
    throw badInput(`The prompt has ${parts.length - 1} "<image>" placeholders, it must have exactly one`, "prompt");
  }
  const empty = regions.findIndex((count) => count < 1);
  if (empty >= 0) throw badInput(`Region ${empty + 1} covers no visual token, so it cannot be described`, "region");
  const template = TEMPLATES[shape.template];
  const { grid } = request;
  const imageTokens = request.tiles * tileTokens(shape, grid);
  const { start, context: token, end } = tokenizer.visual;
  const render = (context: (count: number) => string): string =>
    template.wrap(parts.join(`${start}${context(imageTokens)}${end}${regionSentence(regions, context)}`));
  const fill = (rendered: string) => filled(rendered, request.phrase);
  const { text: full, literal } = fill(render((count) => token.repeat(count)));
  const ids = [...sequenceBegin(tokenizer, shape.template), ...tokenizer.encode(full, literal)];
  const [imageSpan, ...regionSpans] = contextRuns(ids, tokenizer.special.imageContext);
  const lengths = [imageSpan, ...regionSpans].map((span) => (span === undefined ? 0 : span.end - span.start));
  if (imageSpan === undefined || String(lengths) !== String([imageTokens, ...regions])) {
    throw badInput(
      `The prompt has ${lengths.join(" + ")} visual tokens instead of ${[imageTokens, ...regions].join(" + ")}`,
      "prompt",
    );
  }
  return { ids, imageSpan, grid, regionSpans, full, text: fill(render((count) => `${count}×`)).text };
}

/** Visual tokens of a tile. */
export function tileTokens(shape: Pick<PromptShape, "tokensPerTile">, grid: VisualGrid | undefined): number {
  return grid === undefined ? shape.tokensPerTile : grid.rows * grid.cols;
}

/**
 * The parts where `buildPrompt` replaces visual tokens by their number: the picture or frames, and the regions after
 * each.
 */
const COLLAPSED =
  /(?:(?:<img>\d+×<\/img>|<\|vision_start\|>\d+×<\|vision_end\|>)(?:\nThere are \d+ part regions in the picture: (?:region\d+<vp>\d+×<\/vp>(?:, )?)+\.)?\n?)+/;

/** `Prompt.full` from `Prompt.text`. A caption comes after the picture, so it cannot be confused with it. */
export function withVisualTokens(text: string): string {
  return text.replace(COLLAPSED, (part) => {
    const { context } = VISUAL_TOKENS.find(({ start }) => part.startsWith(start)) as VisualMarks;
    return part.replace(/>(\d+)×</g, (_, count: string) => `>${context.repeat(Number(count))}<`);
  });
}

/** Fills the placeholders of a text; returns it with the ranges of the phrase. */
export function filled(
  text: string,
  phrase: string | undefined,
): { readonly text: string; readonly literal: readonly TextRange[] } {
  if (phrase === undefined) return { text, literal: [] };
  const [first = "", ...rest] = text.split(PHRASE);
  const literal: TextRange[] = [];
  let out = first;
  for (const part of rest) {
    literal.push({ start: out.length, end: out.length + phrase.length });
    out += phrase + part;
  }
  return { text: out, literal };
}

/** Ids at the start of a sequence: those of the tokenizer, or of the template if the tokenizer specifies none. */
export function sequenceBegin(tokenizer: Tokenizer, template: TemplateName): readonly number[] {
  const { bos } = tokenizer.special;
  return tokenizer.start ?? (TEMPLATES[template].bos && bos !== undefined ? [bos] : []);
}

/** The text after the picture's tokens when regions are marked; empty without regions. */
export function regionSentence(regions: readonly number[], context: (count: number) => string): string {
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

/** A caption in one line. */
export function plainPhrase(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** An expression in the form of training prompts: lower case, without a full stop at the end. */
export function cleanPhrase(phrase: string): string {
  return phrase.trim().toLowerCase().replace(/\.+$/, "").trim();
}

/** A teacher-forced answer. */
export interface Answer {
  /** Ends with the template's first stop word. */
  readonly ids: readonly number[];
  /** Indices of [SEG] in `ids`. */
  readonly segPositions: readonly number[];
}

/** @param text without stop word, e.g. `SEG_ANSWER` */
export function encodeAnswer(tokenizer: Tokenizer, template: TemplateName, text: string): Answer {
  return closedAnswer(tokenizer, template, text, []);
}

/** A caption from the data as an answer; tokens that it spells are read as text. */
export function encodeCaption(tokenizer: Tokenizer, template: TemplateName, caption: string): Answer {
  return closedAnswer(tokenizer, template, caption, [{ start: 0, end: caption.length }]);
}

function closedAnswer(
  tokenizer: Tokenizer,
  template: TemplateName,
  text: string,
  literal: readonly TextRange[],
): Answer {
  const ids = tokenizer.encode(`${text}${TEMPLATES[template].stopWords[0]}`, literal);
  return { ids, segPositions: ids.flatMap((id, at) => (id === tokenizer.special.seg ? [at] : [])) };
}
