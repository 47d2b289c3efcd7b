import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerKey, type EvalFacts, openEvalFolder } from "../../../scripts/lib/eval-folder.ts";
import { type SuiteRow, suiteDifferences, suiteScores } from "../../../src/engine/eval/benchmarks/suite-scores.ts";
import { SUITES } from "../../../src/engine/eval/benchmarks/suites.ts";

let place: string;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "eval-"));
});
afterAll(() => rm(place, { recursive: true }));

function masks(counts: readonly (readonly [intersection: number, union: number])[]): SuiteRow[] {
  return counts.map(([intersection, union], at) => ({
    rowId: `r${at}`,
    imageId: `p${at >> 1}`,
    reference: "a cat",
    overlap: { intersection, union },
  }));
}

test("masks: pixels together, mean of rows, and their paired differences", () => {
  const [before, after] = [
    masks([
      [1, 4],
      [2, 4],
      [100, 100],
      [0, 8],
    ]),
    masks([
      [2, 4],
      [3, 4],
      [100, 100],
      [4, 8],
    ]),
  ];
  const found = Object.fromEntries(suiteScores(before).map(({ metric, value }) => [metric, value]));
  expect(found.cIoU).toBeCloseTo(103 / 116, 12);
  expect(found.gIoU).toBeCloseTo((0.25 + 0.5 + 1) / 4, 12);
  expect(found["P@0.5"]).toBe(0.5);
  const [ciou, giou] = suiteDifferences(before, after);
  expect(ciou?.value).toBeCloseTo(6 / 116, 12);
  expect(giou?.value).toBeCloseTo((0.25 + 0.25 + 0.5) / 4, 12);
  // Both pictures gain a quarter of their rows' IoU, so every sample of pictures does.
  expect([giou?.low, giou?.high]).toEqual([0.25, 0.25]);
});

test("captions: CIDEr-D with the document frequencies of the whole set", () => {
  const rows = ["a black cat on a desk", "a grey gull in the sky"].map((reference, at) => ({
    rowId: `r${at}`,
    imageId: `p${at}`,
    reference,
    caption: at === 0 ? "A black cat on a desk." : "a red bus",
  }));
  const [score] = suiteScores(rows);
  expect(score?.metric).toBe("CIDEr-D");
  expect(score?.value).toBeCloseTo(5, 9);
  expect([score?.low, score?.high]).toEqual([0, expect.closeTo(10, 9)]);
});

test("an evaluation goes on in its folder, a cut line is asked again, another one is refused", async () => {
  const facts: EvalFacts = {
    suite: "masks",
    split: null,
    answers: "forced",
    model: { name: "m", hash: "1" },
    adapter: null,
    rows: 4,
    rowsHash: "2",
  };
  const out = join(place, "out");
  const rows = masks([
    [1, 4],
    [2, 4],
  ]);
  await (await openEvalFolder(out, facts)).add("base", rows);
  const file = join(out, "rows.jsonl");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.slice(0, -10));
  const again = await openEvalFolder(out, facts);
  expect([...again.answers.keys()]).toEqual([answerKey("base", "r0")]);
  await again.add("base", rows.slice(1));
  expect(await readFile(file, "utf8")).toBe(text);
  await expect(openEvalFolder(out, { ...facts, rowsHash: "3" })).rejects.toThrow(
    `${out} holds another evaluation (other rowsHash); name another --out`,
  );
});

test("published numbers name their model and source, and belong to a split", () => {
  const published = SUITES.flatMap(({ published }) => Object.entries(published));
  expect(published.length).toBe(8);
  for (const [split, scores] of published) {
    expect(split).toMatch(/^(val|test|testA|testB)$/);
    for (const { model, value, source } of scores) {
      expect(model).not.toBe("");
      expect(source).toMatch(/card|paper/);
      expect(value).toBeGreaterThan(50);
      expect(value).toBeLessThan(100);
    }
  }
});
