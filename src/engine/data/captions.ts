import { isRecord, parseJson } from "../bytes/json.ts";
import { badInput, dropUnseen, quote } from "../errors.ts";
import type { QuestionAnswer } from "./sample.ts";
import {
  apart,
  indexOf,
  inWords,
  type Mark,
  marksOf,
  masksIn,
  pointsToOne,
  saysMore,
  segTokens,
  tagged,
  taggedPhrases,
  withoutHeader,
  withoutName,
  withoutTokens,
} from "./talk/marks.ts";
import {
  type Asked,
  phraseOf,
  splitPhrase,
  type Wording,
  wordingOf,
  wordsAfter,
  wordsBefore,
} from "./talk/questions.ts";

/** One turn of a conversation; other roles are dropped. */
export interface Turn {
  readonly role: "human" | "gpt";
  readonly value: string;
}

/** Maximum characters of a row's text, far above any context length. */
const MAX_TEXT = 2 ** 19;
/** Maximum turns, or texts, of a row: a question and an answer for each of its masks. */
const MAX_TURNS = 2 ** 13;
/**
 * Maximum characters of all captions of a row; limits texts with tags, which are repeated for every mask that they
 * refer to.
 */
const MAX_CAPTIONS = 2 ** 22;

const HUMAN = new Set(["human", "user"]);
const MODEL = new Set(["gpt", "assistant", "model", "bot", "ai"]);

/**
 * Turns of a conversation cell: a list of `{from, value}` or `{role, content}` (text, or parts of `{type, text}`), a list
 * of `{user, assistant}` pairs, a struct of two lists, or any of these as JSON text. Undefined for other cells.
 * @throws LabError("bad-input") for a list that is too long
 */
