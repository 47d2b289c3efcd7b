import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";

export interface MetricHelp {
  readonly meaning: string;
  readonly formula: string;
  readonly healthy: string;
}

/** Explanation of a logged metric; null for an unknown one. */
export function explainMetric(name: string): MetricHelp | null {
  return describeMetric(name) ?? null;
}
