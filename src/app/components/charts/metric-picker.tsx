import { type ReactNode, useId, useState } from "react";
import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";
import { Button } from "../ui/button.tsx";
import { TextInput } from "../ui/controls.tsx";
import { PanelButton } from "../ui/panel/panel-button.tsx";
import styles from "./metric-picker.module.css";

interface Props {
  /** Selectable metrics, in the order of the list. */
  readonly names: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

/** A button that opens the list of all other metrics; each selected metric gets a chart. */
export function MetricPicker(props: Props): ReactNode {
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

function List({ names, chosen, onChange }: Props): ReactNode {
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
