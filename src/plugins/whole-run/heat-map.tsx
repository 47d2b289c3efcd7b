import { type MouseEvent, type ReactNode, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { currentTheme, onThemeChange } from "../../app/components/charts/plot.ts";
import { useVisibleBox } from "../../app/components/use-async.ts";
import { fixed } from "../../app/styles/format.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";
import styles from "./across.module.css";
import type { RowDraws } from "./group-measures.ts";

/** Dark to bright, readable with colour blindness and in grey. */
const SCALE = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
] as const;
/** Pixels of a row of the map; fewer where the map would exceed the maximum height of a canvas. */
const LEAST = 4;
const MOST = 14;
const HEIGHT = 420;
const TALLEST = 8000;

/**
 * Rows from best to worst over the steps of the run. A sampled row has a bright cell, and keeps a paler one until it is
 * sampled again.
 * @param marked step that is marked by a line
 */
export function HeatMap(props: {
  readonly rows: readonly RowDraws[];
  readonly marked: number | null;
  readonly onOpen: (group: GroupRecord) => void;
}): ReactNode {
  const { rows, marked, onOpen } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useVisibleBox(canvas)?.width ?? 0;
  const [hovered, setHovered] = useState<GroupRecord | null>(null);
  const theme = useSyncExternalStore(onThemeChange, currentTheme);
  const span = useMemo(() => spanOf(rows), [rows]);
  const fitting = Math.max(LEAST, Math.min(MOST, Math.floor(HEIGHT / Math.max(1, rows.length))));
  const cell = Math.min(fitting, TALLEST / Math.max(1, rows.length));
  const drawnCell = cell < LEAST ? cell : cell - 1;
  const height = cell * rows.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme needs another picture
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || width === 0) return;
    const ratio = window.devicePixelRatio;
    context.canvas.width = Math.round(width * ratio);
    context.canvas.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const x = (step: number): number => ((step - span.first) / span.steps) * width;
    const drawn = Math.max(3, width / span.steps);
    for (const [at, { draws }] of rows.entries()) {
      for (const [n, { step, rewardMean }] of draws.entries()) {
        const until = draws[n + 1]?.step ?? span.first + span.steps;
        context.fillStyle = colourOf(rewardMean, span.low, span.high);
        context.globalAlpha = 0.35;
        context.fillRect(x(step), at * cell, x(until) - x(step), drawnCell);
        context.globalAlpha = 1;
        context.fillRect(x(step), at * cell, drawn, drawnCell);
      }
    }
    if (marked !== null && marked >= span.first && marked < span.first + span.steps) {
      context.fillStyle = getComputedStyle(context.canvas).color;
      context.fillRect(x(marked) + drawn / 2, 0, 1, height);
    }
  }, [rows, span, width, height, cell, marked, theme]);
  const under = (event: MouseEvent): GroupRecord | null => {
    const box = event.currentTarget.getBoundingClientRect();
    const row = rows[Math.floor((event.clientY - box.top) / cell)];
    const step = span.first + Math.floor(((event.clientX - box.left) / box.width) * span.steps);
    return row?.draws.findLast((draw) => draw.step <= step) ?? null;
  };
  const told =
    hovered === null
      ? `${rows.length} rows, best first; a bright cell is a step that sampled the row. Click one to open its group`
      : `Step ${hovered.step}, row ${hovered.rowId}: ${fixed(hovered.rewardMean, 3)} · ${hovered.rollouts[0]?.referenceCaption ?? ""}`;
  return (
    <div className="grid gap-2">
      <canvas
        ref={canvas}
        className={`block full-width pointer round-s surface-2 ${styles.heat}`}
        style={{ height }}
        role="img"
        aria-label={`Mean reward of ${rows.length} rows over steps ${span.first} to ${span.first + span.steps - 1}`}
        onMouseMove={(event) => setHovered(under(event))}
        onMouseLeave={() => setHovered(null)}
        onClick={(event) => {
          const group = under(event);
          if (group !== null) onOpen(group);
        }}
      />
      <div className="row wrap gap-2-4 between muted small">
        <span className={styles.told}>{told}</span>
        <span className="row gap-2 nowrap">
          {fixed(span.low, 2)}
          <i
            className={`round-s ${styles.scale}`}
            data-fill
            style={{ background: `linear-gradient(90deg, ${SCALE.map(rgb).join(", ")})` }}
          />
          {fixed(span.high, 2)}
        </span>
      </div>
    </div>
  );
}

function spanOf(rows: readonly RowDraws[]) {
  const draws = rows.flatMap((row) => row.draws);
  const steps = draws.map(({ step }) => step);
  const rewards = draws.map(({ rewardMean }) => rewardMean).filter(Number.isFinite);
  const least = (values: readonly number[], start: number): number => values.reduce((a, b) => Math.min(a, b), start);
  const most = (values: readonly number[], start: number): number => values.reduce((a, b) => Math.max(a, b), start);
  const first = least(steps, Infinity);
  return { first, steps: most(steps, first) - first + 1, low: least(rewards, 0), high: most(rewards, 1) };
}

function colourOf(value: number, low: number, high: number): string {
  if (!Number.isFinite(value)) return "transparent";
  const place = Math.min(1, Math.max(0, (value - low) / (high - low))) * (SCALE.length - 1);
  const at = Math.min(SCALE.length - 2, Math.floor(place));
  const [from, to] = [SCALE[at] as Rgb, SCALE[at + 1] as Rgb];
  return rgb(from.map((channel, n) => Math.round(channel + (place - at) * ((to[n] as number) - channel))));
}

type Rgb = readonly [number, number, number];

function rgb(channels: readonly number[]): string {
  return `rgb(${channels.join(" ")})`;
}
