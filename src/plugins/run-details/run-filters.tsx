import { type ReactNode, useState } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { Select, TextInput } from "../../app/components/ui/controls.tsx";
import { tagFilter, unknownConditions } from "../../app/screens/runs/run-list.ts";
import { TagButton } from "../../app/screens/runs/run-row.tsx";
import { navigate, type Route, useRoute } from "../../app/stores/route.ts";
import { remember, remembered } from "../../app/stores/saved.ts";
import { quote } from "../../engine/errors.ts";
import styles from "./run-details.module.css";

/** What groups are made by. */
const GROUPINGS: Readonly<Record<Route["by"], string>> = {
  none: "No groups",
  tag: "By tag",
  data: "By data",
  model: "By model",
};

const areTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === "string");

/** Filters that the user saved in this browser. */
const savedFilters = (): readonly string[] => remembered("runFilters", [], areTexts);

function saveFilters(filters: readonly string[]): void {
  remember("runFilters", [...new Set(filters)]);
}

/** The filter of the list, with those of tags and those that the user saved, and what the runs are grouped by. */
export default function RunFilters({ runs }: Places["run-filter"]): ReactNode {
  const filter = useRoute((route) => route.find) ?? "";
  const grouping = useRoute((route) => route.by);
  const [saved, setSaved] = useState(savedFilters);
  const tags = [...new Set(runs.flatMap(({ notes }) => notes.tags))].sort((a, b) => a.localeCompare(b)).map(tagFilter);
  const choose = (find: string): void => navigate({ find: find === "" ? null : find });
  const keep = (filters: readonly string[]): void => {
    saveFilters(filters);
    setSaved(filters);
  };
  const isSaved = saved.includes(filter);
  const unknown = unknownConditions(filter);
  return (
    <div className="row wrap gap-2">
      <TextInput
        className={styles.find ?? ""}
        aria-label="Filter runs"
        placeholder="Filter: words, tag:x, state:stopped, beta=0.1"
        data-testid="filter-runs"
        value={filter}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      <Button
        data-testid="save-filter"
        blocker={filter.trim() === "" ? "Type a filter first" : null}
        onClick={() => keep(isSaved ? saved.filter((one) => one !== filter) : [...saved, filter])}
      >
        {isSaved ? "Forget filter" : "Save filter"}
      </Button>
      <Select label="Groups" options={GROUPINGS} value={grouping} onChange={(by) => navigate({ by })} />
      <span className="row wrap gap-1" data-testid="tag-filter">
        {[...new Set([...saved, ...tags])].map((one) => (
          <TagButton key={one} tag={one} chosen={one === filter} onClick={() => choose(one === filter ? "" : one)} />
        ))}
      </span>
      {unknown.length > 0 && (
        <span className="warn small" role="status" data-testid="unknown-conditions">
          {unknown.map((word) => quote(word)).join(", ")} {unknown.length === 1 ? "is" : "are"} searched as text:
          conditions are tag:NAME, state:NAME and SETTING=VALUE
        </span>
      )}
    </div>
  );
}
