/** Cuts added tokens out of a text before the vocabulary reads it, like Hugging Face's slow tokenizers. */
import { badInput } from "../errors.ts";
import type { RawAddedToken } from "./added-tokens.ts";

/** Maximum length of a token that is cut out of texts, in UTF-16 units; published ones have a few dozen. */
const LONGEST = 1000;

/**
 * Longest first, so that no token hides one that it is a prefix of.
 * @throws LabError when a token is longer than LONGEST
 */
export function addedPattern(added: readonly Pick<RawAddedToken, "content">[]): RegExp | undefined {
  const contents = added.map((token) => token.content).filter((text) => text !== "");
  if (contents.length === 0) return undefined;
  contents.sort((a, b) => b.length - a.length);
  const longest = contents[0]?.length ?? 0;
  if (longest > LONGEST) {
    throw badInput(
      `The tokenizer has an added token of ${longest} characters, more than ${LONGEST}`,
      "tokenizer_config.json",
    );
  }
  return new RegExp(`(${contents.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|")})`, "u");
}

/** The letters by which Hugging Face's fast tokenizers find the ends of a word, for a character class. */
export const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
/** The letters of a word for the slow tokenizers: everything except a blank. */
const NO_BLANK = "^ ";

/** Half-open range of UTF-16 positions in a text. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Texts and ids of added tokens in order. A token may include the white space before or after it; one that must be a
 * separate word stays in the text if it is part of a word.
 * @param literal ranges that are plain text, whatever tokens they spell
 * @param word character class of the letters that join a token to a word
 */
export function splitAdded(
  text: string,
  added: readonly RawAddedToken[],
  literal: readonly TextRange[] = [],
  word = NO_BLANK,
): (string | number)[] {
  const pattern = addedPattern(added);
  if (pattern === undefined) return text === "" ? [] : [text];
  const known = new Map(added.map((token) => [token.content, token] as const));
  const out: (string | number)[] = [];
  let open = "";
  let strip = false;
  let place = 0;
  const parts = text.split(pattern);
  const put = (value: string): void => {
    open += strip && open === "" ? value.replace(/^\p{White_Space}+/u, "") : value;
  };
  parts.forEach((part, at) => {
    // Parts with odd indices are matches of the pattern's only capture.
    const [start, end] = [place, place + part.length];
    place = end;
    const isText = literal.some((range) => start < range.end && end > range.start);
    const token = at % 2 === 1 && !isText ? known.get(part) : undefined;
    if (token === undefined || (token.single_word && touchesWord(text, { start, end }, word))) {
      put(part);
      return;
    }
    const before = token.lstrip ? open.replace(/(?<!\p{White_Space})\p{White_Space}+$/u, "") : open;
    if (before !== "") out.push(before);
    out.push(token.id);
    open = "";
    strip = token.rstrip;
  });
  if (open !== "") out.push(open);
  return out;
}

/** Whether a letter of a word (one or two units long) adjoins the range, even if it belongs to another added token. */
function touchesWord(text: string, { start, end }: TextRange, word: string): boolean {
  const letter = new RegExp(`^[${word}]`, "u");
  // Chrome 156 finds no letter of two units with `[…]$`.
  const before = Array.from(text.slice(Math.max(0, start - 2), start)).at(-1) ?? "";
  return letter.test(before) || letter.test(text.slice(end, end + 2));
}

/** Whether a text spells an added token inside one of the ranges. */
export function spellsAdded(text: string, pattern: RegExp | undefined, ranges: readonly TextRange[]): boolean {
  return pattern !== undefined && ranges.some(({ start, end }) => pattern.test(text.slice(start, end)));
}
