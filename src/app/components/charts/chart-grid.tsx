import type { ReactNode } from "react";
import { navigate, useRoute } from "../../stores/route.ts";
import { Dialog } from "../ui/overlays.tsx";
import { useChartView } from "./chart-options.tsx";
import type { ChartSpec } from "./chart-spec.ts";
import styles from "./live-chart.module.css";
import { LiveChart, type LiveChartProps } from "./live-chart.tsx";

/** Share of the window that an enlarged plot takes. */
const LARGE = 0.62;

/** Charts of one source side by side; one of them enlarged, if the address says so. */
export function ChartGrid(
  props: Pick<LiveChartProps, "source" | "sync" | "step" | "notes" | "onPick"> & {
    readonly specs: readonly ChartSpec[];
    /** Ids of all charts of the screen, in their order. */
    readonly order: readonly string[];
    readonly className?: string | undefined;
    /** Removes the chart of a metric that the user selected. */
    readonly onRemove: (metric: string) => void;
  },
): ReactNode {
  const { specs, order, className, onRemove, ...rest } = props;
  const view = useChartView();
  const large = useRoute((route) => route.chart);
  const enlarged = specs.find(({ id }) => id === large);
  const close = (): void => navigate({ chart: null });
  return (
    <div className={`grid gap-3 ${className ?? ""}`}>
      {specs.map((spec) => {
        const { picked } = spec;
        return (
          <LiveChart
            key={spec.id}
            {...rest}
            spec={spec}
            view={view}
            onMove={(by) => navigate({ order: moved(order, spec.id, by) })}
            onTake={(id) => navigate({ order: moved(order, id, order.indexOf(spec.id) - order.indexOf(id)) })}
            onEnlarge={() => navigate({ chart: spec.id })}
            {...(picked === undefined ? {} : { onRemove: () => onRemove(picked) })}
          />
        );
      })}
      {enlarged !== undefined && (
        <Dialog title={enlarged.title} open full onOpenChange={close}>
          <div className={styles.large}>
            <LiveChart {...rest} spec={enlarged} view={view} height={Math.max(220, LARGE * window.innerHeight)} />
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** Charts in the order of the address; those that it does not name keep theirs, at the end. */
export function ordered(specs: readonly ChartSpec[], order: readonly string[] | null): readonly ChartSpec[] {
  if (order === null) return specs;
  const place = ({ id }: ChartSpec): number => (order.includes(id) ? order.indexOf(id) : order.length);
  return specs.toSorted((a, b) => place(a) - place(b));
}

/** The list with one entry moved by a number of places, at most to an end. */
export function moved(list: readonly string[], id: string, by: number): readonly string[] {
  const from = list.indexOf(id);
  const others = list.filter((other) => other !== id);
  return others.toSpliced(Math.min(others.length, Math.max(0, from + by)), 0, id);
}
