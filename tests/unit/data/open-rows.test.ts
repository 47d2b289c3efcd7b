import { expect, test } from "vitest";
import { findRow, isStoredRow, rowsHash } from "../../../src/engine/data/open-rows.ts";
import { describeData } from "../../../src/engine/rl/run/start/run-facts.ts";

const row = (id: string, imageId: string) => ({ id, imageId });
const NAME = "data-00000-of-00001.arrow#0";

test("a stored row is the open one of its id only when the picture is the same", () => {
  const open = row(NAME, "aa");
  expect(isStoredRow(open, { rowId: NAME, imageId: "aa" })).toBe(true);
  expect(isStoredRow(open, { rowId: NAME, imageId: "bb" })).toBe(false);
  expect(isStoredRow(open, { rowId: `${NAME}/1`, imageId: "aa" })).toBe(false);
  // A file of another program names rows alone.
  expect(isStoredRow(open, { rowId: NAME, imageId: null })).toBe(true);
});

test("a row of another data set is refused by name, not taken for its namesake", () => {
  const byId = new Map([[NAME, row(NAME, "aa")]]);
  expect(findRow(byId, NAME, "aa").imageId).toBe("aa");
  expect(findRow(byId, NAME, null).imageId).toBe("aa");
  expect(() => findRow(byId, NAME, "bb")).toThrow(/data-00000-of-00001\.arrow#0 of the open data set has another/);
  expect(() => findRow(byId, "other#1", null)).toThrow(/Row other#1 is not in the open data set/);
});

test("rows have the hash that a run's manifest keeps, and another with other pictures", async () => {
  const rows = [[NAME, "aa"] as const];
  const { hash } = await describeData({ dataSet: "a", rows }, { train: [0], heldOut: [] }, { rowFilter: "" });
  expect(await rowsHash(rows)).toBe(hash);
  expect(await rowsHash([[NAME, "bb"]])).not.toBe(hash);
});
