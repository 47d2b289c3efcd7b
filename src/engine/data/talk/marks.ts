/** Marks in the texts of a conversation: regions by number or placeholder, [SEG] tokens, and tagged phrases. */
import { isRecord, parseJson } from "../../bytes/json.ts";

/** Words and tags that stand for a region in a text. */
export interface Mark {
  readonly start: number;
  readonly end: number;
  /**
   * `prompt`: `<Prompt0>`, counted from 0; `region`: `<region1>`, counted as the data set does; `word`: the same
   * without brackets; `ordinal`: "the first region", "the 2nd region", "region two", "region B"; `blank`: `<region>`,
   * which has no number.
   */
  readonly kind: "prompt" | "region" | "word" | "ordinal" | "blank";
  /** Number as written; 0 for a blank. */
  readonly number: number;
}

const NAMES = "region|masks?|obj|object|area|segment|instance";
const BLANK =
  "<(?:region|masks?|mask_pos|mask_feat|region_feat?|region_fea|spi_descript|spi|bbox|box|roi|obj|object)>(?!\\s*[[({]{0,2}\\s*\\d)(?:<pos>)?|\\[(?:region|mask)\\]|<vp>(?:<IMG_CONTEXT>|\\s)*</vp>";
const WORDS = "(?:region|mask|object|area|box|instance|segment)";
const HAN = "(?:个|块|处)?(?:区域|掩码|掩膜|遮罩|目标|物体)";
const HAN_NUMERALS = "一二三四五六七八";
const NUMERALS = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
const ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"];
const MARK = new RegExp(
  [
    "<Prompt(\\d{1,9})>",
    `(?:<\\|?(?:${NAMES})[ _:#-]{0,2}(\\d{1,9})\\|?>|\\[(?:${NAMES})[ _:#-]{0,2}(\\d{1,9})\\])(?:\\s?(?:${BLANK}))?`,
    `(?:\\b${WORDS}|${HAN})(?:[ \u00a0_#-]{0,2}| number | no\\. ?| nr\\. ?)(?:(\\d{1,9})(?![\\w%])|\\((\\d{1,9})\\))(?:\\s?(?:${BLANK}))?`,
    `\\b(${ORDINALS.join("|")}|\\d{1,2}(?:st|nd|rd|th)) (?:marked |masked |highlighted )?${WORDS}\\b|第([${HAN_NUMERALS}\\d])${HAN}`,
    `\\b${WORDS} (${NUMERALS.join("|")}|[A-H])(?![\\w'’])`,
    `(${BLANK})`,
  ].join("|"),
  "gi",
);

/** The marks of a text, in order. */
export function marksOf(text: string): Mark[] {
  return [...text.matchAll(MARK)].flatMap((match): Mark[] => {
    const [whole, prompt, tag, bracket, word, enclosed, ordinal, han, letter] = match;
    const place = { start: match.index, end: match.index + whole.length };
    if (prompt !== undefined) return [{ ...place, kind: "prompt", number: Number(prompt) }];
    if (tag !== undefined || bracket !== undefined) {
      return [{ ...place, kind: "region", number: Number(tag ?? bracket) }];
    }
    if (word !== undefined || enclosed !== undefined) {
      return [{ ...place, kind: "word", number: Number(word ?? enclosed) }];
    }
    const nth = ordinal ?? han;
    if (nth !== undefined) {
      const words = [ORDINALS.indexOf(nth.toLowerCase()), HAN_NUMERALS.indexOf(nth)];
      return [{ ...place, kind: "ordinal", number: Number.parseInt(nth, 10) || Math.max(...words) + 1 }];
    }
    if (letter === undefined) return [{ ...place, kind: "blank", number: 0 }];
    // "region a" may be an article.
    if (/^[a-h]$/.test(letter)) return [];
    const number = NUMERALS.indexOf(letter.toLowerCase()) + 1 || letter.charCodeAt(0) - 64;
    return [{ ...place, kind: "ordinal", number }];
  });
}

const COUNTED =
  /(?<![A-Za-z_\d])\d+(?:\s?(?:-|–|to|or|and)\s?\d+)?[ -](?:(?:short|long|complete|simple|full|\w+ed) )?(?:words?|sentences?|characters?|tokens?|lines?|paragraphs?)\b/gi;
const PLACED =
  "left|right|upper|lower|top|bottom|middle|cent(?:er|re)|larger?|largest|smaller?|smallest|bigger|biggest|red|blue|green|yellow|orange|purple|pink|cyan|magenta|black|white|gr[ae]y|brown";
