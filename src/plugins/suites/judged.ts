/** Verdicts of a judge about the captions of a suite. */
import { sha256Hex } from "../../engine/bytes/hash.ts";
import type { LabConfig } from "../../engine/config/table.ts";
import type { JudgeDescription } from "../../engine/rewards/judge/description.ts";
import { scoreAnswers } from "../../engine/rewards/judge-score.ts";
import type { RewardTerm } from "../../engine/rewards/term.ts";
import type { CaptionPair } from "../../engine/rewards/types.ts";
import { answerKey, type SuiteRow, type SuiteWork } from "./run-suite.ts";
import type { SuiteItem, Verdict } from "./suite.ts";

/** Settings of a judge that answers the questions of these rows; a row's id replaces its reference. */
export function judgeSettings(items: readonly SuiteItem[]): Pick<LabConfig, "judge" | "judgeWritten"> {
  const sets = items.flatMap(({ id, questions }) => (questions === undefined ? [] : [{ reference: id, questions }]));
  return { judge: "dlc", judgeWritten: JSON.stringify(sets) };
}

interface LiveJudge {
  /** Terms for pairs of row id and caption. */
  terms(pairs: readonly CaptionPair[]): Promise<readonly RewardTerm[]>;
  /** Pictures of a row as data URLs; absent for a judge that reads captions only. */
  readonly pictures?: ((item: SuiteItem) => Promise<readonly string[]>) | undefined;
  /** Maximum rows whose pictures are in memory at once. */
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
      found.push(known ? { positive: judge.positive, negative: judge.negative } : undefined);
    }
  }
  return found;
}

/** Sentences about a judge's failures, one per kind that is not in `known`; adds these kinds to `known`. */
export function newFailures(terms: readonly RewardTerm[], known: Set<string>): string[] {
  return terms.flatMap(({ value, note, judge }) => {
    const kind = judge?.failure ?? "";
    if (value !== null || known.has(kind)) return [];
    known.add(kind);
    return [`No verdict: ${note ?? "the judge gave no reason"}`];
  });
}

/** An answer that waits for the judge. */
interface OpenRow {
  readonly item: SuiteItem;
  readonly row: SuiteRow;
  readonly caption: string;
}

interface JudgeWork extends Pick<SuiteWork, "items" | "systems" | "answers" | "keep"> {
  /** Name of the judge, which identifies its verdicts. */
  readonly judge: string;
  /** Called at most once, so that one budget applies to all systems. */
  ask(rows: readonly OpenRow[]): Promise<readonly (Verdict | undefined)[]>;
}

/** Requests missing verdicts. Verdicts of another judge or about other questions are replaced or removed. */
export async function judgeAnswers({ items, systems, answers, judge, ask, keep }: JudgeWork): Promise<void> {
  const hashes = new Map<string, string>();
  for (const { id, questions } of items) hashes.set(id, await questionsHash(questions));
  // The systems of a row are judged together, so a budget that ends early leaves rows with verdicts for both.
  const open = items.flatMap((item) =>
    systems.flatMap((system): OpenRow[] => {
      const row = answers.get(answerKey(system, item.id));
      const known = row?.judged?.judge === judge && row.judged.questions === hashes.get(item.id);
      return row === undefined || known ? [] : [{ item, row, caption: row.text ?? "" }];
    }),
  );
  if (open.length === 0) return;
  const verdicts = await ask(open);
  const changed = open.flatMap(({ row: { judged: before, ...row } }, at): SuiteRow[] => {
    const verdict = verdicts[at];
    if (verdict !== undefined)
      return [{ ...row, judged: { ...verdict, judge, questions: hashes.get(row.rowId) as string } }];
    return before === undefined ? [] : [row];
  });
  await keep(changed);
}

async function questionsHash(questions: SuiteItem["questions"]): Promise<string> {
  return (await sha256Hex(new TextEncoder().encode(JSON.stringify(questions ?? null)))).slice(0, 16);
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
