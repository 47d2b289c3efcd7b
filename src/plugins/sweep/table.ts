/** The results of a sweep as a Markdown table. */

import { differenceText, fewPicturesText, verdict } from "../../engine/runs/evaluations/difference-text.ts";
import type { ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { Interval } from "../../engine/runs/evaluations/evaluations.ts";
import type { MetricResult, VariantResult } from "./results.ts";

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
    results.flatMap(({ variant, rows, metrics: found }) => {
      const result = found[metric];
      if (result === undefined) return [];
      const { start, all, runs, seeds } = result;
      const rises = seeds.filter(({ difference }) => verdict(difference, result.images) === "better").length;
      return [
        [
          variant,
          metric,
          rowsText(result, rows),
          start.toFixed(3),
          all === null ? "–" : markedDifference(all, result.images),
          runs === null ? "–" : markedDifference(runs, result.images),
          `${rises} of ${seeds.length}`,
          seeds.map(({ seed, difference }) => `${seed}: ${markedDifference(difference, result.images)}`).join("; "),
        ],
      ];
    }),
  );
  const few = fewPicturesNotes(results).map((note) => `\n${note}`);
  return [line(head), line(head.map(() => "---")), ...body.map(line), ...few].join("\n");
}

/** Rows and pictures of a score. @param all rows of the variant, some of which may lack the score */
export function rowsText({ rows, images }: MetricResult, all: number): string {
  return `${rows === all ? rows : `${rows} of ${all}`} (${images})`;
}

/** A warning for each variant with few pictures. */
export function fewPicturesNotes(results: readonly Pick<VariantResult, "variant" | "images">[]): readonly string[] {
  const notes = results.map(({ variant, images }) => [variant, fewPicturesText(images)] as const);
  return notes.flatMap(([variant, few]) => (few === "" ? [] : [`${variant}: ${few}`]));
}

/** `differenceText` in Markdown: bold if `verdict` finds it better or worse. */
export function markedDifference(difference: Interval, pictures: number): string {
  const text = differenceText(difference);
  return verdict(difference, pictures) === "open" ? text : `**${text}**`;
}
