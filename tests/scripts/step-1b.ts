/**
 * npm run step-1b -- [--out DIR] [--layers N] [--small] [--phase towers] [--keep] [--write]
 *
 * One step of both loops at the true shapes of Sa2VA-1B with made-up weights: one tile, groups of two, captions of four
 * tokens, activations recomputed, frozen matrices in f16. Prints one JSON object: losses, gradient norm, costs of every
 * phase, the peak of allocated bytes beside the plan's forecast, and loss and gradients beside those of the PyTorch
 * implementation of tests/oracle where PYTHON names an interpreter that has torch. Takes some 12 GB of memory and, on a
 * software adapter, a quarter of an hour or more. --out (out/step-1b) holds checkpoint and run and is deleted at the end
 * without --keep; a finished step that lies there is not taken again; --layers cuts language model, vision tower and every stage of Hiera to N blocks, which takes minutes;
 * --phase towers runs the frozen towers alone over the picture and prints what they allocate beside the forecast;
 * --small takes the golden model's shapes; --write writes docs/performance/1b-step.json and its page.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "fast-png";
import { one, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { writeGeneratedDocs } from "../../scripts/lib/build/generated-docs.ts";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { nodeSession } from "../../scripts/lib/node/node-session.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { encodeRle } from "../../src/engine/data/mask/rle-mask.ts";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { badInput, LabError } from "../../src/engine/errors.ts";
import { peakBytes } from "../../src/engine/gpu/runtime/counters.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory.ts";
import { trimPool } from "../../src/engine/gpu/runtime/pool.ts";
import { uploadsDone } from "../../src/engine/gpu/runtime/program.ts";
import { openModelFolder } from "../../src/engine/loading/open-model.ts";
import { storageChoice } from "../../src/engine/loading/storage-settings.ts";
import { parseSa2vaConfig, type Sa2vaConfig } from "../../src/engine/model/config.ts";
import { forecast } from "../../src/engine/plan/fit.ts";
import { disposeFeatures, encodeImage } from "../../src/engine/policy/features.ts";
import { readPhases } from "../../src/engine/runs/phase-lines.ts";
import { listRuns, openRun } from "../../src/engine/runs/run-folder.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { TOKENIZER_FILES, trueConfig, writeSynthetic } from "../support/synthetic-checkpoint.ts";
import { python } from "../support/tools.ts";

const GOLDEN = join(root, "tests/golden/sa2va-tiny-qwen2");
const OPTIONS = {
  out: { takes: 1 },
  layers: { takes: 1 },
  small: { takes: 0 },
  phase: { takes: 1 },
  keep: { takes: 0 },
  write: { takes: 0 },
} as const;
const PAGE_DATA = join(root, "docs", "performance", "1b-step.json");

/** The settings that tests/oracle/check_step.py computes. Confidence differs between any two masks, so groups have a spread. */
const SETTINGS = {
  groupSize: 2,
  promptsPerStep: 1,
  accumulation: 1,
  maxNewTokens: 4,
  partnerMaxTokens: 4,
  maxTiles: 1,
  steps: 1,
  saveSteps: 1,
  evalSteps: 0,
  warmupSteps: 0,
  heldOutShare: 0,
  gpuMemory: 12,
  featureStorage: "f32",
  featureDisk: 0,
  towerStorage: "f16",
  maskPolicy: "candidates",
  maskAnchor: "truth",
  loop1Confidence: 1,
  loop2Confidence: 1,
  loop1Weight: 1,
  loop2Weight: 1,
} as const satisfies Partial<LabConfig>;

