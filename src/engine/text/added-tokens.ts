/** Added tokens: pieces of text that are split off before the rules of the vocabulary. */
import { isRecord } from "../bytes/json.ts";
import { badInput, quote } from "../errors.ts";

/** Far above any vocabulary. */
export const LARGEST_ID = 2 ** 24;

/** An added token as in tokenizer.json. */
export interface RawAddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  readonly single_word: boolean;
  readonly lstrip: boolean;
  readonly rstrip: boolean;
  readonly normalized: boolean;
}

/** Places where a folder may list added tokens; the first place that lists a token defines its behaviour. */
interface AddedTokenLists {
  /** `added_tokens` of tokenizer.json. */
  readonly library?: unknown;
  /** `added_tokens_decoder` of tokenizer_config.json. */
  readonly decoder?: unknown;
  /** added_tokens.json: id by content. */
  readonly ids?: Readonly<Record<string, unknown>>;
}

/**
 * All added tokens of a folder, by id.
 * @throws LabError("bad-input") when two files give a token different ids, or an entry has no text or id
 */
export function parseAddedTokens(lists: AddedTokenLists): RawAddedToken[] {
  const tokens = new Map<string, RawAddedToken>();
  const sources = new Map<string, string>();
  const put = (source: string, content: unknown, id: unknown, settings: Readonly<Record<string, unknown>>): void => {
    if (typeof content !== "string" || typeof id !== "number" || !Number.isInteger(id) || id < 0 || id > LARGEST_ID) {
      throw badInput(`${source} has an added token without content or id`, source);
    }
    const known = tokens.get(content);
    if (known !== undefined && known.id !== id) {
      throw badInput(
        `${source} gives the token ${quote(content)} the id ${id}, ${sources.get(content)} gives it ${known.id}`,
        content,
      );
    }
    if (known !== undefined) return;
    sources.set(content, source);
    tokens.set(content, {
      id,
      content,
      special: settings.special === true,
      single_word: settings.single_word === true,
      lstrip: settings.lstrip === true,
      rstrip: settings.rstrip === true,
      normalized: settings.normalized === true,
    });
  };
  for (const item of Array.isArray(lists.library) ? lists.library : []) {
    const entry = isRecord(item) ? item : {};
    put("tokenizer.json", entry.content, entry.id, entry);
  }
  for (const [id, item] of Object.entries(isRecord(lists.decoder) ? lists.decoder : {})) {
    const entry = isRecord(item) ? item : {};
    put("tokenizer_config.json", entry.content, /^\d{1,9}$/.test(id) ? Number(id) : undefined, entry);
  }
  for (const [content, id] of Object.entries(lists.ids ?? {})) put("added_tokens.json", content, id, { special: true });
  return [...tokens.values()].sort((a, b) => a.id - b.id);
}

/** Blanks that decoding removes if tokenizer_config.json sets `clean_up_tokenization_spaces`, in this order. */
const CLEAN_UP: readonly (readonly [string, string])[] = [
  [" .", "."],
  [" ?", "?"],
  [" !", "!"],
  [" ,", ","],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
];

export function cleanUp(text: string): string {
  return CLEAN_UP.reduce((cleaned, [from, to]) => cleaned.replaceAll(from, to), text);
}

/** Tokens that have a role in tokenizer_config.json. */
const ROLES = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"] as const;

/** The token of a role, as a text or an object with a text; undefined if there is none. */
export function namedToken(
  config: Readonly<Record<string, unknown>>,
  role: (typeof ROLES)[number],
): string | undefined {
  return textOf(config[role]);
}

export function namedTokens(config: Readonly<Record<string, unknown>>): string[] {
  return ROLES.map((role) => namedToken(config, role)).filter((token) => token !== undefined);
}

/** `additional_special_tokens`: special tokens without a role. */
export function furtherSpecialTokens(config: Readonly<Record<string, unknown>>): string[] {
  const list = config.additional_special_tokens;
  return (Array.isArray(list) ? list : []).map(textOf).filter((token) => token !== undefined);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return isRecord(value) && typeof value.content === "string" ? value.content : undefined;
}

// Cuts added tokens out of a text before the vocabulary reads it, like Hugging Face's slow tokenizers.

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

/** The interface of a vocabulary, from which `openTokenizer` makes a `Tokenizer`. */
export interface TokenizerCore {
  /** @param literal ranges that are plain text whatever they spell */
  encode(text: string, literal?: readonly TextRange[]): number[];
  /** Finds the added tokens that `encode` recognises; undefined when there are none. */
  readonly added: RegExp | undefined;
  decode(ids: readonly number[], keepSpecial: boolean): string;
  find(token: string): number | undefined;
  readonly vocabSize: number;
}
