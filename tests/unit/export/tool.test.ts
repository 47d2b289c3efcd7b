import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { openNodeRows, POCKET_SHARDS } from "../../../scripts/lib/node/node-rows.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import type { RowSplit } from "../../../src/engine/export/export-file.ts";
import { readAdapter } from "../../../src/engine/model/adapter/lora.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { bundledTool, type Done, tool as runTool } from "../../support/tools.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";
import { group, manifest } from "../runs/sample-run.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const GOLDEN = join(ROOT, "tests/golden/sa2va-tiny-qwen2");
const SHARDS = join(ROOT, "tests/fixtures/data/save-to-disk");
const STEP = [group(3, 1, 0), group(3, 1, 1), group(3, 2, 0)];
let scratch = "";
let run = "";

const tool = (...words: string[]): Promise<Done> => runTool("export", words);

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "export-"));
  const store = nodeStore(scratch);
  const { list } = await openNodeRows([SHARDS]);
  const { data, config } = manifest();
  const folder = await createRun(store, {
    ...manifest(),
    config: { ...config, heldOutShare: 0.3 },
    data: { ...data, hash: await rowsHash(list.rows) },
  });
  await folder.appendStep(3, { loss: 0.5, "loop1/reward": 0.25, step_time: 2 });
  await folder.appendGroups(3, STEP);
  const golden = await nodeFolder(GOLDEN);
  const adapter = await readAdapter(golden, (await openCheckpoint(golden)).config.language);
  const params = new Map(adapter.tensors.map(({ name, shape, values }) => [name, { shape, data: values }] as const));
  const moved = new Map([...params].map(([name, { shape, data }]) => [name, { shape, data: data.map((v) => v / 2) }]));
  await writeCheckpoint(store, folder.id, {
    step: 3,
    params: inMemory(params),
    ema: inMemory(moved),
    moments: { m: inMemory(params), v: inMemory(params) },
    optimiserStep: 3,
    lora: { r: adapter.rank, alpha: adapter.alpha, targets: ["q_proj", "down_proj"] },
    config: defaultConfig(),
    trainer: null,
  });
  // As after a copy: the folder's name says nothing.
  run = join(scratch, "copied away");
  await rename(join(scratch, folder.id), run);
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

test("an adapter of the policy and one of the partner", async () => {
  const golden = await nodeFolder(GOLDEN);
  const { language } = (await openCheckpoint(golden)).config;
  const first = (await readAdapter(golden, language)).tensors[1]?.values[3] as number;
  for (const [weights, factor] of [
    ["policy", 1],
    ["ema", 0.5],
  ] as const) {
    const out = join(scratch, weights);
    const made = await tool("--run", run, "--format", "peft", "--weights", weights, "--out", out, "--json");
    expect(made.err).toBe("");
    expect(
      made.out
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { file: string }).file),
    ).toEqual(["README.md", "adapter_config.json", "adapter_model.safetensors", "modules.safetensors"]);
    const adapter = await readAdapter(await nodeFolder(out), language);
    const golden0 = (await readAdapter(golden, language)).tensors[1]?.name;
    const same = adapter.tensors.find(({ name }) => name === golden0);
    expect(same?.values[3]).toBe(Math.fround(first * factor));
  }
});

test("tables and the hand-over to TRL", async () => {
  for (const format of ["csv", "tfevents", "trl"]) {
    const made = await tool("--run", run, "--format", format, "--out", join(scratch, format));
    expect(made.code, format).toBe(0);
    // TensorBoard cannot open a folder of that name.
    expect(made.err, format).toMatch(format === "tfevents" ? /rename it/ : /^$/);
  }
  for (const [shards, said] of [
    [SHARDS, /^$/],
    [POCKET_SHARDS, /^--shards is not the data set of the run; rows that shards lacks have no picture$/m],
  ] as const) {
    const words = ["--run", run, "--format", "csv", "--shards", shards, "--out", join(scratch, basename(shards))];
    expect((await tool(...words)).err).toMatch(said);
  }
  expect(await readFile(join(scratch, "csv/metrics.csv"), "utf8")).toMatch(/^step,loss,loop1\/reward.*\n3,0.5,0.25/);
  // Every rollout is a line; the picture is that of the first group of each loop.
  const table = await readFile(join(scratch, "csv/rollouts.csv"), "utf8");
  expect(table.match(/^3,\d,/gm)).toEqual(STEP.flatMap(({ loop, rollouts }) => rollouts.map(() => `3,${loop},`)));
  for (const { loop, rollouts } of [STEP[0], STEP[2]] as typeof STEP) {
    expect(table.split(`,pictures/step-000003-loop${loop}.png\n`)).toHaveLength(rollouts.length + 1);
  }
  expect(await readdir(join(scratch, "tfevents"))).toEqual(["events.out.tfevents.1772600767.sa2va-lab"]);
  const yaml = await readFile(join(scratch, "trl/trl_grpo.yaml"), "utf8");
  expect(yaml).toContain("\nnum_generations: 4\n");
  expect(yaml).toContain("\nlora_target_modules:\n  - q_proj\n  - down_proj\n");
  const lines = (await readFile(join(scratch, "trl/completions/completions_00003.jsonl"), "utf8")).trim().split("\n");
  const rollouts = STEP.flatMap((own) => own.rollouts);
  expect(lines.map((line) => (JSON.parse(line) as { completion: string }).completion)).toEqual(
    rollouts.map((rollout) => rollout.completion),
  );
  expect(Object.keys(JSON.parse(lines[0] as string))).toEqual(
    expect.arrayContaining(["step", "prompt", "completion", "iou", "advantage"]),
  );
});

