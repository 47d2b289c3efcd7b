/** Result of a run on held-out rows: its newest evaluation compared with the start, by score and by row. */
import { rowVerdict } from "../evaluations/difference-text.ts";
import { rowScoreOf, SCORES, type Score, type ScoreId, scoreOf } from "../evaluations/evaluation-scores.ts";
import type { Interval, RowScores, StoredEvaluation } from "../evaluations/evaluations.ts";

/** A report row before and after. */
export interface RowPair {
  readonly before: RowScores;
  readonly after: RowScores;
  readonly change: number;
}

export interface ScoreResult {
  readonly id: ScoreId;
  readonly score: Score & { readonly difference: Interval };
  readonly better: number;
  readonly worse: number;
  readonly same: number;
}

export interface RunResult {
  readonly first: StoredEvaluation;
  readonly last: StoredEvaluation;
  /** Every score with a difference; run rewards first. */
  readonly scores: readonly ScoreResult[];
}

/** The baseline of an evaluation: itself if it is the first of its kind. */
export function baselineIn(list: readonly StoredEvaluation[], shown: StoredEvaluation): StoredEvaluation {
  const { baseline } = shown.report;
  return list.find(({ report }) => report.step === baseline) ?? shown;
}

/** The report rows that both evaluations have with this score, in the order of the later one. */
export function rowPairs(first: readonly RowScores[], last: readonly RowScores[], id: ScoreId): RowPair[] {
  const before = new Map(first.map((row) => [row.rowId, row]));
  return last.flatMap((after) => {
    const start = before.get(after.rowId);
    if (start === undefined || after.part === "selection") return [];
    const [then, now] = [rowScoreOf(start, id), rowScoreOf(after, id)];
    return then === null || now === null ? [] : [{ before: start, after, change: now - then }];
  });
}

/** Number of rows that became better, became worse, or stayed the same (`rowVerdict`). */
export function countChanges(
  pairs: readonly Pick<RowPair, "change">[],
): Pick<ScoreResult, "better" | "worse" | "same"> {
  const better = pairs.filter(({ change }) => rowVerdict(change) === "better").length;
  const worse = pairs.filter(({ change }) => rowVerdict(change) === "worse").length;
  return { better, worse, same: pairs.length - better - worse };
}

/** Result at the newest evaluation; null if none has a baseline. */
export function runResult(list: readonly StoredEvaluation[]): RunResult | null {
  const last = list.at(-1);
  if (last === undefined) return null;
  const first = baselineIn(list, last);
  if (first === last) return null;
  const scores = SCORES.flatMap((id): ScoreResult[] => {
    const score = scoreOf(last.report, id);
    if (score === null || score.difference === null) return [];
    const counted = countChanges(rowPairs(first.rows, last.rows, id));
    return [{ id, score: { ...score, difference: score.difference }, ...counted }];
  });
  return scores.length === 0 ? null : { first, last, scores };
}
