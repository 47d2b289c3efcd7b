import { type ReactNode, type RefObject, useId } from "react";
import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { filterCount, limitOf, NO_FILTER, type RolloutFilter } from "../../components/rollout/rollout-view.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Switch } from "../../components/ui/controls.tsx";
import { PanelButton } from "../../components/ui/panel/panel-button.tsx";
import styles from "./rollouts.module.css";

const LOOP_OPTIONS = [
  { value: "all", label: "All loops" },
  ...LOOP_IDS.map((id) => ({ value: String(id), label: `Loop ${id}` })),
];

const FLAGS = [
  ["zeroSpread", "No learning signal"],
  ["truncated", "Truncated at the length limit"],
  ["emptyMask", "Empty mask or no mask"],
  ["unscored", "Missing or invalid score"],
] as const;

/** Text search beside a panel of further filters. */
export function FilterBar(props: {
  readonly filter: RolloutFilter;
  readonly onChange: (filter: RolloutFilter) => void;
  readonly search: RefObject<HTMLInputElement | null>;
}): ReactNode {
  const { filter, onChange, search } = props;
  const id = useId();
  const count = filterCount(filter) - Number(filter.text.trim() !== "");
  return (
    <div className={`flex gap-2 ${styles.filters}`}>
      <input
        ref={search}
        className={`min-control framed-control round-m surface ${styles.search}`}
        type="search"
        placeholder="Search captions and rows"
        aria-label="Search captions and rows"
        value={filter.text}
        onChange={(event) => onChange({ ...filter, text: event.currentTarget.value })}
      />
      <PanelButton label={count === 0 ? "Filter…" : `Filter (${count})…`} title="Filter">
        <Segmented
          label="Loop"
          options={LOOP_OPTIONS}
          value={String(filter.loop ?? "all")}
          onChange={(value) => onChange({ ...filter, loop: LOOP_IDS.find((id) => String(id) === value) ?? null })}
        />
        <div className={`row gap-2 between ${styles.range}`}>
          <span>Reward from</span>
          <input
            type="number"
            aria-label="Lowest reward"
            step={0.05}
            placeholder="any"
            value={filter.least ?? ""}
            onChange={(event) => onChange({ ...filter, least: limitOf(event.currentTarget.value) })}
          />
          <span>to</span>
          <input
            type="number"
            aria-label="Highest reward"
            step={0.05}
            placeholder="any"
            value={filter.most ?? ""}
            onChange={(event) => onChange({ ...filter, most: limitOf(event.currentTarget.value) })}
          />
        </div>
        {FLAGS.map(([key, label]) => (
          <div key={key} className="row gap-2 between">
            <label htmlFor={`${id}${key}`}>{label}</label>
            <Switch
              id={`${id}${key}`}
              checked={filter[key]}
              onChange={(checked) => onChange({ ...filter, [key]: checked })}
            />
          </div>
        ))}
        <Button kind="quiet" onClick={() => onChange(NO_FILTER)}>
          Clear filters
        </Button>
      </PanelButton>
    </div>
  );
}