test("the hand-over to Sa2VA's own code", async () => {
  const out = join(scratch, "sa2va");
  const made = await tool("--run", run, "--format", "sa2va", "--shards", SHARDS, "--out", out);
  expect(made.code, made.err).toBe(0);
  const { set } = await openNodeRows([SHARDS]);
  const split = JSON.parse(await readFile(join(out, "split.json"), "utf8")) as RowSplit;
  expect([...split.train, ...split.heldOut].sort()).toEqual(set.summaries.map(({ id }) => id).sort());
  expect(split.heldOut.length).toBeGreaterThan(0);
  expect(made.err).toContain(`${split.train.length} training rows, ${split.heldOut.length} held out`);
  expect(await readFile(join(out, "sa2va_finetune.py"), "utf8")).toContain('template = "qwen_chat"');
  const listed = JSON.parse(await readFile(join(out, "annotations.json"), "utf8")) as {
    image: string;
    mask: number[][][];
    text: string[];
  }[];
  const training = set.summaries.filter(({ id }) => split.train.includes(id));
  expect(listed.flatMap(({ text }) => text).sort()).toEqual(training.map(({ caption }) => caption).sort());
  const pictures = new Set(await readdir(join(out, "images")));
  for (const { image, mask, text } of listed) {
    expect(pictures.has(image)).toBe(true);
    expect(mask.length).toBe(text.length);
    expect(mask.every((polygons) => polygons.length > 0)).toBe(true);
  }
});

test("one sentence and code 2 for what is wrong, and nothing left behind", async () => {
  const out = join(scratch, "none");
  const cases: readonly (readonly [RegExp, readonly string[]])[] = [
    [/--format must be one of peft, csv, tfevents, /, ["--run", run, "--format", "onnx", "--out", out]],
    [/has no complete checkpoint of step 9; it has 3/, ["--run", run, "--format", "peft", "--step", "9", "--out", out]],
    [/--model DIR is needed/, ["--run", run, "--format", "merged", "--out", out]],
    [/names another checkpoint/, ["--run", run, "--format", "merged", "--model", GOLDEN, "--out", out]],
    [/has other rows/, ["--run", run, "--format", "sa2va", "--shards", POCKET_SHARDS, "--out", out]],
    [/^--dtype has no effect on format peft$/m, ["--run", run, "--format", "peft", "--dtype", "f16", "--out", out]],
    [/^--step has no effect on format csv$/m, ["--run", run, "--format", "csv", "--step", "3", "--out", out]],
    [/^--shards has no effect on format trl$/m, ["--run", run, "--format", "trl", "--shards", SHARDS, "--out", out]],
    [/holds no run.json/, ["--run", GOLDEN, "--format", "csv", "--out", out]],
  ];
  for (const [expected, words] of cases) {
    const made = await tool(...words);
    expect(made.err).toMatch(expected);
    expect(made.err.trim().split("\n")).toHaveLength(1);
    expect(made.code).toBe(2);
  }
  const full = join(scratch, "full");
  await nodeStore(full).write("kept", "1");
  expect((await tool("--run", run, "--format", "csv", "--out", full)).err).toMatch(/is not empty; nothing was written/);
  await writeFile(join(run, "checkpoints/step-000003/modules.safetensors"), "cut");
  const cut = await tool("--run", run, "--format", "peft", "--out", out);
  expect(cut).toMatchObject({ code: 2 });
  expect(cut.err).toMatch(/modules.safetensors has 3 bytes instead of/);
  expect((await readdir(scratch)).filter((name) => name.startsWith("none"))).toEqual([]);
});

test("a file in place of the folder stays, and a reader that leaves ends the tool quietly", async () => {
  const file = join(scratch, "a file");
  await writeFile(file, "text");
  const made = await tool("--run", run, "--format", "csv", "--out", file);
  const err = `${file} cannot be opened: a part of its path is not a folder\n`;
  expect(made).toMatchObject({ code: 2, out: "", err });
  expect(await readFile(file, "utf8")).toBe("text");
  const words = [await bundledTool("export"), "--run", run, "--format", "csv", "--out", join(scratch, "left")];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let said = "";
  child.stderr.on("data", (text) => {
    said += text;
  });
  expect([await new Promise((done) => child.once("close", done)), said]).toEqual([141, ""]);
});
