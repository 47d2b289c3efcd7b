import type { ReactNode } from "react";
import { TableHead } from "../ui/table-head.tsx";
import { useTableRows } from "../ui/table-rows.ts";
import { type FoundSeries, type MetricSource, showValue } from "./chart-spec.ts";
import styles from "./live-chart.module.css";

const ROW = 26;

/** The values of a chart, newest first; each step links to its rollouts. */
export function ChartTable(props: {
  readonly found: readonly FoundSeries[];
  readonly source: MetricSource;
  readonly height: number;
  readonly onPick: (step: number) => void;
}): ReactNode {
  const { found, source, height, onPick } = props;
  // Steps that arrived after the columns were read have no values yet.
  const steps = Array.from(source.steps).slice(0, found[0]?.values.length ?? 0);
  const { scroller, items, above, below } = useTableRows<HTMLDivElement>(steps.length, ROW);
  return (
    <div ref={scroller} className={`small scroll ${styles.table}`} style={{ height }}>
      <table className="full-width" aria-rowcount={steps.length}>
        <TableHead columns={["Step", ...found.map(({ spec }) => spec.label)]} />
        <tbody>
          <tr style={{ height: above }} />
          {items.map((item) => {
            const at = steps.length - 1 - item.index;
            const step = steps[at] as number;
            return (
              <tr key={item.key} style={{ height: ROW }}>
                <td>
                  <button type="button" className="borderless clear accent pointer" onClick={() => onPick(step)}>
                    {step}
                  </button>
                </td>
                {found.map(({ spec, metric, values }) => (
                  <td key={metric}>{showValue(spec, source.isMissing(metric, at) ? null : values[at])}</td>
                ))}
              </tr>
            );
          })}
          <tr style={{ height: below }} />
        </tbody>
      </table>
    </div>
  );
}
