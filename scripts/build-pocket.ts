/**
 * Trains the pocket model from scratch on drawn scenes and writes it in the published layout.
 *
 *   npm run build-pocket -- [--steps N] [--seed S] [--out DIR] [--resume] [--pictures N] [--regions K] [--rate R]
 *                           [--final-pictures N] [--from DIR] [--grid SIDE] [--world extent|bells] [--backend-module FILE]
 *   npm run build-pocket -- --world clips --from DIR --out DIR [--clips N] …
 *
 * --grid is the number of visual tokens per side (7). --from continues from a trained pocket model, whose positions a
 * finer grid resizes. In the world "extent" every other picture has two overlapping regions: wholes and halves,
 * touching twins, pairs, two of three. In the world "clips" the model gets the words of motion and learns from clips
 * of moving drawings and from pictures, while its towers stay unchanged. In the world "bells" every other picture shows a
 * kind of object that other worlds lack, and no caption says more of it than "a bell". The model folder is written at every evaluation, so an unfinished model can be used at any time.
 * --backend-module names a module that registers and selects another TensorFlow.js backend instead of WebGPU.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { badInput, LabError } from "../src/engine/errors.ts";
import { tf } from "../src/engine/gpu/tf.ts";
import { openSa2va } from "../src/engine/model/sa2va.ts";
import { tensorsOf } from "../src/engine/model/weights/weights.ts";
import { meteorScorer } from "../src/engine/rewards/scorer.ts";
import { type Answered, answerHeldOut, clusterInterval, type HeldOutPicture } from "../tools/pocket/evaluate.ts";
import { POCKET_LOSS } from "../tools/pocket/loss.ts";
import { SftTrainer, type SftVectors } from "../tools/pocket/trainer.ts";
import { GRID, pocketTensors } from "../tools/pocket/world/model-files.ts";
import { motionIn } from "../tools/pocket/world/motion.ts";
import { heldOutClips, heldOutPictures, stepData, WORLDS, type World } from "../tools/pocket/worlds.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { writeFileList } from "./lib/build/file-list.ts";
import { replaceFile, writeGrownPocket, writePocket, writeTrainedPocket } from "./lib/build/write-pocket.ts";
import { root } from "./lib/ensure.mjs";
import { nodeFolder } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { nodeWordnet } from "./lib/node/node-rows.ts";

const EVALUATE_EVERY = 500;
const KEEP_EVERY = 100;
const MAX_NEW_TOKENS = 16;
/** Parts that stay unchanged when a trained model continues, as in the published recipe. */
const TOWERS = /^vision_model\.|^grounding_encoder\.sam2_model\.image_encoder\./;

const VECTORS = ["params", "ema", "m", "v"] as const;

/**
 * Loss weight of each mask candidate that is not the best, over the run. At first it is nearly that of the best,
 * because three free candidates can cover most objects of a scene regardless of the phrase; it falls towards the end.
 */
const SHARE = { first: 0.3, last: 0.1, from: 0.5 } as const;

