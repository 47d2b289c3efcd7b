/** The results of a sweep as a Markdown table. */
import type { ScoreId } from "../runs/evaluations/evaluation-scores.ts";
import type { Interval } from "../runs/evaluations/evaluations.ts";
import type { VariantResult } from "./results.ts";

/** One row per variant and score: the score at the start, its difference over seeds and pictures, and per seed. */
export function sweepTable(results: readonly VariantResult[], metrics: readonly ScoreId[]): string {
  const line = (cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;
  const head = [
    "variant",
    "score",
    "rows (pictures)",
    "start",
    "difference over seeds",
    "between runs (t)",
    "rises in",
    "by seed",
  ];
  const body = metrics.flatMap((metric) =>
    results.flatMap(({ variant, rows, images, metrics: found }) => {
      const result = found[metric];
      if (result === undefined) return [];
      const { start, all, runs, seeds } = result;
      const rises = seeds.filter(({ difference }) => difference.low > 0 && difference.high > difference.low).length;
      return [
        [
          variant,
          metric,
          `${rows} (${images})`,
          start.toFixed(3),
          all === null ? "–" : differenceText(all),
          runs === null ? "–" : differenceText(runs),
          `${rises} of ${seeds.length}`,
          seeds.map(({ seed, difference }) => `${seed}: ${differenceText(difference)}`).join("; "),
        ],
      ];
    }),
  );
  return [line(head), line(head.map(() => "---")), ...body.map(line)].join("\n");
}

/** Bold if the interval is on one side of 0. A difference over one picture, or of unchanged scores, has no interval. */
export function differenceText({ mean, low, high }: Interval): string {
  if (low === high) return `${signed(mean)} (${mean === 0 ? "no change" : "no interval"})`;
  const text = `${signed(mean)} (${signed(low)} to ${signed(high)})`;
  return low > 0 || high < 0 ? `**${text}**` : text;
}

/** Three decimals with a sign; a value that rounds to 0 has no sign. */
export function signed(value: number): string {
  const digits = Math.abs(value).toFixed(3);
  return Number(digits) === 0 ? digits : `${value > 0 ? "+" : "−"}${digits}`;
}
