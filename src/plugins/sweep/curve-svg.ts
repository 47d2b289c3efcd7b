/** Evaluations as one picture: one panel per metric, one line per run or variant, as differences from the start. */
import { escaped } from "../../engine/bytes/text.ts";
import { HELD_OUT_LOOPS } from "../../engine/rl/loops/abouts.ts";
import { EVAL_METRICS, type EvalMetric, type Interval } from "../../engine/runs/evaluations/evaluations.ts";
import type { VariantResult } from "./results.ts";

export interface RunCurve {
  readonly name: string;
  /** In order of steps; the first is the start and has no difference. */
  readonly evaluations: readonly {
    readonly step: number;
    readonly difference: Readonly<Partial<Record<EvalMetric, Interval>>> | null;
  }[];
}

const PANEL = { width: 300, height: 170, left: 46, top: 30, right: 12, bottom: 26 } as const;
const COLUMNS = 3;
/** Distinguishable with colour blindness and on paper. */
const COLOURS = ["#0b5cad", "#c2410c", "#15803d", "#7e22ce", "#52525b", "#a16207"] as const;
const TITLES: Readonly<Record<EvalMetric, string>> = {
  ...(Object.fromEntries(
    HELD_OUT_LOOPS.flatMap(({ id }) => [
      [`loop${id}_greedy`, `loop ${id}, greedy`],
      [`loop${id}_sampled`, `loop ${id}, sampled`],
    ]),
  ) as Readonly<Record<Exclude<EvalMetric, "grounding_iou" | "caption_meteor">, string>>),
  grounding_iou: "phrase to mask, IoU",
  caption_meteor: "mask to caption, METEOR",
};

/**
 * Variants of a sweep as curves: means over seeds at the steps that every seed was evaluated at; the last has the interval over
 * seeds and pictures, or over pictures for a single seed.
 */
export function variantCurves(results: readonly VariantResult[]): RunCurve[] {
  return results.map(({ variant, jobs, metrics }) => {
    const [first] = jobs;
    const bySeed = jobs.map(({ evaluations }) => new Map(evaluations.map((report) => [report.step, report])));
    const steps = (first?.evaluations ?? [])
      .map(({ step }) => step)
      .filter((step) => bySeed.every((own) => own.has(step)));
    const evaluations = steps.map((step) => {
      const differences = bySeed.flatMap((own) => own.get(step)?.difference ?? []);
      if (differences.length < bySeed.length) return { step, difference: null };
      const means = EVAL_METRICS.map((metric) => {
        const mean = differences.reduce((sum, difference) => sum + difference[metric].mean, 0) / differences.length;
        const found = metrics[metric];
        const interval = step === steps.at(-1) ? (found?.all ?? found?.seeds[0]?.difference) : undefined;
        return [metric, interval ?? { mean, low: mean, high: mean }] as const;
      });
      return { step, difference: Object.fromEntries(means) };
    });
    return { name: variant, evaluations };
  });
}

/**
 * An SVG document; whiskers are the 95 % interval of the last evaluation. All panels share one scale.
 * @param metrics a panel each
 */
export function curveSvg(runs: readonly RunCurve[], metrics: readonly EvalMetric[] = EVAL_METRICS): string {
  const points = runs.flatMap(({ evaluations }) => evaluations.flatMap(({ difference }) => difference ?? []));
  const values = points.flatMap((point) =>
    metrics.flatMap((metric) => {
      const interval = point[metric];
      return interval === undefined ? [] : [interval.low, interval.high];
    }),
  );
  const scale = {
    low: Math.min(-0.05, ...values),
    high: Math.max(0.05, ...values),
    steps: Math.max(1, ...runs.map(({ evaluations }) => evaluations.at(-1)?.step ?? 0)),
  };
  const columns = Math.min(COLUMNS, metrics.length);
  const rows = Math.ceil(metrics.length / columns);
  const [width, height] = [columns * PANEL.width, rows * PANEL.height + 26];
  const panels = metrics.map((metric, i) => {
    const [x, y] = [(i % columns) * PANEL.width, Math.floor(i / columns) * PANEL.height];
    return `<g transform="translate(${x} ${y})">${panel(metric, runs, scale)}</g>`;
  });
  const legend = runs.map(
    ({ name }, i) =>
      `<g transform="translate(${PANEL.left + Math.round((i * (width - PANEL.left)) / runs.length)} ${height - 10})"><line x2="22" y1="-4" y2="-4" ${stroke(i)}/><text x="28" fill="#333">${escaped(name)}</text></g>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="sans-serif" font-size="11">`,
    "<title>Held-out rows: difference from the start over training steps</title>",
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    ...panels,
    ...legend,
    "</svg>",
    "",
  ].join("\n");
}

interface Scale {
  readonly low: number;
  readonly high: number;
  readonly steps: number;
}

function panel(metric: EvalMetric, runs: readonly RunCurve[], { low, high, steps }: Scale): string {
  const x = (step: number) => (PANEL.left + (step / steps) * (PANEL.width - PANEL.left - PANEL.right)).toFixed(1);
  const y = (value: number) =>
    (PANEL.top + ((high - value) / (high - low)) * (PANEL.height - PANEL.top - PANEL.bottom)).toFixed(1);
  const grid = ticks(low, high).map(
    (tick) =>
      `<line x1="${x(0)}" x2="${x(steps)}" y1="${y(tick)}" y2="${y(tick)}" stroke="${tick === 0 ? "#777" : "#ddd"}"/><text x="${PANEL.left - 6}" y="${Number(y(tick)) + 4}" text-anchor="end" fill="#444">${tick === 0 ? "0" : tick.toFixed(2)}</text>`,
  );
  const ends = [0, steps].map(
    (step) => `<text x="${x(step)}" y="${PANEL.height - 10}" text-anchor="middle" fill="#444">${step}</text>`,
  );
  const lines = runs.map(({ evaluations }, i) => {
    const line = evaluations.map(({ step, difference }) => `${x(step)},${y(difference?.[metric]?.mean ?? 0)}`);
    const last = evaluations.at(-1);
    const interval = last?.difference?.[metric];
    // Side by side, so that whiskers of runs that end at the same step do not hide each other.
    const at = (Number(x(last?.step ?? 0)) - 4 * (runs.length - 1 - i)).toFixed(1);
    const whisker =
      interval === undefined
        ? ""
        : `<line x1="${at}" x2="${at}" y1="${y(interval.low)}" y2="${y(interval.high)}" stroke="${colour(i)}" stroke-opacity="0.5"/>`;
    return `<polyline points="${line.join(" ")}" fill="none" ${stroke(i)}/>${whisker}`;
  });
  const title = `<text x="${PANEL.left}" y="18" fill="#111" font-weight="600">${TITLES[metric]}</text>`;
  return [title, ...grid, ...ends, ...lines].join("");
}

function ticks(low: number, high: number): number[] {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((size) => (high - low) / size <= 6) ?? 1;
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

/** Dashed where the colours begin again. */
function stroke(run: number): string {
  const dashes = run < COLOURS.length ? "" : ' stroke-dasharray="5 3"';
  return `stroke="${colour(run)}" stroke-width="2"${dashes}`;
}

function colour(run: number): string {
  return COLOURS[run % COLOURS.length] as string;
}
