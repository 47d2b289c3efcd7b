import { type ReactNode, useMemo, useState } from "react";
import type { SkippedRow } from "../../../engine/data/sample.ts";
import { useHoldToHide } from "../../components/mask/use-hold-to-hide.ts";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { Empty } from "../../components/ui/panel.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import { useSession } from "../../stores/session.ts";
import { FailedChecks } from "./checks.tsx";
import { DataBar } from "./data-bar.tsx";
import styles from "./data-screen.module.css";
import { Gallery } from "./gallery.tsx";
import { NothingOpen, OpenButtons } from "./open-buttons.tsx";
import { RowDetail } from "./row-detail.tsx";
import { filterOptions, filterRows, NO_FILTER, offeredFilter, type RowFilter } from "./row-filter.ts";
import type { TileSize } from "./tile-size.ts";

/** The rows of the open shards, and the skipped rows. */
export function DataScreen(): ReactNode {
  useHoldToHide();
  const rows = useSession((session) => session.rows);
  const info = useSession((session) => session.dataInfo);
  const opening = useSession((session) => session.opening);
  const selected = useRoute((route) => route.row);
  const [chosen, setChosen] = useState<RowFilter>(NO_FILTER);
  const [size, setSize] = useState<TileSize>("m");
  const [filtered, setFiltered] = useState(info);
  if (filtered !== info) {
    setFiltered(info);
    // The filter does not apply to a new data set; the order does.
    if (info === null) setChosen({ ...NO_FILTER, order: chosen.order });
  }
  const offered = useMemo(() => filterOptions(info), [info]);
  const filter = useMemo(() => offeredFilter(chosen, offered), [chosen, offered]);
  const shown = useMemo(() => filterRows(rows, filter), [rows, filter]);
  const row = useMemo(() => rows.find((candidate) => candidate.id === selected) ?? null, [rows, selected]);

  if (rows.length === 0 && info === null && opening === null) return <NothingOpen />;
  const nothingUsable = rows.length === 0 && opening === null;
  return (
    <div className={`grid ${styles.screen}`}>
      <div>
        <DataBar
          shown={shown.length}
          total={rows.length}
          filter={filter}
          offered={offered}
          onFilter={setChosen}
          size={size}
          onSize={setSize}
        />
        <FailedChecks checks={nothingUsable ? [] : (info?.checks ?? [])} />
      </div>
      <div className={`grid ${styles.body}`} data-detail={row !== null}>
        {nothingUsable ? (
          <Empty title="No usable row in these files" actions={<OpenButtons />}>
            <WhyNothing skipped={info?.skipped ?? []} />
          </Empty>
        ) : shown.length === 0 && rows.length > 0 ? (
          <Empty title="No row matches the filter">Change the search, category or shard to see rows again</Empty>
        ) : (
          <Gallery rows={shown} selected={selected} size={size} onSelect={(id) => navigate({ row: id })} />
        )}
        {row !== null && <RowDetail row={row} rows={shown} />}
      </div>
      {rows.length > 0 && (
        <footer className={`flex surface ${styles.footer}`}>
          <OverlayControls />
        </footer>
      )}
    </div>
  );
}

/** The first reasons why rows or files were left out. */
function WhyNothing(props: { readonly skipped: readonly SkippedRow[] }): ReactNode {
  const { skipped } = props;
  if (skipped.length === 0) {
    return "The files hold no rows; Arrow and Parquet files as the datasets library saves them can be read";
  }
  const rest = skipped.length - 3;
  return (
    <ul className="column-flex gap-2 p-0 m-0 text-left no-bullets anywhere">
      {skipped.slice(0, 3).map((row) => (
        <li key={`${row.file} ${row.row}`}>
          {row.row >= 0 && `${row.file}, row ${row.row}: `}
          {row.reason}
        </li>
      ))}
      {rest > 0 && <li>{rest} more in the list of skipped rows</li>}
    </ul>
  );
}
