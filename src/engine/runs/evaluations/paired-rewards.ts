/**
 * Rewards as older versions stored them: the mean over all rows with a verdict, the difference over those that also had one in the baseline.
 * The mean is taken over the rows of the difference, without an interval, which takes draws.
 */
import { REWARD_METRICS } from "./evaluation-metrics.ts";
import type { EvalReport, RewardScore, RowScores, StoredEvaluation } from "./evaluations.ts";

/** The evaluations of a run with every reward's mean over the rows of its difference. */
export function pairedRewards(all: readonly StoredEvaluation[]): StoredEvaluation[] {
  return all.map((evaluation) => {
    const { report } = evaluation;
    const { baseline, reward } = report;
    const first = all.find(({ report: { step } }) => step === baseline);
    if (reward === undefined || first === undefined) return evaluation;
    const before = new Map(first.rows.map((row) => [row.rowId, row]));
    const scores = REWARD_METRICS.map((metric) => {
      const score = reward.scores[metric];
      const value = (row: RowScores | undefined): number | null => row?.rewards?.[metric] ?? null;
      const pairs = evaluation.rows.flatMap((row) => {
        const now = row.part === "report" && value(before.get(row.rowId)) !== null ? value(row) : null;
        return now ?? [];
      });
      // Reports of fewer loops lack some scores.
      if (score?.difference == null || pairs.length === 0 || pairs.length === score.n) return [metric, score];
      const mean = pairs.reduce((sum, now) => sum + now, 0) / pairs.length;
      return [metric, { ...score, mean, low: mean, high: mean, n: pairs.length } satisfies RewardScore];
    });
    const paired = Object.fromEntries(scores) as NonNullable<EvalReport["reward"]>["scores"];
    return { ...evaluation, report: { ...report, reward: { ...reward, scores: paired } } };
  });
}
