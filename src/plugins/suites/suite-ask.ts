/**
 * Asks the model on the trainer: converts tasks of an evaluation suite to questions, and answers to the form that the suite
 * scores.
 */
import { LabError } from "../../engine/errors.ts";
import type { TrainerPlace } from "../../protocol/plugin-calls.ts";
import type { CallsOf } from "../../protocol/rpc.ts";
import { askSession, type TryAnswer, type TryTask } from "../try-out/answer-question.ts";
import type { System } from "./run-suite.ts";
import { SUITE, type SuiteAnswer, type SuiteTask } from "./suite.ts";

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

export const askCalls = (place: () => Promise<TrainerPlace>) => ({
  /** Answers to tasks of one kind about the picture of a row of the open suite. */
  async askSuite(
    system: System,
    index: number,
    tasks: readonly SuiteTask[],
    signal: AbortSignal,
  ): Promise<readonly SuiteAnswer[]> {
    const { lab, rows } = await place();
    const picture = await rows.sourcePicture(SUITE, index);
    const asked = { picture, task: tryTaskOf(tasks, ANSWER_TOKENS), from: { from: system }, maxTiles: undefined };
    return suiteAnswersOf(await askSession(lab, asked, () => undefined, signal));
  },
});

export type AskCalls = CallsOf<typeof askCalls>;
