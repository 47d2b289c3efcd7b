/** Verdicts of a judge about the captions of a suite. */
import type { LabConfig } from "../../config/table.ts";
import type { JudgeDescription } from "../../rewards/judge/description.ts";
import { scoreAnswers } from "../../rewards/judge-score.ts";
import type { RewardTerm } from "../../rewards/term.ts";
import type { CaptionPair } from "../../rewards/types.ts";
import type { SuiteRow } from "./run-suite.ts";
import type { SuiteItem, Verdict } from "./suite.ts";

/** Settings of a judge that answers the questions of these rows; a row's id stands for its reference. */
export function judgeSettings(items: readonly SuiteItem[]): Pick<LabConfig, "judge" | "judgeWritten"> {
  const sets = items.flatMap(({ id, questions }) => (questions === undefined ? [] : [{ reference: id, questions }]));
  return { judge: "dlc", judgeWritten: JSON.stringify(sets) };
}

/** A judge of rows. */
export interface LiveJudge {
  /** Terms of pairs of a row's id and the caption. */
  terms(pairs: readonly CaptionPair[]): Promise<readonly RewardTerm[]>;
  /** Pictures of a row as data URLs; absent for a judge that reads captions only. */
  readonly pictures?: ((item: SuiteItem) => Promise<readonly string[]>) | undefined;
  /** Most rows whose pictures are in memory together. */
  readonly atOnce: number;
}

/** Verdicts about captions, undefined where the judge gave none. */
export async function liveVerdicts(
  { terms, pictures, atOnce }: LiveJudge,
  rows: readonly { readonly item: SuiteItem; readonly caption: string }[],
): Promise<(Verdict | undefined)[]> {
  const found: (Verdict | undefined)[] = [];
  for (let from = 0; from < rows.length; from += atOnce) {
    const pairs = rows.slice(from, from + atOnce).map(async ({ item, caption }): Promise<CaptionPair> => {
      const pair = { reference: item.id, hypothesis: caption };
      return pictures === undefined ? pair : { ...pair, pictures: await pictures(item) };
    });
    for (const { value, judge } of await terms(await Promise.all(pairs))) {
      const known = value !== null && judge !== undefined && judge.positive !== null;
      const seen = pictures === undefined ? {} : { pictures: true as const };
      found.push(known ? { positive: judge.positive, negative: judge.negative, ...seen } : undefined);
    }
  }
  return found;
}

/** Whether a row's verdict is missing, or is of a judge that saw other things. */
export function isUnjudged({ judged }: SuiteRow, pictures: boolean): boolean {
  return judged === undefined || (judged.pictures === true) !== pictures;
}

/** Name of a live judge in the report. */
export function judgeName({ model, version }: JudgeDescription, pictures: boolean): string {
  return `${model}, one question a call, ${pictures ? "with" : "without"} pictures, prompts ${version}`;
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
