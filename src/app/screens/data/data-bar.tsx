import { type ReactNode, useMemo, useRef, useState } from "react";
import { NO_FILTER, rowFilterText } from "../../../engine/data/row-filter.ts";
import { report } from "../../clients/lab.ts";
import { builtInRows, cancelOpening, DEMO_SETS, openDemoSet, rowsComeWithPage } from "../../clients/loading.ts";
import type { FilteredRows, Places } from "../../components/place/page-plugin.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { useShortcuts } from "../../components/shortcuts.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Select, TextInput } from "../../components/ui/controls.tsx";
import { IconChevron, IconClose, IconFile, IconFolder } from "../../components/ui/icons.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import { useSession } from "../../stores/session.ts";
import { counted, formatBytes, formatCount, sentence } from "../../styles/format.ts";
import { checksWord } from "./checks.tsx";
import styles from "./data.module.css";
import { filterOptions, ROW_ORDERS, type RowOrder, TrainingRows, TrainOnThese } from "./filter-line.tsx";
import type { TileSize } from "./gallery.tsx";

const SIZES: Readonly<Record<TileSize, string>> = { s: "S", m: "M", l: "L" };

/** Name and size of the open data set, and the filters. */
export function DataBar(
  props: FilteredRows & {
    readonly order: RowOrder;
    readonly onOrder: (order: RowOrder) => void;
    readonly size: TileSize;
    readonly onSize: (size: TileSize) => void;
  },
): ReactNode {
  const { rows, shown, filter, onFilter } = props;
  const text = rowFilterText(filter);
  // A small window keeps its space for the pictures.
  const [unfolded, setUnfolded] = useState(() => matchMedia("(width >= 1024px)").matches);
  const info = useSession((session) => session.dataInfo);
  // Before the first row the bar is as high as after it, so that the rows stay where they are.
  const nothing = useSession(({ opening }) => opening === null) && rows.length === 0;
  const offered = useMemo(() => filterOptions(info, filter), [info, filter]);
  // Also while they are read, so that the gallery stays where it is.
  const builtIn = info === null ? rowsComeWithPage() : builtInRows(info.name) !== undefined;
  const search = useRef<HTMLInputElement>(null);
  useShortcuts((event) => {
    if (event.key !== "/") return;
    event.preventDefault();
    search.current?.focus();
  });
  const choice = (of: "category" | "shard", all: string, options: readonly (readonly [string, string])[]): ReactNode =>
    options.length > 0 && (
      <Select
        label={sentence(of)}
        value={filter[of]}
        onChange={(value) => onFilter({ ...filter, [of]: value })}
        options={[["", all] as const, ...options].map(([value, label]) => ({ value, label }))}
      />
    );
  return (
    <div className={`column-flex gap-2 surface ${styles.bar}`}>
      <div className={`row wrap gap-2-3 ${styles.line}`}>
        <h1 className={`clip large ellipsis nowrap ${styles.name}`}>{info?.name ?? "Opening"}</h1>
        <Counts shown={shown.length} />
        <div className={`flex wrap gap-2 ${styles.open}`}>
          <OpenButtons demo={builtIn} />
        </div>
      </div>
      {builtIn && <DropZone />}
      <div className={`row wrap gap-2-3 ${styles.line}`} hidden={nothing}>
        <TextInput
          ref={search}
          className={styles.search}
          type="search"
          placeholder="Search captions"
          aria-label="Search captions"
          value={filter.search}
          onChange={(event) => onFilter({ ...filter, search: event.currentTarget.value })}
        />
        {choice(
          "category",
          "All categories",
          offered.categories.map(([name, n]) => [name, `${name} (${formatCount(n)})`]),
        )}
        {choice(
          "shard",
          "All shards",
          offered.shards.map((path) => [path, path]),
        )}
        <Select label="Order" value={props.order} onChange={props.onOrder} options={ROW_ORDERS} />
        <Segmented label="Tile size" options={SIZES} value={props.size} onChange={props.onSize} />
        {hasPanels("row-filter") && (
          <Button
            kind="quiet"
            className={styles.fold ?? ""}
            icon={<IconChevron size={14} />}
            aria-expanded={unfolded}
            onClick={() => setUnfolded(!unfolded)}
          >
            Histograms
          </Button>
        )}
        {text !== "" && (
          <span className="row gap-1">
            <TrainOnThese text={text} none={props.shown.length === 0} />
            <Button
              kind="quiet"
              icon={<IconClose />}
              aria-label="Clear filter"
              title="Clear filter"
              onClick={() => {
                // This button disappears with the filter, so the focus moves.
                search.current?.focus();
                onFilter(NO_FILTER);
              }}
            />
          </span>
        )}
      </div>
      {unfolded && !nothing && hasPanels("row-filter") && (
        <div className={styles.histograms}>
          {rows.length > 0 && <PluginPanels at="row-filter" given={{ rows, shown, filter, onFilter }} />}
        </div>
      )}
      <TrainingRows />
    </div>
  );
}

