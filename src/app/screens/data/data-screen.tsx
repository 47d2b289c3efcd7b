import { type ReactNode, useMemo, useState } from "react";
import { type RowFilter, rowFilterText } from "../../../engine/data/row-filter.ts";
import type { SkippedRow } from "../../../engine/data/sample.ts";
import { report } from "../../clients/lab.ts";
import { useHoldToHide } from "../../components/mask/overlay-store.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { Button } from "../../components/ui/button.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import { useSession } from "../../stores/session.ts";
import { FailedChecks } from "./checks.tsx";
import styles from "./data.module.css";
import { DataBar, NothingOpen } from "./data-bar.tsx";
import { filterRows, orderRows, type RowOrder, readFilter } from "./filter-line.tsx";
import { Gallery, type TileSize } from "./gallery.tsx";
import { RowDetail } from "./row-detail.tsx";

/** The rows of the open shards, and the skipped rows. */
export function DataScreen(): ReactNode {
  useHoldToHide();
  const { rows, dataInfo: info, opening } = useSession();
  const selected = useRoute((route) => route.row);
  const written = useRoute((route) => route.rows) ?? "";
  // Kept in state too, because the address does not hold an unfinished search.
  const { problem } = readFilter(written);
  const [filter, setFilter] = useState(() => readFilter(written).filter);
  const [read, setRead] = useState(written);
  if (read !== written) {
    setRead(written);
    if (rowFilterText(filter) !== written) setFilter(readFilter(written).filter);
  }
  const changeFilter = (next: RowFilter): void => {
    setFilter(next);
    navigate({ rows: rowFilterText(next) || null });
  };
  const [order, setOrder] = useState<RowOrder>("file");
  const [size, setSize] = useState<TileSize>("m");
  const kept = useMemo(() => filterRows(rows, filter), [rows, filter]);
  const shown = useMemo(() => orderRows(kept, order), [kept, order]);
  const row = useMemo(() => rows.find((candidate) => candidate.id === selected) ?? null, [rows, selected]);

  if (rows.length === 0 && info === null && opening === null) return <NothingOpen />;
  const nothingUsable = rows.length === 0 && opening === null;
  return (
    <div className={`grid ${styles.screen}`}>
      <div>
        <DataBar
          rows={rows}
          shown={kept}
          filter={filter}
          onFilter={changeFilter}
          order={order}
          onOrder={setOrder}
          size={size}
          onSize={setSize}
        />
        {problem !== null && <p className="p-2-3 bad bad-soft anywhere">{problem}; all rows are shown</p>}
        <FailedChecks checks={nothingUsable ? [] : (info?.checks ?? [])} />
      </div>
      <div className={`grid ${styles.body}`} data-detail={row !== null}>
        {nothingUsable ? (
          <Empty title="No usable rows in these files" actions={<AfterNothing />}>
            <WhyNothing skipped={info?.skipped ?? []} />
          </Empty>
        ) : shown.length === 0 && rows.length > 0 ? (
          <Empty title="No rows match the filter">Change or clear the filter to see rows again</Empty>
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

/** What helps where the files hold no rows, beside other files: columns named by hand, and the rows before. */
function AfterNothing(): ReactNode {
  const { dataInfo: info, replaced } = useSession();
  const [corrects, setCorrects] = useState(false);
  const found = info?.files.some(({ parts, rows }) => parts.length > 0 && rows > 0) === true;
  return (
    <>
      {found && hasPanels("data-files") && (
        <Button kind="primary" onClick={() => setCorrects(true)}>
          Correct the columns…
        </Button>
      )}
      {replaced !== null && <Button onClick={() => report(replaced.open())}>Back to {replaced.name}</Button>}
      {corrects && info !== null && (
        <PluginPanels at="data-files" given={{ info, open: "shards", onClose: () => setCorrects(false) }} />
      )}
    </>
  );
}

/** The first reasons why rows or files were left out. */
function WhyNothing(props: { readonly skipped: readonly SkippedRow[] }): ReactNode {
  const { skipped } = props;
  if (skipped.length === 0) {
    return "The files hold no rows; the lab reads Arrow, Parquet, JSON, tar and zip files with pictures, masks and captions";
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
