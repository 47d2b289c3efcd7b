/**
 * Multiple-choice scoring of one caption as in the describe-anything benchmark
 * (docs/spec/rewards.md#3a-benchmark-judge): the choice that an answer means, and the score of a caption from its
 * answers. If the original raises an exception or indexes past the choices, there is no verdict: the score is missing,
 * never 0.
 */

import { pythonStrip } from "../bytes/text.ts";
import { quote } from "../errors.ts";

/** Meaning of an answer. `none` fits no choice and scores 0; `no-verdict` cannot be judged. */
type ParsedAnswer =
  | { readonly kind: "choice"; readonly index: number }
  | { readonly kind: "none" }
  | { readonly kind: "no-verdict"; readonly reason: string };

/** A choice with its score; the recognition question has words instead of scores. */
export type ScoredChoice = readonly [text: string, score: number | "correct" | "incorrect"];

export interface JudgeQuestion {
  readonly type: "recognition" | "positive" | "negative";
  readonly question: string;
  readonly choices: readonly ScoredChoice[];
}

/** A question whether a caption is about the right thing at all. */
export function recognitionQuestion(question: string): JudgeQuestion {
  return {
    type: "recognition",
    question,
    choices: [
      ["Yes", "correct"],
      ["No", "incorrect"],
    ],
  };
}

/** Scores of one caption, all in -1..1. */
interface JudgeScore {
  readonly kind: "score";
  /** Mean over positive and negative questions together. */
  readonly score: number;
  readonly positive: number;
  /** Null without negative questions. */
  readonly negative: number | null;
  readonly negativeCount: number;
  readonly recognised: boolean;
}

interface NoVerdict {
  readonly kind: "no-verdict";
  /** One sentence for the inspector. */
  readonly reason: string;
}

/** Letters of choices; their number is the maximum per question. */
const LETTERS = "abcde";

/**
 * The choice that an answer means. Rules, in this order and without case: the answer is the choice, "x. choice" or the
 * letter; the only choice that occurs in the answer; a letter and a full stop; of several choices in the answer, the
 * one that begins last (the longer of two at one place); the longest choice that contains the answer; a letter before a
 * line break.
 */
export function parseAnswer(response: string, choices: readonly string[]): ParsedAnswer {
  const answer = normal(response);
  const texts = choices.map(normal);
  const inside: { index: number; at: number; length: number }[] = [];
  for (const [index, text] of texts.entries()) {
    const letter = LETTERS[index];
    if (letter === undefined) return noVerdict(`the question has more than ${LETTERS.length} choices`);
    if (answer === text || answer === `${letter}. ${text}` || answer === letter) return { kind: "choice", index };
    const at = answer.indexOf(text);
    if (at >= 0) inside.push({ index, at, length: letters(text) });
  }
  const [only] = inside;
  if (inside.length === 1 && only !== undefined) return { kind: "choice", index: only.index };
  if (answer === "") return noVerdict("the answer is empty");
  const named = LETTERS.indexOf(answer[0] as string);
  if (named >= 0 && answer.length === 1) return beyond(answer, choices.length);
  if (named >= 0 && answer[1] === ".") {
    return named < choices.length ? { kind: "choice", index: named } : beyond(answer, choices.length);
  }
  const last = largest(inside, (a, b) => a.at - b.at || a.length - b.length);
  if (last !== undefined) return { kind: "choice", index: last.index };
  const around = texts.flatMap((text, index) => (text.includes(answer) ? [{ index, length: letters(text) }] : []));
  const longest = largest(around, (a, b) => a.length - b.length);
  if (longest !== undefined) return { kind: "choice", index: longest.index };
  if (named >= 0 && answer[1] === "\n") {
    return named < choices.length ? { kind: "choice", index: named } : beyond(answer, choices.length);
  }
  return { kind: "none" };
}

/**
 * Score of one caption from the judge's answers, in the order of the questions. The recognition question must come
 * first; if its answer is wrong, every other score is at most 0. An answer that fits no choice scores 0, except to the
 * recognition question.
 */
export function scoreAnswers(
  questions: readonly JudgeQuestion[],
  responses: readonly string[],
): JudgeScore | NoVerdict {
  if (responses.length !== questions.length) {
    return noVerdict(`there are ${responses.length} answers to ${questions.length} questions`);
  }
  const scores = { positive: [] as number[], negative: [] as number[] };
  let recognised: boolean | undefined;
  for (const [at, { type, choices }] of questions.entries()) {
    const place = `question ${at + 1}`;
    const texts = choices.map(([text]) => text);
    const answer = parseAnswer(responses[at] as string, texts);
    if (answer.kind === "no-verdict") return noVerdict(`${place}: ${answer.reason}`);
    const value = answer.kind === "none" ? 0 : (choices[answer.index] as ScoredChoice)[1];
    if (type === "recognition") {
      if (typeof value === "number") return noVerdict(`${place}: the recognition answer fits no choice`);
      recognised = value === "correct";
      continue;
    }
    if (typeof value !== "number") return noVerdict(`${place}: the choice has no number for a score`);
    if (recognised === undefined) return noVerdict(`${place} comes before the recognition question`);
    scores[type].push(recognised ? value : Math.min(0, value));
  }
  const { positive, negative } = scores;
  if (recognised === undefined || positive.length === 0) return noVerdict("there is no positive question");
  return {
    kind: "score",
    score: mean([...positive, ...negative]),
    positive: mean(positive),
    negative: negative.length === 0 ? null : mean(negative),
    negativeCount: negative.length,
    recognised,
  };
}

function normal(text: string): string {
  return pythonStrip(text).toLowerCase();
}

function noVerdict(reason: string): NoVerdict {
  return { kind: "no-verdict", reason };
}

function beyond(answer: string, choices: number): NoVerdict {
  return noVerdict(`the answer ${quote(answer)} names none of the ${choices} choices`);
}

function letters(text: string): number {
  return [...text].length;
}

/** The largest item; the first one if several are equal. */
function largest<T>(items: readonly T[], compare: (a: T, b: T) => number): T | undefined {
  let best: T | undefined;
  for (const item of items) if (best === undefined || compare(item, best) > 0) best = item;
  return best;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
