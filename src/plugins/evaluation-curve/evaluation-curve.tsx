import { type ReactNode, useEffect, useMemo, useState } from "react";
import {
  Area,
  CartesianGrid,
  ComposedChart,
  Line,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from "recharts";
import { tickText } from "../../app/components/charts/series.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { navigate } from "../../app/stores/route.ts";
import { counted, fixed } from "../../app/styles/format.ts";
import { scoreOf } from "../../engine/runs/evaluations/evaluation-scores.ts";
import styles from "./evaluation-curve.module.css";

/**
 * Mean of a score at each evaluation with its 95 % interval; a click shows the evaluation.
 */
export default function EvaluationCurve(props: Places["evaluations"]): ReactNode {
  const { list, metric, title, step } = props;
  const points = useMemo(
    () =>
      list.flatMap(({ report }) => {
        const score = scoreOf(report, metric);
        return score === null ? [] : [{ step: report.step, mean: score.mean, interval: [score.low, score.high] }];
      }),
    [list, metric],
  );
  const last = points.at(-1);
  // The library renders without a pause, so its parts come one task at a time.
  const [shown, setShown] = useState(0);
  const scale = roundTicks(points.flatMap(({ interval }) => interval));
  const parts = [
    <CartesianGrid key="grid" vertical={false} stroke="var(--chart-grid)" />,
    <XAxis
      key="steps"
      dataKey="step"
      type="number"
      domain={["dataMin", "dataMax"]}
      // Steps are whole numbers, and only these were evaluated.
      ticks={points.map(({ step }) => step)}
      allowDecimals={false}
      stroke="var(--chart-axis)"
      fontSize={11}
      tickLine={false}
    />,
    <YAxis
      key="scores"
      ticks={scale}
      domain={[scale[0] ?? 0, scale.at(-1) ?? 1]}
      tickFormatter={(value: number) => tickText(value, false)}
      stroke="var(--chart-axis)"
      fontSize={11}
      tickLine={false}
      axisLine={false}
    />,
    <Area
      key="interval"
      dataKey="interval"
      name="95 % interval"
      stroke="none"
      fill="var(--run-1)"
      fillOpacity={0.14}
      isAnimationActive={false}
    />,
    <Line
      key="mean"
      dataKey="mean"
      name="mean"
      stroke="var(--run-1)"
      strokeWidth={2}
      dot={{ r: 3, fill: "var(--run-1)" }}
      isAnimationActive={false}
    />,
    <ReferenceLine key="shown" x={step} stroke="var(--chart-axis)" strokeDasharray="2 3" />,
    <Tooltip
      key="tooltip"
      contentStyle={{ background: "var(--raised)", border: "1px solid var(--line)", fontSize: 12 }}
      labelFormatter={(value) => `After ${counted(Number(value), "step")}`}
      formatter={(value, name) => [
        Array.isArray(value)
          ? `${fixed(Number(value[0]), 3)} to ${fixed(Number(value[1]), 3)}`
          : fixed(Number(value), 3),
        name,
      ]}
    />,
  ];
  useEffect(() => {
    if (shown === parts.length) return;
    const next = setTimeout(() => setShown(shown + 1));
    return () => clearTimeout(next);
  }, [shown, parts.length]);
  return (
    <div
      className={`p-2 framed round-l ${styles.curve}`}
      role="img"
      aria-label={`${title} over ${points.length} evaluations, ${fixed(points[0]?.mean, 3)} at first, ${fixed(last?.mean, 3)} at step ${last?.step ?? 0}`}
    >
      <ResponsiveContainer width="100%" height={190}>
        <ComposedChart
          data={points}
          margin={{ top: 8, right: 12, bottom: 0, left: -14 }}
          onClick={({ activeLabel }) => {
            if (activeLabel !== undefined) navigate({ step: Number(activeLabel) });
          }}
        >
          {parts.slice(0, shown)}
        </ComposedChart>
      </ResponsiveContainer>
    </div>
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
