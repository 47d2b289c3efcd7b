/** Puts a suite's table of one adapter into docs/performance.md; the rest of the page stays. */
import { readFile, writeFile } from "node:fs/promises";
import { LabError } from "../../src/engine/errors.ts";
import type { Suite } from "../context.ts";
import type { Rates } from "../peak.ts";
import { type BenchRow, summaryOf } from "../row.ts";

const END = "<!-- end of table -->";
/** Where tables go that have no place yet: directly below these headings. */
const HEADINGS: Readonly<Record<Suite, string>> = {
  kernels: "## Kernels\n",
  decode: "## Cached decoding\n",
  step: "## A training step\n",
};

export interface TableFacts {
  readonly suite: Suite;
  /** Of one adapter in one place; at least one. */
  readonly rows: readonly BenchRow[];
  /** Floating-point operations a second; 0 what was not measured. */
  readonly rates: Rates;
  readonly leftOut: readonly string[];
  /** The times are the processors', not the wall's. */
  readonly processorTime: boolean;
}

interface Column {
  readonly head: string;
  readonly cell: (row: BenchRow) => string | undefined;
}

const number = (value: number | undefined, digits: number): string | undefined => value?.toFixed(digits);

const percent = (value: number | undefined): string | undefined =>
  value === undefined ? undefined : `${(100 * value).toFixed(1)} %`;

const COLUMNS: readonly Column[] = [
  { head: "own ms", cell: (row) => number(row.own_ms, 2) },
  { head: "stock ms", cell: (row) => number(row.stock_ms, 2) },
  {
    head: "times faster",
    cell: ({ ratio_stock, ratio_range }) =>
      ratio_stock === undefined
        ? undefined
        : `${ratio_stock.toFixed(1)} (${(ratio_range ?? []).map((ratio) => ratio.toFixed(1)).join(" to ")})`,
  },
  { head: "jax-js ms", cell: (row) => number(row.jaxjs_ms, 2) },
  { head: "times faster", cell: (row) => number(row.ratio_jaxjs, 2) },
  { head: "onnxruntime ms", cell: (row) => number(row.ort_ms, 2) },
  {
    head: "times faster",
    cell: ({ ratio_ort, ort_error }) => number(ratio_ort, 2)?.concat(ort_error === undefined ? "" : " *"),
  },
  { head: "share of the rate", cell: (row) => percent(row.peak_fraction) },
  { head: "of greedy speed", cell: (row) => number(row.ratio_greedy, 2) },
  { head: "times one row's tokens", cell: (row) => number(row.ratio_group, 1) },
];

const giga = (rate: number): string => (rate / 1e9).toFixed(0);

function placeOf({ adapter, where }: BenchRow): string {
  return `${adapter}, ${where === "chromium" ? "in Chromium" : "under Node"}`;
}

const startOf = (suite: Suite, place: string): string => `<!-- ${suite} on ${place} -->`;

function footnote(rows: readonly BenchRow[]): string {
  const wrong = rows.flatMap(({ case: name, ort_error: error }) =>
    error === undefined ? [] : [`${name} by ${error.toPrecision(1)}`],
  );
  return `onnxruntime-web's result differs from ours and the stock ops': ${wrong.join(", ")} of its size.`;
}

/** The table, its marks and what sums it up; columns that no row fills are left out. */
export function tableOf({ suite, rows, rates, leftOut, processorTime }: TableFacts): string {
  const place = placeOf(rows[0] as BenchRow);
  const columns = COLUMNS.filter(({ cell }) => rows.some((row) => cell(row) !== undefined));
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const most = Math.max(...rows.map((row) => row.rounds));
  const facts = [
    ...(rates.f32 > 0 ? [`measured multiply-add rate ${giga(rates.f32)} GFLOP/s`] : []),
    ...(rates.f16 > 0 ? [`in half precision ${giga(rates.f16)} GFLOP/s`] : []),
    processorTime ? "processor time" : "wall time",
    most === 1 ? "one round" : `at most ${most} rounds`,
    ...(rows.length > 1 && suite === "kernels" ? [`geometric mean ${summaryOf(rows)}`] : []),
  ].join("; ");
  return [
    startOf(suite, place),
    `### ${place}`,
    "",
    `${facts.charAt(0).toUpperCase()}${facts.slice(1)}.`,
    "",
    line(["case", ...columns.map(({ head }) => head)]),
    line(["---", ...columns.map(() => "---")]),
    ...rows.map((row) => line([row.case, ...columns.map(({ cell }) => cell(row) ?? "–")])),
    ...(rows.some((row) => row.ort_error !== undefined) ? ["", `\\* ${footnote(rows)}`] : []),
    ...(leftOut.length === 0 ? [] : ["", `Left out: ${leftOut.join("; ")}.`]),
    END,
  ].join("\n");
}

/**
 * The page with the table in it: in the place of the last one of that suite and adapter, else at the end of the suite's
 * part of the page.
 * @throws LabError("bad-input") when the page has neither
 */
export function withTable(page: string, facts: TableFacts): string {
  const { suite, rows } = facts;
  const table = tableOf(facts);
  const start = page.indexOf(startOf(suite, placeOf(rows[0] as BenchRow)));
  if (start >= 0) {
    const end = page.indexOf(END, start);
    if (end < 0) {
      throw new LabError("bad-input", "docs/performance.md has a table without its end mark", { subject: suite });
    }
    return page.slice(0, start) + table + page.slice(end + END.length);
  }
  const heading = page.indexOf(HEADINGS[suite]);
  if (heading < 0) {
    const text = `docs/performance.md has no heading "${HEADINGS[suite].trim()}"`;
    throw new LabError("bad-input", text, { subject: suite });
  }
  const next = page.indexOf("\n## ", heading + HEADINGS[suite].length);
  const [before, after] = next < 0 ? [page, ""] : [page.slice(0, next), page.slice(next)];
  return `${before.trimEnd()}\n\n${table}\n${after}`;
}

export async function writeTable(path: string, facts: TableFacts): Promise<void> {
  await writeFile(path, withTable(await readFile(path, "utf8"), facts));
}
