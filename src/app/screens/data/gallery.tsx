import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { RegionSummary } from "../../../engine/data/sample.ts";
import { hoverClip, leaveClip, useClipFrame } from "../../components/mask/frame-store.ts";
import { MaskFigure } from "../../components/mask/mask-figure.tsx";
import { shortRow } from "../../components/rollout/rollout-view.ts";
import { observeSize } from "../../components/ui/table.tsx";
import { useVisibleBox } from "../../components/use-async.ts";
import { formatShare } from "../../styles/format.ts";
import styles from "./data.module.css";

const GAP = 10;
const PADDING = 16;

/** Tiles of all rows; the page holds only the tiles near the window. */
export function Gallery(props: {
  readonly rows: readonly RegionSummary[];
  readonly selected: string | null;
  readonly size: TileSize;
  readonly onSelect: (id: string) => void;
}): ReactNode {
  const { rows, selected, size, onSelect } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const width = useVisibleBox(scroller)?.width ?? 0;
  const tile = TILE_SIZES[size];
  const columns = Math.max(1, Math.floor((width - 2 * PADDING + GAP) / (tile.width + GAP)));
  const side = (width - 2 * PADDING - (columns - 1) * GAP) / columns;
  const height = Math.round(side * 0.75) + tile.words + GAP;
  const list = useVirtualizer({
    count: Math.ceil(rows.length / columns),
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    paddingStart: PADDING,
    paddingEnd: PADDING,
    overscan: 3,
    observeElementRect: observeSize,
  });
  // The list caches measured heights: a new width or tile size needs new ones.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height is what has changed
  useLayoutEffect(() => list.measure(), [list, height]);

  // The row that was open last keeps its place and the focus when it is closed.
  const [last, setLast] = useState(selected);
  if (selected !== null && selected !== last) setLast(selected);
  const at = rows.findIndex((row) => row.id === selected);
  const lastAt = rows.findIndex((row) => row.id === last);
  const line = lastAt < 0 ? -1 : Math.floor(lastAt / columns);
  /** Whether the tile of that row takes the focus as soon as the page holds it. */
  const focuses = useRef(false);
  useEffect(() => {
    if (selected === null && scroller.current?.contains(document.activeElement)) focuses.current = true;
  }, [selected]);
  useEffect(() => {
    if (line >= 0 && width > 0 && (selected !== null || focuses.current)) list.scrollToIndex(line, { align: "auto" });
  }, [list, line, width, selected]);
  useEffect(() => {
    const tile = scroller.current?.querySelector<HTMLElement>("[data-last=true]");
    if (!focuses.current || !tile || (selected === null && document.activeElement !== document.body)) return;
    focuses.current = false;
    tile.focus();
  });

  // One stop for the Tab key: the row that is or was open, else the first in view.
  const lines = list.getVirtualItems();
  const inView = lines.find(({ index }) => index === list.range?.startIndex) ?? lines[0];
  const stop = lines.some(({ index }) => index === line) ? lastAt : (inView?.index ?? 0) * columns;

  const move = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -columns,
      ArrowDown: columns,
      Home: Number.NEGATIVE_INFINITY,
      End: Number.POSITIVE_INFINITY,
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    event.preventDefault();
    const next = rows[Math.min(rows.length - 1, Math.max(0, Math.max(0, at) + step))];
    if (next === undefined) return;
    focuses.current = true;
    onSelect(next.id);
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the arrow keys move between the buttons inside
    <div ref={scroller} className={`min-0 ${styles.gallery}`} onKeyDown={move} data-testid="gallery" data-scrolls>
      <div style={{ height: list.getTotalSize(), position: "relative" }}>
        {width > 0 &&
          lines.map((item) => (
            <div
              key={item.key}
              className={`grid absolute ${styles.galleryLine}`}
              style={{
                transform: `translateY(${item.start}px)`,
                height: height - GAP,
                gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
              }}
            >
              {rows.slice(item.index * columns, (item.index + 1) * columns).map((row) => (
                <Tile
                  key={row.id}
                  row={row}
                  size={size}
                  pressed={row.id === selected}
                  last={row.id === last}
                  reachable={row === rows[stop]}
                  onSelect={onSelect}
                />
              ))}
            </div>
          ))}
      </div>
    </div>
  );
}

function Tile(props: {
  readonly row: RegionSummary;
  readonly size: TileSize;
  readonly pressed: boolean;
  /** Whether the row is or was open. */
  readonly last: boolean;
  readonly reachable: boolean;
  readonly onSelect: (id: string) => void;
}): ReactNode {
  const { row } = props;
  const layers = useLayers(row);
  const share = formatShare(row.maskShare);
  const frame = useClipFrame(row.id);
  const play = (): void => hoverClip(row.id, frame);
  const stop = (): void => leaveClip(row.id);
  return (
    <button
      type="button"
      onPointerEnter={play}
      onPointerLeave={stop}
      onFocus={play}
      onBlur={stop}
      className={`column-flex min-0 p-0 clip text-left pointer surface framed round-m ${styles.tile}`}
      data-size={props.size}
      aria-pressed={props.pressed}
      data-last={props.last}
      tabIndex={props.reachable ? 0 : -1}
      onClick={() => props.onSelect(row.id)}
      title={props.size === "s" ? row.caption : undefined}
    >
      <MaskFigure
        rowId={row.id}
        imageId={row.imageId}
        width={row.width}
        height={row.height}
        layers={layers}
        className={styles.picture ?? ""}
        label={`Row ${shortRow(row.id)}, mask covers ${share} of the ${frame === undefined ? "picture" : "clip"}`}
      />
      {props.size !== "s" && (
        <span className={`column-flex gap-2px ${styles.words}`}>
          <span className={`small clip ${styles.caption}`}>{row.caption || "No caption"}</span>
          <span className="flex gap-2 between muted tiny nowrap">
            <span className="clip ellipsis">{row.category.join(", ")}</span>
            <span>{share}</span>
          </span>
        </span>
      )}
    </button>
  );
}

/** The given mask as a layer list with a stable identity, so that nothing is drawn twice. */
export function useLayers(row: RegionSummary) {
  const [kept, setKept] = useState(() => ({ mask: row.mask, layers: [{ role: "given" as const, mask: row.mask }] }));
  if (kept.mask === row.mask) return kept.layers;
  const next = { mask: row.mask, layers: [{ role: "given" as const, mask: row.mask }] };
  setKept(next);
  return next.layers;
}

export type TileSize = "s" | "m" | "l";

/** Minimum width of a tile and height of its text, in CSS pixels. */
export const TILE_SIZES: Readonly<Record<TileSize, { readonly width: number; readonly words: number }>> = {
  s: { width: 104, words: 0 },
  m: { width: 164, words: 66 },
  l: { width: 296, words: 82 },
};
