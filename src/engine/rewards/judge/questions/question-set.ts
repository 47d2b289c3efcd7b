/**
 * Questions generated from a reference caption: the form that a model fills in, and the multiple-choice questions built
 * from it.
 */
import { isRecord, JSON_STRING, parseJson } from "../../../bytes/json.ts";
import { badInput, type LabError, thrownText } from "../../../errors.ts";
import { type JudgeQuestion, recognitionQuestion, type ScoredChoice } from "../../judge-score.ts";
import type { JsonSchema } from "../providers/provider.ts";
import { JudgeFailure } from "../providers/provider.ts";

// Reads the JSON object in a model's reply: after any reasoning the whole text, the content of a code fence, or the only
// object within sentences. Two objects are refused, because one may be an example.

/** @throws JudgeFailure("not-json" | "wrong-form") with the reply */
export function replyObject(text: string): Record<string, unknown> {
  const plain = (text.split(THOUGHT).at(-1) as string).trim();
  let cause: unknown;
  for (const part of [plain, fenced(plain), onlyObject(plain)]) {
    // Models leave a comma behind the last entry, which JSON does not allow.
    for (const json of part === null ? [] : [part, part.replace(COMMAS, (found) => (found === "," ? "" : found))]) {
      try {
        const value = parseJson(json, "The model's reply");
        if (isRecord(value)) return value;
      } catch (thrown) {
        cause ??= thrown;
        continue;
      }
      throw new JudgeFailure("wrong-form", "The model's reply is not a JSON object", { raw: text });
    }
  }
  throw new JudgeFailure("not-json", "The model's reply is not JSON", { raw: text, cause });
}

/** The end of reasoning that models write first. */
const THOUGHT = /<\/think(?:ing)?>|<\|channel\|>final<\|message\|>/i;
const FENCES = ["```", "~~~"];
/** Texts, and commas before the end of an object or a list. */
const COMMAS = new RegExp(String.raw`${JSON_STRING}|,(?=\s*[}\]])`, "gs");
const BRACES = new RegExp(`${JSON_STRING}|[{}]`, "gs");

/** The content of the first code fence; null without one. */
function fenced(plain: string): string | null {
  for (const fence of FENCES) {
    const from = plain.startsWith(fence) ? 0 : plain.indexOf(`\n${fence}`) + 1;
    const to = plain.lastIndexOf(fence);
    if (!plain.startsWith(fence, from) || to < from + fence.length) continue;
    return plain
      .slice(from + fence.length, to)
      .replace(/^[\w-]*/, "")
      .trim();
  }
  return null;
}

/** The text from the first brace to its end; null if another brace follows or it has no end. */
function onlyObject(plain: string): string | null {
  const from = plain.indexOf("{");
  if (from < 0) return null;
  let depth = 0;
  let end = -1;
  for (const { 0: token, index } of plain.slice(from).matchAll(BRACES)) {
    if (token.startsWith('"')) continue;
    if (end >= 0) return null;
    depth += token === "{" ? 1 : -1;
    if (depth === 0) end = from + index + 1;
  }
  return end < 0 ? null : plain.slice(from, end);
}

/** A text field that is not empty. @throws JudgeFailure("wrong-form") naming the field */
function textField(value: unknown, name: string, raw: string): string {
  if (typeof value !== "string" || value.trim() === "") {
    throw new JudgeFailure("wrong-form", `The model's reply has no text for "${name}"`, { raw });
  }
  return value.replace(/\s+/g, " ").trim().slice(0, 200);
}

export interface QuestionCounts {
  /** Maximum questions about facts that the reference states, at least 1. */
  readonly positives: number;
  /**
   * Maximum questions about things that it excludes; few, because a text says little about what is not in the picture.
   */
  readonly negatives: number;
}

const text = { type: "string", minLength: 1 } as const;

/** Schema of the reply to the first call. */
export function questionSchema({ positives, negatives }: QuestionCounts): JsonSchema {
  const fact = {
    type: "object",
    properties: { part: text, attribute: text, value: text },
    required: ["part", "attribute", "value"],
    additionalProperties: false,
  };
  return {
    type: "object",
    properties: {
      subject: text,
      attributes: { type: "array", items: fact, minItems: 1, maxItems: positives },
      absent: { type: "array", items: text, maxItems: negatives },
    },
    required: ["subject", "attributes", "absent"],
    additionalProperties: false,
  };
}

/**
 * Questions from the model's reply: recognition first, then what must be present, then what must not. Scores are those
 * of the benchmark: 1 stated, 0.5 only the part, 0 not mentioned, −1 stated wrongly; 1 or −1 for what must not be
 * present.
 * @param shuffle permutes choices, so that a judge's preference for one letter averages out
 * @throws JudgeFailure when the reply has another form
 */
