import { expect, test } from "vitest";
import { filterOptions, filterRows, NO_FILTER, offeredFilter } from "../../../src/app/screens/data/row-filter.ts";
import type { RegionSummary } from "../../../src/engine/data/sample.ts";
import type { SetInfo } from "../../../src/engine/data/set-info.ts";

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
  rows: 1,
  images: 1,
  skipped: [],
  files: shards.map((path) => ({ ...FILE, path })),
  ignored: [],
  categories: categories.map((name) => [name, 1] as const),
  checks: [],
});
const row = { id: "b.arrow#0", file: "b.arrow", caption: "a dog", category: ["dog"] } as unknown as RegionSummary;

test("a choice that a data set does not offer hides none of its rows", () => {
  const chosen = { ...NO_FILTER, category: "cat", shard: "a-2.arrow", order: "largest" } as const;
  const before = offeredFilter(chosen, filterOptions(info(["a-1.arrow", "a-2.arrow"], ["cat"])));
  expect(before).toEqual(chosen);
  const after = offeredFilter(chosen, filterOptions(info(["b.arrow"], ["dog"])));
  expect(after).toEqual({ ...NO_FILTER, order: "largest" });
  expect(filterRows([row], after)).toEqual([row]);
});

test("a single shard and a set that is being read offer nothing", () => {
  expect(filterOptions(info(["b.arrow"], []))).toEqual({ categories: [], shards: [] });
  expect(filterOptions(null)).toEqual({ categories: [], shards: [] });
  expect(offeredFilter({ ...NO_FILTER, shard: "b.arrow" }, filterOptions(info(["b.arrow"], []))).shard).toBe("");
  expect(offeredFilter({ ...NO_FILTER, search: "dog" }, filterOptions(null)).search).toBe("dog");
});
