/**
 * A run's export for Sa2VA's own training code: training rows only, and a configuration that MMEngine loads and starts.
 * PYTHON names an interpreter with mmengine, torch, peft, transformers and pycocotools; without one the reading is skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import { openRegionSet, type RegionSet } from "../../../src/engine/data/region-set.ts";
import { evalReport } from "../../../src/engine/eval/report.ts";
import { exportRows, type RowSplit } from "../../../src/engine/export/export-file.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { type StoredEvaluation, writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import type { RunManifest } from "../../../src/engine/runs/manifest.ts";
import { createRun, openRun, type RunFolder } from "../../../src/engine/runs/run-folder.ts";
import { HANDOVER_EXPORTS } from "../../../src/plugins/handover/formats.ts";
import { sa2vaConfigText } from "../../../src/plugins/handover/sa2va-config.ts";
import { exportZip } from "../../../workers/exports.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { boxMask, jpg, png, row } from "../data/make.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";
import { row as evaluatedRow, TERMS } from "../runs/sample-evaluations.ts";
import { manifest } from "../runs/sample-run.ts";

const SCRIPT = fileURLToPath(new URL("../../oracle/read_sa2va.py", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";
const imports =
  "import sys; sys.modules['torchvision'] = None; import mmengine, torch, peft, transformers, pycocotools";
const missing = spawnSync(PYTHON, ["-c", imports]).status !== 0;
if (missing) console.warn(`Skipped: ${PYTHON} cannot import mmengine, torch, peft, transformers and pycocotools`);

const CONFIG = {
  ...defaultConfig(),
  heldOutShare: 0.4,
  splitSeed: 5,
  promptsPerStep: 2,
  accumulation: 2,
  steps: 9,
  warmupSteps: 2,
};

interface Annotation {
  readonly image: string;
  readonly mask: readonly (readonly (readonly number[])[])[];
  readonly text: readonly string[];
}

let scratch = "";
let set: RegionSet;
let run: RunFolder;

/** A ring and a lone pixel: a hole and two parts. */
function ring(height: number, width: number): ReturnType<typeof boxMask> {
  const pixels = new Uint8Array(height * width);
  for (let y = 2; y < 12; y++) for (let x = 3; x < 15; x++) pixels[y * width + x] = 1;
  for (let y = 5; y < 8; y++) for (let x = 6; x < 10; x++) pixels[y * width + x] = 0;
  pixels[(height - 1) * width + width - 1] = 1;
  return encodeRle(pixels, height, width);
}

async function storeRun(
  id: string,
  model: Partial<RunManifest["model"]>,
  partner = false,
  start: Pick<RunManifest, "startAdapter"> = {},
): Promise<RunFolder> {
  const rows = set.summaries.map(({ id: own, imageId }) => [own, imageId] as const);
  const base = manifest(id, { config: CONFIG });
  const data = { ...base.data, name: "boxes", rows: rows.length, hash: await rowsHash(rows) };
  const made = await createRun(nodeStore(scratch), { ...base, ...start, data, model: { ...base.model, ...model } });
  const shape = [1, 2] as const;
  const params = new Map(
    ["A", "B"].map((side) => [
      `language_model.model.layers.0.mlp.up_proj.lora_${side}.weight`,
      { shape: side === "A" ? [1, 2] : [2, 1], data: Float32Array.of(1, shape[1]) },
    ]),
  );
  await made.appendStep(9, { loss: 1 });
  await writeCheckpoint(made.store, id, {
    step: 9,
    params: inMemory(params),
    ema: partner ? inMemory(params) : null,
    moments: { m: inMemory(params), v: inMemory(params) },
    optimiserStep: 9,
    lora: { r: 16, alpha: 32, targets: ["up_proj", "q_proj"] },
    config: CONFIG,
    trainer: null,
  });
  return made;
}

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "sa2va-export-"));
  const pictures = Array.from({ length: 12 }, (_, n) => {
    const image = { bytes: n % 3 === 2 ? jpg(40, 30, 6) : png(32, 24, n), path: null };
    // Turned by its EXIF data, the third kind is 30 wide and 40 high; only there the mask fits.
    const mask = n % 3 === 2 ? boxMask(40, 30, 1, 5, 7, 20) : n % 3 === 1 ? ring(24, 32) : boxMask(24, 32, n, 2, 9, 6);
    return row({ image, mask }, `Thing ${n}.`);
  });
  // Two regions of one picture.
  pictures.push(
    row({ image: { bytes: png(32, 24, 0), path: null }, mask: boxMask(24, 32, 20, 10, 5, 5) }, "Second thing."),
  );
  set = await openRegionSet(memoryFolder({ "boxes.arrow": writeRegionShard(pictures) }));
  expect(set.skipped).toEqual([]);
  run = await storeRun("boxes", { template: "qwen_chat", base: "InternVL2_5-1B" });
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

