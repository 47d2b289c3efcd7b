import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { evaluationFilesParity } from "../../tools/parity/evaluation/evaluation-files.ts";
import { evaluationParity } from "../../tools/parity/evaluation/evaluation-metrics.ts";
import { evaluationRowsParity } from "../../tools/parity/evaluation/evaluation-rows.ts";
import { isEvaluationGolden } from "../../tools/parity/evaluation/golden.ts";
import type { ParityRow } from "../../tools/parity/row.ts";
import { testWith } from "../support/plugins.ts";

const PYTHON = process.env.PYTHON || "python3";
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
  // 12 pictures and 6 sums of masks, 7 caption sets, 47 texts, 12 cleaned captions, 19 answers, 13 pictures with phrases …
  expect(rows.length).toBe(156);
});

test("ids of pictures that are numbers are sorted by value, as pycocotools sorts them", async () => {
  const rows = await collect(evaluationParity(await nodeFolder(join(FOLDER, "numbers"))));
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBe(23);
});

/** Rows at least: 20 pictures and 9 sums of masks; 3 sets, 300 texts, 600 others; 15 pictures, sums, runs and clusters; 200 painted. */
const SCRIPTS = [
  ["make_evaluation.py", "numpy, pycocotools", 29],
  ["make_gcg.py", "numpy, pycocotools", 27, "numbers"],
  ["make_captions.py", "numpy, pycocoevalcap, shutil; assert shutil.which('java')", 903],
  ["make_gcg.py", "numpy, pycocotools", 27],
  ["make_reasonseg.py", "cv2, numpy, pycocotools", 201],
] as const;

for (const [name, needs, least, ...kind] of SCRIPTS) {
  const found = spawnSync(PYTHON, ["-c", `import ${needs}`]).status === 0;
  if (!found) console.warn(`Skipped: ${PYTHON} cannot import ${needs}`);
  test.skipIf(!found)(`unseen content, counted by the programs of the field: ${name} ${kind.join()}`, async () => {
    const place = mkdtempSync(join(tmpdir(), "evaluation-"));
    try {
      const script = fileURLToPath(new URL(`../oracle/${name}`, import.meta.url));
      execFileSync(PYTHON, [script, join(place, "set"), process.env.LAB_SEED ?? "7", ...kind], { stdio: "pipe" });
      const folder = await nodeFolder(join(place, "set"));
      const parts = [evaluationParity, evaluationFilesParity, evaluationRowsParity].map((part) =>
        collect(part(folder)),
      );
      const rows = (await Promise.all(parts)).flat();
      expect(rows.filter((row) => !row.pass)).toEqual([]);
      expect(rows.length).toBeGreaterThanOrEqual(least);
    } finally {
      rmSync(place, { recursive: true });
    }
  });
}

testWith("codecs", "data-sets")(
  "tables, annotated items, groups by length and intervals over seeds are read as recorded",
  async () => {
    const rows = await collect(evaluationRowsParity(await nodeFolder(FOLDER)));
    expect(rows.filter((row) => !row.pass)).toEqual([]);
    // 8 tables, 4 items of Osprey, 9 of grounded captions, 3 orders, 2 intervals of 2 kinds; 9 answers and 1 order are not compared.
    expect(rows.length).toBe(38);
  },
);

testWith(
  "pickle",
  "archives",
  "data-sets",
)("pickles, refs, tar shards and kinds of data sets are read as recorded", async () => {
  const rows = await collect(evaluationFilesParity(await nodeFolder(FOLDER)));
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // 17 pickles, 28 sentences of all splits, 4 rows of ReasonSeg and a count, 7 tar archives, 25 kinds.
  expect(rows.length).toBe(84);
});

test("an answer without a target to a sentence with one meets no pixel, whatever its mask", async () => {
  const mask = { size: [2, 3], counts: [0, 6] };
  const item = (i: number) => ({
    noTarget: false,
    declaredNoTarget: true,
    target: mask,
    prediction: mask,
    expected: { i, u: 6, iou: 0 },
  });
  const passes = async (i: number) => {
    const rows = await collect(evaluationParity(memoryFolder({ "gref.json": JSON.stringify({ items: [item(i)] }) })));
    return rows.find((row) => row.case === "iou/gref.json sentences")?.pass;
  };
  expect([await passes(0), await passes(6)]).toEqual([true, false]);
});

testWith("data-sets")(
  "an item that the program leaves out must give no region, and answers are named as not compared",
  async () => {
    const part = await (await nodeFolder(join(FOLDER, "gcg"))).get("train.json");
    const json = JSON.parse(new TextDecoder().decode(await part?.read(0, part.size))) as {
      cases: { skipped: boolean }[];
    };
    const read = async () => collect(evaluationRowsParity(memoryFolder({ "train.json": JSON.stringify(json) })));
    const right = await read();
    expect(right.filter((row) => !row.pass)).toEqual([]);
    expect(right.filter((row) => row.tolerance === "not compared").length).toBe(9);
    for (const item of json.cases) item.skipped = !item.skipped;
    expect((await read()).filter((row) => !row.pass).length).toBe(json.cases.length);
  },
);

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
