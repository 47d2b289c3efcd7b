/** A line chart as SVG text. */
import { escaped } from "../../engine/bytes/text.ts";

export interface ChartLine {
  readonly name: string;
  /** [step, value], ascending; values that are not finite leave a gap. */
  readonly points: readonly (readonly [step: number, value: number])[];
  /** 95 % intervals at some steps. */
  readonly intervals?: readonly (readonly [step: number, low: number, high: number])[];
}

const SIZE = { width: 460, height: 220, left: 52, right: 12, top: 34, bottom: 24 } as const;
const COLOURS = ["var(--a)", "var(--b)", "var(--c)", "var(--d)"] as const;
const DASHES = ["", "7 4", "2 3", "9 3 2 3"] as const;

/** Null without a finite value. Each line has its own colour and dash. */
export function lineChart(title: string, lines: readonly ChartLine[]): string | null {
  const drawn = lines.filter(({ points }) => points.some(([, value]) => Number.isFinite(value)));
  const values = drawn.flatMap(({ points, intervals = [] }) => [
    ...points.map(([, value]) => value),
    ...intervals.flatMap(([, low, high]) => [low, high]),
  ]);
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return null;
  let [low, high] = extent(finite);
  if (low === high) [low, high] = [low - Math.abs(low || 1) / 10, high + Math.abs(high || 1) / 10];
  const steps = drawn.flatMap(({ points }) => points.map(([step]) => step));
  const [first, last] = extent(steps);
  const x = (step: number): string =>
    (SIZE.left + ((step - first) / Math.max(1, last - first)) * (SIZE.width - SIZE.left - SIZE.right)).toFixed(1);
  const y = (value: number): string =>
    (SIZE.top + ((high - value) / (high - low)) * (SIZE.height - SIZE.top - SIZE.bottom)).toFixed(1);
  const grid = [low, (low + high) / 2, high].map(
    (value) =>
      `<line x1="${SIZE.left}" x2="${SIZE.width - SIZE.right}" y1="${y(value)}" y2="${y(value)}" stroke="var(--line)"/><text x="${SIZE.left - 6}" y="${Number(y(value)) + 4}" text-anchor="end" fill="var(--quiet)">${short(value)}</text>`,
  );
  const ends = [...new Set([first, last])].map(
    (step) => `<text x="${x(step)}" y="${SIZE.height - 6}" text-anchor="middle" fill="var(--quiet)">${step}</text>`,
  );
  const paths = drawn.map(({ points, intervals = [] }, at) => {
    const whiskers = intervals.map(
      ([step, from, to]) => `<line x1="${x(step)}" x2="${x(step)}" y1="${y(from)}" y2="${y(to)}" opacity=".4"/>`,
    );
    return `<g stroke="${COLOURS[at % COLOURS.length]}" fill="none" stroke-width="2">${whiskers.join("")}<path stroke-dasharray="${DASHES[at % DASHES.length]}" d="${path(points, x, y)}"/></g>`;
  });
  const legend = drawn.map(
    ({ name }, at) =>
      `<tspan fill="${COLOURS[at % COLOURS.length]}" dx="${at === 0 ? 0 : 12}">${escaped(name)}</tspan>`,
  );
  return [
    `<figure><svg viewBox="0 0 ${SIZE.width} ${SIZE.height}" role="img" aria-label="${escaped(title)}">`,
    `<text x="0" y="16" fill="var(--ink)" font-weight="600">${escaped(title)}</text>`,
    `<text x="${SIZE.width - SIZE.right}" y="16" text-anchor="end">${legend.join("")}</text>`,
    ...grid,
    ...ends,
    ...paths,
    "</svg></figure>",
  ].join("");
}

/** Smallest and largest value. A long run has more points than a call can take as arguments. */
function extent(values: readonly number[]): [number, number] {
  return values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
}

function path(points: ChartLine["points"], x: (step: number) => string, y: (value: number) => string): string {
  let pen = "M";
  return points
    .map(([step, value]) => {
      if (!Number.isFinite(value)) {
        pen = "M";
        return "";
      }
      const part = `${pen}${x(step)} ${y(value)}`;
      pen = "L";
      return part;
    })
    .join("");
}

/** At most seven characters, which fit left of the axis. */
function short(value: number): string {
  const size = Math.abs(value);
  return size !== 0 && (size < 0.01 || size >= 10_000) ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}
