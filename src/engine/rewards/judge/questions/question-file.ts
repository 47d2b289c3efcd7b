/** Prepared questions from the user's file; docs/adding/reward.md#questions-for-the-judge describes its form. */
import { isRecord, parseJson } from "../../../bytes/json.ts";
import { badInput, type LabError, thrownText } from "../../../errors.ts";
import type { JudgeQuestion, ScoredChoice } from "../../judge-score.ts";
import { LETTERS } from "./question-set.ts";

/** Questions of every described object, looked up by the reference caption. */
export interface WrittenQuestions {
  readonly name: string;
  /** Null if there are none for this reference. */
  find(reference: string): readonly JudgeQuestion[] | null;
}

/**
 * Reads `[{"reference": "…", "questions": [{"type", "question", "choices": [["text", score], …]}, …]}, …]`, or the same
 * list under "sets". An entry without a reference applies to every caption without a separate entry. Each list begins with a
 * recognition question, whose choices score "correct" and "incorrect".
 * @throws LabError("bad-input") naming the file and the entry
 */
export function parseQuestionFile(name: string, json: string): WrittenQuestions {
  const bad = (cause: string, thrown?: unknown): LabError =>
    badInput(`${name}: ${cause}; the previous questions are kept`, name, thrown);
  let value: unknown;
  try {
    value = parseJson(json, "its content");
  } catch (thrown) {
    throw bad(thrownText(thrown), thrown);
  }
  const list = isRecord(value) ? value.sets : value;
  if (!Array.isArray(list) || list.length === 0) throw bad("it contains no list of question sets");
  const sets = new Map<string, readonly JudgeQuestion[]>();
  let general: readonly JudgeQuestion[] | null = null;
  list.forEach((entry: unknown, at) => {
    const place = `set ${at + 1}`;
    if (!isRecord(entry) || !Array.isArray(entry.questions)) throw bad(`${place} has no questions`);
    const questions = entry.questions.map((item: unknown, q) => {
      const read = readQuestion(item);
      if (typeof read === "string") throw bad(`${place}, question ${q + 1} ${read}`);
      return read;
    });
    if (questions[0]?.type !== "recognition") throw bad(`${place} does not begin with a recognition question`);
    if (!questions.some((question) => question.type === "positive")) throw bad(`${place} has no positive question`);
    if (entry.reference === undefined) general = questions;
    else if (typeof entry.reference === "string") sets.set(entry.reference.trim(), questions);
    else throw bad(`the reference of ${place} is not a text`);
  });
  return {
    name,
    find: (reference) => sets.get(reference.trim()) ?? general,
  };
}

/** The question, or a description of its error. */
export function readQuestion(item: unknown): JudgeQuestion | string {
  if (!isRecord(item)) return "is not an object";
  const { type, question, choices } = item;
  if (type !== "recognition" && type !== "positive" && type !== "negative") {
    return "is neither recognition, positive nor negative";
  }
  if (typeof question !== "string" || question.trim() === "") return "has no text";
  if (!Array.isArray(choices) || choices.length < 2 || choices.length > LETTERS.length) {
    return `must have 2 to ${LETTERS.length} choices`;
  }
  const read: ScoredChoice[] = [];
  for (const choice of choices as unknown[]) {
    const [text, score]: unknown[] = Array.isArray(choice) ? choice : [];
    const words = score === "correct" || score === "incorrect";
    const number = typeof score === "number" && score >= -1 && score <= 1;
    if (typeof text !== "string" || text.trim() === "") return "has a choice without a text";
    if (type === "recognition" ? !words : !number) {
      return type === "recognition"
        ? 'has a choice that scores neither "correct" nor "incorrect"'
        : "has a choice whose score is not a number from -1 to 1";
    }
    read.push([text, score as ScoredChoice[1]]);
  }
  return { type, question, choices: read };
}