/** Hiera-L of SAM2, whose sizes published checkpoints do not state. */
const HIERA_L = {
  image_size: 1024,
  embed_dim: 144,
  num_heads: 2,
  stages: [2, 6, 36, 4],
  global_att_blocks: [23, 33, 43],
  window_spec: [8, 4, 16, 8],
  window_pos_embed_bkg_spatial_size: [7, 7],
  hidden_dim: 256,
  decoder_depth: 2,
  decoder_num_heads: 8,
  decoder_mlp_dim: 2048,
  iou_head_hidden_dim: 256,
  mask_in_chans: 16,
};

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const small = parsed.has("small");
  const directory = one(parsed, "out") ?? join("out", "step-1b");
  const [model, shards, runs] = ["model", "shards", "runs"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    for (const path of [model, shards, runs]) mkdirSync(path, { recursive: true });
    const layers = whole(parsed, "layers", 1, 36, 36);
    const config = small ? trueConfig(true) : cut(trueConfig(false), layers);
    const store = nodeStore(runs);
    const taken = (await listRuns(store)).runs.find(({ state }) => state === "finished")?.id;
    if (taken === undefined) {
      const { bytes, parameters } = writeSynthetic(model, config, small ? 200_000 : 500_000_000, "BF16");
      writeTokenizer(model, (config.llm_config as { vocab_size: number }).vocab_size);
      writeFileSync(join(shards, "data.arrow"), madeShard(small ? 96 : 448));
      say(`${parameters} parameters, ${bytes} bytes`);
    }
    const phase = one(parsed, "phase");
    if (phase !== undefined) {
      if (phase !== "towers") throw badInput(`--phase knows towers, not "${phase}"`);
      process.stdout.write(`${JSON.stringify(await runTowers(model, small ? 96 : 448))}\n`);
      return 0;
    }
    const step = await readStep(store, taken ?? (await takeStep(model, shards, store, say)), parseSa2vaConfig(config));
    const oracle = await askOracle(join(runs, step.run), model, join(shards, "data.arrow"), say);
    const facts = {
      layers: small ? "small" : layers,
      settings: SETTINGS,
      ...step,
      ...(oracle === null ? {} : { oracle }),
    };
    process.stdout.write(`${JSON.stringify(facts)}\n`);
    if (parsed.has("write")) {
      writeFileSync(PAGE_DATA, `${JSON.stringify(facts, null, 1)}\n`);
      await writeGeneratedDocs();
    }
    return Number.isFinite(step.gradNorm) && step.gradNorm > 0 ? 0 : 1;
  } finally {
    if (!parsed.has("keep")) rmSync(directory, { recursive: true, force: true });
  }
});

/** At most so many blocks in the language model, the vision tower and each stage of Hiera, which keeps a block with global attention. */
function cut(config: Record<string, unknown>, layers: number): Record<string, unknown> {
  const fewer = (part: unknown): Record<string, unknown> => {
    const own = part as Record<string, unknown> & { readonly num_hidden_layers: number };
    return { ...own, num_hidden_layers: Math.min(own.num_hidden_layers, layers) };
  };
  const stages = HIERA_L.stages.map((blocks) => Math.min(blocks, layers));
  const whole = stages.every((blocks, at) => blocks === HIERA_L.stages[at]);
  const last = stages.slice(0, 3).reduce((sum, blocks) => sum + blocks) - 1;
  return {
    ...config,
    vision_config: fewer(config.vision_config),
    llm_config: fewer(config.llm_config),
    sam2_config: { ...HIERA_L, stages, global_att_blocks: whole ? HIERA_L.global_att_blocks : [last] },
  };
}

/** Both towers over one picture: the most bytes allocated, and the plan's forecast of weights, features and passes. */
async function runTowers(folder: string, side: number) {
  const settings = requireConfig(SETTINGS, presetConfig("both"), "step-1b");
  const choice = storageChoice(settings);
  const device = await openNodeDevice();
  try {
    const { model } = await openModelFolder(await nodeFolder(folder), "made up", { choice });
    trimPool();
    const began = performance.now();
    const held = memorySnapshot().gpuBytesAllocated;
    peakBytes();
    const features = encodeImage(model, madePicture(side), 1);
    await uploadsDone();
    await device.checkAll();
    const allocated = peakBytes() - held;
    const { transient } = forecast(model.config, settings, choice, null, device.report.software);
    const said = transient.towers;
    disposeFeatures(features);
    model.dispose();
    return { held, allocated, forecast: said, ratio: said / allocated, seconds: (performance.now() - began) / 1000 };
  } finally {
    device.close();
  }
}

/** @returns the run's id */
async function takeStep(model: string, shards: string, store: RunStore, say: (text: string) => void): Promise<string> {
  const settings = requireConfig(SETTINGS, presetConfig("both"), "step-1b");
  const { rows, list } = await openNodeRows([shards]);
  const device = await openNodeDevice();
  const began = performance.now();
  const session = await nodeSession(device, {
    store,
    rows,
    emit(event) {
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      if (event.type === "phase") say(`${seconds} s: loop ${event.loop ?? "–"}, ${event.phase}`);
      if (event.type === "held" || event.type === "alarm") say(JSON.stringify(event));
      if (event.type === "held") session.trainer?.control.stop();
    },
  });
  try {
    await session.openModel(await nodeFolder(model), "made up", { choice: storageChoice(settings) });
    say(`loaded after ${((performance.now() - began) / 1000).toFixed(0)} s`);
    const run = await session.start({ settings, list, title: "both", created: new Date().toISOString() });
    await run.done;
    return run.manifest.id;
  } finally {
    session.dispose();
    device.close();
  }
}

