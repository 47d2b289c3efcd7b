/**
 * npm run step-1b -- [--out DIR] [--model RELEASE] [--storage f16|q8|q4] [--layers N] [--small] [--phase towers [--folder DIR]] [--keep] [--write]
 *
 * One step of both loops at the true shapes of Sa2VA-1B, or of a release on Qwen-VL such as qwen3-vl-4b, with made-up
 * weights: one tile, groups of two, captions of four tokens, activations recomputed, frozen matrices in f16 or --storage. Prints one JSON object: losses, gradient norm, costs of every
 * phase, the peak of allocated bytes beside the plan's forecast, and loss and gradients beside those of the PyTorch
 * implementation of tests/oracle where PYTHON names an interpreter that has torch. Takes some 12 GB of memory and, on a
 * software adapter, a quarter of an hour or more. --out (out/step-1b) holds checkpoint and run and is deleted at the end
 * without --keep; a finished step that lies there is not taken again; --layers cuts language model, vision tower and every stage of Hiera to N blocks, which takes minutes;
 * --phase towers runs the frozen towers alone over the picture and prints what they make and hold beside the forecast, of
 * the model in --folder in place of a made one (tests/scripts/true-size.ts makes those of true size),
 * with --buffers also who held memory at the peak, with --tight within their own forecast instead of a step's; inputs of
 * the same shapes that lie in --out are used again;
 * --small takes the golden model's shapes; --write writes docs/performance/1b-step.json and its page.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ALL_LAYERS, type MadeShapes, madeConfig, madePicture, writeInputs } from "../../bench/made-up/inputs.ts";
import { QWEN_RELEASES } from "../../bench/made-up/qwen.ts";
import { CHECK_SETTINGS, readStep, takeSteps } from "../../bench/made-up/step.ts";
import { watchBuffers } from "../../bench/tool/held-buffers.ts";
import { one, type Parsed, parseArguments, runTool, whole } from "../../scripts/lib/arguments.ts";
import { writeGeneratedDocs } from "../../scripts/lib/build/generated-docs.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../scripts/lib/node/node-gpu.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { badInput, LabError } from "../../src/engine/errors.ts";
import { countsBetween, gpuCounts, peakBytes } from "../../src/engine/gpu/runtime/counters.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { setPlannedBytes, trimPool } from "../../src/engine/gpu/runtime/pool.ts";
import { uploadsDone } from "../../src/engine/gpu/runtime/program.ts";
import { openModelFolder } from "../../src/engine/loading/open-model.ts";
import { storageChoice } from "../../src/engine/loading/storage-settings.ts";
import { parseSa2vaConfig } from "../../src/engine/model/config.ts";
import { forecast } from "../../src/engine/plan/fit.ts";
import { disposeFeatures, encodeImage } from "../../src/engine/policy/features.ts";
import type { TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { listRuns } from "../../src/engine/runs/run-folder.ts";
import { reachedLimits } from "../../src/engine/session/plan.ts";
import { python } from "../support/tools.ts";

const OPTIONS = {
  out: { takes: 1 },
  model: { takes: 1 },
  layers: { takes: 1 },
  small: { takes: 0 },
  phase: { takes: 1 },
  folder: { takes: 1 },
  storage: { takes: 1 },
  buffers: { takes: 0 },
  tight: { takes: 0 },
  keep: { takes: 0 },
  write: { takes: 0 },
} as const;
const PAGE_DATA = join(root, "docs", "performance", "1b-step.json");

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const directory = one(parsed, "out") ?? join("out", "step-1b");
  const given = one(parsed, "folder");
  const inputs = { model: given ?? join(directory, "model"), shards: join(directory, "shards") };
  const runs = join(directory, "runs");
  const say = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    mkdirSync(runs, { recursive: true });
    const release = QWEN_RELEASES.find((name) => name === one(parsed, "model"));
    if (parsed.has("model") && release === undefined) throw badInput(`--model is ${QWEN_RELEASES.join(", ")}`);
    if (parsed.has("write") && release !== undefined) throw badInput("--write is for the step of 1B, without --model");
    const shapes: MadeShapes = parsed.has("small")
      ? "small"
      : { layers: whole(parsed, "layers", 1, ALL_LAYERS, ALL_LAYERS), release };
    const store = nodeStore(runs);
    const taken = (await listRuns(store)).runs.find(({ state }) => state === "finished")?.id;
    if (taken === undefined && given === undefined) {
      const written = join(inputs.model, "config.json");
      if (!existsSync(written) || readFileSync(written, "utf8") !== JSON.stringify(madeConfig(shapes))) {
        const { bytes, parameters } = writeInputs(inputs, shapes);
        say(`${parameters} parameters, ${bytes} bytes`);
      }
    }
    const phase = one(parsed, "phase");
    if (phase !== undefined) {
      if (phase !== "towers") throw badInput(`--phase knows towers, not "${phase}"`);
      process.stdout.write(`${JSON.stringify(await runTowers(inputs.model, shapes, parsed))}\n`);
      return 0;
    }
    const settings = askedSettings(parsed);
    const began = performance.now();
    const onEvent = (event: TrainerEvent): void => {
      const seconds = ((performance.now() - began) / 1000).toFixed(0);
      if (event.type === "phase") say(`${seconds} s: loop ${event.loop ?? "–"}, ${event.phase}`);
      if (event.type === "held" || event.type === "alarm") say(JSON.stringify(event));
    };
    // Of a run taken before, the lengths of the rows are unknown.
    const found = taken === undefined ? await takeSteps(inputs, settings, store, onEvent) : { id: taken, lengths: {} };
    const step = await readStep(store, found, parseSa2vaConfig(madeConfig(shapes)), [madePicture(shapes)]);
    // PyTorch's implementation of a step is of InternVL.
    const oracle =
      release === undefined
        ? await askOracle(join(runs, found.id), inputs.model, join(inputs.shards, "data.arrow"), say)
        : null;
    const facts = {
      layers: shapes === "small" ? shapes : shapes.layers,
      ...(release === undefined ? {} : { model: release }),
      settings: CHECK_SETTINGS,
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

/** The settings of the step, with the storage that --storage names. */
function askedSettings(options: Parsed): LabConfig {
  const stored = options.has("storage") ? { weightStorage: one(options, "storage") } : {};
  return requireConfig({ ...CHECK_SETTINGS, ...stored }, presetConfig("real"), "step-1b");
}

