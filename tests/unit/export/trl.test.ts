/**
 * A run's export for TRL: completions that can be replayed, and a configuration that TRL's own parser and trainer take.
 * PYTHON names an interpreter with trl, peft, transformers and datasets; without one the second test is skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { nodeStore } from "../../../scripts/lib/node/node-store.ts";
import { writeOut } from "../../../scripts/lib/out-folder.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { Setting } from "../../../src/engine/config/setting.ts";
import { SETTINGS, type SettingKey } from "../../../src/engine/config/table.ts";
import { initLora } from "../../../src/engine/model/adapter/lora.ts";
import { openCheckpoint } from "../../../src/engine/model/weights/checkpoint.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import type { ActionRecord, GroupRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { createRun, type RunFolder } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import {
  buildPrompt,
  encodeAnswer,
  type Prompt,
  REGION_CAPTION_WORDING,
  SEG_ANSWER,
} from "../../../src/engine/text/prompt.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
import { HANDOVER_EXPORTS } from "../../../src/plugins/handover/formats.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { inMemory } from "../runs/sample-checkpoint.ts";
import { group, manifest } from "../runs/sample-run.ts";

const GOLDEN = fileURLToPath(new URL("../../golden/sa2va-tiny-qwen2", import.meta.url));
const SCRIPT = fileURLToPath(new URL("../../oracle/read_trl.py", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";
const TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
const CONFIG = { ...defaultConfig(), numGenerations: 4, promptsPerStep: 2, loraR: 2, entropyCoef: 0.01 };

/** Numbers for which 0 means never. */
const INTERVALS: ReadonlySet<string> = new Set(["saveSteps", "evalSteps", "delta", "minP", "topK", "warmupSteps"]);

const imports = "import sys; sys.modules['torchvision'] = None; import trl, peft, transformers, datasets";
const missing = spawnSync(PYTHON, ["-c", imports]).status !== 0;
if (missing) console.warn(`Skipped: ${PYTHON} cannot import trl, peft, transformers and datasets`);

let scratch = "";
let run: RunFolder;
let prompts: readonly Prompt[] = [];
let answers: readonly (readonly number[])[] = [];

/** A group whose prompt and answer are what the policy would be given and say. */
function sampled(loop: 1 | 2, prompt: Prompt, answer: readonly number[]): GroupRecord {
  const base = group(3, loop, loop - 1, 2);
  const actions = base.rollouts[1]?.actions as readonly ActionRecord[];
  return {
    ...base,
    promptIds: prompt.ids,
    ...(loop === 1 ? {} : { answerIds: answer }),
    rollouts: base.rollouts.map((rollout) => ({
      ...rollout,
      prompt: prompt.text,
      reward: 1,
      actions: loop === 1 ? answer.map((id, at) => ({ ...(actions[at % 2] as ActionRecord), id })) : actions,
    })),
  };
}

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "trl-"));
  const folder = await nodeFolder(GOLDEN);
  const { config } = await openCheckpoint(folder);
  const tokenizer = await openTokenizer(folder);
  const shape = { template: "qwen_chat", tokensPerTile: 16 } as const;
  prompts = [
    buildPrompt(tokenizer, shape, { text: REGION_CAPTION_WORDING, tiles: 3, regionTokenCounts: [5] }),
    buildPrompt(tokenizer, shape, { text: "<image>Please segment the dog.", tiles: 1 }),
  ];
  answers = ["a red square", SEG_ANSWER].map((text) => encodeAnswer(tokenizer, "qwen_chat", text).ids);
  run = await createRun(nodeStore(scratch), manifest("for-trl", { config: CONFIG }));
  await run.appendGroups(3, [
    sampled(1, prompts[0] as Prompt, answers[0] as number[]),
    sampled(2, prompts[1] as Prompt, answers[1] as number[]),
  ]);
  const factors = [...initLora(config.language, 2, () => 0.5)];
  const params = new Map(factors.map(({ name, shape, values }) => [name, { shape, data: values }] as const));
  await writeCheckpoint(run.store, run.id, {
    step: 3,
    params: inMemory(params),
    ema: null,
    moments: { m: inMemory(params), v: inMemory(params) },
    optimiserStep: 3,
    lora: { r: 2, alpha: CONFIG.loraAlpha, targets: TARGETS },
    config: CONFIG,
    trainer: null,
  });
});
afterAll(() => rm(scratch, { recursive: true, force: true }));

