/**
 * Converts tasks of an evaluation suite to questions for the model, and its answers to the form that the suite scores.
 */
import { LabError } from "../../engine/errors.ts";
import type { TryAnswer, TryTask } from "../try-out/answer-question.ts";
import type { SuiteAnswer, SuiteTask } from "./suite.ts";

/** Maximum tokens of a free answer or caption of an evaluation, unless the user chooses otherwise. */
export const ANSWER_TOKENS = 256;

/** One question for several tasks of one kind about one picture; free questions are sent one by one. */
export function tryTaskOf(tasks: readonly SuiteTask[], maxCompletionLength: number): TryTask {
  const [first] = tasks;
  if (first?.kind === "ask" && tasks.length === 1) return { ...first, maxCompletionLength };
  const phrases = tasks.flatMap((task) => (task.kind === "segment" ? [task.phrase] : []));
  if (phrases.length === tasks.length) return { kind: "segment", phrases };
  const regions = tasks.flatMap((task) => (task.kind === "describe" ? [task.region] : []));
  if (regions.length === tasks.length) return { kind: "describe", regions, maxCompletionLength };
  throw new LabError("internal", "Tasks of different kinds cannot be asked together");
}

/** Answers in the order of the tasks. */
export function suiteAnswersOf(answer: TryAnswer): SuiteAnswer[] {
  if (answer.kind === "describe") return answer.captions.map((text) => ({ text: text ?? "" }));
  if (answer.kind === "segment") return answer.masks.map((mask) => ({ masks: mask === null ? [] : [mask.mask] }));
  return [{ text: answer.text, masks: answer.masks.map(({ mask }) => mask) }];
}
