import { expect, test } from "vitest";
import { filterOptions, readFilter } from "../../../src/app/screens/data/filter-line.tsx";
import { ANY, NO_FILTER, parseRowFilter, rowFilterText } from "../../../src/engine/data/row-filter.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";
import { areaBars, countIn, wordBars } from "../../../src/plugins/data-tools/row-histograms.tsx";

const FILE = {
  bytes: 1,
  rows: 1,
  kept: 1,
  adapter: "a",
  schema: "",
  what: "",
  becomes: "",
  problem: undefined,
  parts: [],
  roles: undefined,
  split: undefined,
};

const info = (shards: readonly string[], categories: readonly string[]): SetInfo => ({
  name: "set",
  images: 1,
  skipped: [],
  files: shards.map((path) => ({ ...FILE, path })),
  ignored: [],
  categories: categories.map((name) => [name, 1] as const),
  checks: [],
  pairs: [],
});

test("what a filter names is offered as well, so that it can be undone", () => {
  const set = info(["b.arrow"], ["dog"]);
  expect(filterOptions(set, NO_FILTER)).toEqual({ categories: [["dog", 1]], shards: [] });
  const filter = { ...NO_FILTER, category: "cat", shard: "a.arrow" };
  expect(filterOptions(set, filter)).toEqual({
    categories: [
      ["cat", 0],
      ["dog", 1],
    ],
    shards: ["a.arrow", "b.arrow"],
  });
  expect(filterOptions(null, NO_FILTER)).toEqual({ categories: [], shards: [] });
});

test("a text that is no filter filters nothing, with the reason", () => {
  const { filter, problem } = readFilter("area:x");
  expect([filter, problem]).toEqual([NO_FILTER, expect.stringContaining("is not a range")]);
});

test("bars of shares are ranges with short ends, from the first with a value to the last", () => {
  const shares = [0.0004, 0.02, 0.04, 0.05, 0.06];
  const bars = areaBars(shares);
  expect([bars[0], bars[1], bars.at(-1)]).toEqual([
    [ANY[0], 0.001],
    [0.001, 0.0015],
    [0.05, 0.07],
  ]);
  // 0.02 and 0.05 lie on the end of two bars; a press on either shows as many rows as the bar counts.
  expect(countIn(shares, bars).reduce((sum, count) => sum + count, 0)).toBe(7);
  for (const area of bars) {
    expect(parseRowFilter(rowFilterText({ ...NO_FILTER, area })).area).toEqual(area);
  }
  expect(areaBars([])).toEqual([]);
});

test("bars of words share whole numbers without gaps; the longest captions share the last", () => {
  expect(wordBars([2, 3, 3, 5])).toEqual([
    [2, 2],
    [3, 3],
    [4, 4],
    [5, 5],
  ]);
  const words = [...Array.from({ length: 300 }, (_, at) => 1 + (at % 30)), 500];
  const bars = wordBars(words);
  expect(bars.length).toBe(15);
  expect([bars[0], bars.at(-1)]).toEqual([
    [1, 2],
    [29, ANY[1]],
  ]);
  expect(countIn(words, bars).reduce((sum, count) => sum + count, 0)).toBe(words.length);
});
