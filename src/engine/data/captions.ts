import { isRecord, parseJson } from "../bytes/json.ts";
import { dropUnseen } from "../errors.ts";
import type { QuestionAnswer } from "./sample.ts";

/** One turn of a conversation; other roles are dropped. */
export interface Turn {
  readonly role: "human" | "gpt";
  readonly value: string;
}

/** Maximum characters of a row's text, far above any context length. */
const MAX_TEXT = 2 ** 19;
/**
 * Maximum characters of all captions of a row; limits texts with tags, which are repeated for every mask that they
 * refer to.
 */
const MAX_CAPTIONS = 2 ** 22;

const HUMAN = new Set(["human", "user"]);
const MODEL = new Set(["gpt", "assistant", "model", "bot", "ai"]);
const TAG = /<Prompt(\d+)>/g;
const TAG_WITH_ARTICLE = /(?:\b(?:the|an?|this|that)\s+)?<Prompt(\d+)>/gi;

/**
 * Turns of a conversation cell: a list of `{from, value}` or `{role, content}` (text, or parts of `{type, text}`), a list
 * of `{user, assistant}` pairs, a struct of two lists, or any of these as JSON text. Undefined for other cells.
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
  // A struct of lists: one turn per index.
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

/** Text of a turn: the string, or the text parts of a list in order; undefined without text. */
function partsText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (isRecord(value) && Array.isArray(value.text)) return partsText(value.text);
  if (isRecord(value)) return partsText(value.text ?? undefined);
  if (!Array.isArray(value)) return undefined;
  const texts = (value as unknown[]).map(partsText).filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : texts.join("\n");
}

/** Caption of each mask of a row; undefined for masks without one. */
export interface RowCaptions {
  readonly captions: readonly (string | undefined)[];
  /** Questions about each mask; absent where a text has tags or no questions. */
  readonly questions?: readonly (readonly QuestionAnswer[])[];
  /** A sentence if the whole row is unusable. */
  readonly fatal?: string;
  /** A sentence if the numbers of masks and answers differ. */
  readonly remark?: string;
}

/**
 * Assigns texts to masks.
 *
 * Without `<PromptN>` tags, mask i has answer i. With tags, N is the mask that an expression refers to, and each mask gets
 * every answer about it, with tags replaced by words: the mask itself becomes "this region", the other of two "the other
 * region", one of several "region 3" (counted from 1). Labels of the row are not used for this, because in relation rows
 * they follow the order of the sentence, not of the masks. An answer without a tag belongs to the masks of its question;
 * if the question refers to several masks, question and answer are kept together, because the answer alone is ambiguous.
 * @param masks number of masks of the row
 */
export function captionsOf(stored: readonly Turn[], masks: number): RowCaptions {
  const length = stored.reduce((sum, turn) => sum + turn.value.length, 0);
  if (length > MAX_TEXT) {
    return { captions: [], fatal: `the text has ${length} characters, more than the ${MAX_TEXT} allowed` };
  }
  // Invisible characters and bidirectional marks are removed from captions.
  const turns = stored.map(({ role, value }) => ({ role, value: dropUnseen(value) }));
  let highest = -1;
  for (const turn of turns) for (const tag of tagsOf(turn.value)) highest = Math.max(highest, tag);
  if (highest >= masks) {
    return { captions: [], fatal: `the text refers to <Prompt${highest}>, but the row has ${count(masks, "mask")}` };
  }
  const answers = turns.filter((turn) => turn.role === "gpt").map((turn) => turn.value);
  if (highest >= 0) {
    const captions = taggedCaptions(turns, masks);
    if (captions !== undefined) return { captions };
    return {
      captions: [],
      fatal: `the text refers to too many masks: its captions exceed ${MAX_CAPTIONS} characters`,
    };
  }
  const captions = Array.from({ length: masks }, (_, at) => answers[at]);
  const asked = questionsOf(turns);
  const questions = asked.length === 0 ? {} : { questions: masks === 1 ? [asked] : asked.map((own) => [own]) };
  if (masks === 1) return { captions, ...questions };
  // A question without an answer would shift all later pairs.
  if (masks === answers.length) return { captions, ...(asked.length === masks ? questions : {}) };
  return {
    captions,
    remark: `the row has ${count(masks, "mask")} and ${count(answers.length, "answer")}; only pairs are used`,
  };
}

/** Questions that are followed by an answer, in order. */
function questionsOf(turns: readonly Turn[]): QuestionAnswer[] {
  return turns.flatMap(({ role, value }, at) => {
    const before = turns[at - 1];
    if (role !== "gpt" || before?.role !== "human") return [];
    const [question, answer] = [before.value.replace("<image>", "").trim(), value.trim()];
    return question === "" || answer === "" ? [] : [{ question, answer }];
  });
}

/** Undefined if the captions exceed MAX_CAPTIONS in total. */
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

/** Text with tags replaced by words, as seen from one mask. */
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