/**
 * Both towers over one picture within the plan of a run: bytes of buffers made, the most bytes held at a time on top of
 * the weights (destroyed buffers that the GPU still uses included) beside the forecasts, and the process's memory.
 */
async function runTowers(folder: string, shapes: MadeShapes, options: Parsed) {
  const settings = askedSettings(options);
  const choice = storageChoice(settings);
  const device = await openNodeDevice();
  try {
    const { model } = await openModelFolder(await nodeFolder(folder), "made up", { choice });
    trimPool();
    await uploadsDone();
    const [began, processor] = [performance.now(), process.cpuUsage()];
    const held = memorySnapshot().gpuBytesAllocated;
    const before = gpuCounts();
    const rss = process.memoryUsage.rss();
    let most = rss;
    const look = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 50);
    peakBytes();
    const atPeak = options.has("buffers") ? watchBuffers(device.device) : undefined;
    const picture = madePicture(shapes);
    const reached = reachedLimits(model.config, [picture]);
    const { transient, peak, weights } = forecast(reached, settings, choice, null, device.report.software);
    const planned = options.has("tight") ? held + transient.towers : peak;
    setPlannedBytes(planned);
    const features = await encodeImage(model, picture, 1);
    setPlannedBytes();
    await uploadsDone();
    clearInterval(look);
    await device.checkAll();
    const allocated = peakBytes() - held;
    const { user, system } = process.cpuUsage(processor);
    const { bufferBytes, buffers, submits } = countsBetween(before, gpuCounts());
    disposeFeatures(features);
    model.dispose();
    return {
      device: device.report.description,
      held,
      weights: weights.frozenBytes + weights.publishedBytes,
      allocated,
      forecast: transient.towers,
      ratio: transient.towers / allocated,
      planned: planned - held,
      overPlan: (held + allocated) / planned,
      made: bufferBytes,
      buffers,
      submits,
      rss: { before: rss, most: Math.max(most, process.memoryUsage.rss()) },
      seconds: (performance.now() - began) / 1000,
      processorSeconds: (user + system) / 1e6,
      ...(atPeak === undefined ? {} : { atPeak: atPeak() }),
    };
  } finally {
    device.close();
  }
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
