/** The prompts behind a verdict, word for word: filled in the same way for the model and for people. */
import type { JudgeDetail } from "../term.ts";
import type { CaptionPair } from "../types.ts";
import { fillPrompt, type JudgePrompts, plainCaption } from "./questions/prompts.ts";
import { choiceText, type QuestionCounts, questionText } from "./questions/question-set.ts";

/** A question as far as a prompt shows it. */
export interface Asked {
  readonly question: string;
  readonly choices: readonly string[];
}

/** First prompt of the question judge. @param reference as plainCaption leaves it */
export function questionsPrompt(prompts: JudgePrompts, reference: string, counts: QuestionCounts): string {
  const { positives, negatives } = counts;
  return fillPrompt(prompts.questions, { reference, positives: String(positives), negatives: String(negatives) });
}

/** Second prompt of the question judge. */
export function answersPrompt(prompts: JudgePrompts, hypothesis: string, questions: readonly Asked[]): string {
  return fillPrompt(prompts.answers, { caption: plainCaption(hypothesis), questions: questionText(questions) });
}

/** Prompt of the DLC-style judge for one question. */
export function dlcPrompt(prompts: JudgePrompts, hypothesis: string, { question, choices }: Asked): string {
  return fillPrompt(prompts.dlc, { caption: plainCaption(hypothesis), question, choices: choiceText(choices) });
}

/**
 * The prompts of this verdict, in order, without corrections after invalid replies. Of a
 * verdict that failed only as much as can be known: the later prompts stand on replies that never came.
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