const PROGRESS = { onBytes: () => undefined, signal: new AbortController().signal };

test("the page's export holds the run's training rows, and names the held-out ones", async () => {
  const { blob } = await exportZip(
    run.store,
    run.id,
    "sa2va",
    { set: set, pictureOf: async () => null, wordnetUrl: "" },
    PROGRESS,
  );
  const files = unzipSync(new Uint8Array(await blob.arrayBuffer()));
  const read = (name: string): string => new TextDecoder().decode(files[`boxes-sa2va/${name}`]);
  const split = JSON.parse(read("split.json")) as RowSplit;
  expect(split.settings).toEqual({
    rowFilter: "",
    maxRows: 0,
    heldOutShare: 0.4,
    splitSeed: 5,
    selectionShare: CONFIG.selectionShare,
  });
  expect([...split.train, ...split.heldOut].sort()).toEqual(set.summaries.map(({ id }) => id).sort());
  expect(split.heldOut.length).toBeGreaterThan(2);
  expect([...split.selection, ...split.report].sort()).toEqual([...split.heldOut].sort());
  const captions = (ids: readonly string[]): string[] =>
    set.summaries.filter(({ id }) => ids.includes(id)).map(({ caption }) => caption);
  const listed = JSON.parse(read("annotations.json")) as Annotation[];
  expect(listed.flatMap(({ text }) => text).sort()).toEqual(captions(split.train).sort());
  const pictures = Object.keys(files).filter((path) => path.includes("/images/"));
  expect(pictures.sort()).toEqual(listed.map(({ image }) => `boxes-sa2va/images/${image}`).sort());
  expect(read("sa2va_finetune.py")).toContain('template = "qwen_chat"');
});

test("other rows than the run's are left out of the page's export and refused by the tool's", async () => {
  const other = await openRegionSet(memoryFolder({ "boxes.arrow": writeRegionShard([row()]) }));
  const { blob } = await exportZip(
    run.store,
    run.id,
    "sa2va",
    { set: other, pictureOf: async () => null, wordnetUrl: "" },
    PROGRESS,
  );
  const names = Object.keys(unzipSync(new Uint8Array(await blob.arrayBuffer())));
  expect(names.some((name) => /annotations|images|split/.test(name))).toBe(false);
  await expect(exportRows(run.manifest(), other, "other")).rejects.toThrow(/has other rows/);
});