/** The costs of the step from a run's folder, beside the plan's forecast. */
async function readStep(store: RunStore, id: string, model: Sa2vaConfig) {
  const run = await openRun(store, id);
  const { adapter, config } = run.manifest();
  const [metrics] = await run.readMetrics();
  const [step] = await readPhases(store, id);
  if (metrics === undefined || step === undefined) throw new LabError("held", "The step was not taken");
  const costs = step.phases;
  const peak = Math.max(...Object.values(costs).map(({ peakBytes }) => peakBytes ?? 0));
  const said = forecast(model, config, storageChoice(config), null, adapter.software);
  return {
    parameters: Object.values(said.weights.parameters).reduce((sum, count) => sum + count, 0),
    adapter: adapter.description || adapter.vendor,
    run: id,
    loss: { loop1: metrics["loop1/loss"], loop2: metrics["loop2/loss"] },
    gradNorm: metrics.grad_norm ?? Number.NaN,
    seconds: metrics.step_time,
    peak: { allocated: peak, forecast: said.peak, ratio: said.peak / peak },
    parts: said.parts,
    costs,
  };
}

/** The golden tokenizer with a made-up word for every further row of the embedding, so that any drawn token has a text. */
function writeTokenizer(directory: string, rows: number): void {
  for (const file of TOKENIZER_FILES) copyFileSync(join(GOLDEN, file), join(directory, file));
  const path = join(directory, "tokenizer.json");
  const tokenizer = JSON.parse(readFileSync(path, "utf8")) as {
    added_tokens: { id: number; content: string }[];
    model: { vocab: Record<string, number> };
  };
  // Python's library gives an added token the id of its entry in the vocabulary, and another one where it has none.
  for (const { id, content } of tokenizer.added_tokens) tokenizer.model.vocab[content] = id;
  const first = 1 + Math.max(...tokenizer.added_tokens.map(({ id }) => id), ...Object.values(tokenizer.model.vocab));
  for (let id = first; id < rows; id++) tokenizer.model.vocab[`Ġw${id.toString(26)}`] = id;
  writeFileSync(path, JSON.stringify(tokenizer));
}

/** A disc on a gradient. */
function madePicture(side: number): RgbImage & { readonly mask: Uint8Array } {
  const data = new Uint8Array(side * side * 3);
  const mask = new Uint8Array(side * side);
  for (let at = 0; at < side * side; at++) {
    const [x, y] = [at % side, Math.floor(at / side)];
    const inside = Math.hypot(x - 0.4 * side, y - 0.55 * side) < 0.25 * side;
    mask[at] = Number(inside);
    data.set(inside ? [220, 60 + (x % 16), 40] : [40, (200 * x) / side, (200 * y) / side], 3 * at);
  }
  return { width: side, height: side, data, mask };
}

/** A shard of one row. */
function madeShard(side: number): Uint8Array {
  const { mask, ...picture } = madePicture(side);
  const bytes = encode({ ...picture, channels: 3 });
  const conversations = [
    { from: "human", value: "<image>\nDescribe the region." },
    { from: "gpt", value: "a red disc on the left" },
  ];
  return writeRegionShard([{ image: { bytes, path: "disc.png" }, mask: encodeRle(mask, side, side), conversations }]);
}

/** PyTorch's results for the same step; null without PyTorch. */
async function askOracle(run: string, model: string, shard: string, say: (text: string) => void): Promise<unknown> {
  const needed = await python("-c", "import torch, numpy, PIL, safetensors, tokenizers, pyarrow");
  if (needed.code !== 0) {
    say("Not compared with PyTorch: PYTHON names no interpreter with torch, safetensors, tokenizers and pyarrow");
    return null;
  }
  const words = ["--run", run, "--model", model, "--shard", shard, "--threads", "2"];
  const done = await python(join(root, "tests", "oracle", "check_step.py"), ...words);
  if (done.code !== 0) throw new LabError("internal", `check_step.py failed: ${done.err.slice(-2000)}`);
  return JSON.parse(done.out);
}
