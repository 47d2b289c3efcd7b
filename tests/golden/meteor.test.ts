import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { meteorParity } from "../../tools/parity/meteor.ts";
import type { ParityRow } from "../../tools/parity/row.ts";

const FOLDER = fileURLToPath(new URL("./meteor/", import.meta.url));
const wordnet = new Uint8Array(await readFile(new URL("../../public/wordnet/wordnet30.txt", import.meta.url)));

async function rowsOf(folder: Parameters<typeof meteorParity>[0]): Promise<ParityRow[]> {
  const rows: ParityRow[] = [];
  for await (const row of meteorParity(folder, { wordnet })) rows.push(row);
  return rows;
}

test("every stored score, alignment, token list, stem and synonym set equals the reference", async () => {
  const folder = await nodeFolder(FOLDER);
  const rows = await rowsOf(folder);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  const count = (file: string): number => rows.filter((row) => row.case.startsWith(file)).length;
  expect(["pairs", "variants", "tokens", "stems", "synonyms"].map(count)).toEqual([352, 34, 16, 1, 1]);
  expect(rows.find((row) => row.case === "stems.json stems")?.what).toBe("1449 stems");
  expect(Math.max(...rows.map((row) => row.maxAbs))).toBeLessThan(1e-15);
});

test("wrong expectations, cases without any and unknown files fail with the place", async () => {
  const pair = { reference: "a dog", hypothesis: "a dog" };
  const rows = await rowsOf(
    memoryFolder({
      "a.json": JSON.stringify({ cases: [{ ...pair, id: "x", score: 0.9375 + 2e-12, chunks: 2 }, pair] }),
      "b.json": JSON.stringify({ stems: { dogs: "dogs", cats: "cat" } }),
      "c.json": JSON.stringify({ lemmas: { dog: ["cat"] }, none: ["dog"] }),
      "d.json": "{}",
    }),
  );
  expect(rows.map((row) => [row.case, row.pass])).toEqual([
    ["a.json x", false],
    ["a.json 1", false],
    ["b.json stems", false],
    ["c.json synonyms", false],
    ["d.json", false],
  ]);
  expect(rows[0]?.note).toContain("chunks: expected 2, got 1; score: expected");
  expect(rows[1]?.note).toBe("the case states nothing to compare");
  expect(rows[2]).toMatchObject({ maxAbs: 1, note: 'stems of "dogs": expected "dogs", got "dog"' });
  expect(rows[3]?.maxAbs).toBe(2);
});
