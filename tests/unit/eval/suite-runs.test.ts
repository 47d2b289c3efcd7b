/** Evaluations by suites: asked, stopped, continued in their folder, and tabulated. */
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { evalLedger, evaluationsBeside } from "../../../scripts/lib/scores/eval-ledger.ts";
import { type Rle, rleFromBox } from "../../../src/engine/data/mask/rle.ts";
import { writeParquet } from "../../../src/plugins/exchange/parquet-write.ts";
import { SUITES, suiteOf } from "../../../src/plugins/suites/all.ts";
import { looksAt } from "../../../src/plugins/suites/finished.ts";
import { type EvalFacts, openEvalFolder, suiteRowsHash } from "../../../src/plugins/suites/folder.ts";
import { ledgerRows, runColumns } from "../../../src/plugins/suites/ledger.ts";
import { looksText, suiteReport } from "../../../src/plugins/suites/report.ts";
import { answerKey, answerRows, type SuiteRow } from "../../../src/plugins/suites/run-suite.ts";
import type { Suite, SuiteItem, SuiteTask, SuiteTools } from "../../../src/plugins/suites/suite.ts";
import { evaluation } from "../runs/sample-evaluations.ts";

const PYTHON = process.env.PYTHON || "python3";
const GOLDEN = join(root, "tests/golden/evaluation");
const SIZE = [20, 30] as const;
const NONE: SuiteTools = { meteor: () => 0 };

let place: string;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "eval-"));
});
afterAll(() => rm(place, { recursive: true }));

const golden = async (path: string) => JSON.parse(await readFile(join(GOLDEN, path), "utf8"));
const suite = (name: string): Suite => suiteOf(name) as Suite;

const ITEMS: SuiteItem[] = [0, 1, 2, 3].map((at) => ({
  id: `r${at}`,
  imageId: `p${at >> 1}`,
  size: SIZE,
  text: `row ${at}`,
  masks: [rleFromBox([0, 0, 5, 5], 20, 30)],
}));

test("an evaluation asks what is open, picture by picture, and ends in the same report when it was stopped", async () => {
  const work = (answers: Map<string, SuiteRow>, asked: SuiteTask[][], stop: AbortController, most: number) => ({
    suite: suite("masks"),
    items: ITEMS,
    mode: "forced" as const,
    systems: ["base", "adapter"] as const,
    answers,
    ask: async (system: string, _: number, tasks: readonly SuiteTask[]) => {
      asked.push([...tasks]);
      if (asked.length === most) stop.abort();
      return tasks.map(() => ({ masks: system === "base" ? [] : (ITEMS[0]?.masks ?? []) }));
    },
    keep: async (rows: readonly SuiteRow[]) => {
      for (const row of rows) answers.set(answerKey(row.system, row.rowId), row);
    },
    onProgress: () => undefined,
    signal: stop.signal,
  });
  const report = (answers: Map<string, SuiteRow>) => {
    const { suite: of, items, mode, systems } = work(answers, [], new AbortController(), 0);
    return suiteReport(
      { suite: of, split: undefined, part: "all", looks: 1, mode, items, leftOut: 0, systems, judge: null } as const,
      answers,
      NONE,
    );
  };
  const [whole, all] = [new Map<string, SuiteRow>(), [] as SuiteTask[][]];
  await answerRows(work(whole, all, new AbortController(), 0));
  expect(all.map((tasks) => tasks.length)).toEqual([2, 2, 2, 2]);
  const stopped = new Map<string, SuiteRow>();
  await expect(answerRows(work(stopped, [], new AbortController(), 3))).rejects.toThrow("its answers are kept");
  expect(stopped.size).toBe(6);
  const rest: SuiteTask[][] = [];
  await answerRows(work(stopped, rest, new AbortController(), 0));
  expect(rest.length).toBe(1);
  expect(report(stopped)).toEqual(report(whole));
  // An empty answer against the truth itself, on every picture alike.
  expect(report(whole).difference?.[0]).toEqual({ metric: "cIoU", value: 1, low: 1, high: 1 });
});

test("an evaluation continues in its folder, a cut line is asked again, another one is refused", async () => {
  const facts: EvalFacts = {
    suite: "masks",
    split: null,
    answers: "forced",
    model: { name: "m", hash: "1" },
    adapter: null,
    rows: 4,
    rowsHash: "2",
  };
  const store = nodeStore(place);
  const rows = ["r0", "r1"].map((rowId): SuiteRow => ({ system: "base", rowId, masks: ITEMS[0]?.masks ?? [] }));
  await (await openEvalFolder(store, "out", facts)).add(rows);
  const file = join(place, "out", "rows.jsonl");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.slice(0, -10));
  const again = await openEvalFolder(store, "out", facts);
  expect([...again.answers.values()]).toEqual([rows[0]]);
  await again.add(rows.slice(1));
  expect(await readFile(file, "utf8")).toBe(text);
  await expect(openEvalFolder(store, "out", { ...facts, rowsHash: "3" })).rejects.toThrow(
    "out holds a different evaluation (different rows); name another folder",
  );
  const stored = join(place, "out", "eval.json");
  const turned = (value: object): object => Object.fromEntries(Object.entries(value).reverse());
  const { model, ...others } = JSON.parse(await readFile(stored, "utf8"));
  await writeFile(stored, JSON.stringify(turned({ ...others, model: turned(model) })));
  expect((await openEvalFolder(store, "out", facts)).answers.size).toBe(2);
  await openEvalFolder(store, "part", { ...facts, part: "report" });
  await expect(openEvalFolder(store, "part", facts)).rejects.toThrow(
    "part holds a different evaluation (different part); name another folder",
  );
});