const THING = "(?:region|mask|object|area|box|contour|outline|circle|rectangle|segment|instance|one)";
const ROMAN = /\b(?:[Rr]egion|[Mm]ask|[Oo]bject|[Aa]rea|[Bb]ox|[Ss]egment) [IVX]{1,4}(?=\s*(?:[.,:;?!)]|$))/;
const POINTS = new RegExp(
  `\\p{N}|第|\\b(?:${PLACED})(?:most)?[ -](?:hand )?(?:[\\w-]+ )?${THING}\\b|\\b(?:${ORDINALS.join("|")}|last|former|latter|${NUMERALS.slice(1).join("|")}) (?:one|of|to|from)\\b|\\b(?:the|and) (?:${ORDINALS.join("|")}|last|former|latter)\\b`,
  "iu",
);

/** Whether a text without known marks points to one of several things by number, order, place or colour; counts of words do not. */
export function pointsToOne(text: string): boolean {
  return POINTS.test(text.replace(COUNTED, "")) || ROMAN.test(text);
}

/** Index of the mask that a numbered mark stands for. @param first number of the data set's first region */
export function indexOf({ kind, number }: Mark, first: number): number {
  return kind === "prompt" ? number : number - (kind === "ordinal" ? 1 : first);
}

const HEADER =
  /\bthere (?:is|are) (?:\d+|one|two|three|four|five) (?:\w+ )?(?:regions?|masks?|objects?|areas?)[^:.\n]{0,60}:/gi;
const BETWEEN = /^[\s,;&]*(?:and)?[\s,;&]*$/i;

/** A question without the sentence that lists all regions ("There are 2 part regions in the picture: region1, region2."). */
export function withoutHeader(text: string): string {
  HEADER.lastIndex = 0;
  const header = HEADER.exec(text);
  if (header === null) return text;
  let end = header.index + header[0].length;
  let listed = 0;
  for (const mark of marksOf(text)) {
    if (mark.start < end) continue;
    if (!BETWEEN.test(text.slice(end, mark.start))) break;
    end = mark.end;
    listed++;
  }
  if (listed === 0) return text;
  return `${text.slice(0, header.index)} ${text.slice(end).replace(/^\s*[.;]?/, "")}`;
}

const TAG = /<Prompt(\d+)>/g;
const TAG_WITH_ARTICLE = /(?:\b(?:the|an?|this|that)\s+)?<Prompt(\d+)>/gi;

/**
 * Text with every mark of a mask as `<PromptN>`, N counted from 0.
 * @param index index of the mask that a mark stands for; undefined keeps words and removes tags
 */
export function tagged(text: string, index: (mark: Mark) => number | undefined): string {
  let from = 0;
  const parts: string[] = [];
  for (const mark of marksOf(text)) {
    const { start, end, kind } = mark;
    const mask = index(mark);
    if (mask === undefined && (kind === "word" || kind === "ordinal")) continue;
    parts.push(text.slice(from, start), mask === undefined ? "" : `<Prompt${mask}>`);
    from = end;
  }
  return parts.length === 0 ? text : parts.join("") + text.slice(from);
}

/** The masks that a text with `<PromptN>` names, in order, with repetitions. */
export function masksIn(text: string): number[] {
  return [...text.matchAll(TAG)].map((match) => Number(match[1]));
}

/**
 * Text with `<PromptN>` replaced by words, as seen from one mask: its own become "this region", that of the other of two
 * "the other region", one of several "region 3" (counted from 1).
 */
export function inWords(text: string, self: number, masks: number): string {
  return text.replace(TAG_WITH_ARTICLE, (_match, digits: string, at: number) => {
    const mask = Number(digits);
    const words = mask === self ? "this region" : masks === 2 ? "the other region" : `region ${mask + 1}`;
    let last = at - 1;
    while (last >= 0 && (text[last] as string).trim() === "") last--;
    return last < 0 || ".!?".includes(text[last] as string) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  });
}

/** Whether a text says anything besides naming masks. */
export function saysMore(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text.replace(TAG, ""));
}

