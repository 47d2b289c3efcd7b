import { type ReactNode, useId, useMemo } from "react";
import { navigate, useRoute } from "../../stores/route.ts";
import { Button } from "../ui/button.tsx";
import { Segmented, Slider, Switch } from "../ui/controls.tsx";
import { PanelButton } from "../ui/panel/panel-button.tsx";
import styles from "./metric-picker.module.css";
import { AXIS_NAMES } from "./plot/axis.ts";
import type { ChartView } from "./plot/plot-feed.ts";

/** Curve style from the address. */
export function useChartView(): ChartView {
  const smoothing = useRoute((route) => route.smooth);
  const axis = useRoute((route) => route.x);
  const band = useRoute((route) => route.band);
  const clip = useRoute((route) => route.clip);
  return useMemo(() => ({ smoothing, axis, band, clip }), [smoothing, axis, band, clip]);
}

/** A button that opens the choices of all curves: axis, smoothing, band, outliers, order; kept in the address. */
export function ChartOptions(): ReactNode {
  const { smoothing, axis, band, clip } = useChartView();
  const order = useRoute((route) => route.order);
  const id = useId();
  return (
    <PanelButton label="Curves" title="Curves" testId="chart-options" arrow>
      <div className="row wrap gap-2-3 between">
        <span>Horizontal axis</span>
        <Segmented label="Horizontal axis" options={AXIS_NAMES} value={axis} onChange={(x) => navigate({ x })} />
      </div>
      <div className={`grid gap-2 align-centre ${styles.smoothing}`}>
        <span>Smoothing</span>
        <Slider
          label="Smoothing of curves"
          className={styles.slider ?? ""}
          value={smoothing}
          min={0}
          max={0.99}
          step={0.01}
          valueText={smoothing.toFixed(2)}
          onChange={(value) => navigate({ smooth: value })}
        />
        <b className="medium">{smoothing.toFixed(2)}</b>
      </div>
      <div className="row gap-2 between">
        <label htmlFor={`${id}b`}>
          Show minimum and maximum as a band
          <small className="block muted">of the smoothed values; for compared runs, across the runs</small>
        </label>
        <Switch id={`${id}b`} checked={band} onChange={(on) => navigate({ band: on })} />
      </div>
      <div className="row gap-2 between">
        <label htmlFor={`${id}c`}>
          Exclude outliers from the vertical range
          <small className="block muted">values more than three interquartile ranges beyond the quartiles</small>
        </label>
        <Switch id={`${id}c`} checked={clip} onChange={(on) => navigate({ clip: on })} />
      </div>
      {order !== null && <Button onClick={() => navigate({ order: null })}>Reset the order of charts</Button>}
    </PanelButton>
  );
}