/** Counts of rows, pictures, skipped rows and shards; progress while the data set is being opened. */
function Counts(props: { readonly shown: number }): ReactNode {
  const { dataInfo: info, opening, rows } = useSession();
  const total = rows.length;
  const clips = useMemo(() => total > 0 && rows.every(({ frames }) => frames !== undefined), [rows, total]);
  const [open, setOpen] = useState<Places["data-files"]["open"] | null>(null);
  if (opening !== null) {
    return (
      <div className={`row wrap muted ${styles.opening}`} role="status">
        <progress max={Math.max(1, opening.totalRows)} value={opening.rows} aria-label="Rows read" />
        <span>
          {opening.filesTotal === 0
            ? "Searching for shards"
            : `${formatCount(opening.files)} of ${counted(opening.filesTotal, "file")}, ${counted(total, "row")}`}
        </span>
        <Button kind="quiet" onClick={cancelOpening}>
          Cancel
        </Button>
      </div>
    );
  }
  if (info === null) return null;
  const { tone, word } = checksWord(info.checks);
  const bytes = info.files.reduce((sum, file) => sum + file.bytes, 0);
  const opener = (list: Places["data-files"]["open"], colour: string, words: string): ReactNode => (
    <button
      type="button"
      className={`link ${colour}`}
      disabled={!hasPanels("data-files")}
      data-testid={list}
      onClick={() => setOpen(list)}
    >
      {words}…
    </button>
  );
  return (
    <div className={`row wrap muted ${styles.counts}`} data-testid="data-counts">
      <span>
        {props.shown === total ? "" : `${formatCount(props.shown)} of `}
        {counted(total, "row")}
      </span>
      <span>{counted(info.images, clips ? "clip" : "picture")}</span>
      {opener("shards", "", `${counted(info.files.length, "shard")}, ${formatBytes(bytes)}`)}
      {info.skipped.length > 0 && opener("skipped", "warn", `${formatCount(info.skipped.length)} skipped`)}
      {opener("checks", tone, word)}
      {open !== null && <PluginPanels at="data-files" given={{ info, open, onClose: () => setOpen(null) }} />}
    </div>
  );
}

function OpenFiles(): ReactNode {
  return (
    <>
      <Button icon={<IconFolder />} onClick={() => pick("shards")}>
        Open folder…
      </Button>
      <Button icon={<IconFile />} onClick={() => pick("shard-files")}>
        Open files…
      </Button>
    </>
  );
}

/** Ways to open shards; dropping works anywhere on the page. @param props.demo only those of the page */
export function OpenButtons({ demo = false }: { readonly demo?: boolean }): ReactNode {
  return (
    <>
      {!demo && <OpenFiles />}
      {DEMO_SETS.map(
        ({ name, preset }) =>
          name !== undefined && (
            <Button key={preset} onClick={() => report(openDemoSet(preset))}>
              Use {name}
            </Button>
          ),
      )}
    </>
  );
}

const FORMS =
  "Arrow or Parquet shards of the datasets library, COCO, RefCOCO and other forms, whose rows have a picture, a mask and a caption";

export function NothingOpen(): ReactNode {
  return (
    <Empty title="Drop shards or a folder here" actions={<OpenButtons />}>
      <p>{FORMS}. Nothing is uploaded; files are read from your disk.</p>
    </Empty>
  );
}

/** Where the user's files go while rows of the page are open; a drop anywhere on the page does the same. */
export function DropZone(): ReactNode {
  return (
    <section className={`row wrap gap-2-4 round-l ${styles.drop}`} aria-label="Your own data" data-testid="drop-zone">
      <p className="m-0">
        <b>Drop your own data here</b>
        <span className="block muted small">{FORMS}. Nothing is uploaded</span>
      </p>
      <span className="row gap-2">
        <OpenFiles />
      </span>
    </section>
  );
}
