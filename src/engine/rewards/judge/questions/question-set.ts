/**
 * Questions generated from a reference caption: the form that a model fills in, and the multiple-choice questions built
 * from it.
 */
import { type JudgeQuestion, recognitionQuestion, type ScoredChoice } from "../../judge-score.ts";
import { JudgeFailure } from "../providers/failure.ts";
import type { JsonSchema } from "../providers/provider.ts";
import { replyObject, textField } from "../reply-json.ts";

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

export function recognition(subject: string): JudgeQuestion {
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

export type Shuffle = (choices: readonly ScoredChoice[], question: number) => readonly ScoredChoice[];

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
    const letter = typeof value[name] === "string" ? value[name].trim().toUpperCase().replace(/[.)]$/, "") : "";
    const index = letter.length === 1 ? LETTERS.indexOf(letter) : -1;
    if (index >= 0 && index < choices.length) return letter;
    throw new JudgeFailure("wrong-form", `The model's answer to ${name} names none of its choices`, { raw: reply });
  });
}
