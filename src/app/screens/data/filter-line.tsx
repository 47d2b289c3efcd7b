/** Which rows the gallery shows, in what order, and the choices that its filters offer. */
import { type ReactNode, useMemo } from "react";
import { parseSetting } from "../../../engine/config/parse.ts";
import {
  NO_FILTER,
  parseRowFilter,
  type RowFilter,
  rowFilterText,
  rowMatcher,
} from "../../../engine/data/row-filter.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import type { SetInfo } from "../../../engine/data/set-info.ts";
import { toLabError } from "../../../engine/errors.ts";
import { Button } from "../../components/ui/button.tsx";
import { navigate } from "../../stores/route.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { counted, formatCount } from "../../styles/format.ts";

export const ROW_ORDERS = {
  file: "File order",
  largest: "Largest mask",
  smallest: "Smallest mask",
  longest: "Longest caption",
  shortest: "Shortest caption",
} as const;

export type RowOrder = keyof typeof ROW_ORDERS;

/** Choices that the filters offer for a data set; empty where there is only one. */
export interface FilterOptions {
  /** With their counts, most frequent first. */
  readonly categories: SetInfo["categories"];
  /** Paths; empty for a single shard. */
  readonly shards: readonly string[];
}

/**
 * @param info null while the data set is being read
 * @param filter its choices are offered too, so that they can be undone
 */
export function filterOptions(info: SetInfo | null, { category, shard }: RowFilter): FilterOptions {
  const known = info?.categories ?? [];
  const paths = info?.files.map((file) => file.path) ?? [];
  const missing = category !== "" && !known.some(([name]) => name === category);
  return {
    categories: missing ? [[category, 0], ...known] : known,
    shards: shard !== "" && !paths.includes(shard) ? [shard, ...paths] : paths.length > 1 ? paths : [],
  };
}

/** The filter that a text states; for an invalid text no filter, and the reason. */
export function readFilter(text: string): { readonly filter: RowFilter; readonly problem: string | null } {
  try {
    return { filter: parseRowFilter(text), problem: null };
  } catch (thrown) {
    return { filter: NO_FILTER, problem: toLabError(thrown).message };
  }
}

export function filterRows(rows: readonly RegionSummary[], filter: RowFilter): readonly RegionSummary[] {
  return rowFilterText(filter) === "" ? rows : rows.filter(rowMatcher(filter));
}

export function orderRows(rows: readonly RegionSummary[], order: RowOrder): readonly RegionSummary[] {
  if (order === "file") return rows;
  const by: Readonly<Record<Exclude<RowOrder, "file">, (row: RegionSummary) => number>> = {
    largest: (row) => -row.maskShare,
    smallest: (row) => row.maskShare,
    longest: (row) => -row.caption.length,
    shortest: (row) => row.caption.length,
  };
  const key = by[order];
  return [...rows].sort((a, b) => key(a) - key(b) || a.index - b.index);
}

/**
 * Sets the gallery's filter as the row filter of the next run; absent when it already is.
 * @param text of the filter, not empty
 * @param none whether no row passes it
 */
export function TrainOnThese({ text, none }: { readonly text: string; readonly none: boolean }): ReactNode {
  const already = useSession((session) => session.config.rowFilter === text);
  const parsed = parseSetting("rowFilter", text);
  if (already) return null;
  return (
    <Button
      blocker={"problem" in parsed ? parsed.problem : none ? "No row passes the filter" : null}
      onClick={() => {
        changeConfig({ rowFilter: text });
        navigate({ screen: "setup" });
      }}
    >
      Train on these rows
    </Button>
  );
}

/** Number of open rows that pass the row filter of the settings; absent without a filter. */
export function TrainingRows(): ReactNode {
  const { rowFilter, maxRows } = useSession((session) => session.config);
  const rows = useSession((session) => session.rows);
  const { filter, problem } = useMemo(() => readFilter(rowFilter), [rowFilter]);
  const count = useMemo(() => filterRows(rows, filter).length, [rows, filter]);
  if (rowFilter === "") return null;
  const used = maxRows === 0 ? count : Math.min(count, maxRows);
  return (
    <p className="row wrap gap-2-3 muted anywhere" data-testid="training-rows">
      {problem === null ? (
        <span>
          Training uses {formatCount(used)} of {counted(rows.length, "row")}: <code>{rowFilter}</code>
        </span>
      ) : (
        <span className="bad">{problem}</span>
      )}
      {problem === null && (
        <button type="button" className="link" onClick={() => navigate({ screen: "data", rows: rowFilter, row: null })}>
          Show these rows
        </button>
      )}
      <button type="button" className="link" onClick={() => changeConfig({ rowFilter: "" })}>
        Train on all rows
      </button>
    </p>
  );
}
