/** A run as tables for spreadsheets: metrics with evaluations, their rows, settings, alarms and rollouts. */
import { readAlarms } from "./alarms.ts";
import { metricsCsv, tableCsv } from "./csv.ts";
import { EVAL_METRICS, REWARD_METRICS, readEvaluations, type StoredEvaluation } from "./evaluations/evaluations.ts";
import { withAliases } from "./metrics/metric-table.ts";
import type { GroupRecord, StepMetrics } from "./rollouts/records.ts";
import { evaluationValues } from "./run-events.ts";
import type { RunFolder } from "./run-folder.ts";

/** Tables by file name, without evaluations if there are none. */
export async function runTables(run: RunFolder): Promise<Readonly<Record<string, string>>> {
  const evaluations = await readEvaluations(run.store, run.id);
  const alarms = await readAlarms(run.store, run.id);
  const metrics = withEvaluations((await run.readMetrics()).map(withAliases), evaluations);
  const alarmRows = alarms.map(({ step, severity, id, message, rollouts = [] }) => {
    return [step, severity, id, message, rollouts.join(" ")];
  });
  return {
    "alarms.csv": tableCsv(["step", "severity", "alarm", "message", "rollouts"], alarmRows),
    ...(evaluations.length > 0 && { "evaluations.csv": evaluationsCsv(evaluations) }),
    "metrics.csv": metricsCsv(metrics),
    "settings.csv": tableCsv(["setting", "value"], Object.entries(run.manifest().config)),
  };
}

/**
 * Metric rows with the numbers of the evaluation after the same step; an evaluation at a step without metrics has its
 * own row.
 */
function withEvaluations(
  rows: readonly StepMetrics[],
  evaluations: readonly StoredEvaluation[],
): readonly StepMetrics[] {
  const merged = new Map<number, StepMetrics>(rows.map((row) => [row.step ?? 0, row]));
  for (const { report } of evaluations) {
    merged.set(report.step, { step: report.step, ...merged.get(report.step), ...evaluationValues(report) });
  }
  return [...merged.values()].sort((a, b) => (a.step ?? 0) - (b.step ?? 0));
}

/** Every held-out row of every evaluation. */
function evaluationsCsv(evaluations: readonly StoredEvaluation[]): string {
  const texts = ["caption", "captionGreedy", "captionPrime"] as const;
  const rows = evaluations.flatMap(({ report, rows: scored }) =>
    scored.map((row) => [
      report.step,
      row.rowId,
      row.part,
      ...EVAL_METRICS.map((name) => row[name]),
      ...REWARD_METRICS.map((name) => row.rewards?.[name]),
      ...texts.map((name) => row[name]),
    ]),
  );
  const columns = ["caption", "caption_greedy", "caption_prime"];
  return tableCsv(["step", "row_id", "part", ...EVAL_METRICS, ...REWARD_METRICS, ...columns], rows);
}

/**
 * Rollouts of all stored groups.
 * @param pictureOf file name of a group's picture; "" for a group that is not drawn
 */
export async function rolloutsCsv(run: RunFolder, pictureOf: (group: GroupRecord) => string): Promise<string> {
  const columns = ["step", "loop", "row_id", "rollout", "reward", "advantage", "reference_caption", "caption"];
  const rows: (string | number | null)[][] = [];
  for (const step of await run.groupSteps()) {
    for (const group of await run.readGroups(step)) {
      const picture = pictureOf(group);
      for (const { loop, rowId, index, reward, advantage, referenceCaption, caption, captionPrime } of group.rollouts) {
        rows.push([step, loop, rowId, index, reward, advantage, referenceCaption, caption, captionPrime, picture]);
      }
    }
  }
  return tableCsv([...columns, "caption_prime", "picture"], rows);
}
