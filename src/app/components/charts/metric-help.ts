import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";

export interface MetricHelp {
  readonly meaning: string;
  readonly formula: string;
  readonly healthy: string;
}

/** What a logged quantity means; null when nothing is known of it. */
export function explainMetric(name: string): MetricHelp | null {
  return describeMetric(name) ?? null;
}
