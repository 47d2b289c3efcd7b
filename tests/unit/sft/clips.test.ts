/** Clips in supervised batches: the same prompts, captions and masks as the lab's own path over clips. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeGrownPocket } from "../../../scripts/lib/build/write-pocket.ts";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { countWork } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { openSa2va } from "../../../src/engine/model/sa2va.ts";
import { selectMask } from "../../../src/engine/model/sam2/mask-decoder.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { captionLikelihoods } from "../../../src/engine/policy/caption-likelihood.ts";
import { createFeatureCache, disposeFeatures, type ImageFeatures } from "../../../src/engine/policy/features.ts";
import { segmentPictures } from "../../../src/engine/policy/partner.ts";
import { asStrips } from "../../../src/engine/policy/phrase-output.ts";
import { sftBatch } from "../../../src/plugins/supervised/batch.ts";
import { PARTS, SFT_DEFAULTS, selectedMasks, sftLoss } from "../../../src/plugins/supervised/forward.ts";
import { pocketBatch } from "../../../tools/pocket/batch.ts";
import { POCKET_LOSS } from "../../../tools/pocket/loss.ts";
import { SftTrainer } from "../../../tools/pocket/trainer.ts";
import {
  clipInputs,
  clipWords,
  type PocketClip,
  pocketClip,
  stripOf,
} from "../../../tools/pocket/world/clip-samples.ts";
import { allWords } from "../../../tools/pocket/world/describe.ts";
import { sceneDice } from "../../../tools/pocket/world/dice.ts";
import { describeMotion, drawClip, motionIn, sceneAt } from "../../../tools/pocket/world/motion.ts";
import { drawScene, place } from "../../../tools/pocket/world/scene.ts";
import { ADDED_WORDS } from "../../../tools/pocket/world/vocabulary.ts";
import { stepData } from "../../../tools/pocket/worlds.ts";
import { expectSameBits } from "../../support/same-bits.ts";
import { disposeTiny, type TinySft, tinySft, trainables } from "../../support/tiny-sft.ts";

const FRAMES = 2;
const VIEW = { total: FRAMES, frames: [0, 1] };
const SHAPE = { frames: FRAMES } as const;

let tiny: TinySft;
let clips: PocketClip[];
let features: ImageFeatures[];
beforeAll(async () => {
  await tf.setBackend("cpu");
  tiny = await tinySft();
  clips = [1, 2].map((index) => pocketClip(5, index, { regions: 2, frames: FRAMES }));
  const cache = createFeatureCache(tiny.model, 1, 0);
  features = [];
  for (const [at, clip] of clips.entries()) features.push(await cache.get(`${at}`, stripOf(clip), VIEW));
});
afterAll(() => {
  for (const each of features) disposeFeatures(each);
  disposeTiny(tiny);
});

const weightsOf = ({ model }: TinySft) => weightsView(new Map([...model.frozen, ...model.base]), {}, 0);

/** The features of both clips one after the other. */
function together() {
  const joined = (of: (one: ImageFeatures) => tf.Tensor) => tf.concat(features.map(of));
  const [f16, f8, f4] = (["f16", "f8", "f4"] as const).map((map) => joined(({ sam }) => sam[map]));
  return { vision: joined(({ vision }) => vision), sam: { f16, f8, f4 } as ImageFeatures["sam"] };
}

it("gives captions of masklets the likelihood that the policy gives them", async () => {
  const { model } = tiny;
  const batch = sftBatch(
    model,
    { tiles: 1 },
    clips.map(({ regions }) => regions.slice(0, 1)),
    SHAPE,
  );
  const parts = tf.tidy(() => sftLoss(model, weightsOf(tiny), together(), batch, SFT_DEFAULTS).parts);
  const token = ((await parts.data()) as Float32Array)[PARTS.indexOf("token")] as number;
  parts.dispose();
  let [sum, count] = [0, 0];
  for (const [at, { regions }] of clips.entries()) {
    for (const { mask, caption, height, width } of regions.slice(0, 1)) {
      const asked = { masks: [mask], height, width, view: VIEW, caption, others: [] };
      const [found] = await captionLikelihoods(
        model,
        weightsOf(tiny),
        { features: features[at] as ImageFeatures, ...asked },
        { logitGuard: Number.POSITIVE_INFINITY, keepTiny: true },
      );
      const tokens = model.tokenizer.encode(`${caption}<|im_end|>`).length;
      sum -= tokens * Math.log(found?.likelihood as number);
      count += tokens;
    }
  }
  expect(token).toBeCloseTo(sum / count, 4);
});

