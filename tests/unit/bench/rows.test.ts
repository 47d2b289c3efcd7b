/** The bench's rows: statistics of times, printed lines, and tables inserted into pages. */
import { describe, expect, it } from "vitest";
import { relativeError } from "../../../bench/cases/opened.ts";
import { type BenchRow, benchRow, geometricMean, meanRatio, median, summaryOf } from "../../../bench/row.ts";
import { rowLine } from "../../../bench/tool/print.ts";
import { factsName, factsText, type TableFacts, tableOf, tablesPage } from "../../../bench/tool/tables.ts";
import { inTurn } from "../../../bench/turns.ts";

const NAMES = { suite: "kernels", case: "matmul", adapter: "some adapter", where: "node" } as const;

describe("a row", () => {
  it("takes the median of the ratios of neighbouring rounds, not the ratio of medians", () => {
    // A load that doubled both times of the second round is in no ratio.
    const row = benchRow(NAMES, { own: [1, 2, 1], stock: [4, 8, 5], jaxjs: [2, 2, 2] });
    expect(row).toMatchObject({
      own_ms: 1,
      stock_ms: 5,
      ratio_stock: 4,
      ratio_range: [4, 5],
      ratio_jaxjs: 2,
      rounds: 3,
    });
    expect("ratio_ort" in row).toBe(false);
  });

  it("leaves out baselines that were not measured", () => {
    const row = benchRow(NAMES, { own: [3] });
    expect(Object.keys(row).sort()).toEqual(["adapter", "case", "own_ms", "rounds", "suite", "where"]);
    expect(rowLine(row)).toMatch(/^matmul +3\.00 ms$/);
  });

  it("says the share of the peak where arithmetic and peak are known", () => {
    expect(benchRow(NAMES, { own: [2] }, 4e6, 1e10).peak_fraction).toBeCloseTo(0.2);
    expect(benchRow(NAMES, { own: [2] }, 4e6, 0).peak_fraction).toBeUndefined();
    expect(benchRow(NAMES, { own: [2] }, undefined, 1e10).peak_fraction).toBeUndefined();
  });

  it("has medians of odd and even numbers of rounds, and of none", () => {
    expect(median([5, 1, 3])).toBe(3);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNaN();
  });
});

describe("the summary", () => {
  const rows: BenchRow[] = [
    benchRow(NAMES, { own: [1], stock: [2], jaxjs: [1] }),
    benchRow(NAMES, { own: [1], stock: [8], ort: [3] }),
  ];

  it("is a geometric mean over the rows that have the peer", () => {
    expect(geometricMean([2, 8])).toBeCloseTo(4);
    expect(meanRatio(rows, "ratio_jaxjs")).toEqual({ mean: 1, cases: 1 });
    expect(summaryOf(rows)).toBe("against stock 4.00 (2 cases), jax-js 1.00 (1 case), onnxruntime-web 3.00 (1 case)");
    expect(summaryOf([])).toBe("");
  });
});

describe("the difference of another's result", () => {
  it("is relative to ours, and infinite for another shape", () => {
    expect(relativeError(Float32Array.of(3, 4), Float32Array.of(3, 4))).toBe(0);
    expect(relativeError(Float32Array.of(3, 4), Float32Array.of(3, 4.5))).toBeCloseTo(0.1);
    expect(relativeError(Float32Array.of(3, 4), Float32Array.of(3))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("timing in turn", () => {
  it("lets the first call go uncounted, takes turns, and ends with its time", async () => {
    const order: string[] = [];
    let now = 0;
    const takes = (name: string, cost: number) => async (calls: number) => {
      order.push(name);
      now += calls * cost;
    };
    const baselines = { own: takes("own", 1), stock: takes("stock", 10) };
    const times = await inTurn(baselines, { rounds: 3, budget: 1e9, clock: () => now });
    expect(times).toEqual({ own: [1, 1, 1], stock: [10, 10, 10] });
    // Compiling and a trial for each, then rounds.
    expect(order.slice(0, 6)).toEqual(["own", "own", "stock", "stock", "own", "stock"]);
    const short = await inTurn(baselines, { rounds: 3, budget: -1, clock: () => now });
    expect(short).toEqual({ own: [1], stock: [10] });
  });

  it("waits for a clock that answers later", async () => {
    let now = 0;
    const own = async (calls: number): Promise<void> => {
      now += calls;
    };
    expect(await inTurn({ own }, { rounds: 1, budget: 1, clock: async () => now })).toEqual({ own: [1] });
  });
});

describe("a table in the page", () => {
  const facts: TableFacts = {
    suite: "decode",
    rows: [
      { ...benchRow({ ...NAMES, suite: "decode", case: "one row" }, { own: [1], stock: [9] }), ratio_group: 4.25 },
      benchRow({ ...NAMES, suite: "decode", case: "group" }, { own: [2], ort: [1] }),
    ],
    rates: { f32: 0, f16: 0 },
    leftOut: ["a case: the time was up"],
    processorTime: true,
  };

  it("has the columns that a row fills, and says what was left out", () => {
    const table = tableOf(facts);
    expect(table).toContain(
      "| case | own ms | stock ms | times faster | onnxruntime ms | times faster | times one row's tokens |",
    );
    expect(table).toContain("| one row | 1.00 | 9.00 | 9.0 (9.0 to 9.0) | – | – | 4.3 |");
    expect(table).toContain("Processor time; one round.");
    expect(table).toContain("Left out: a case: the time was up.");
  });

  it("is one of a page, ordered by suite and adapter, and comes back from its JSON", () => {
    const inPage = { ...facts, rows: facts.rows.map((row) => ({ ...row, where: "chromium" as const })) };
    const page = tablesPage([facts, { ...facts, suite: "kernels" }, inPage]);
    expect(page.match(/^##+ .*$/gm)).toEqual([
      "## A training step",
      "## Cached decoding",
      "### some adapter, in Chromium",
      "### some adapter, under Node",
      "## Kernels",
      "### some adapter, under Node",
    ]);
    expect(JSON.parse(factsText(facts))).toEqual(facts);
    expect(factsName(inPage)).toBe("decode-some-adapter-chromium.json");
  });

  it("marks a result that is another one's", () => {
    const row = { ...(facts.rows[1] as BenchRow), ort_error: 0.031 };
    const table = tableOf({ ...facts, rows: [row] });
    expect(table).toContain("| 0.50 * |");
    expect(table).toMatch(/\\\* onnxruntime-web's result differs .* group by 0\.03 of its size/);
  });
});
