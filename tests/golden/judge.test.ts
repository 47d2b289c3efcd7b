import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { judgeParity } from "../../tools/parity/judge.ts";
import type { ParityRow } from "../../tools/parity/row.ts";

const FOLDER = fileURLToPath(new URL("./judge/", import.meta.url));

async function rowsOf(folder: Parameters<typeof judgeParity>[0]): Promise<ParityRow[]> {
  const rows: ParityRow[] = [];
  for await (const row of judgeParity(folder)) rows.push(row);
  return rows;
}

test("every stored answer and caption score equals the reference, with no verdict where it stops", async () => {
  const folder = await nodeFolder(FOLDER);
  const rows = await rowsOf(folder);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // 46 answers, 13 captions; 5 answers and 3 captions have no verdict.
  expect(rows.length).toBe(59);
  expect(rows.filter((row) => row.what === "no verdict").length).toBe(8);
});

test("wrong expectations and unknown cases fail with the place", async () => {
  const questions = [{ type: "recognition", question: "?", choices: [["Yes", "correct"]] }];
  const rows = await rowsOf(
    memoryFolder({
      "a.json": JSON.stringify({ cases: [{ response: "A", choices: ["Yes", "No"], index: 1 }] }),
      "b.json": JSON.stringify({ cases: [{ name: "bare", questions, responses: ["A"], score: 1 }, {}] }),
      "c.json": "[]",
    }),
  );
  expect(rows.map((row) => [row.case, row.pass, row.note])).toEqual([
    ["a.json case 0", false, "choice: expected 1, got 0"],
    ["b.json bare", false, "no verdict: there is no positive question"],
    ["b.json case 1", false, "the case is neither an answer with choices nor a list of questions"],
    ["c.json", false, "there are no judge cases in it"],
  ]);
});