export function readQuestions(reply: string, counts: QuestionCounts, shuffle: Shuffle): readonly JudgeQuestion[] {
  const value = replyObject(reply);
  const wrong = (what: string): JudgeFailure =>
    new JudgeFailure("wrong-form", `The model's questions ${what}`, { raw: reply });
  const subject = textField(value.subject, "subject", reply);
  if (!Array.isArray(value.attributes)) throw wrong("have no list of attributes");
  if (!Array.isArray(value.absent)) throw wrong("have no list of absent things");
  const facts = value.attributes.slice(0, counts.positives).map((item: unknown) => {
    const fact = (typeof item === "object" && item !== null ? item : {}) as Record<string, unknown>;
    return {
      part: textField(fact.part, "part", reply),
      attribute: textField(fact.attribute, "attribute", reply),
      value: textField(fact.value, "value", reply),
    };
  });
  if (facts.length === 0) throw wrong("name no attribute");
  const absent = value.absent.slice(0, counts.negatives).map((item: unknown) => textField(item, "absent", reply));
  const questions: JudgeQuestion[] = [
    recognition(subject),
    ...facts.map((fact) => positive(fact.part, fact.attribute, fact.value)),
    ...absent.map(negative),
  ];
  return questions.map((question, at) => ({ ...question, choices: shuffle(question.choices, at) }));
}

const ASKED = "Which of these is true of the description?";

function recognition(subject: string): JudgeQuestion {
  return recognitionQuestion(`Is it likely that the description is about "${subject}" or something of a similar kind?`);
}

function positive(part: string, attribute: string, value: string): JudgeQuestion {
  return {
    type: "positive",
    question: ASKED,
    choices: [
      [`"${part}" is not mentioned`, 0],
      [`"${part}" is mentioned, but not its ${attribute}`, 0.5],
      [`The ${attribute} of "${part}" is mentioned, but it is not "${value}"`, -1],
      [`The ${attribute} of "${part}" is mentioned, and it is "${value}" or means the same`, 1],
    ],
  };
}

function negative(thing: string): JudgeQuestion {
  return {
    type: "negative",
    question: ASKED,
    choices: [
      [`"${thing}" is not mentioned as being there`, 1],
      [`"${thing}" is mentioned as being there`, -1],
    ],
  };
}

type Shuffle = (choices: readonly ScoredChoice[], question: number) => readonly ScoredChoice[];

/** A permutation of choices that depends only on a hash (hexadecimal digits) and the question's index. */
export function hashShuffle(hash: string): Shuffle {
  return (choices, question) => {
    const order = [...choices];
    for (let last = order.length - 1; last > 0; last--) {
      const at = ((question * 5 + last) * 4) % (hash.length - 4);
      const other = Number.parseInt(hash.slice(at, at + 4), 16) % (last + 1);
      [order[last], order[other]] = [order[other] as ScoredChoice, order[last] as ScoredChoice];
    }
    return order;
  };
}

export const LETTERS = "ABCDE";
/** A letter alone, or in front of its choice: "B", "(b)", "B. …", "B - …", "Option B", "The answer is B". */
const LETTER =
  /^[\s*]*(?:(?:the\s+)?(?:correct\s+|best\s+)?(?:answer|option|choice)(?:\s+is)?\s*:?\s+)?[\s("'[*]*([A-E])[\s"'*]*(?:[.:)\]].*|\s[-–—]\s.*)?$/is;

/** Questions with lettered choices, for a prompt. */
export function questionText(
  questions: readonly { readonly question: string; readonly choices: readonly string[] }[],
): string {
  return questions.map(({ question, choices }, at) => `q${at + 1}. ${question}\n${choiceText(choices)}`).join("\n\n");
}

export function choiceText(choices: readonly string[]): string {
  return choices.map((choice, at) => `${LETTERS[at]}. ${choice}`).join("\n");
}

/** Schema of the reply to the second call: one letter per question. */
export function answerSchema(questions: readonly JudgeQuestion[]): JsonSchema {
  const names = questions.map((_, at) => `q${at + 1}`);
  return {
    type: "object",
    properties: Object.fromEntries(
      questions.map(({ choices }, at) => [`q${at + 1}`, { type: "string", enum: choices.map((_, c) => LETTERS[c]) }]),
    ),
    required: names,
    additionalProperties: false,
  };
}

/** Letters of the second reply as "A", …, in the order of the questions. @throws JudgeFailure when one fits no choice */
export function readLetters(reply: string, questions: readonly JudgeQuestion[]): readonly string[] {
  const value = replyObject(reply);
  return questions.map(({ choices }, at) => {
    const name = `q${at + 1}`;
    const said = typeof value[name] === "string" ? value[name] : "";
    const same = choices.findIndex(([text]) => bare(text) === bare(said));
    const found = same < 0 ? LETTERS.indexOf(LETTER.exec(said)?.[1]?.toUpperCase() ?? "-") : same;
    if (found >= 0 && found < choices.length) return LETTERS[found] as string;
    throw new JudgeFailure("wrong-form", `The model's answer to ${name} names none of its choices`, { raw: reply });
  });
}

/** A choice as models repeat it. */
function bare(choice: string): string {
  return choice.trim().replace(/\.$/, "").toLowerCase();
}

// Prepared questions from the user's file; docs/adding/reward.md#questions-for-the-judge describes its form.

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
