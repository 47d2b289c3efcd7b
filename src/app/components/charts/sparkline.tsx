import { type ReactNode, useMemo } from "react";
import { fixed } from "../../styles/format.ts";
import styles from "./charts.module.css";

const [WIDTH, HEIGHT] = [240, 80];

/**
 * A curve. @param upTo values after this place are drawn faint; all by default
 * @param steps of the values: the axes name the first, the last and the ends of the scale; no axes by default
 */
export function Sparkline(props: {
  readonly values: readonly number[];
  readonly name: string;
  readonly upTo?: number;
  readonly steps?: ArrayLike<number>;
  readonly className?: string;
}): ReactNode {
  const { values, name, steps, upTo = values.length - 1 } = props;
  const points = useMemo(() => placed(values), [values]);
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return null;
  const text = `${name} from ${fixed(finite[0], 2)} to ${fixed(finite.at(-1), 2)}`;
  const now = points.findLast(({ at }) => at <= upTo);
  const curve = (
    <svg
      className={[styles.line, props.className].filter(Boolean).join(" ")}
      viewBox={`-3 -3 ${WIDTH + 6} ${HEIGHT + 6}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={text}
    >
      <polyline className={styles.rest} points={pathOf(points)} />
      <polyline points={pathOf(points.filter(({ at }) => at <= upTo))} />
      {now !== undefined && <path className={styles.now} d={`M${now.x} ${now.y}h0`} />}
    </svg>
  );
  if (steps === undefined) return curve;
  return (
    <div className={`grid muted small ${styles.axes}`}>
      <span className="column-flex between">
        <span>{fixed(Math.max(...finite), 2)}</span>
        <span>{fixed(Math.min(...finite), 2)}</span>
      </span>
      {curve}
      <span className="row between">
        <span>step {steps[0]}</span> {steps[steps.length - 1]}
      </span>
    </div>
  );
}

interface Point {
  readonly at: number;
  readonly x: number;
  readonly y: number;
}

const pathOf = (points: readonly Point[]): string =>
  points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

/** Finite values in the box; the lowest at its foot. */
function placed(values: readonly number[]): readonly Point[] {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const across = Math.max(1, values.length - 1);
  return values.flatMap((value, at) =>
    Number.isFinite(value)
      ? [{ at, x: (at / across) * WIDTH, y: HEIGHT - (HEIGHT * (value - low)) / (high - low || 1) }]
      : [],
  );
}