const OPTIONS = {
  steps: { takes: 1 },
  seed: { takes: 1 },
  out: { takes: 1 },
  pictures: { takes: 1 },
  regions: { takes: 1 },
  rate: { takes: 1 },
  "final-pictures": { takes: 1 },
  grid: { takes: 1 },
  world: { takes: 1 },
  from: { takes: 1 },
  clips: { takes: 1 },
  "backend-module": { takes: 1 },
  resume: { takes: 0 },
} as const;

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const steps = whole(parsed, "steps", 0, 1_000_000, 10000);
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, 7);
  const world = worldOf(one(parsed, "world") ?? "pictures");
  const from = one(parsed, "from");
  const added = world === "clips" || world === "bells" ? world : undefined;
  if (added !== undefined && from === undefined) {
    throw badInput(`--world "${world}" needs --from with a trained model`, "from");
  }
  const pictures = whole(parsed, "pictures", 1, 256, world === "clips" ? 2 : 6);
  const clips = whole(parsed, "clips", 1, 256, 6);
  const regions = whole(parsed, "regions", 1, 16, world === "extent" ? 2 : 3);
  if (world === "extent" && regions !== 2) throw badInput('--regions must be 2 with --world "extent"', "regions");
  const grid = parsed.has("grid") ? whole(parsed, "grid", 2, 64, GRID) : undefined;
  const rate = Number(one(parsed, "rate") ?? 2e-3);
  const finalPictures = whole(parsed, "final-pictures", 1, 10_000, 100);
  const out = one(parsed, "out") ?? join(root, "public", "pocket", world === "clips" ? "clip-model" : "model");
  const work = `${out.replace(/\/+$/, "")}.training`;
  for (const folder of [out, work]) mkdirSync(folder, { recursive: true });
  if (!(rate > 0)) throw badInput("--rate must be a number above 0", "rate");

  const check = await openBackend(one(parsed, "backend-module"));
  const started = performance.now();
  const say = (line: Record<string, unknown>): void => {
    const seconds = Math.round((performance.now() - started) / 100) / 10;
    const text = JSON.stringify({ ...line, seconds });
    appendFileSync(join(work, "training.jsonl"), `${text}\n`);
    process.stdout.write(`${text}\n`);
  };

  const resumed = parsed.has("resume") ? readState(work) : undefined;
  if (from === undefined) {
    writePocket(out, pocketTensors(seed, grid ?? GRID), grid ?? GRID);
  } else {
    await writeGrownPocket(out, from, { grid, added });
  }
  const model = await openSa2va(await nodeFolder(out), "pocket");
  const start = Object.fromEntries(
    [...tensorsOf(model.frozen), ...model.base].filter(
      ([name]) => !/gaussian_matrix$/.test(name) && !(world === "clips" && TOWERS.test(name)),
    ),
  );
  const warmupSteps = Math.min(100, Math.ceil(steps / 10));
  const trainer = new SftTrainer(
    model,
    start,
    {
      loss: POCKET_LOSS,
      learningRate: rate,
      schedule: { kind: "cosine", warmupSteps, totalSteps: Math.max(steps, 1), floor: 0.02, cycles: 0.5 },
      maxGradNorm: 1,
      adam: { beta2: 0.99 },
      emaDecay: 0.99,
      loraScale: 0,
    },
    resumed,
  );
  const wordnet = await nodeWordnet();
  const scorer = meteorScorer(wordnet);
  say({
    begin: tf.getBackend(),
    parameters: model.parameters,
    steps,
    seed,
    pictures,
    regions,
    rate,
    grid: model.config.tokenGridSide,
    ...(world === "pictures" ? {} : { world }),
    ...(world === "clips" ? { clips } : {}),
    at: trainer.steps,
  });

  const evaluate = async (count: number): Promise<void> => {
    const own = trainer.weights("average");
    const signal = new AbortController().signal;
    const answers = (held: readonly HeldOutPicture[]) =>
      answerHeldOut(model, own, held, scorer, { maxCompletionLength: MAX_NEW_TOKENS, signal });
    const answered = await answers(heldOutPictures(world, count));
    const moving = world === "clips" ? await answers(heldOutClips(count)) : [];
    await writeTrainedPocket(out, model, own);
    tf.dispose(Object.values(own));
    say({ heldOut: count, step: trainer.steps, ...summary(answered) });
    if (moving.length > 0) say({ heldOutClips: count, step: trainer.steps, ...summary(moving) });
  };

  while (trainer.steps < steps) {
    const step = trainer.steps;
    const { micro, tensors } = stepData(model, world, { seed, step, pictures, regions, clips });
    const share = from === undefined ? candidateShare(step / steps) : SHARE.last;
    const report = await trainer.step(micro, { candidateShare: share });
    tf.dispose([...tensors]);
    check();
    if (!report.stepped)
      throw new LabError("gpu", `The gradient of step ${step} is not finite; the last state is kept`);
    if (step % 10 === 0) say({ step, ...rounded({ loss: report.loss, ...report.parts, gradNorm: report.gradNorm }) });
    if (trainer.steps === steps) continue;
    if (trainer.steps % KEEP_EVERY === 0) writeState(work, await trainer.vectors());
    if (trainer.steps % EVALUATE_EVERY === 0) await evaluate(24);
  }
  writeState(work, await trainer.vectors());
  await evaluate(finalPictures);
  trainer.dispose();
  model.dispose();
  writeFileList(out);
  return 0;
});

function worldOf(name: string): World {
  const found = WORLDS.find((world) => world === name);
  if (found !== undefined) return found;
  throw badInput(`--world must be "${WORLDS.join('" or "')}", not "${name}"`, "world");
}

/** @param progress 0..1 of the run */
function candidateShare(progress: number): number {
  const late = Math.max(0, (progress - SHARE.from) / (1 - SHARE.from));
  return SHARE.first + (SHARE.last - SHARE.first) * late;
}

/** @returns a function that throws when the device has reported an error */
async function openBackend(module: string | undefined): Promise<() => void> {
  if (module !== undefined) {
    await import(pathToFileURL(resolve(module)).href);
    return () => undefined;
  }
  const device = await openNodeDevice();
  return () => device.check();
}

function writeState(work: string, state: SftVectors): void {
  const size = state.params.length;
  const all = new Float32Array(1 + 4 * size);
  all[0] = state.step;
  VECTORS.forEach((name, at) => {
    all.set(state[name], 1 + at * size);
  });
  replaceFile(join(work, "state.f32"), new Uint8Array(all.buffer));
}

function readState(work: string): SftVectors {
  const path = join(work, "state.f32");
  if (!existsSync(path)) throw badInput(`${path} does not exist; there is nothing to resume`);
  const bytes = readFileSync(path);
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const size = (all.length - 1) / 4;
  const [params, ema, m, v] = VECTORS.map((_, at) => all.slice(1 + at * size, 1 + (at + 1) * size));
  return { step: all[0] as number, params, ema, m, v } as SftVectors;
}

function summary(answers: readonly Answered[]): Record<string, unknown> {
  const clusters = answers.map((answer) => answer.picture);
  const interval = (values: readonly number[]): readonly number[] => {
    const { mean, low, high } = clusterInterval(values, clusters, 1);
    return [mean, low, high].map((value) => Math.round(value * 1e4) / 1e4);
  };
  return {
    iou: interval(answers.map((answer) => answer.iou)),
    meteor: interval(answers.map((answer) => answer.meteor)),
    exact: interval(answers.map((answer) => Number(answer.caption === answer.reference))),
    over50: interval(answers.map((answer) => Number(answer.iou > 0.5))),
    ...(answers.some(({ reference }) => motionIn(reference) === "")
      ? {}
      : { motion: interval(answers.map((answer) => Number(motionIn(answer.caption) === motionIn(answer.reference)))) }),
    examples: answers.slice(0, 4).map(({ phrase, iou, reference, caption }) => ({
      phrase,
      iou: Math.round(iou * 100) / 100,
      reference,
      caption,
    })),
  };
}

function rounded(numbers: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(numbers).map(([name, value]) => [name, Math.round(value * 1e4) / 1e4]));
}