test("a template that run.json names goes through its checks", async () => {
  const { store } = await storeRun("odd", {});
  const text = await store.readText("odd/run.json");
  await store.write("odd/run.json", text.replace(/"template": "[^"]*"/, '"template": "a\\nb"'));
  await expect(openRun(store, "odd")).rejects.toThrow(/model.template/);
});

test("epochs and saved iterations count the rows of every update of a step", () => {
  const lora = { r: 1, alpha: 2, targets: [] };
  const facts = { runId: "a", model: "b", template: "qwen_chat", base: null, trainRows: 12, lora };
  expect(sa2vaConfigText({ ...facts, config: CONFIG })).toContain("max_epochs = 3\n");
  expect(sa2vaConfigText({ ...facts, config: { ...CONFIG, stepsPerGeneration: 4 } })).toContain("max_epochs = 6\n");
  const windows = { ...CONFIG, saveSteps: 3, stepsPerGeneration: 4 };
  expect(sa2vaConfigText({ ...facts, config: windows })).toContain("save_steps = 12\n");
  // A supervised step has one update, whatever the rollouts of a step would be.
  const supervised = sa2vaConfigText({ ...facts, config: { ...windows, mode: "sft" } });
  expect(supervised).toContain("max_epochs = 3\n");
  expect(supervised).toContain("save_steps = 6\n");
});

test.skipIf(missing)("MMEngine loads the configuration and trains from it on the exported rows", async () => {
  // A name with a blank, as a download folder may have.
  const out = join(scratch, "my export");
  const rows = await exportRows(run.manifest(), set, "boxes");
  await writeOut(out, async (target) => target.add(await HANDOVER_EXPORTS.sa2va.files(run, { rows })));
  const read = spawnSync(PYTHON, [SCRIPT, out], {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    cwd: scratch,
  });
  expect(read.status, read.stderr).toBe(0);
  const said = JSON.parse(read.stdout.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  const special = ["[SEG]", "<p>", "</p>", "<vp>", "</vp>"];
  expect(said).toMatchObject({
    path: "./pretrained/InternVL2_5-1B",
    pretrained_pth: join(out, "merged.pth"),
    data_root: `${out}/`,
    template: "qwen_chat",
    special_tokens: special,
    lr: CONFIG.learningRate,
    resolved: { optimizer: "AdamW", wrapper: "AmpOptimWrapper", tokenizer: "AutoTokenizer.from_pretrained" },
    asked: { arch_type: "intern_vl", special_tokens: special, target_length: 1024 },
    lora: { r: 16, lora_alpha: 32, lora_dropout: 0, targets: ["q_proj", "up_proj"] },
    saved: true,
  });
  // A cosine ends near 0 after all epochs.
  expect((said.lr_at_end as number[])[0]).toBeLessThan(CONFIG.learningRate / 10);
  const masks = new Map<string, string>();
  for await (const { caption, mask, image } of rows.train()) {
    if (image.orientation === 1) masks.set(caption.toLowerCase().replace(/\.$/, ""), mask.counts);
  }
  const seen = (said.rows as { phrases: string[]; masks: string[]; most: number[] }[]).flatMap(
    ({ phrases, masks: own, most }) => phrases.map((phrase, at) => ({ phrase, mask: own[at], most: most[at] })),
  );
  expect(seen).toHaveLength(rows.split.train.length);
  // No pixel is in two polygons of an object.
  expect(seen.every(({ most }) => most === 1)).toBe(true);
  for (const { phrase, mask } of seen) {
    const number = Number(/\d+/.exec(phrase)?.[0] ?? 0);
    // Stored 40 x 30 and shown turned right: the box's column of 7 x 20 becomes a row of 20 x 7.
    const expected = number % 3 === 2 ? boxMask(30, 40, 5, 22, 20, 7).counts : masks.get(phrase);
    expect(mask, phrase).toBe(expected);
  }
});

test("the proof of a run holds its evaluated rows as they are stored, both adapters and the records", async () => {
  const proven = await storeRun("proven", {}, true);
  const rows = await exportRows(proven.manifest(), set, "boxes");
  const proof = async (given: typeof rows | null) =>
    collectFiles(await HANDOVER_EXPORTS.proof.files(proven, { rows: given }));
  await expect(proof(null)).rejects.toThrow("Open boxes first: the proof contains its held-out rows");
  const continued = await storeRun("continued", {}, true, { startAdapter: { name: "earlier", hash: "0" } });
  await expect(Promise.resolve(HANDOVER_EXPORTS.proof.files(continued, { rows })).then(collectFiles)).rejects.toThrow(
    'Run "continued" started from the adapter earlier; a proof compares with',
  );
  const [left, ...asked] = rows.split.heldOut as [string, ...string[]];
  const scored = (step: number): StoredEvaluation => {
    const all = asked.map((rowId) => evaluatedRow(rowId, 0.5));
    return { report: evalReport(step, all, TERMS, null), rows: all };
  };
  await writeEvaluations(proven.store, "proven", [scored(0)]);
  await expect(proof(rows)).rejects.toThrow(/needs an evaluation before its first step and one after step 9/);
  await writeEvaluations(proven.store, "proven", [scored(3), scored(9)]);
  await expect(proof(rows)).rejects.toThrow(/needs an evaluation before its first step/);
  await writeEvaluations(proven.store, "proven", [scored(0), scored(9)]);
  const files = await proof(rows);
  const text = (path: string): string => new TextDecoder().decode(files[path]);
  const lines = text("rows.jsonl").trim().split("\n");
  const told = lines.map((line) => JSON.parse(line) as { rowId: string; picture: string });
  expect(told.map(({ rowId }) => rowId)).toEqual(asked);
  expect(told.some(({ rowId }) => rowId === left)).toBe(false);
  for (const { rowId, picture } of told) {
    const at = set.summaries.findIndex(({ id }) => id === rowId);
    const { image } = await set.sample(at);
    expect(files[picture]).toEqual(image.bytes);
  }
  expect(text("eval.jsonl").trim().split("\n")).toHaveLength(2);
  for (const side of ["policy", "partner"]) expect(Object.keys(files)).toContain(`${side}/adapter_model.safetensors`);
});