it("decodes every frame with the clip's prompt, as the partner does", async () => {
  const { model } = tiny;
  const regions = clips.map((clip) => clip.regions);
  const batch = sftBatch(model, { tiles: 1 }, regions, SHAPE);
  const own = tf.tidy(() => selectedMasks(model, weightsOf(tiny), together(), batch));
  const side = batch.maskSide;
  const wanted = tf.tidy(() => {
    const asked = regions.map((one, at) => ({
      features: features[at] as ImageFeatures,
      phrases: one.map(({ phrase }) => phrase),
    }));
    const { masks, iou } = segmentPictures(model, weightsOf(tiny), asked);
    return selectMask(masks, iou).mask.reshape([-1, side, side]);
  });
  expect(own.shape).toEqual([2 * FRAMES * 2, side, side]);
  const [found, given] = [await own.data(), await wanted.data()];
  expect(Math.max(...Array.from(found, (value, at) => Math.abs(value - (given[at] as number))))).toBeLessThan(1e-3);
  tf.dispose([own, wanted]);
});

it("orders the targets as the decoder orders its masks", () => {
  const { model } = tiny;
  const { masks, maskSide, cells, samCells } = pocketBatch(
    model,
    { tiles: 1 },
    clips.map(({ regions }) => regions),
    SHAPE,
  );
  const numbers = Float32Array.from(masks.flatMap((mask) => Array.from(mask)));
  const strips = tf.tidy(() => {
    const rows = tf.tensor4d(numbers, [8, 1, maskSide, maskSide]).slice([4, 0, 0, 0], [4, 1, maskSide, maskSide]);
    const score = tf.zeros([4, 1]);
    return asStrips({ masks: rows, iou: score, objectScore: score }, FRAMES).masks.arraySync() as number[][][][];
  });
  clips[1]?.regions.forEach(({ mask, height, width }, region) => {
    const covered = mask.reduce((sum, value) => sum + value, 0) / (height * width);
    const strip = strips[region]?.[0]?.flat() ?? [];
    expect(strip.reduce((sum, value) => sum + value, 0) / strip.length).toBeCloseTo(covered, 5);
  });
  for (const share of [...cells, ...samCells]) expect(share.reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 5);
  expect(cells[0]?.length).toBe(FRAMES * model.config.tokensPerTile);
});

it("draws things that go from one third of the picture to the opposite one, and captions that say both places", () => {
  const said = new Set<string>();
  for (let index = 0; index < 60; index++) {
    const dice = sceneDice(31, index);
    const clip = drawClip(drawScene(dice), dice);
    const places = [0, 0.2, 0.8, 1].map((time) => sceneAt(clip, time).things.map(place));
    const captions = clip.scene.things.map((_, at) => describeMotion(clip, at, dice));
    captions.forEach((caption, at) => {
      const way = clip.ways[at] as string;
      said.add(way);
      expect(motionIn(caption)).toBe(way);
      // A frame at either end may be left out of a step.
      expect([places[1]?.[at], places[2]?.[at]]).toEqual([places[0]?.[at], places[3]?.[at]]);
      expect(places[0]?.[at] === places[3]?.[at]).toBe(way === "still");
      expect(captions.indexOf(caption)).toBe(at);
    });
  }
  expect([...said].sort()).toEqual(["down", "left", "right", "still", "up"]);
  expect(motionIn("the red car")).toBe("");
  expect(motionIn("the red car at the top left that moves to the bottom right")).toBe("elsewhere");
  expect(motionIn("the red car at the top that moves to the top")).toBe("elsewhere");
});

