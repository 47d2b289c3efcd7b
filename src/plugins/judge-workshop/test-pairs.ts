/** Three fixed pairs of captions, for testing a judge, which must rank them in order. */

import {
  answersPrompt,
  dlcPrompt,
  type JudgePrompts,
  plainCaption,
  questionsPrompt,
} from "../../engine/rewards/judge/questions/prompts.ts";
import type { QuestionCounts } from "../../engine/rewards/judge/questions/question-set.ts";
import { recognitionQuestion } from "../../engine/rewards/judge-score.ts";
import type { JudgeDetail } from "../../engine/rewards/term.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";

const REFERENCE = "A brown dog with a red collar sits on green grass next to a wooden fence.";

export interface TestPair extends CaptionPair {
  readonly name: "same" | "close" | "wrong";
}

export const TEST_PAIRS: readonly TestPair[] = [
  { name: "same", reference: REFERENCE, hypothesis: REFERENCE },
  { name: "close", reference: REFERENCE, hypothesis: "A dog wearing a collar is sitting on the lawn." },
  { name: "wrong", reference: REFERENCE, hypothesis: "A white cup full of coffee on a glass table." },
];

const choices = (thing: string) => [
  [`${thing} is not mentioned.`, 0],
  [`${thing} is mentioned.`, 1],
];

/** Questions about the test pairs for the DLC-style judge, in the form of a question file. */
export const TEST_QUESTIONS = JSON.stringify([
  {
    questions: [
      recognitionQuestion("Is it likely that the object in the description is a dog or an object of a similar type?"),
      { type: "positive", question: "Which of the following is applicable?", choices: choices("A red collar") },
      { type: "positive", question: "Which of the following is applicable?", choices: choices("Grass or a lawn") },
      {
        type: "negative",
        question: "Which of the following is applicable?",
        choices: [
          ["A ball is not mentioned.", 1],
          ["A ball is mentioned.", -1],
        ],
      },
    ],
  },
]);

/** Whether the three scores fall from pair to pair; null when one is missing. */
export function inOrder(values: readonly (number | null)[]): boolean | null {
  const [same, close, wrong] = values;
  if (typeof same !== "number" || typeof close !== "number" || typeof wrong !== "number") return null;
  return same >= close && close >= wrong && same > wrong;
}

/**
 * The prompts of this verdict, in order, without the corrections after invalid replies. For a failed verdict only the
 * known prompts: later ones depend on replies that never arrived.
 */
export function promptsOf(
  detail: JudgeDetail,
  { reference, hypothesis }: CaptionPair,
  prompts: JudgePrompts,
  counts: QuestionCounts,
): readonly string[] {
  const { answers } = detail;
  if (detail.instrument === "dlc") return answers.map((answer) => dlcPrompt(prompts, hypothesis, answer));
  if (detail.calls === 0 && !detail.cached) return [];
  const first = questionsPrompt(prompts, plainCaption(reference), counts);
  return answers.length === 0 ? [first] : [first, answersPrompt(prompts, hypothesis, answers)];
}
