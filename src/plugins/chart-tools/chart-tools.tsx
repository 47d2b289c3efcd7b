import { type ReactNode, useId, useState } from "react";
import { saveBlob } from "../../app/clients/save-blob.ts";
import { useChartView } from "../../app/components/charts/live-chart.tsx";
import { AXIS_NAMES, type MetricSource } from "../../app/components/charts/series.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Segmented, Slider, TextInput } from "../../app/components/ui/controls.tsx";
import { PanelButton } from "../../app/components/ui/panel/panel-button.tsx";
import { navigate } from "../../app/stores/route.ts";
import { describeMetric } from "../../engine/runs/metrics/metric-table.ts";
import styles from "./chart-tools.module.css";
import { sourceCsv } from "./source-csv.ts";

/** Axis, smoothing and further metrics of the curves of a screen, and all metrics as a file. */
export default function ChartTools({ source, name, ...picker }: Places["curve-tools"]): ReactNode {
  return (
    <>
      <ChartOptions />
      <MetricPicker {...picker} />
      <SaveCsv source={source} name={name} />
    </>
  );
}

type PickerProps = Omit<Places["curve-tools"], "source" | "name">;

/** A button that opens the choices of all curves: axis and smoothing; kept in the address. */
function ChartOptions(): ReactNode {
  const { smoothing, axis } = useChartView();
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
    </PanelButton>
  );
}

/** A button that opens the list of all other metrics; each selected metric gets a chart. */
function MetricPicker(props: PickerProps): ReactNode {
  const { names, chosen } = props;
  const count = chosen.filter((name) => names.includes(name)).length;
  return (
    <PanelButton
      label={`More metrics${count === 0 ? "" : ` · ${count}`}`}
      title="More metrics"
      testId="more-metrics"
      blocker={names.length === 0 ? "No steps logged yet" : null}
      arrow
      list
    >
      <List {...props} />
    </PanelButton>
  );
}

function List({ names, chosen, onChange }: PickerProps): ReactNode {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const matching = names.filter((name) => {
    const words = `${name} ${describeMetric(name)?.meaning ?? ""}`.toLowerCase();
    return wanted.split(/\s+/u).every((word) => words.includes(word));
  });
  return (
    <>
      <div className={`flex gap-2 ${styles.head}`}>
        <TextInput
          className="grow"
          aria-label="Find a metric"
          placeholder="Search by name or description"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Button kind="quiet" blocker={chosen.length === 0 ? "None selected" : null} onClick={() => onChange([])}>
          Clear
        </Button>
      </div>
      <ul className={`m-0 no-bullets ${styles.list}`}>
        {matching.map((name) => (
          <Choice
            key={name}
            name={name}
            checked={chosen.includes(name)}
            onChange={(on) => onChange(on ? [...chosen, name] : chosen.filter((other) => other !== name))}
          />
        ))}
      </ul>
      {matching.length === 0 && <p className="p-3 muted">No metric matches</p>}
    </>
  );
}

function Choice(props: {
  readonly name: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
}): ReactNode {
  const { name } = props;
  const meaning = useId();
  return (
    <li>
      <label className={`grid align-centre round-m pointer lit ${styles.choice}`}>
        <input
          type="checkbox"
          checked={props.checked}
          aria-label={name}
          aria-describedby={meaning}
          onChange={(event) => props.onChange(event.currentTarget.checked)}
        />
        <span className="anywhere medium">{name}</span>
        <span className={`muted small ${styles.meaning}`} id={meaning}>
          {describeMetric(name)?.meaning ?? "This metric has no description"}.
        </span>
      </label>
    </li>
  );
}

/** Saves every metric of the runs that are shown. */
function SaveCsv({ source, name }: { readonly source: MetricSource; readonly name: string }): ReactNode {
  return (
    <Button
      title="Saves all metrics of the runs shown, one row per step"
      onClick={() => saveBlob(new Blob([sourceCsv(source)], { type: "text/csv" }), `${name}.csv`)}
    >
      CSV
    </Button>
  );
}
