/** What a curve is drawn over: steps, training time or samples. */
import type { Axis } from "../../../stores/route-text.ts";
import { formatSeconds } from "../../../styles/format.ts";
import type { MetricSource } from "../chart-spec.ts";

export const AXIS_NAMES: Readonly<Record<Axis, string>> = { step: "Steps", time: "Time", samples: "Samples" };

/** Label of a position on an axis. */
export function axisText(axis: Axis, x: number): string {
  if (axis === "time") return x < 60 ? `${Number(x.toFixed(2))} s` : formatSeconds(x).replace(/ 00 (s|min)$/, "");
  return x % 1 === 0 ? `${x}` : "";
}

/** Distances between labels: seconds, minutes and hours for time, whole numbers for counts. */
export function axisIncrements(axis: Axis): number[] {
  const tens = Array.from({ length: 10 }, (_, at) => 10 ** at);
  const whole = tens.flatMap((ten) => [ten, 2 * ten, 5 * ten]);
  if (axis !== "time") return whole;
  const day = 86_400;
  return [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, day, 2 * day];
}

/**
 * The source with the places of an axis as its `xs`: seconds of training (the sum of step_time, so without pauses) or
 * samples drawn (epoch × training rows). It is empty where the run did not log them.
 * @param trainRows training rows of the run; 0 where they are unknown
 */
export function alongAxis(source: MetricSource, axis: Axis, trainRows: number): MetricSource {
  if (axis === "step") return source;
  const known = (): boolean =>
    axis === "time" ? source.names.includes("step_time") : trainRows > 0 && source.names.includes("epoch");
  return {
    get steps() {
      return known() ? source.steps : [];
    },
    get names() {
      return source.names;
    },
    get xs() {
      if (!known()) return [];
      return axis === "time" ? sums(source.column("step_time")) : scaled(source.column("epoch"), trainRows);
    },
    column: (name) => (known() ? source.column(name) : []),
    isMissing: (name, at) => source.isMissing(name, at),
    subscribe: (changed) => source.subscribe(changed),
  };
}

/** Running sum; a missing value adds nothing. */
function sums(values: ArrayLike<number>): Float64Array {
  let sum = 0;
  return Float64Array.from(values, (value) => {
    sum += Number.isFinite(value) ? value : 0;
    return sum;
  });
}

/** Whole samples; a missing value repeats the one before. */
function scaled(values: ArrayLike<number>, by: number): Float64Array {
  let last = 0;
  return Float64Array.from(values, (value) => {
    if (Number.isFinite(value)) last = Math.round(value * by);
    return last;
  });
}
