import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef } from "react";
import { type FoundSeries, showValue } from "./chart-spec.ts";
import styles from "./live-chart.module.css";

const ROW = 26;

/** The values of a chart, newest first; each step links to its rollouts. */
export function ChartTable(props: {
  readonly found: readonly FoundSeries[];
  readonly steps: ArrayLike<number>;
  readonly height: number;
  readonly onPick: (step: number) => void;
}): ReactNode {
  const { found, height, onPick } = props;
  // Steps that arrived after the columns were read have no values yet.
  const steps = Array.from(props.steps).slice(0, found[0]?.values.length ?? 0);
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: steps.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 8,
  });
  const items = rows.getVirtualItems();
  const above = items[0]?.start ?? 0;
  const below = rows.getTotalSize() - (items[items.length - 1]?.end ?? 0);
  return (
    <div ref={scroller} className={`small scroll ${styles.table}`} style={{ height }}>
      <table aria-rowcount={steps.length}>
        <thead>
          <tr>
            <th scope="col">Step</th>
            {found.map(({ spec }) => (
              <th scope="col" key={spec.label}>
                {spec.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr style={{ height: above }} />
          {items.map((item) => {
            const at = steps.length - 1 - item.index;
            const step = steps[at] as number;
            return (
              <tr key={item.key} style={{ height: ROW }}>
                <td>
                  <button type="button" onClick={() => onPick(step)}>
                    {step}
                  </button>
                </td>
                {found.map(({ spec, values }) => (
                  <td key={spec.label}>{showValue(spec, values[at])}</td>
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
