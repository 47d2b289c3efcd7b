import { type ReactNode, useMemo } from "react";
import { parseSetting } from "../../../engine/config/parse.ts";
import { Button } from "../../components/ui/button.tsx";
import { navigate } from "../../stores/route.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { formatCount } from "../../styles/format.ts";
import styles from "./data-bar.module.css";
import { filterRows, readFilter } from "./row-filter.ts";

/** Sets the gallery's filter as the row filter of the next run; absent when it already is. @param text of the filter, not empty */
export function TrainOnThese({ text }: { readonly text: string }): ReactNode {
  const already = useSession((session) => session.config.rowFilter === text);
  const parsed = parseSetting("rowFilter", text);
  if (already) return null;
  return (
    <Button
      blocker={"problem" in parsed ? parsed.problem : null}
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
  const link = `accent pointer round-s clear ${styles.link}`;
  return (
    <p className="row wrap gap-2-3 muted anywhere" data-testid="training-rows">
      {problem === null ? (
        <span>
          Training uses {formatCount(used)} of {formatCount(rows.length)} rows: <code>{rowFilter}</code>
        </span>
      ) : (
        <span className="bad">{problem}</span>
      )}
      {problem === null && (
        <button type="button" className={link} onClick={() => navigate({ screen: "data", rows: rowFilter, row: null })}>
          Show these rows
        </button>
      )}
      <button type="button" className={link} onClick={() => changeConfig({ rowFilter: "" })}>
        Train on all rows
      </button>
    </p>
  );
}
