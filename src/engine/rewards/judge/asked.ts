/** The exact prompts behind a verdict, built the same way for the model and for display. */
import type { JudgeDetail } from "../term.ts";
import type { CaptionPair } from "../types.ts";
import { fillPrompt, type JudgePrompts, plainCaption } from "./questions/prompts.ts";
import { choiceText, type QuestionCounts, questionText } from "./questions/question-set.ts";

/** The parts of a question that a prompt shows. */
export interface Asked {
  readonly question: string;
  readonly choices: readonly string[];
}

/** First prompt of the question judge. @param reference the output of plainCaption */
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
