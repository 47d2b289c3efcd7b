import { expect, test } from "vitest";
import { type JudgeQuestion, parseAnswer, scoreAnswers } from "../../../src/engine/rewards/judge-score.ts";

const RECOGNITION: JudgeQuestion = {
  type: "recognition",
  question: "Is it a pot?",
  choices: [
    ["Yes", "correct"],
    ["No", "incorrect"],
  ],
};
const POSITIVE: JudgeQuestion = {
  type: "positive",
  question: "What about the lid?",
  choices: [
    ["left out", 0],
    ["wrong", -1],
    ["right", 1],
  ],
};
const NEGATIVE: JudgeQuestion = {
  type: "negative",
  question: "What about a spoon?",
  choices: [
    ["absent", 1],
    ["present", -1],
  ],
};

test("white space of an answer is Python's, and length counts letters, not code units", () => {
  expect(parseAnswer("\u001cB\u0085", ["Yes", "No"])).toEqual({ kind: "choice", index: 1 });
  // Both choices hold the answer: the longer in letters is the second.
  expect(parseAnswer("dog", ["a dog 🐶🐶", "a dog abc"])).toEqual({ kind: "choice", index: 1 });
});

test("a letter past the choices, an empty answer and a sixth choice give no verdict", () => {
  for (const answer of ["", " \n", "C", "c. maybe", "e\nbecause"]) {
    expect(parseAnswer(answer, ["Yes", "No"]).kind, answer).toBe("no-verdict");
  }
  expect(parseAnswer("none", ["1", "2", "3", "4", "5", "6"]).kind).toBe("no-verdict");
  expect(parseAnswer("(A)", ["Yes", "No"]).kind).toBe("none");
});

test("a wrong recognition caps every other score at 0 and keeps the negative ones", () => {
  const questions = [RECOGNITION, POSITIVE, POSITIVE, NEGATIVE];
  expect(scoreAnswers(questions, ["A", "C", "B", "A"])).toEqual({
    kind: "score",
    score: 1 / 3,
    positive: 0,
    negative: 1,
    negativeCount: 1,
    recognised: true,
  });
  expect(scoreAnswers(questions, ["B", "C", "B", "A"])).toMatchObject({
    score: -1 / 3,
    positive: -0.5,
    negative: 0,
    recognised: false,
  });
});

test("what cannot be judged has no verdict, never 0", () => {
  const reason = (questions: JudgeQuestion[], answers: string[]): string => {
    const scored = scoreAnswers(questions, answers);
    return scored.kind === "no-verdict" ? scored.reason : "scored";
  };
  expect(reason([RECOGNITION, POSITIVE], ["A"])).toBe("there are 1 answers to 2 questions");
  expect(reason([RECOGNITION, POSITIVE], ["A", "E. x"])).toBe(
    'question 2: the answer "e. x" names none of the 3 choices',
  );
  expect(reason([RECOGNITION, POSITIVE], ["what", "A"])).toBe("question 1: the recognition answer fits no choice");
  expect(reason([POSITIVE, RECOGNITION], ["A", "A"])).toBe("question 1 comes before the recognition question");
  expect(reason([RECOGNITION, NEGATIVE], ["A", "A"])).toBe("there is no positive question");
  expect(reason([], [])).toBe("there is no positive question");
  expect(reason([RECOGNITION, { ...RECOGNITION, type: "positive" }], ["A", "A"])).toContain("no number for a score");
});
