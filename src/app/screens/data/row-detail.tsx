import { type ReactNode, useMemo, useState } from "react";
import { isRecord } from "../../../engine/bytes/json.ts";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import { lab } from "../../clients/lab.ts";
import { useAnswers } from "../../components/mask/frame-store.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
import { FramePanels, hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { shortRow } from "../../components/rollout/rollout-view.ts";
import { useShortcuts, usesArrows } from "../../components/shortcuts.ts";
import { Badge, Button, Turns } from "../../components/ui/button.tsx";
import { IconClose } from "../../components/ui/icons.tsx";
import { Tabs } from "../../components/ui/tabs.tsx";
import { type Async, useAsync } from "../../components/use-async.ts";
import { navigate } from "../../stores/route.ts";
import { formatShare } from "../../styles/format.ts";
import styles from "./data.module.css";
import { useLayers } from "./gallery.tsx";

/** One row: picture, caption, raw record, mask text. */
export function RowDetail(props: {
  readonly row: RegionSummary;
  /** Rows in the order of the gallery. */
  readonly rows: readonly RegionSummary[];
}): ReactNode {
  const { row, rows } = props;
  const number = shortRow(row.id);
  const tracks = useAnswers(row);
  const given = useLayers(row);
  const layers = useMemo(
    () => [
      ...given,
      ...tracks.flatMap(({ mask, colour }) =>
        mask === null ? [] : [{ role: "policy", mask, ...(colour && { colour }) } as const],
      ),
    ],
    [given, tracks],
  );
  const raw = useAsync(row, ({ id }) => lab().data.rawRow(id));
  // Another data set may have a row of the same id.
  const identity = useMemo(() => JSON.stringify(row), [row]);
  const at = rows.findIndex((candidate) => candidate.id === row.id);
  const [before, after] = [rows[at - 1] ?? null, (at < 0 ? undefined : rows[at + 1]) ?? null];
  const [chosen, setTab] = useState("words");
  // Only clips are followed.
  const follows = row.frames !== undefined && hasPanels("clip");
  const tab = chosen === "follow" && !follows ? "words" : chosen;

  useShortcuts((event) => {
    if (event.shiftKey) return;
    const next = usesArrows(event.target) ? null : ({ ArrowLeft: before, ArrowRight: after }[event.key] ?? null);
    if (event.key === "Escape") close();
    else if (next !== null) navigate({ row: next.id });
  });

  const share = formatShare(row.maskShare);
  return (
    <aside
      className={`column-flex gap-3 min-0 scroll surface ${styles.detail}`}
      aria-label={`Row ${number}`}
      data-testid="row-detail"
    >
      <header className={`row gap-2px ${styles.header}`}>
        <h2>Row {number}</h2>
        <span className="grow clip muted small ellipsis nowrap" title={row.id} data-testid="row-file">
          {row.file}
          {row.region > 0 && `, region ${row.region}`}
        </span>
        <Turns
          kind="row"
          onPrevious={before && (() => navigate({ row: before.id }))}
          onNext={after && (() => navigate({ row: after.id }))}
        />
        <Button kind="quiet" icon={<IconClose />} aria-label="Close the row" title="Close (Esc)" onClick={close} />
      </header>
      {tab !== "try" && (
        <MaskFigure
          rowId={row.id}
          imageId={row.imageId}
          width={row.width}
          height={row.height}
          layers={layers}
          sync={`row ${row.id}`}
          className={`round-m ${styles.detailPicture} ${tab === "follow" ? styles.smaller : ""}`}
          label={`Row ${number}, mask covers ${share} of the picture`}
        />
      )}
      {tab !== "try" && (
        <FramePanels rowId={row.id} given={row.mask} tracks={tracks} fileName={`row${number.replace(/\W/g, "-")}`} />
      )}
      <p className="row wrap gap-2-3 muted">
        {row.category.map((name) => (
          <Badge key={name}>{name}</Badge>
        ))}
        <span>
          {row.width} × {row.height / (row.frames ?? 1)}
        </span>
        <span>mask {share}</span>
      </p>
      <Tabs
        label="Row details"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: "words", label: "Caption", content: <Words row={row} raw={raw} /> },
          follows && {
            id: "follow",
            label: "Follow",
            content: <PluginPanels key={identity} at="clip" given={{ row }} />,
          },
          hasPanels("row") && {
            id: "try",
            label: "Try the model",
            content: <PluginPanels key={identity} at="row" given={{ row }} />,
          },
          hasPanels("row-record") && {
            id: "raw",
            label: "Raw record",
            content: <PluginPanels at="row-record" given={{ row, raw: raw.value ?? raw.problem ?? "Reading" }} />,
          },
        ]}
      />
    </aside>
  );
}

/** Closes the row; its tile takes the focus, which this panel may have. */
function close(): void {
  document.querySelector<HTMLElement>("[data-testid=gallery] [aria-pressed=true]")?.focus();
  navigate({ row: null });
}

function Words(props: { readonly row: RegionSummary; readonly raw: Async<string> }): ReactNode {
  const { value = null, problem } = props.raw;
  const turns = turnsOf(value);
  return (
    <>
      <p className={`large anywhere ${styles.detailCaption}`}>{props.row.caption || "No caption"}</p>
      {problem !== null && <p className="bad">{problem}</p>}
      {turns.length > 0 && (
        <ol className={`p-0 no-bullets ${styles.turns}`} aria-label="Conversation">
          {turns.map((turn, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: turns have no other name and never move
            <li key={index} className="grid gap-2 anywhere">
              <span className="muted">{turn.speaker}</span>
              <span>{turn.text}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** Turns found in a record's JSON text under any of the usual names; none when it holds no conversation. */
function turnsOf(raw: string | null): readonly { readonly speaker: string; readonly text: string }[] {
  if (raw === null) return [];
  let record: unknown;
  try {
    record = JSON.parse(raw);
  } catch {
    // A record that is not JSON is shown as text in its own tab.
    return [];
  }
  if (!isRecord(record)) return [];
  const found = record.conversations ?? record.conversation ?? record.messages;
  if (!Array.isArray(found)) return [];
  return found.filter(isRecord).map((turn) => ({
    speaker: String(turn.from ?? turn.role ?? ""),
    text: String(turn.value ?? turn.content ?? ""),
  }));
}
