import type { PointerEvent, ReactNode } from "react";
import type { Frame } from "../../app/components/mask/draw.ts";
import { fixed } from "../../app/styles/format.ts";
import { type FrameScores, knownScores } from "./boundary.ts";
import styles from "./clip-player.module.css";

export interface Curve {
  readonly name: string;
  readonly selected?: boolean;
  /** IoU per frame. */
  readonly scores: FrameScores;
}

/** IoU over the frames of a clip, 0 at the bottom and 1 at the top; a click shows the frame. */
export function FrameCurve(props: {
  readonly curves: readonly Curve[];
  readonly frame: Frame;
  readonly onPick: (frame: number) => void;
}): ReactNode {
  const { curves, frame, onPick } = props;
  const last = Math.max(1, frame.of - 1);
  const pick = (event: PointerEvent<SVGSVGElement>): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    onPick(Math.round(Math.min(1, Math.max(0, (event.clientX - left) / width)) * (frame.of - 1)));
  };
  // The selected curve is drawn last, on top.
  const ordered = [...curves].sort((a, b) => Number(a.selected ?? false) - Number(b.selected ?? false));
  return (
    <svg
      className={`block pointer ${styles.curve}`}
      viewBox={`0 0 ${last} 1`}
      preserveAspectRatio="none"
      role="img"
      aria-label={curves.map(spoken).join("; ")}
      data-testid="frame-curve"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        pick(event);
      }}
      onPointerMove={(event) => event.buttons > 0 && pick(event)}
    >
      <path d={`M0 0H${last}M0 .5H${last}M0 1H${last}`} />
      <path className={styles.now} d={`M${frame.at} 0V1`} />
      {ordered.map(({ name, scores, selected = curves.length === 1 }) => (
        <g key={name} className={styles.line} data-selected={selected}>
          <title>{name}</title>
          <path d={linePath(scores)} />
          <path className={styles.dots} d={dotPath(scores)} />
        </g>
      ))}
    </svg>
  );
}

/** A line through neighbouring frames that have a score, broken where one has none. */
function linePath(scores: FrameScores): string {
  return scores
    .map((score, at) =>
      typeof score === "number" ? `${(scores[at - 1] ?? null) === null ? "M" : "L"}${at} ${1 - score}` : "",
    )
    .join("");
}

/** Zero-length strokes, which round caps draw as dots. */
function dotPath(scores: FrameScores): string {
  return scores.map((score, at) => (typeof score === "number" ? `M${at} ${1 - score}h0` : "")).join("");
}

function spoken({ name, scores }: Curve): string {
  const seen = knownScores(scores);
  if (seen.length === 0) return `${name}: no mask`;
  const mean = seen.reduce((sum, score) => sum + score, 0) / seen.length;
  return `IoU of ${name}: mean ${fixed(mean, 2)} over ${seen.length} frames, lowest ${fixed(Math.min(...seen), 2)}`;
}
