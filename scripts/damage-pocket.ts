/**
 * Writes a pocket model with deliberately damaged grounding and intact captions, as a start from which loop 2 can
 * learn. text_hidden_fcs and the mask decoder are trained on phrases shuffled among the regions of each picture, with
 * everything else frozen, until the IoU of phrase → mask falls to the target. In the world "extent" the two regions of
 * a picture overlap, so that the model still finds the thing but no longer knows how much of it is meant.
 *
 *   npx tsx scripts/damage-pocket.ts --out DIR [--model DIR] [--world extent] [--target IOU] [--seed S]
 *     [--most-steps N] [--rate R] [--check-pictures N]
 */
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { badInput, LabError } from "../src/engine/errors.ts";
import { type RandomKey, STREAM, uniform } from "../src/engine/gpu/random.ts";
import { tf } from "../src/engine/gpu/tf.ts";
import { trainableBlock } from "../src/engine/model/adapter/trainable.ts";
import { openSa2va, type Sa2vaModel } from "../src/engine/model/sa2va.ts";
import { weightsView } from "../src/engine/model/weights/weights.ts";
import { meteorScorer } from "../src/engine/rewards/scorer.ts";
import { type PocketRegion, pocketBatch } from "../tools/pocket/batch.ts";
import { answerHeldOut, clusterInterval, type Interval } from "../tools/pocket/evaluate.ts";
import { POCKET_LOSS } from "../tools/pocket/loss.ts";
import { SftTrainer } from "../tools/pocket/trainer.ts";
import {
  overlappingPicture,
  type PocketPicture,
  pocketPicture,
  runTowers,
  towerInputs,
} from "../tools/pocket/world/samples.ts";
import { shapeOf, type World } from "../tools/pocket/worlds.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { writeTrainedPocket } from "./lib/build/write-pocket.ts";
import { root } from "./lib/ensure.mjs";
import { nodeFolder } from "./lib/node/node-files.ts";
import { openNodeDevice } from "./lib/node/node-gpu.ts";
import { nodeWordnet } from "./lib/node/node-rows.ts";

const OPTIONS = {
  model: { takes: 1 },
  world: { takes: 1 },
  out: { takes: 1 },
  target: { takes: 1 },
  seed: { takes: 1 },
  "most-steps": { takes: 1 },
  rate: { takes: 1 },
  "check-pictures": { takes: 1 },
} as const;

const [PICTURES, REGIONS, SIDE] = [6, 3, 128];
/**
 * Seed of the pictures that decide when to stop, which no shard contains, and the number of steps between two checks.
 */
const [CHECK_SEED, CHECK_EVERY] = [20_270_101, 10];
/** Only the mask loss. The candidates keep their share, so that they stay different. */
const LOSS = {
  ...POCKET_LOSS,
  tokenWeight: 0,
  pointingWeight: 0,
  namingWeight: 0,
  featureWeight: 0,
  trainEmbedding: false,
};

/** The regions with their phrases in a random order; every order is equally likely. */
function shuffled(regions: readonly PocketRegion[], key: Omit<RandomKey, "position">): PocketRegion[] {
  const phrases = regions.map(({ phrase }) => phrase);
  for (let last = phrases.length - 1; last > 0; last--) {
    const other = Math.floor(uniform({ ...key, position: last }) * (last + 1));
    [phrases[last], phrases[other]] = [phrases[other] as string, phrases[last] as string];
  }
  return regions.map((region, at) => ({ ...region, phrase: phrases[at] as string }));
}

type DamagedWorld = Exclude<World, "clips">;

/** @param pixels side of picture and masks */
function picture(world: DamagedWorld, seed: number, index: number, regions: number, pixels: number): PocketPicture {
  return world === "extent" ? overlappingPicture(seed, index, pixels) : pocketPicture(seed, index, regions, pixels);
}