export function readTurns(cell: unknown): Turn[] | undefined {
  const list = turnList(cell);
  if (list === undefined) return undefined;
  if (list.length > MAX_TURNS) {
    throw badInput(`the row has ${list.length} texts, more than the ${MAX_TURNS} allowed`);
  }
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

/** What became of a question and its answer. */
export interface PairFate {
  readonly question: string;
  readonly answer: string;
  /** The kind, for counts. */
  readonly fate: "caption" | "phrase" | "second" | "refused" | Asked;
  /** A sentence part, such as `caption of mask 2: "A red cup."`. */
  readonly became: () => string;
}

/** Caption of each mask of a row; undefined for masks without one. */
export interface RowCaptions {
  readonly captions: readonly (string | undefined)[];
  /** Questions about each mask; absent where no question is about one mask. */
  readonly questions?: readonly (readonly QuestionAnswer[])[];
  /** Why a mask has no caption although an answer means it, by mask. */
  readonly refused?: readonly (string | undefined)[];
  /** Every question with its answer; absent without questions. */
  readonly pairs?: readonly PairFate[];
  /** Whether answers belong to several masks in order, because no text names a mask. */
  readonly inOrder?: boolean;
  /** A sentence if the whole row is unusable. */
  readonly fatal?: string;
  /** A sentence about texts or masks that are not used. */
  readonly remark?: string;
}

/** An answer with the question before it, marks of masks as `<PromptN>`. */
interface Exchange {
  readonly question: string;
  readonly answer: string;
  /** False for captions, which have no question. */
  readonly isAsked: boolean;
}

/** A text that may become the caption of a mask; without text, the reason. */
interface Candidate {
  readonly mask: number;
  /** Of several texts of a mask the first of the highest rank is used. */
  readonly rank: number;
  readonly text: string | undefined;
  readonly reason?: string;
}

/** The smallest number by which the texts name a region; infinite without numbers. */
export function smallestRegion(turns: readonly Turn[]): number {
  const marks = exchangesOf(turns).flatMap((exchange) => {
    const inAnswer = marksIn(exchange, true);
    // A single "region 5" of an answer may be text in the picture.
    const words = new Set(inAnswer.flatMap(({ kind, number }) => (kind === "word" ? [number] : [])));
    const isName = (mark: Mark): boolean => mark.kind !== "word" || words.size > 1 || isLabel(mark, exchange.answer);
    return [...marksOf(exchange.question), ...inAnswer.filter(isName)];
  });
  const numbers = marks.flatMap(({ kind, number }) => (kind === "region" || kind === "word" ? [number] : []));
  return numbers.reduce((smallest, number) => Math.min(smallest, number), Number.POSITIVE_INFINITY);
}

/** Number of regions that the turns mean by number or by [SEG]; 0 without either. */
export function regionsMeant(turns: readonly Turn[]): number {
  const exchanges = exchangesOf(turns);
  const first = smallestRegion(turns) === 0 ? 0 : 1;
  const marks = exchanges.flatMap((exchange) => [false, true].flatMap((isAnswer) => marksIn(exchange, isAnswer)));
  const highest = marks.reduce(
    (most, mark) => (mark.kind === "blank" ? most : Math.max(most, indexOf(mark, first) + 1)),
    0,
  );
  return Math.max(
    highest,
    exchanges.reduce((sum, { answer }) => sum + segTokens(answer).length, 0),
  );
}

/**
 * Assigns texts to masks (docs/spec/data.md#7-conversations).
 *
 * An answer with [SEG] tokens means one mask each, in order or by the token's number; the caption is the phrase of the
 * answer (`<p>…</p>`) or of the question. Any other answer belongs to the mask that its question names (`<Prompt0>`,
 * `<region1>`, `<region>`), else to those that it names itself; without names, to the only mask, or to the masks in order
 * if there are as many answers about regions. Answers about the whole picture, yes or no and numbers are no captions. In
 * a caption, names become words: the mask itself "this region", the other of two "the other region", one of several
 * "region 3" (counted from 1). Labels of the row are not used, because in relation rows they follow the order of the
 * sentence, not of the masks.
 * @param masks number of masks of the row
 * @param first number of the first region where texts name regions by number: 0 or 1
 */
export function captionsOf(stored: readonly Turn[], masks: number, first = 1): RowCaptions {
  const length = stored.reduce((sum, turn) => sum + turn.value.length, 0);
  const fatal = (reason: string): RowCaptions => ({ captions: [], fatal: reason });
  if (length > MAX_TEXT) return fatal(`the text has ${length} characters, more than the ${MAX_TEXT} allowed`);
  // Invisible characters and bidirectional marks are removed from captions.
  const turns = stored.map(({ role, value }) => ({ role, value: dropUnseen(value) }));
  const plain = exchangesOf(turns);
  const exchanges = withNames(plain, masks, first);
  if (typeof exchanges === "string") return fatal(exchanges);
  const talks = placed(exchanges, masks);
  if (typeof talks === "string") return fatal(talks);
  const repeated = talks.reduce((sum, { about, question, answer }) => {
    return sum + (about.length > 1 ? about.length * (question.length + answer.length) : 0);
  }, 0);
  if (repeated > MAX_CAPTIONS) {
    return fatal(`the text refers to too many masks: its captions exceed ${MAX_CAPTIONS} characters`);
  }
  const byTalk = talks.map((talk) => candidatesOf(talk, masks));
  const chosen: (Candidate | undefined)[] = Array.from({ length: masks }, () => undefined);
  for (const one of byTalk.flat()) {
    const before = chosen[one.mask];
    if (before === undefined || worth(one) > worth(before)) chosen[one.mask] = one;
  }
  const questions = questionsOf(talks, masks);
  const pairs = plain.flatMap((exchange, at) =>
    exchange.isAsked ? [fateOf(exchange, talks[at] as Talk, byTalk[at] as Candidate[], chosen)] : [],
  );
  const refused = chosen.map((one) => one?.reason);
  const remark = remarkOf(talks, chosen);
  return {
    captions: chosen.map((one) => one?.text),
    ...(questions.some((own) => own.length > 0) ? { questions } : {}),
    ...(refused.some((reason) => reason !== undefined) ? { refused } : {}),
    ...(pairs.length > 0 ? { pairs } : {}),
    inOrder: masks > 1 && pairs.length > 0 && !talks.some(({ isNamed }) => isNamed),
    ...(remark === undefined ? {} : { remark }),
  };
}

/** Answers with their questions. Answers before the first question are dropped, as Osprey's loader does. */
export function exchangesOf(turns: readonly Turn[]): Exchange[] {
  const isAsked = turns.some(({ role }) => role === "human");
  const exchanges: Exchange[] = [];
  let question: string | undefined;
  let isOpen = false;
  for (const { role, value } of turns) {
    if (role === "human") {
      const text = value.replace(/<(?:image|video)>/g, "").trim();
      question = isOpen ? `${question}\n${text}` : text;
      isOpen = true;
    } else {
      isOpen = false;
      if (question !== undefined || !isAsked) exchanges.push({ question: question ?? "", answer: value, isAsked });
    }
  }
  return exchanges;
}

/**
 * The marks of an exchange's question or answer. Words of captions may be text in the picture, except "Region 2:" in
 * front of a sentence.
 */
function marksIn({ question, answer, isAsked }: Exchange, isAnswer: boolean): Mark[] {
  if (!isAnswer) return marksOf(withoutHeader(question));
  return marksOf(answer).filter((mark) => mark.kind !== "blank" && (isAsked || !isWord(mark) || isLabel(mark, answer)));
}

function isWord({ kind }: Mark): boolean {
  return kind === "word" || kind === "ordinal";
}

function isLabel({ start, end }: Mark, text: string): boolean {
  return (
    /(?:^|[.!?;\n])\s*$/.test(text.slice(Math.max(0, start - 8), start)) && /^\s?[:：]/.test(text.slice(end, end + 2))
  );
}

/** Exchanges whose texts name masks as `<PromptN>`; a sentence if they name masks that do not exist. */
function withNames(exchanges: readonly Exchange[], masks: number, first: number): Exchange[] | string {
  const asked = exchanges.flatMap((exchange) => marksIn(exchange, false).map((mark) => ({ exchange, mark })));
  const isNumbered =
    asked.some(({ mark }) => mark.kind !== "blank") ||
    exchanges.some((exchange) => marksIn(exchange, true).some(({ kind }) => kind === "prompt" || kind === "region"));
  const blanks = isNumbered ? [] : asked.map(({ mark }) => mark);
  if (masks > 1 && blanks.length > 0 && blanks.length !== masks) {
    return `the row has ${count(masks, "mask")}, but its questions have ${count(blanks.length, "placeholder")} of regions`;
  }
  let beyond: string | undefined;
  let nth = 0;
  const named = exchanges.map((exchange): Exchange => {
    const inText = (text: string, isAnswer: boolean): string =>
      tagged(text, (mark) => {
        const { kind, start, end } = mark;
        if (kind === "blank") return isAnswer || isNumbered ? undefined : masks === 1 ? 0 : nth++;
        if (isAnswer && isWord(mark) && (masks === 1 || !(exchange.isAsked || isLabel(mark, text)))) return undefined;
        const mask = indexOf(mark, first);
        if (mask >= 0 && mask < masks) return mask;
        if (isAnswer && isWord(mark)) return undefined;
        const from = kind === "region" || kind === "word" ? `, counted from ${first}` : "";
        beyond ??= `the text refers to ${text.slice(start, end)}${first === 0 ? from : ""}, but the row has ${count(masks, "mask")}`;
        return undefined;
      });
    const question = inText(withoutHeader(exchange.question), false);
    return { ...exchange, question: question.trim(), answer: inText(exchange.answer, true) };
  });
  return beyond ?? named;
}

/** An exchange with the masks that it is about. */
interface Talk extends Exchange, Wording {
  readonly about: readonly number[];
  /** The masks of the answer's [SEG] tokens; undefined without a token. */
  readonly targets: readonly number[] | undefined;
  /** Whether the masks follow from names, not from the order of answers. */
  readonly isNamed: boolean;
  /** Whether the question goes on about the region of the one before. */
  readonly goesOn: boolean;
}

/** Finds the masks of every exchange; a sentence if texts and masks do not fit. */
function placed(exchanges: readonly Exchange[], masks: number): Talk[] | string {
  const segs = segTargets(exchanges, masks);
  if (typeof segs === "string") return segs;
  const talks = exchanges.map((exchange, at): Talk => {
    const wording = wordingOf(exchange.question.replace(/<Prompt\d+>/g, "this region"), exchange.answer);
    const [inQuestion, inAnswer] = [exchange.question, exchange.answer].map((text) => [...new Set(masksIn(text))]);
    const named = inQuestion?.length === 1 || inAnswer?.length === 0 ? inQuestion : inAnswer;
    const about = segs[at] ?? named ?? [];
    return { ...exchange, ...wording, about, targets: segs[at], isNamed: about.length > 0, goesOn: false };
  });
  const isNamed = talks.some((talk) => talk.isNamed);
  const unplaced = talks.filter((talk) => !talk.isNamed && (!talk.isAsked || mayDescribe(talk)));
  const clear = unplaced.filter(({ isAsked, region, open }) => !isAsked || region || open);
  // As many answers as masks are in the order of the masks, even if a question is as short as "And the other?".
  const unnamed = masks > 1 && clear.length !== masks && unplaced.length === masks ? unplaced : clear;
  if (masks > 1 && unnamed.length > 0 && unnamed.length !== masks && !isNamed) {
    const texts = count(unnamed.length, unnamed[0]?.isAsked ? "answer" : "text");
    return `the row has ${count(masks, "mask")} and ${texts}, and no text names its mask`;
  }
  const pointing = masks > 1 && !isNamed ? unnamed.find(({ question }) => pointsToOne(question)) : undefined;
  if (pointing !== undefined) {
    return `the question ${quote(pointing.question, 80)} points to one of ${masks} masks in words that are not known; write "region 2"`;
  }
  const orders = new Map(unnamed.map((talk, nth) => [talk, nth]));
  let before: readonly number[] = [];
  return talks.map((talk) => {
    const nth = isNamed && masks > 1 ? -1 : (orders.get(talk) ?? -1);
    const goesOn = !talk.isNamed && nth < 0 && talk.asked !== "picture" && before.length === 1;
    const about = nth >= 0 ? [masks === 1 ? 0 : nth] : goesOn ? before : talk.about;
    before = about;
    return { ...talk, about, goesOn };
  });
}

/** The masks of every answer's [SEG] tokens; a sentence if there are more or fewer tokens than masks. */
function segTargets(exchanges: readonly Exchange[], masks: number): (number[] | undefined)[] | string {
  const tokens = exchanges.map(({ question, answer }) =>
    new Set(masksIn(question)).size === 1 ? [] : segTokens(answer),
  );
  const all = tokens.flat();
  const numbers = [...new Set(all.flatMap(({ number }) => number ?? []))].sort((a, b) => a - b);
  const [from = 0] = numbers;
  const isNumbered = all.every(({ number }) => number !== undefined) && from <= 1;
  const has = isNumbered && numbers.at(-1) === from + numbers.length - 1 ? numbers.length : all.length;
  if (all.length > 0 && has !== masks) {
    return `the answers have ${all.length} [SEG], but the row has ${count(masks, "mask")}`;
  }
  let nth = 0;
  return tokens.map((own) =>
    own.length === 0
      ? undefined
      : own.map(({ number = 0 }) => (has === numbers.length && isNumbered ? number - from : nth++)),
  );
}

/** Whether the answer to a question may describe a region. */
function mayDescribe({ asked }: Wording): boolean {
  return asked === "description" || asked === "property" || asked === "unknown";
}

/** The texts of an exchange for the masks that it is about. */
function candidatesOf(talk: Talk, masks: number): Candidate[] {
  const { question, answer, isAsked, about, targets, asked, region, goesOn } = talk;
  if (targets !== undefined) {
    const phrases = phrasesOf(talk);
    const wanted = targets.length > 1 ? "phrase for each [SEG]" : "phrase";
    const reason = `no ${wanted} can be read from ${isAsked ? `the question ${quote(question, 120)}` : "the text"}`;
    return targets.map((mask, nth) => ({
      mask,
      rank: 4,
      text: phrases[nth],
      ...(phrases[nth] === undefined ? { reason } : {}),
    }));
  }
  const inQuestion = new Set(masksIn(question));
  const inAnswer = new Set(masksIn(answer));
  const [only] = about;
  if (goesOn || only === undefined) return [];
  if (isAsked && !mayDescribe(talk) && !(asked === "picture" && inAnswer.size > 0 && inQuestion.size === 0)) return [];
  if (about.length === 1) {
    if (inAnswer.size > 0 && !saysMore(answer)) return [];
    const named = inQuestion.size > 0 || inAnswer.size > 0 || region;
    const rank = !isAsked ? 4 : named ? (asked === "property" ? 3 : 4) : asked === "description" ? 2 : 1;
    return [{ mask: only, rank, text: inWords(withoutName(withoutTokens(answer), only), only, masks) }];
  }
  const parts = inAnswer.size > 0 ? apart(answer) : undefined;
  const whole = inAnswer.size > 0 ? answer : `${question} ${answer}`;
  return about.map((mask) => ({ mask, rank: 3, text: inWords(parts?.get(mask) ?? whole, mask, masks) }));
}

/** The phrase of each [SEG] of an answer; undefined where none can be read. */
function phrasesOf({ question, answer, isAsked }: Exchange): (string | undefined)[] {
  const tokens = segTokens(answer);
  const befores = tokens.map(({ start }, nth) => answer.slice(tokens[nth - 1]?.end ?? 0, start));
  const tags = taggedPhrases(answer);
  if (tags.length > 0) {
    let phrase: string | undefined;
    return tokens.map(({ start }, nth) => {
      const from = tokens[nth - 1]?.end ?? 0;
      const own = tags.findLast(({ end }) => end > from && end <= start);
      // Several tokens behind one phrase mean it together.
      if (own !== undefined || /[\p{L}\p{N}]/u.test(befores[nth] as string)) phrase = own?.phrase || undefined;
      return phrase;
    });
  }
  const asked = isAsked ? phraseOf(question) : undefined;
  if (tokens.length === 1 && asked !== undefined) return [asked];
  const afters = tokens.map(({ end }, nth) => answer.slice(end, tokens[nth + 1]?.start));
  for (const words of [befores.map(wordsBefore), afters.map(wordsAfter)]) {
    if (words.every((text) => text !== undefined)) return words;
  }
  const parts = asked === undefined ? undefined : splitPhrase(asked, tokens.length, answer);
  return tokens.map((_, nth) => parts?.[nth]);
}

/** A text before a reason, and a blank text after any other. */
function worth({ text, rank }: Candidate): number {
  return text === undefined ? rank - 20 : text.trim() === "" ? rank - 10 : rank;
}

/** Questions about each mask alone with their answers, as seen from the mask; of a single mask all of them. */
function questionsOf(talks: readonly Talk[], masks: number): QuestionAnswer[][] {
  const own: QuestionAnswer[][] = Array.from({ length: masks }, () => []);
  for (const talk of talks) {
    const [mask = 0] = talk.about;
    if (!isForLoop(talk, masks)) continue;
    const [question, answer] = [talk.question, withoutTokens(talk.answer)].map((text) =>
      inWords(text, mask, masks).trim(),
    );
    if (question && answer) own[mask]?.push({ question, answer });
  }
  return own;
}

/** Whether a question can be asked about one marked region. */
function isForLoop({ isAsked, targets, asked, about }: Talk, masks: number): boolean {
  return isAsked && targets === undefined && asked !== "mask" && (masks === 1 ? about.length <= 1 : about.length === 1);
}

const NO_CAPTION: Readonly<Record<Asked, string>> = {
  mask: "the question asks for a mask and the answer has no [SEG]",
  "yes or no": "the question asks for yes or no",
  number: "the question asks for a number",
  picture: "the question is about the whole picture",
  beside: "the question is about something beside the region",
  description: "the answer describes no mask",
  property: "the question is not about a region",
  unknown: "the question is not about a region",
};

function fateOf(
  { question, answer }: Exchange,
  talk: Talk,
  own: readonly Candidate[],
  chosen: readonly (Candidate | undefined)[],
): PairFate {
  const pair = { question, answer };
  const nameOf = (mask: number): string => (chosen.length === 1 ? "the mask" : `mask ${mask + 1}`);
  const used = own.filter((one) => chosen[one.mask] === one);
  if (used.length > 0) {
    const isRefused = used.every(({ text }) => text === undefined);
    const fate = isRefused ? "refused" : talk.targets === undefined ? "caption" : "phrase";
    const textOf = ({ mask, text, reason }: Candidate): string =>
      reason === undefined ? `caption of ${nameOf(mask)}: ${quote(text, 80)}` : `${nameOf(mask)} refused: ${reason}`;
    return { ...pair, fate, became: () => used.map(textOf).join("; ") };
  }
  // Questions are kept with a region, which needs a caption.
  const hasCaption = chosen[talk.about[0] ?? 0]?.text !== undefined;
  const kept = hasCaption && isForLoop(talk, chosen.length) ? "; kept as a question" : "";
  if (own.length > 0) {
    const has = (): string => `${own.map(({ mask }) => nameOf(mask)).join(" and ")} has one from another answer`;
    return { ...pair, fate: "second", became: () => `no caption: ${has()}${kept}` };
  }
  const why = talk.goesOn ? "the question goes on about the region of the one before" : NO_CAPTION[talk.asked];
  return { ...pair, fate: talk.asked, became: () => `no caption: ${why}${kept}` };
}

/** Texts and masks that are not used. */
function remarkOf(talks: readonly Talk[], chosen: readonly (Candidate | undefined)[]): string | undefined {
  if (chosen.length === 1) {
    const captions = talks.filter(({ isAsked, answer }) => !isAsked && answer.trim() !== "").length;
    return captions > 1
      ? `the row has 1 mask and ${captions} texts; the first is its caption, the others are not used`
      : undefined;
  }
  const without = [...chosen.keys()].filter((mask) => chosen[mask] === undefined).map((mask) => mask + 1);
  if (without.length === 0 || without.length === chosen.length) return undefined;
  const masks = without.length > 8 ? count(without.length, "mask") : `mask ${without.join(" and ")}`;
  return `no text is about ${masks} of ${chosen.length}, so ${without.length === 1 ? "it is" : "they are"} left out`;
}

function count(n: number, word: string): string {
  return `${n} ${word}${n === 1 ? "" : "s"}`;
}