test("rows are recognised by what the model is asked, not by their truth", async () => {
  const [item] = ITEMS as [SuiteItem];
  const hash = (name: string, change: Partial<SuiteItem>) => suiteRowsHash(suite(name), [{ ...item, ...change }]);
  const [text, masks] = [{ text: "another sentence" }, { masks: [rleFromBox([1, 1, 2, 2], ...SIZE)] }];
  const changed = async (name: string): Promise<boolean[]> =>
    Promise.all(
      [text, masks, { imageId: "other" }].map(async (one) => (await hash(name, one)) !== (await hash(name, {}))),
    );
  expect(await changed("masks")).toEqual([true, false, true]);
  expect(await changed("captions")).toEqual([false, true, true]);
  expect(await changed("gar")).toEqual([true, true, true]);
});

/** Evaluations of the golden sentences: the first mask alone as base, all masks as adapter. */
async function goldenFolder(name: string): Promise<readonly SuiteItem[]> {
  const { images } = await golden("iou/res.json");
  const rows = images.flatMap(
    ({ image, sentences }: { image: number; sentences: { target: Rle; prediction: Rle[] | null }[] }) =>
      sentences.map((one, at) => ({ id: `${image}/${at}`, imageId: String(image), ...one })),
  ) as { id: string; imageId: string; target: Rle; prediction: Rle[] | null }[];
  const items = rows.map(
    ({ id, imageId, target }): SuiteItem => ({ id, imageId, size: target.size, text: `row ${id}`, masks: [target] }),
  );
  const answered = rows.flatMap(({ id, prediction }): SuiteRow[] => [
    { system: "base", rowId: id, masks: (prediction ?? []).slice(0, 1) },
    { system: "adapter", rowId: id, masks: prediction ?? [] },
  ]);
  const facts: EvalFacts = {
    suite: "refcoco",
    split: "val",
    answers: "free",
    model: { name: "m", hash: "1" },
    adapter: { name: "a", hash: "2" },
    rows: items.length,
    rowsHash: "3",
  };
  const folder = await openEvalFolder(nodeStore(place), name, facts);
  await folder.items(items);
  await folder.add(answered);
  const systems = ["base", "adapter"] as const;
  const evaluated = {
    suite: suite("refcoco"),
    split: "val",
    part: "all",
    looks: 1,
    mode: "free",
    items,
    leftOut: 0,
    systems,
    judge: null,
  } as const;
  await folder.report(suiteReport(evaluated, folder.answers, NONE));
  return items;
}

test.skipIf(spawnSync(PYTHON, ["-c", "import torch"]).status !== 0)(
  "PyTorch computes the scores of an evaluation from its folder alone, and finds a report that was changed",
  async () => {
    await goldenFolder("proved");
    const check = () =>
      spawnSync(PYTHON, [join(root, "tests/oracle/check_evaluation.py"), join(place, "proved")], { encoding: "utf8" });
    const { status, stdout, stderr } = check();
    expect(status, stderr).toBe(0);
    const found = JSON.parse(stdout) as { compared: number; largest: number; difference: Record<string, Error95> };
    expect(found.compared).toBe(21);
    expect(found.largest).toBeLessThan(1e-9);
    // Eleven pictures: the bootstrap's half width against 1.96 linearised standard errors.
    const { error, halfWidth } = found.difference.gIoU as Error95;
    expect(halfWidth / (1.96 * error)).toBeGreaterThan(0.6);
    expect(halfWidth / (1.96 * error)).toBeLessThan(1.4);
    const file = join(place, "proved", "report.json");
    await writeFile(file, (await readFile(file, "utf8")).replace(/"value": 0\.(\d)/, '"value": 0.9$1'));
    expect(check().status).toBe(1);
  },
);

interface Error95 {
  readonly error: number;
  readonly halfWidth: number;
}

