import { type ReactNode, useMemo, useRef } from "react";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { useVisibleBox } from "../../app/components/use-async.ts";
import { navigate } from "../../app/stores/route.ts";
import { counted, fixed } from "../../app/styles/format.ts";
import { scoreOf } from "../../engine/runs/evaluations/evaluation-scores.ts";
import styles from "./evaluation-curve.module.css";

/** Pixels of the drawing, and of its sides that hold no curve. */
const HEIGHT = 190;
const LEFT = 46;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 26;

/** Pixels between labels of steps. */
const LABEL = 34;

/**
 * Mean of a score at each evaluation with its 95 % interval; a click shows the evaluation.
 */
export default function EvaluationCurve(props: Places["evaluations"]): ReactNode {
  const { list, metric, title, step } = props;
  const holder = useRef<HTMLDivElement>(null);
  const width = useVisibleBox(holder)?.width ?? null;
  const points = useMemo(
    () =>
      list.flatMap(({ report }) => {
        const score = scoreOf(report, metric);
        return score === null ? [] : [{ step: report.step, mean: score.mean, low: score.low, high: score.high }];
      }),
    [list, metric],
  );
  const [first, last] = [points[0], points.at(-1)];
  return (
    <div
      ref={holder}
      className={`framed round-l ${styles.curve}`}
      role="img"
      aria-label={`${title} over ${points.length} evaluations, ${fixed(first?.mean, 3)} at first, ${fixed(last?.mean, 3)} at step ${last?.step ?? 0}`}
    >
      {width !== null && first !== undefined && last !== undefined && (
        <Drawing points={points} first={first.step} last={last.step} shown={step} width={width} />
      )}
    </div>
  );
}

interface Point {
  readonly step: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

function Drawing(props: {
  readonly points: readonly Point[];
  readonly first: number;
  readonly last: number;
  /** Step that the tab shows. */
  readonly shown: number;
  readonly width: number;
}): ReactNode {
  const { points, first, last, shown, width } = props;
  const scale = roundTicks(points.flatMap(({ low, high }) => [low, high]));
  const [least, most] = [scale[0] ?? 0, scale.at(-1) ?? 1];
  const x = (at: number): number => LEFT + ((width - LEFT - RIGHT) * (at - first)) / Math.max(1, last - first);
  const y = (value: number): number => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (value - least)) / (most - least);
  const line = (at: readonly Point[], value: (point: Point) => number): string =>
    at.map((point) => `${x(point.step)},${y(value(point))}`).join(" ");
  const labels: number[] = [];
  for (const { step } of points) if (labels.every((label) => x(step) - x(label) >= LABEL)) labels.push(step);
  return (
    <svg width={width} height={HEIGHT} aria-hidden="true">
      <g data-testid="evaluation-scale">
        {scale.map((value) => (
          <g key={value} className={styles.line}>
            <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
            <text className={styles.score} x={LEFT - 8} y={y(value) + 4}>
              {fixed(value, 3)}
            </text>
          </g>
        ))}
      </g>
      <g data-testid="evaluation-steps">
        {labels.map((step) => (
          <text key={step} className={styles.step} x={x(step)} y={HEIGHT - 8}>
            {step}
          </text>
        ))}
      </g>
      <line className={styles.shown} x1={x(shown)} x2={x(shown)} y1={TOP} y2={HEIGHT - BOTTOM} />
      <polygon
        className={styles.interval}
        points={`${line(points, ({ low }) => low)} ${line([...points].reverse(), ({ high }) => high)}`}
      />
      <polyline className={styles.mean} points={line(points, ({ mean }) => mean)} />
      {points.map((point, at) => {
        const [before, after] = [points[at - 1]?.step ?? first, points[at + 1]?.step ?? last];
        const [from, to] = [x((before + point.step) / 2), x((point.step + after) / 2)];
        return (
          <g key={point.step} className={styles.point}>
            <circle cx={x(point.step)} cy={y(point.mean)} r="3" />
            {/* biome-ignore lint/a11y/noStaticElementInteractions: the time line above it is for the keyboard */}
            <rect
              x={from - 6}
              y="0"
              width={to - from + 12}
              height={HEIGHT}
              onClick={() => navigate({ step: point.step })}
            >
              <title>
                {`After ${counted(point.step, "step")}: mean ${fixed(point.mean, 3)}, 95 % interval ${fixed(point.low, 3)} to ${fixed(point.high, 3)}`}
              </title>
            </rect>
          </g>
        );
      })}
    </svg>
  );
}

const TICK_STEPS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

/** Round numbers around the values, at least two. */
function roundTicks(values: readonly number[]): number[] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = TICK_STEPS.find((one) => high - low <= 4 * one) ?? 0.5;
  const first = Math.floor(low / step);
  const count = Math.max(1, Math.ceil(high / step) - first) + 1;
  return Number.isFinite(count) ? Array.from({ length: count }, (_, at) => (first + at) * step) : [];
}
