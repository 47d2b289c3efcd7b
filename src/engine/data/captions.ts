import { isRecord, parseJson } from "../bytes/json.ts";
import { dropUnseen } from "../errors.ts";

/** One turn of a conversation; roles other than the two speakers are dropped on reading. */
export interface Turn {
  readonly role: "human" | "gpt";
  readonly value: string;
}

/** Most characters of a row's text: far beyond any context. */
const MAX_TEXT = 2 ** 19;
/** Most characters of all captions of a row together: a text with tags is repeated for every mask it speaks of. */
const MAX_CAPTIONS = 2 ** 22;

const HUMAN = new Set(["human", "user"]);
const MODEL = new Set(["gpt", "assistant", "model", "bot", "ai"]);
const TAG = /<Prompt(\d+)>/g;
const TAG_WITH_ARTICLE = /(?:\b(?:the|an?|this|that)\s+)?<Prompt(\d+)>/gi;

/**
 * Turns of a conversation cell: a list of `{from, value}` or `{role, content}` (text, or parts of `{type, text}` of which
 * the text counts), a list of `{user, assistant}` pairs, a struct of two such lists, or any of these as JSON text.
 * Undefined when the cell is none of these.
 */
export function readTurns(cell: unknown): Turn[] | undefined {
  const list = turnList(cell);
  if (list === undefined) return undefined;
  const turns: Turn[] = [];
  const add = (role: Turn["role"], value: unknown): void => {
    const text = partsText(value);
    if (text !== undefined) turns.push({ role, value: text });
  };
  for (const item of list) {
    if (!isRecord(item)) continue;
    const { from, role, value, content, text, user, assistant } = item;
    const speaker = typeof (from ?? role) === "string" ? String(from ?? role).toLowerCase() : "";
    if (HUMAN.has(speaker)) add("human", value ?? content ?? text);
    else if (MODEL.has(speaker)) add("gpt", value ?? content ?? text);
    else if (speaker === "" && assistant !== undefined) {
      add("human", user);
      add("gpt", assistant);
    }
  }
  return turns;
}

function turnList(cell: unknown): unknown[] | undefined {
  if (Array.isArray(cell)) return cell as unknown[];
  if (typeof cell === "string") return /^\s*\[\s*\{/.test(cell) ? jsonList(cell) : undefined;
  if (!isRecord(cell)) return undefined;
  // A struct of lists: one turn from each place of them.
  const fields = Object.entries(cell).filter((entry): entry is [string, unknown[]] => Array.isArray(entry[1]));
  const length = Math.max(0, ...fields.map(([, values]) => values.length));
  if (fields.length < 2) return undefined;
  return Array.from({ length }, (_, at) => Object.fromEntries(fields.map(([name, values]) => [name, values[at]])));
}

function jsonList(text: string): unknown[] | undefined {
  try {
    const value = parseJson(text, "the text");
    return Array.isArray(value) ? (value as unknown[]) : undefined;
  } catch {
    // A caption that only looks like JSON.
    return undefined;
  }
}

/** Text of a turn: as it stands, or the text parts of a list of them in order; undefined when there is none. */
function partsText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (isRecord(value) && Array.isArray(value.text)) return partsText(value.text);
  if (isRecord(value)) return partsText(value.text ?? undefined);
  if (!Array.isArray(value)) return undefined;
  const texts = (value as unknown[]).map(partsText).filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join("\n");
}

/** Caption of each mask of a row; undefined where the row has none for it. */
export interface RowCaptions {
  readonly captions: readonly (string | undefined)[];
  /** A sentence when the whole row is unusable. */
  readonly fatal?: string;
  /** A sentence when masks and answers do not match in number. */
  readonly remark?: string;
}

/**
 * Which text belongs to which mask.
 *
 * Without `<PromptN>` tags mask i belongs to answer i. With tags, N is the mask an expression speaks of, and each mask
 * that is spoken of gets every answer about it, tags turned into words: the mask itself becomes "this region", the other
 * of two "the other region", one of several "region 3" (counted from 1). The row's labels are not put in their place:
 * in the relation rows seen, they stand in the order of the sentence and not of the masks. An answer without a tag
 * belongs to the masks of its question; when the question speaks of several, question and answer are kept together,
 * since the answer alone would say nothing about either.
 * @param masks number of masks of the row
 */
export function captionsOf(stored: readonly Turn[], masks: number): RowCaptions {
  const length = stored.reduce((sum, turn) => sum + turn.value.length, 0);
  if (length > MAX_TEXT) {
    return { captions: [], fatal: `the text has ${length} characters, more than the ${MAX_TEXT} allowed` };
  }
  // What nobody can see, or what turns the text around it, is no part of a caption.
  const turns = stored.map(({ role, value }) => ({ role, value: dropUnseen(value) }));
  let highest = -1;
  for (const turn of turns) for (const tag of tagsOf(turn.value)) highest = Math.max(highest, tag);
  if (highest >= masks) {
    return { captions: [], fatal: `the text speaks of <Prompt${highest}>, but the row has ${count(masks, "mask")}` };
  }
  const answers = turns.filter((turn) => turn.role === "gpt").map((turn) => turn.value);
  if (highest >= 0) {
    const captions = taggedCaptions(turns, masks);
    if (captions !== undefined) return { captions };
    return {
      captions: [],
      fatal: `the text speaks of so many masks that its captions exceed ${MAX_CAPTIONS} characters`,
    };
  }
  const captions = Array.from({ length: masks }, (_, at) => answers[at]);
  if (masks === answers.length || masks === 1) return { captions };
  return {
    captions,
    remark: `the row has ${count(masks, "mask")} and ${count(answers.length, "answer")}; only pairs are used`,
  };
}

/** Undefined when the captions would be longer than MAX_CAPTIONS together. */
function taggedCaptions(turns: readonly Turn[], masks: number): (string | undefined)[] | undefined {
  let length = 0;
  const texts: string[][] = Array.from({ length: masks }, () => []);
  let question = "";
  for (const turn of turns) {
    if (turn.role === "human") {
      question = turn.value.replace("<image>", "").trim();
      continue;
    }
    const inAnswer = tagsOf(turn.value);
    const inQuestion = tagsOf(question);
    const about = new Set(inAnswer.length > 0 ? inAnswer : inQuestion);
    const keepQuestion = inAnswer.length === 0 && about.size > 1;
    const text = keepQuestion ? `${question} ${turn.value}` : turn.value;
    length += about.size * text.length;
    if (length > MAX_CAPTIONS) return undefined;
    for (const mask of about) texts[mask]?.push(resolveTags(text, mask, masks));
  }
  return texts.map((parts) => (parts.length === 0 ? undefined : parts.join(" ")));
}

/** Text with tags turned into words, as seen from one mask. */
function resolveTags(text: string, self: number, masks: number): string {
  return text.replace(TAG_WITH_ARTICLE, (_match, digits: string, at: number) => {
    const mask = Number(digits);
    const words = mask === self ? "this region" : masks === 2 ? "the other region" : `region ${mask + 1}`;
    let last = at - 1;
    while (last >= 0 && (text[last] as string).trim() === "") last--;
    return last < 0 || ".!?".includes(text[last] as string) ? words.charAt(0).toUpperCase() + words.slice(1) : words;
  });
}

function tagsOf(text: string): number[] {
  return [...text.matchAll(TAG)].map((match) => Number(match[1]));
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}
