import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { rleParity } from "../../tools/parity/rle.ts";

const FOLDER = fileURLToPath(new URL("./rle/", import.meta.url));

test("every stored mask, polygon, merge and pair equals the reference", async () => {
  const folder = await nodeFolder(FOLDER);
  const rows = [];
  for await (const row of rleParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // 43 + 11 + 33 + 4 masks, 10 polygons, 5 boxes, 9 merges, 120 pairs, 1 pair of different size.
  expect(rows.length).toBe(236);
});

test("a wrong expectation and an unknown file fail with the place", async () => {
  const folder = memoryFolder({
    "a.json": JSON.stringify({ cases: [{ name: "dot", size: [3, 4], rle: { size: [3, 4], counts: "714" }, area: 2 }] }),
    "b.json": JSON.stringify({ cases: [{ name: "long", size: [1, 1], rle: { size: [3, 4], counts: "714" } }] }),
    "c.json": "{}",
  });
  const rows = [];
  for await (const row of rleParity(folder)) rows.push(row);
  expect(rows.map((row) => [row.case, row.pass])).toEqual([
    ["a.json dot", false],
    ["b.json long", false],
    ["c.json", false],
  ]);
  expect(rows[0]?.note).toContain("area: expected 2, got 1");
});
