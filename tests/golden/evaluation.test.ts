import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/memory.ts";
import { evaluationFilesParity } from "../../tools/parity/evaluation/evaluation-files.ts";
import { evaluationParity } from "../../tools/parity/evaluation/evaluation-metrics.ts";
import { isEvaluationGolden } from "../../tools/parity/evaluation/golden.ts";
import type { ParityRow } from "../../tools/parity/row.ts";

const FOLDER = fileURLToPath(new URL("./evaluation/", import.meta.url));

async function collect(rows: AsyncIterable<ParityRow>): Promise<ParityRow[]> {
  const all: ParityRow[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

test("scores equal those of the evaluation programs of the field", async () => {
  const folder = await nodeFolder(FOLDER);
  expect(isEvaluationGolden(folder.paths)).toBe(true);
  const rows = await collect(evaluationParity(folder));
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // 12 pictures and 6 sums of masks, 7 caption sets, 40 texts, 7 cleaned captions, 19 answers, 13 pictures with phrases …
  expect(rows.length).toBe(143);
});

test("pickles, refs, tar shards and kinds of data sets are read as recorded", async () => {
  const rows = await collect(evaluationFilesParity(await nodeFolder(FOLDER)));
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // 17 pickles, 28 sentences of all splits, 7 tar archives, 25 kinds.
  expect(rows.length).toBe(79);
});

test("a part of the set alone is one as well, and a wrong number is found", async () => {
  const items = [{ id: "1", references: ["a cat on a mat"], hypothesis: "a cat on a mat", cider: 0 }];
  const sets = [{ name: "one", items, corpus: { cider: 0.5 } }];
  const folder = memoryFolder({ "cider.json": JSON.stringify({ sets }) });
  expect(isEvaluationGolden(folder.paths)).toBe(true);
  const rows = await collect(evaluationParity(folder));
  expect(rows.map(({ case: name, pass, note }) => [name, pass, note])).toEqual([
    ["caption/cider.json one", false, "corpus: expected 0.5, got 0"],
  ]);
});
