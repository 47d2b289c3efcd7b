import type { ReactNode } from "react";
import { metricsCsv } from "../../../engine/runs/csv.ts";
import type { StepMetrics } from "../../../engine/runs/rollouts/records.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { Button } from "../ui/button.tsx";
import type { MetricSource } from "./chart-spec.ts";

/** All metrics of a source as CSV, one row per step; for joined runs every column name includes the run. */
export function sourceCsv(source: MetricSource): string {
  const columns = source.names.map((name) => ({ name, values: source.column(name) }));
  return metricsCsv(
    Array.from(source.steps, (step, at): StepMetrics => {
      const logged = columns.filter(({ name }) => !source.isMissing(name, at));
      return { step, ...Object.fromEntries(logged.map(({ name, values }) => [name, values[at] as number])) };
    }),
  );
}

/** Saves every metric of the runs that are shown. */
export function SaveCsv({ source, name }: { readonly source: MetricSource; readonly name: string }): ReactNode {
  return (
    <Button
      title="Saves all metrics of the runs shown, one row per step"
      onClick={() => saveBlob(new Blob([sourceCsv(source)], { type: "text/csv" }), `${name}.csv`)}
    >
      CSV
    </Button>
  );
}