it("names where a thing is in each frame", () => {
  const clip = pocketClip(5, 1, { regions: 1, frames: 3 });
  const words = clipWords(clip, 7);
  expect(words).toHaveLength(3 * 7 * 7);
  for (const [frame, { scene }] of clip.frames.entries()) {
    const own = words.slice(frame * 49, (frame + 1) * 49);
    for (const thing of scene.things)
      expect(own.some((said) => allWords(thing).every((word) => said.includes(word)))).toBe(true);
  }
});

it("appends the words of motion to a trained model and changes nothing else of it", async () => {
  const out = mkdtempSync(join(tmpdir(), "grown-"));
  const before = await openSa2va(await nodeFolder("public/pocket/model"), "pocket");
  await writeGrownPocket(out, "public/pocket/model", { added: "clips" });
  const after = await openSa2va(await nodeFolder(out), "pocket");
  const added = Object.keys(ADDED_WORDS.clips);
  const text = "the small red car that moves up stands still";
  expect(before.tokenizer.decode(before.tokenizer.encode(text))).toContain("<unk>");
  expect(after.tokenizer.decode(after.tokenizer.encode(text))).toBe(text);
  expect(after.config.language.vocabSize).toBe(before.config.language.vocabSize + added.length);
  for (const prompt of ["Please segment the red car in this image.", "Sure, [SEG].<|im_end|>"]) {
    expect(after.tokenizer.encode(prompt)).toEqual(before.tokenizer.encode(prompt));
  }
  for (const [name, tensor] of before.frozen) {
    const grown = after.frozen.get(name) as tf.Tensor;
    const [old, now] = [await (tensor as tf.Tensor).data(), await grown.data()];
    expectSameBits(now.slice(0, old.length), old, name);
    expect(now.length - old.length).toBe(/embed_tokens|lm_head/.test(name) ? added.length * 64 : 0);
  }
  // Once it has them, it stays as it is.
  const weights = readFileSync(join(out, "model.safetensors"));
  await writeGrownPocket(out, out);
  expect(readFileSync(join(out, "model.safetensors")).equals(weights)).toBe(true);

  // One step of the builder, with fewer layers and smaller pictures: the towers keep their values, and all else learns from pictures and clips.
  const { config } = after;
  const [language, vision] = [config.language, config.vision].map((part) => ({ ...part, layers: 1 }));
  const small = { ...config, language, vision, sam2: { ...config.sam2, imageSize: 64 } } as typeof config;
  const builder = { ...after, config: small };
  const start = trainables(builder, (name) => /^(mlp1|text_hidden_fcs)\.|embed_tokens/.test(name));
  const loss = { ...POCKET_LOSS, diceWeight: 0.5, iouWeight: 0, namingWeight: 1, featureWeight: 0 };
  const trainer = new SftTrainer(builder, start, {
    loss,
    learningRate: 1e-3,
    schedule: { kind: "constant" },
    maxGradNorm: 1,
    emaDecay: 0,
    loraScale: 0,
  });
  const wishes = { seed: 3, step: 1, pictures: 1, regions: 1, clips: 1 };
  const { micro, tensors } = stepData(builder, "clips", wishes);
  expect(micro.map(({ batch }) => batch.frames)).toEqual([1, 3]);
  const report = await trainer.step(micro);
  expect(report.stepped).toBe(true);
  const table = "language_model.model.embed_tokens.weight";
  const now = trainer.weights("current")[table] as tf.Tensor;
  const rows = (tensor: tf.Tensor) =>
    tensor.slice([(tensor.shape[0] as number) - added.length, 0]).arraySync() as number[][];
  const moved = rows(now).map((row, at) => String(row) !== String(rows(start[table] as tf.Tensor)[at]));
  expect(moved).toContain(true);
  trainer.dispose();
  tf.dispose([...tensors, ...Object.values(start)]);
  before.dispose();
  after.dispose();
  rmSync(out, { recursive: true });
});

it("counts work on a backend that records none", () => {
  expect(() => countWork(1e18)).not.toThrow();
});

it("reads the frames of a clip at the sizes of both towers", async () => {
  const { model } = tiny;
  const { vision, sam } = clipInputs(model, clips);
  expect(vision.shape).toEqual([4, model.config.tileSize, model.config.tileSize, 3]);
  expect(sam.shape[0]).toBe(4);
  tf.dispose([vision, sam]);
});
