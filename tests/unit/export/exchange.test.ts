/**
 * Exports for COCO's tools, TRL and trackio, and TRL's completions read back. PYTHON names an interpreter with datasets,
 * pandas, pycocotools and trackio; without one the tests that read with them are skipped.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import { memorySource } from "../../../src/engine/bytes/source.ts";
import { storeEvaluation } from "../../../src/engine/eval/report.ts";
import type { ExportRows } from "../../../src/engine/export/export-file.ts";
import { exportFiles } from "../../../src/engine/export/formats.ts";
import { appendAlarm } from "../../../src/engine/runs/alarms.ts";
import { createRun, type RunFolder } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { meanByStep, promptsAt, stepsOf } from "../../../src/plugins/exchange/completions.ts";
import { readCompletions } from "../../../src/plugins/exchange/trl-completions.ts";
import type { PluginExport } from "../../../src/plugins/list.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { python } from "../../support/tools.ts";
import { boxMask } from "../data/make.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";
import { group, manifest } from "../runs/sample-run.ts";

const SCRIPT = join(root, "tests/oracle/read_exchange.py");
const needed = await python("-c", "import datasets, pandas, pycocotools, trackio");
if (needed.code !== 0)
  console.warn("Skipped: no Python with datasets, pandas, pycocotools and trackio; set PYTHON to one");

let scratch = "";
let run: RunFolder;
const truth = { a: boxMask(8, 10, 1, 1, 4, 5), b: boxMask(8, 10, 3, 4, 4, 4) };
const rows = {
  async *heldOut(ids: ReadonlySet<string>) {
    for (const [id, mask] of Object.entries(truth)) if (ids.has(id)) yield { id, mask };
  },
} as unknown as ExportRows;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "lab-exchange-"));
  run = await createRun(memoryStore(), manifest("brave-otter"));
  await run.appendStep(1, { loss: 1, step_time: 2, "loop1/kl": Number.NaN });
  await run.appendStep(2, { loss: 0.5, step_time: 2 });
  await run.appendGroups(1, [group(1, 1, 0), group(1, 2, 1)]);
  await run.appendGroups(2, [group(2, 1, 0)]);
  const answers = [
    row("a", 1, { maskGreedy: truth.a, captionGreedy: "the red chair" }),
    row("b", 0, { maskGreedy: truth.a, captionGreedy: "a chair" }),
  ];
  await storeEvaluation(run.store, run.id, 2, answers, TERMS);
  await appendAlarm(run.store, run.id, { id: "kl-jump", step: 2, severity: "warning", message: "KL jumped" });
});
afterAll(() => rm(scratch, { recursive: true }));

async function written(format: PluginExport, given: ExportRows | null): Promise<string> {
  const out = join(scratch, `${format}${given === null ? "" : "-rows"}`);
  await writeOut(out, async (target) => target.add(await exportFiles(run, format, { rows: given })));
  return out;
}

test("COCO results answer the annotations beside them, and masks of held-out rows need the rows", async () => {
  const parse = (bytes: Uint8Array | undefined) => JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  const files = await collectFiles(await exportFiles(run, "coco"));
  expect(Object.keys(files)).not.toContain("held-out/instances.json");
  expect(parse(files["held-out/caption-results.json"])).toEqual([
    { image_id: 1, caption: "the red chair", step: 2, part: "report" },
    { image_id: 2, caption: "a chair", step: 2, part: "report" },
  ]);
  // Rollouts without a reward or a mask have no score to rank them by.
  const masks = parse(files["rollouts/mask-results.json"]) as { readonly score: number }[];
  expect(masks.map(({ score }) => score)).toEqual([0.2, 0.2, 0.2]);
  const all = await collectFiles(await exportFiles(run, "coco", { rows }));
  expect(parse(all["held-out/instances.json"])).toMatchObject({
    annotations: [
      { bbox: [1, 1, 4, 5], area: 20 },
      { bbox: [3, 4, 4, 4], area: 16 },
    ],
  });
});

test("completions are read as they were written, and files without their columns are refused by name", async () => {
  const files = await collectFiles(await exportFiles(run, "trl-completions"));
  expect(Object.keys(files)).toEqual([
    "completions/completions_00001.parquet",
    "completions/completions_00002.parquet",
  ]);
  const sources = Object.entries(files).map(([path, bytes]) => memorySource(path, bytes));
  const read = await readCompletions(sources, "brave-otter");
  expect(stepsOf(read)).toEqual([1, 2]);
  expect(read.rewards).toEqual(["iou", "reward", "meteor"]);
  expect(promptsAt(read, 1).size).toBe(1);
  expect(meanByStep(read, "iou")).toEqual([
    [1, 0.1 + 0.2],
    [2, 0.1 + 0.2],
  ]);
  const other = memorySource("random.parquet", new TextEncoder().encode("no table"));
  await expect(readCompletions([other], "x")).rejects.toThrow(/random\.parquet/);
});

test.skipIf(needed.code !== 0)("pycocotools scores the masks and reads the captions", async () => {
  const done = await python(SCRIPT, "coco", await written("coco", rows));
  expect(done.code, done.err).toBe(0);
  // One of two masks is right.
  expect(JSON.parse(done.out.trim().split("\n").at(-1) ?? "")).toEqual({ ap50: 0.5, captions: 2, rollouts: 3 });
});

test.skipIf(needed.code !== 0)("datasets and pandas read the completions; TRL's own file is read here", async () => {
  const place = await written("trl-completions", null);
  const done = await python(SCRIPT, "completions", place);
  expect(done.code, done.err).toBe(0);
  expect(JSON.parse(done.out.trim().split("\n").at(-1) ?? "")).toMatchObject({
    rows: 9,
    types: { step: "int64", prompt: "string", completion: "string", iou: "float64", advantage: "float64" },
    first: ["step", "prompt", "completion"],
    last: "advantage",
  });
  // Written by pandas as TRL writes it, with a conversation as prompt.
  const names = (await readdir(join(place, "trl"))).sort();
  const sources = await Promise.all(
    names.map(async (name) => memorySource(name, new Uint8Array(await readFile(join(place, "trl", name))))),
  );
  const read = await readCompletions(sources, "theirs");
  expect(read).toEqual({
    name: "theirs",
    rewards: ["accuracy_reward"],
    rows: [
      { step: 5, prompt: "Describe it", completion: "a hat", rewards: { accuracy_reward: 0.5 }, advantage: 1 },
      { step: 5, prompt: "Describe it", completion: "a red hat", rewards: {}, advantage: -1 },
    ],
  });
});

test.skipIf(needed.code !== 0)("trackio imports metrics, pictures, rollouts and alarms", async () => {
  const done = await python(SCRIPT, "trackio", await written("trackio", null));
  expect(done.code, done.err).toBe(0);
  const { title } = run.manifest();
  expect(JSON.parse(done.out.trim().split("\n").at(-1) ?? "")).toEqual({
    left: 0,
    runs: ["brave-otter"],
    title,
    losses: [1, 0.5],
    nan: true,
    pictures: 3,
    captions: ["", "ein „rotes“ Dreieck\n😀 1", "ein „rotes“ Dreieck\n😀 2"],
    alerts: ["kl-jump"],
  });
});