test("evaluations of the same rows are one table, the rows that differ most first", async () => {
  const items = await goldenFolder("one");
  await goldenFolder("two");
  const csv = await evalLedger([join(place, "one"), join(place, "two")]);
  const [head, first, ...rest] = csv.trim().split("\n");
  expect(head).toBe("row,picture,text,one base,one adapter,two base,two adapter,spread");
  expect(rest.length).toBe(items.length - 1);
  const spreads = [first, ...rest].map((line) => Number(line?.split(",").at(-1)));
  expect(spreads[0]).toBeGreaterThan(0);
  expect(spreads).toEqual([...spreads].sort((a, b) => b - a));
  const [, , , base, adapter] = (first as string).split(",").map(Number);
  expect(Math.abs((base as number) - (adapter as number))).toBeCloseTo(spreads[0] as number, 12);
  // The same table as Parquet.
  const file = join(place, "table.parquet");
  expect(await evalLedger([join(place, "one"), join(place, "two")], file)).toBe(`${file}\n`);
  const bytes = await readFile(file);
  const read = await parquetReadObjects({ file: new Uint8Array(bytes).buffer });
  expect(read.map((row) => Object.values(row).join())).toEqual([first, ...rest]);
  // A full disk leaves the previous table.
  if (process.platform === "linux") {
    await symlink("/dev/full", `${file}.unfinished~`);
    await expect(evalLedger([join(place, "one")], file)).rejects.toThrow("table.parquet needs");
    expect((await readFile(file)).equals(bytes)).toBe(true);
  }
  // They are two looks at one set of rows, a third evaluation is the third.
  const beside = await evaluationsBeside(join(place, "three"));
  expect(beside.map(({ id }) => id)).toEqual(expect.arrayContaining(["one", "two"]));
  const facts = beside.find(({ id }) => id === "one")?.facts as EvalFacts;
  const goldens = beside.filter(({ id }) => id === "one" || id === "two");
  expect([looksAt(facts, "three", goldens), looksAt(facts, "one", goldens)]).toEqual([3, 2]);
  expect(looksAt({ ...facts, rowsHash: "other" }, "three", goldens)).toBe(1);
  expect(looksText({ part: "report", looks: 2 })).toBe(
    "the report part; evaluation 2 of these rows; each interval covers one evaluation; compare all 2 at 97.5 % (Bonferroni)",
  );
  const few = [9, 10].map((pictures) => looksText({ pictures }));
  expect(few).toEqual([
    "first evaluation of these rows; with fewer than 10 pictures no interval can be trusted",
    "first evaluation of these rows",
  ]);
  await writeFile(join(place, "two", "items.jsonl"), `${JSON.stringify(items[0])}\n`);
  await expect(evalLedger([join(place, "one"), join(place, "two")])).rejects.toThrow(
    "two base was scored on other rows than one base",
  );
  await expect(evalLedger([place])).rejects.toThrow("holds no finished evaluation (report.json is missing)");
});

const hasPyarrow = spawnSync(PYTHON, ["-c", "import pyarrow"]).status === 0;
if (!hasPyarrow) console.warn(`skipped: ${PYTHON} cannot import pyarrow`);

test.skipIf(!hasPyarrow)("pyarrow reads a written table: numbers, texts and missing values", async () => {
  const texts = ["a", null, "Größe, „zwei“", "", ...Array<string>(16).fill("row")];
  const numbers = [0.1 + 0.2, -1e300, null, 0, ...Array<null>(16).fill(null)];
  // More than 14 columns have a list header of another form.
  const more = Array.from({ length: 14 }, (_, at) => ({ name: `c${at}`, kind: "number", values: numbers }) as const);
  const columns = [{ name: "text", kind: "text", values: texts } as const, ...more];
  const file = join(place, "written.parquet");
  await writeFile(file, writeParquet(columns, "test"));
  const script = "import sys,json,pyarrow.parquet as p; print(json.dumps(p.read_table(sys.argv[1]).to_pydict()))";
  const { stdout, stderr } = spawnSync(PYTHON, ["-c", script, file], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual(Object.fromEntries(columns.map(({ name, values }) => [name, values])));
});

test("the held-out evaluations of a run are columns of the table: report rows, every step and score", async () => {
  const columns = runColumns("run", [evaluation(0, 0.25), evaluation(2, 0.5)]);
  expect(columns.slice(0, 2).map(({ name }) => name)).toEqual(["run step 0 loop1_greedy", "run step 2 loop1_greedy"]);
  const rows = ledgerRows(columns);
  expect(rows.length).toBe(evaluation(0, 0.25).report.n);
  expect(rows[0]?.spread).toBeGreaterThan(0);
});

test("published numbers name their model, metric and source", () => {
  const published = SUITES.flatMap((one) => Object.entries(one.published));
  expect(published.length).toBe(17);
  for (const [split, scores] of published) {
    expect(split).toMatch(/^(val|test|testA|testB|valid|valid_u|)$/);
    for (const { model, metric, value, source } of scores) {
      expect([model, metric].includes("")).toBe(false);
      expect(source).toMatch(/card|paper|results|README/);
      expect(value).toBeGreaterThan(20);
      expect(value).toBeLessThan(100);
    }
  }
});
