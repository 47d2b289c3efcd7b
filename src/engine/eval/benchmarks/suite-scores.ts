/** Scores of a suite from its rows, one system or two on the same rows, with intervals over pictures. */
import { bootstrap } from "../bootstrap.ts";
import { cider } from "./cider.ts";
import { ptbTokens } from "./ptb-tokens.ts";
import { type Overlap, PRECISION_BOUNDS, referringScores } from "./referring.ts";
import { cleanRegionCaption } from "./region-text.ts";

/** What a system answered for one row: pixel counts of its mask, or its caption. */
export interface SuiteRow {
  readonly rowId: string;
  readonly imageId: string;
  readonly reference: string;
  /** Of suites of masks. */
  readonly overlap?: Overlap;
  /** Of suites of captions. */
  readonly caption?: string;
}

/** A score of one system, 0..1 (CIDEr-D 0..10), with its 95 % interval over pictures. */
export interface SuiteScore {
  readonly metric: string;
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** Draws of the bootstrap do not depend on anything of a run. */
const SEED = 20_260_101;

type Statistic = (rows: readonly number[]) => number;

/** Metrics of a set of rows, as functions of row numbers: per-row values are computed once on the full set. */
function statistics(rows: readonly SuiteRow[]): readonly (readonly [string, Statistic])[] {
  const mean =
    (values: readonly number[]): Statistic =>
    (chosen) =>
      chosen.reduce((sum, row) => sum + (values[row] as number), 0) / chosen.length;
  if (rows.some(({ caption }) => caption !== undefined)) {
    const items = rows.map(({ reference, caption = "" }) => ({
      references: [ptbTokens(reference)],
      hypothesis: ptbTokens(cleanRegionCaption(caption, "glamm")),
    }));
    return [["CIDEr-D", mean(cider(items).scores)]];
  }
  const overlaps = rows.map(({ overlap }) => overlap ?? null);
  const one = overlaps.map((overlap) => referringScores([overlap]));
  return [
    ["cIoU", (chosen) => referringScores(chosen.map((row) => overlaps[row] ?? null)).ciou],
    ["gIoU", mean(one.map(({ giou }) => giou))],
    ...PRECISION_BOUNDS.map((bound) => {
      const reached = one.map(({ precision }) => precision[String(bound)] as number);
      return [`P@${bound}`, mean(reached)] as const;
    }),
  ];
}

/** @param rows at least one */
export function suiteScores(rows: readonly SuiteRow[]): SuiteScore[] {
  const images = rows.map(({ imageId }) => imageId);
  return statistics(rows).map(([metric, statistic]) => {
    const { mean: value, low, high } = bootstrap(images, SEED, statistic);
    return { metric, value, low, high };
  });
}

/** Differences `after` − `before`, paired by row. @param before the same rows in the same order, at least one */
export function suiteDifferences(before: readonly SuiteRow[], after: readonly SuiteRow[]): SuiteScore[] {
  const images = before.map(({ imageId }) => imageId);
  const other = statistics(after);
  return statistics(before).map(([metric, statistic], at) => {
    const then = other[at]?.[1] as Statistic;
    const { mean: value, low, high } = bootstrap(images, SEED, (rows) => then(rows) - statistic(rows));
    return { metric, value, low, high };
  });
}
