/** Verdicts of a judge about the captions of a suite. */
import type { LabConfig } from "../../config/table.ts";
import { scoreAnswers } from "../../rewards/judge-score.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import type { SuiteItem, Verdict } from "./suite.ts";

/** Settings of a judge that answers the questions of these rows; a row's id stands for its reference. */
export function judgeSettings(items: readonly SuiteItem[]): Pick<LabConfig, "judge" | "judgeWritten"> {
  const sets = items.flatMap(({ id, questions }) => (questions === undefined ? [] : [{ reference: id, questions }]));
  return { judge: "dlc", judgeWritten: JSON.stringify(sets) };
}

/** Verdicts of a judge's terms; undefined where it gave none. */
export function verdictsOf(terms: readonly RewardTerm[]): (Verdict | undefined)[] {
  return terms.map(({ value, judge }) =>
    value === null || judge === undefined || judge.positive === null
      ? undefined
      : { positive: judge.positive, negative: judge.negative },
  );
}

/**
 * The verdict of replies in the order of the questions, recognition first. A single reply is that of GAR-Bench's judge and
 * must be exactly "True" to count (docs/spec/evaluation.md#23-gar-bench).
 */
export function repliedVerdict({ questions }: SuiteItem, replies: readonly string[]): Verdict | undefined {
  if (questions === undefined || (replies.length === 1 && questions.length === 2))
    return { positive: Number(replies[0] === "True"), negative: null };
  const score = scoreAnswers(questions, replies);
  return score.kind === "score" ? { positive: score.positive, negative: score.negative } : undefined;
}
