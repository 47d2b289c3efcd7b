/** The metrics behind a chart as CSV. */
import { metricsCsv } from "../../engine/runs/csv.ts";
import type { StepMetrics } from "../../engine/runs/rollouts/records.ts";

/** Metrics by column, over ascending steps. */
interface MetricColumns {
  readonly steps: ArrayLike<number>;
  readonly names: readonly string[];
  readonly column: (name: string) => ArrayLike<number>;
  /** Whether the step at a place was logged without this metric. */
  readonly isMissing: (name: string, at: number) => boolean;
}

/** All metrics of a source as CSV, one row per step; for joined runs every column name includes the run. */
export function sourceCsv(source: MetricColumns): string {
  const columns = source.names.map((name) => ({ name, values: source.column(name) }));
  return metricsCsv(
    Array.from(source.steps, (step, at): StepMetrics => {
      const logged = columns.filter(({ name }) => !source.isMissing(name, at));
      return { step, ...Object.fromEntries(logged.map(({ name, values }) => [name, values[at] as number])) };
    }),
  );
}