const NAME = /^([\s*_`"'([{]*)<Prompt(\d+)>([*_`"')\]}]*)(?:\s*[:：–—-]+[*_`"']*(?:\s+|$)|([:：]))?/;
const STATES = /^\s+(?:is|are|was|were|has|have|shows?|depicts?|contains?|looks?|appears?|and|or)\b/i;

/** A text without the name of its mask in front: `<Prompt0>: a cup`, `**<Prompt0>**: a cup`, `(<Prompt0>) a cup`. */
export function withoutName(text: string, mask: number): string {
  const [whole, before, number] = NAME.exec(text) ?? [];
  if (whole === undefined || Number(number) !== mask) return text;
  const rest = text.slice(whole.length);
  if (/[:：–—-][*_`"']*\s*$/.test(whole)) return rest;
  if (/[([{]/.test(before ?? "") && !STATES.test(rest)) return rest.trimStart();
  if (/^\s+\p{Lu}/u.test(rest)) return rest.trimStart();
  return before?.trim() === "" ? text : `<Prompt${mask}>${rest}`;
}

/**
 * The part of a text about each mask, if every sentence, line or list item names at most one and no mask is named twice:
 * "<Prompt0>: a cup. <Prompt1>: a plate." Parts without a name belong to the name before them.
 */
export function apart(text: string): Map<number, string> | undefined {
  const names = masksIn(text);
  const fields = fieldsOf(text);
  if (fields !== undefined) return fields;
  if (names.length < 2 || new Set(names).size < names.length) return undefined;
  const found = new Map<number, string>();
  let last: number | undefined;
  const plain = text.replace(/(^|\n)[ \t]*(?:\d{1,2}[.)]|[-*•])[ \t]+/g, "$1");
  for (const piece of plain.split(/(?<=[.!?;])\s+|\n+|(?<=,)\s*(?:and\s+)?(?=<Prompt\d+>\s*[:：–—-])/)) {
    const [name, more] = masksIn(piece);
    if (more !== undefined) return undefined;
    if (name !== undefined) {
      if (!saysMore(piece)) return undefined;
      found.set(name, withoutName(piece, name).replace(/[,;]\s*$/, ""));
      last = name;
    } else if (last !== undefined) found.set(last, `${found.get(last)} ${piece}`);
  }
  return found.size === names.length ? found : undefined;
}

/** The texts of a JSON object whose keys are names: `{"<Prompt0>": "a cup"}`; undefined for other texts. */
function fieldsOf(text: string): Map<number, string> | undefined {
  const object = /^\s*(?:```(?:json)?\s*)?(\{[\s\S]*\})\s*(?:```\s*)?$/.exec(text)?.[1];
  if (object === undefined) return undefined;
  let value: unknown;
  try {
    value = parseJson(object, "the answer");
  } catch {
    // Text in braces.
    return undefined;
  }
  const found = Object.entries(isRecord(value) ? value : {}).map(([key, one]) => [
    /^\s*<Prompt(\d+)>\s*$/.exec(key)?.[1],
    one,
  ]);
  const isNamed = found.every(([mask, one]) => mask !== undefined && typeof one === "string");
  return isNamed && found.length > 0 ? new Map(found.map(([mask, one]) => [Number(mask), one as string])) : undefined;
}

/** A [SEG] token in an answer: `[SEG]`, `<seg>`, `<SEG>`, `[SEG0]`. */
interface SegToken {
  readonly start: number;
  readonly end: number;
  readonly number: number | undefined;
}

const SEG = /\[SEG[ :_-]?(\d{1,6})?\]|<\|?SEG[ :_-]?(\d{1,6})?\|?>/gi;

/** The [SEG] tokens of a text, in order. */
export function segTokens(text: string): SegToken[] {
  return [...text.matchAll(SEG)].map((match) => {
    const number = match[1] ?? match[2];
    const end = match.index + match[0].length;
    return { start: match.index, end, number: number === undefined ? undefined : Number(number) };
  });
}

const TAGGED = /<(p|ref|phrase)>([^<>]*)<\/\1>|<\|object_ref_start\|>([^<>]*)<\|object_ref_end\|>/gi;

/** The phrases in tags (`<p>…</p>`) of a text, in order, with the end of their tag. */
export function taggedPhrases(text: string): { readonly phrase: string; readonly end: number }[] {
  return [...text.matchAll(TAGGED)].map((match) => {
    return { phrase: (match[2] ?? match[3] ?? "").trim(), end: match.index + match[0].length };
  });
}

/** A text without [SEG] tokens and without the tags around phrases. */
export function withoutTokens(text: string): string {
  const plain = text.replace(SEG, "").replace(/<\/?(?:p|ref|phrase|seg)>|<\|object_ref_(?:start|end)\|>/gi, "");
  return plain === text
    ? text
    : plain
        .replace(/\s+([.,;:!?])/g, "$1")
        .replace(/[ \t]{2,}/g, " ")
        .trim();
}
