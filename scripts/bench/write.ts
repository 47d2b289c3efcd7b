/** Puts the kernels suite's table of one adapter into docs/performance.md; the rest of the page stays. */
import { readFile, writeFile } from "node:fs/promises";
import { LabError } from "../../src/engine/errors.ts";
import { type BenchRow, geometricMean } from "./measure.ts";

const END = "<!-- end of table -->";
/** Where tables of adapters that have none yet go. */
const HEADING = "## Kernels\n";

function cell(value: number | undefined, digits: number): string {
  return value === undefined ? "–" : value.toFixed(digits);
}

/** The table, its marks and what its last lines sum up. */
export function tableOf(adapter: string, rows: readonly BenchRow[], peak: number): string {
  const lines = rows.map((row) => {
    const range = `${row.ratio_stock.toFixed(1)} (${row.ratio_range.map((ratio) => ratio.toFixed(1)).join(" to ")})`;
    const share = row.peak_fraction === undefined ? "–" : `${(100 * row.peak_fraction).toFixed(1)} %`;
    return `| ${row.case} | ${cell(row.own_ms, 2)} | ${cell(row.stock_ms, 2)} | ${range} | ${cell(row.jaxjs_ms, 2)} | ${cell(row.ratio_jaxjs, 1)} | ${share} |`;
  });
  const peers = rows.flatMap(({ ratio_jaxjs }) => (ratio_jaxjs === undefined ? [] : [ratio_jaxjs]));
  const all = [`geometric mean against stock ${geometricMean(rows.map((row) => row.ratio_stock)).toFixed(1)}`];
  if (peers.length > 0) all.push(`against jax-js ${geometricMean(peers).toFixed(2)} over ${peers.length} cases`);
  return [
    `<!-- kernels on ${adapter} -->`,
    `### ${adapter}`,
    "",
    `Measured multiply-add rate ${(peak / 1e9).toFixed(0)} GFLOP/s; at most ${Math.max(...rows.map((row) => row.rounds))} rounds; ${all.join(", ")}.`,
    "",
    "| case | own ms | stock ms | times faster | jax-js ms | times faster | share of the rate |",
    "|---|---|---|---|---|---|---|",
    ...lines,
    END,
  ].join("\n");
}

/** The page with the adapter's table in it: in the place of its last one, else below the heading of the kernels. */
export function withTable(page: string, adapter: string, table: string): string {
  const start = page.indexOf(`<!-- kernels on ${adapter} -->`);
  if (start >= 0) {
    const end = page.indexOf(END, start);
    if (end < 0)
      throw new LabError("bad-input", "docs/performance.md has a table without its end mark", { subject: adapter });
    return page.slice(0, start) + table + page.slice(end + END.length);
  }
  const heading = page.indexOf(HEADING);
  if (heading < 0)
    throw new LabError("bad-input", 'docs/performance.md has no heading "## Kernels"', { subject: adapter });
  const at = heading + HEADING.length;
  return `${page.slice(0, at)}\n${table}\n${page.slice(at)}`;
}

export async function writeTable(
  path: string,
  adapter: string,
  rows: readonly BenchRow[],
  peak: number,
): Promise<void> {
  await writeFile(path, withTable(await readFile(path, "utf8"), adapter, tableOf(adapter, rows, peak)));
}