/** Pictures of one step with shuffled phrases, as a batch and its features, which the caller owns. */
function stepBatch(model: Sa2vaModel, world: DamagedWorld, seed: number, step: number) {
  const drawn = Array.from({ length: PICTURES }, (_, at) => picture(world, seed, step * PICTURES + at, REGIONS, SIDE));
  const regions = drawn.map((picture, at) =>
    shuffled(picture.regions, { seed, step, loop: 0, row: at, rollout: 0, stream: STREAM.mask }),
  );
  const weights = weightsView(new Map([...model.frozen, ...model.base]), {}, 0);
  const pixels = towerInputs(model, drawn);
  const features = tf.tidy(() => {
    const { vision, sam } = runTowers(model, weights, pixels);
    return { vision, sam: { ...sam } };
  });
  tf.dispose([pixels.vision, pixels.sam]);
  return { batch: pocketBatch(model, { tiles: 1 }, regions, shapeOf(world, model.config.tokenGridSide)), features };
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), OPTIONS);
  const out = one(parsed, "out");
  if (out === undefined) throw badInput("--out DIR is needed", "out");
  if (existsSync(join(out, "model.safetensors"))) {
    throw badInput(`${out} holds a model already; nothing was written`, "out");
  }
  const target = Number(one(parsed, "target") ?? 0.5);
  const rate = Number(one(parsed, "rate") ?? 5e-4);
  if (!(target > 0 && target < 1)) throw badInput("--target must be an IoU between 0 and 1", "target");
  if (!(rate > 0)) throw badInput("--rate must be a number above 0", "rate");
  const world = one(parsed, "world") ?? "pictures";
  if (world !== "pictures" && world !== "extent") {
    throw badInput(`--world must be "pictures" or "extent", not "${world}"`, "world");
  }
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, 29);
  const steps = whole(parsed, "most-steps", 1, 100_000, 400);
  const looked = whole(parsed, "check-pictures", 1, 10_000, 64);

  const device = await openNodeDevice();
  const folder = await nodeFolder(one(parsed, "model") ?? join(root, "public", "pocket", "model"));
  const model = await openSa2va(folder, "pocket");
  const scorer = meteorScorer(await nodeWordnet());
  const blocks = ["seg-prompt", "mask-decoder"];
  const start = Object.fromEntries([...model.base].filter(([name]) => blocks.includes(trainableBlock(name) ?? "")));
  const trainer = new SftTrainer(model, start, {
    loss: LOSS,
    learningRate: rate,
    schedule: { kind: "constant" },
    maxGradNorm: 1,
    emaDecay: 0.9,
    loraScale: 0,
  });
  const pictures = Array.from({ length: looked }, (_, at) => picture(world, CHECK_SEED, at, 2, 2 * SIDE));

  const check = async (): Promise<Interval> => {
    const own = trainer.weights("current");
    const signal = new AbortController().signal;
    const answers = await answerHeldOut(model, own, pictures, scorer, { maxCompletionLength: 16, signal });
    tf.dispose(Object.values(own));
    const clusters = answers.map(({ picture }) => picture);
    const overlaps = answers.map(({ iou }) => iou);
    const iou = clusterInterval(overlaps, clusters, 1);
    const meteor = answers.reduce((sum, answer) => sum + answer.meteor, 0) / answers.length;
    const missed = overlaps.filter((value) => value < 0.2).length / overlaps.length;
    process.stdout.write(`${JSON.stringify({ step: trainer.steps, iou, missed, meteor })}\n`);
    return iou;
  };

  let iou = await check();
  while (iou.mean > target && trainer.steps < steps) {
    const { batch, features } = stepBatch(model, world, seed, trainer.steps);
    const report = await trainer.step([{ batch, features }]);
    tf.dispose(features);
    device.check();
    if (!report.stepped)
      throw new LabError("gpu", `The gradient of step ${trainer.steps} is not finite; nothing was written`);
    if (trainer.steps % CHECK_EVERY === 0 || trainer.steps === steps) iou = await check();
  }
  if (iou.mean > target) {
    throw badInput(`IoU is still ${iou.mean.toFixed(3)} after ${steps} steps; nothing was written`, "most-steps");
  }
  mkdirSync(out, { recursive: true });
  const own = trainer.weights("current");
  try {
    await writeTrainedPocket(out, model, own);
  } catch (thrown) {
    rmSync(out, { recursive: true, force: true });
    throw thrown;
  }
  tf.dispose(Object.values(own));
  process.stdout.write(`IoU ${iou.mean.toFixed(3)} after ${trainer.steps} steps, written to ${out}\n`);
  trainer.dispose();
  model.dispose();
  device.close();
  return 0;
});