/** Configurations that differ from the run's in one setting each, as files: every choice, flag and end of a range. */
async function variants(): Promise<string[]> {
  const store = memoryStore();
  const paths: string[] = [];
  for (const [key, setting] of Object.entries(SETTINGS) as [SettingKey, Setting][]) {
    if (setting.trl === undefined) continue;
    const values =
      setting.kind === "choice"
        ? setting.choices.map(({ value }) => value)
        : setting.kind === "flag"
          ? [true, false]
          : INTERVALS.has(key)
            ? [0, 5]
            : [];
    for (const value of values) {
      const other = manifest(`variant-${paths.length}`, { config: { ...CONFIG, [key]: value } });
      const files = await collectFiles(await HANDOVER_EXPORTS.trl.files(await createRun(store, other), {}));
      const path = join(scratch, `${key}-${String(value)}.yaml`);
      await writeFile(path, files["trl_grpo.yaml"] as Uint8Array);
      paths.push(path);
    }
  }
  return paths;
}

test("completions hold the prompt's tokens, not their number", async () => {
  const files = await collectFiles(await HANDOVER_EXPORTS.trl.files(run, {}));
  const text = new TextDecoder().decode(files["completions/completions_00003.jsonl"]);
  const rows = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  // A whole number in the first file would make a column of integers.
  expect(text).toMatch(/"reward":1\.0,.*"sampling_logps":\[-1\.1.*"loop":1,/u);
  expect(rows.map((row) => row.prompt)).toEqual([0, 0, 1, 1].map((at) => prompts[at]?.full));
  expect(rows.map((row) => row.prompt_ids)).toEqual([0, 0, 1, 1].map((at) => prompts[at]?.ids));
  expect(rows.map((row) => row.completion_ids)).toEqual([0, 0, 1, 1].map((at) => answers[at]));
  for (const row of rows) expect((row.sampling_logps as number[]).length).toBe((row.action_ids as number[]).length);
});

test("a step without rollouts has no file of completions", async () => {
  const supervised = await createRun(memoryStore(), manifest("supervised"));
  await supervised.appendGroups(2, []);
  expect(await supervised.groupSteps()).toEqual([2]);
  const names = Object.keys(await collectFiles(await HANDOVER_EXPORTS.trl.files(supervised, {})));
  expect(names.filter((name) => name.startsWith("completions/"))).toEqual([]);
});

test.skipIf(missing)("TRL's parser and trainer take the configuration", async () => {
  const out = join(scratch, "out");
  // Columns that are null in the whole first file have their type all the same.
  const first = sampled(1, prompts[0] as Prompt, answers[0] as number[]);
  const nothing = {
    captionPrime: null,
    predictedMask: null,
    reward: null,
    terms: [{ name: "iou", value: null, weight: 1 }],
  };
  await run.appendGroups(2, [{ ...first, rollouts: first.rollouts.map((own) => ({ ...own, ...nothing })) }]);
  await writeOut(out, async (target) => target.add(await HANDOVER_EXPORTS.trl.files(run, {})));
  const more = await variants();
  const read = spawnSync(PYTHON, [SCRIPT, out, GOLDEN, ...more], {
    encoding: "utf8",

    maxBuffer: 2 ** 28,
  });
  expect(read.status, read.stderr).toBe(0);
  const said = JSON.parse(read.stdout.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
  expect(said.config).toMatchObject({
    num_generations: 4,
    per_device_train_batch_size: 4,
    max_steps: CONFIG.steps,
    learning_rate: CONFIG.learningRate,
    beta: CONFIG.beta,
    loss_type: CONFIG.lossType,
    temperature: CONFIG.temperature,
    max_completion_length: CONFIG.maxCompletionLength,
  });
  expect(more.length).toBeGreaterThan(20);
  expect(said.failed).toEqual({});
  expect([...(said.targets as string[])].sort()).toEqual([...TARGETS].sort());
  expect(said.adapters).toBeGreaterThan(0);
  expect(said.columns).toEqual(expect.arrayContaining(["step", "prompt", "completion", "advantage"]));
  expect(said.encoded).toEqual([0, 0, 0, 0, 1, 1].map((at) => prompts[at]?.ids));
  for (const [at, text] of (said.decoded as string[]).entries()) {
    expect(text).toContain(at < 4 ? "a red square" : SEG_ANSWER);
  }
});
