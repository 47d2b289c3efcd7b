/** Clips in front of the language model. */

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { chosenFrames, stacked } from "../../../src/engine/data/film-strip.ts";
import { atOnce } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { projectVisual } from "../../../src/engine/model/families/internvl/family.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { HIERA_L } from "../../../src/engine/model/sam2/config.ts";
import { encodeFrame } from "../../../src/engine/model/sam2/hiera.ts";
import { selectMask } from "../../../src/engine/model/sam2/mask-decoder.ts";
import { type FoundMask, readMasks } from "../../../src/engine/model/sam2/postprocess.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import {
  decoderWork,
  encoderWork,
  LANGUAGE_TOKENS,
  pointerWork,
  TRACKED_TOKENS,
} from "../../../src/engine/plan/work.ts";
import { embedPrompt } from "../../../src/engine/policy/embedding.ts";
import {
  createFeatureCache,
  disposeFeatures,
  encodeImage,
  type ImageFeatures,
} from "../../../src/engine/policy/features.ts";
import { candidatePolicy } from "../../../src/engine/policy/mask/candidate-policy.ts";
import { findInPictures } from "../../../src/engine/policy/partner.ts";
import {
  decodeFrames,
  type PhraseOutput,
  phraseOutputs,
  phrasePromptsOf,
} from "../../../src/engine/policy/phrase-output.ts";
import { captionPrompt } from "../../../src/engine/policy/prompts.ts";
import { buildClipPrompt } from "../../../src/engine/text/clip-prompt.ts";
import { buildPrompt, REGION_CAPTION_WORDING, withVisualTokens } from "../../../src/engine/text/prompt.ts";
import { clipVision, parseFrameChoice, segmentClipPrompt } from "../../../src/plugins/clips/follow.ts";
import { encodeMemory } from "../../../src/plugins/clips/sam2/clip.ts";
import { promptedMasks, trackedMasks } from "../../../src/plugins/clips/sam2/frame-masks.ts";
import { memoryAttention, memoryConstants } from "../../../src/plugins/clips/sam2/memory-attention.ts";
import { videoShapes } from "../../../src/plugins/clips/sam2/video-shapes.ts";
import { bankBytes, mapsRead, pointersRead, trackingWork } from "../../../src/plugins/clips/video-cost.ts";

let model: Sa2vaModel;
beforeAll(async () => {
  await tf.setBackend("cpu");
  model = await openSa2va(await nodeFolder("tests/golden/sa2va-tiny-qwen2"), "tiny", { video: videoShapes });
});
afterAll(() => model.dispose());

it("one frame is a picture of one tile", () => {
  const { tokenizer, config } = model;
  const text = REGION_CAPTION_WORDING;
  const regionTokenCounts = [3];
  const clip = buildClipPrompt(tokenizer, config, { text, frames: 1, regionTokenCounts });
  const picture = buildPrompt(tokenizer, config, { text, tiles: 1, regionTokenCounts });
  expect(clip).toMatchObject({
    ids: picture.ids,
    full: picture.full,
    frameSpans: [picture.imageSpan],
    regionSpans: picture.regionSpans,
  });
});

it("frames stand line by line, and an expression that asks is worded otherwise", () => {
  const size = { height: 16, width: 16 };
  const three = segmentClipPrompt(model, "the Left dog", 3, size);
  const frame = `<img>${"<IMG_CONTEXT>".repeat(16)}</img>`;
  expect(three.full).toContain(`${frame}\n${frame}\n${frame}\nPlease segment the Left dog.`);
  expect(three.frameSpans?.length).toBe(3);
  expect(segmentClipPrompt(model, "who runs?", 1, size).full).toContain(
    `${frame}\n who runs? Please respond with a segmentation mask.`,
  );
  expect(() => segmentClipPrompt(model, "x", 0, size)).toThrow(/0 frames/);
});

it("a region follows each frame on which it is seen, with that frame's tokens", async () => {
  const cells = (...set: number[]): Uint8Array =>
    Uint8Array.from({ length: 16 }, (_, at) => (set.includes(at) ? 1 : 0));
  const prompt = captionPrompt(model, { tiles: 3 }, Uint8Array.from([...cells(2, 5), ...cells(), ...cells(7)]));
  expect(prompt.regionSpans.map(({ start, end }) => end - start)).toEqual([2, 1]);
  expect(() => captionPrompt(model, { tiles: 2 }, new Uint8Array(32))).toThrow(/no visual token of any frame/);
  expect(withVisualTokens(prompt.text)).toBe(prompt.full);
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const picture = (shade: number) => ({ width: 16, height: 16, data: new Uint8Array(768).fill(shade) });
  const before = tf.memory().numTensors;
  const vision = await clipVision(model, [picture(20), picture(120), picture(220)]);
  const embedded = tf.tidy(() =>
    embedPrompt(model, weights, prompt, prompt.ids, projectVisual(weights, vision), [prompt.cells]),
  );
  const rows = (await embedded.array()) as number[][][];
  const at = (row: number): number[] => rows[0]?.[row] as number[];
  const [first, , last] = prompt.frameSpans ?? [];
  expect(at((prompt.regionSpans[0]?.start ?? 0) + 1)).toEqual(at((first?.start ?? 0) + 5));
  expect(at(prompt.regionSpans[1]?.start ?? 0)).toEqual(at((last?.start ?? 0) + 7));
  expect(at(first?.start ?? 0)).not.toEqual(at(last?.start ?? 0));
  tf.dispose([vision, embedded]);
  expect(tf.memory().numTensors).toBe(before);
});

it("every frame of a clip is decoded as that frame alone, and stored masks are those of its strip", async () => {
  const side = 20;
  const data = Uint8Array.from({ length: 3 * side * side * 3 }, (_, at) => (at * at) % 251);
  const strip = { width: side, height: 3 * side, data };
  const cache = createFeatureCache(model, 1, 2 ** 30);
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const view = { total: 3, frames: [0, 2] };
  const features = await cache.get("clip", strip, view);
  const [one, other] = [
    await cache.get("clip", strip, { total: 3, frames: [0] }),
    await cache.get("clip", strip, { total: 3, frames: [2] }),
  ];
  expect([cache.misses, cache.hits]).toEqual([2, 2]);
  const phrases = ["a red square", "sky"];
  const about = { features, phrases };
  const prompts = phrasePromptsOf(model, weights, [about]);
  const masks = async (frame: ImageFeatures) => {
    const decoded = decodeFrames(model, weights, [frame], prompts);
    const { mask } = tf.tidy(() => ({ ...selectMask(decoded.masks, decoded.iou) }));
    const [read] = await readMasks([{ lowRes: mask, height: side, width: side }], model.config.sam2.imageSize);
    return read as FoundMask[];
  };
  const [first, last] = [await masks(one), await masks(other)];
  const found = await findInPictures(model, weights, [
    { ...about, height: 3 * side, width: side, view },
    { features: one, phrases: [phrases[1] as string], height: side, width: side },
  ]);
  const empty = new Uint8Array(side * side);
  phrases.forEach((_, n) => {
    expect(found[0]?.[n]?.mask).toEqual(stacked([first[n]?.mask as Uint8Array, empty, last[n]?.mask as Uint8Array]));
  });
});

it("what cannot be read back from the device is freed", async () => {
  const rgb = { width: 20, height: 20, data: new Uint8Array(1200) };
  const draws = { normal: () => 0.5, uniform: () => 0.5 };
  const features = await encodeImage(model, rgb, 1);
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const outputs = phraseOutputs(model, weights, [{ features, phrase: "sky" }]);
  const output = outputs.all[0] as PhraseOutput;
  output.decoded();
  const before = tf.memory().numTensors;
  const read = vi.spyOn(tf.backend(), "read").mockRejectedValue(new Error("no read-back"));
  try {
    await expect(createFeatureCache(model, 1, 0).get("picture", rgb)).rejects.toThrow("no read-back");
    await expect(candidatePolicy(1)(output, 2, draws)).rejects.toThrow("no read-back");
  } finally {
    read.mockRestore();
  }
  expect(tf.memory().numTensors).toBe(before);
  outputs.dispose();
  disposeFeatures(features);
});

it("a limit of tiles holds below config.json's min_dynamic_patch: a frame is one tile", async () => {
  const several = { ...model, tiling: { ...model.tiling, minTiles: 2 } };
  const rgb = { width: 48, height: 24, data: new Uint8Array(48 * 24 * 3) };
  for (const [limit, tiles] of [
    [1, 1],
    [4, 3],
  ] as const) {
    const features = await encodeImage(several, rgb, limit);
    expect(features.tiles).toBe(tiles);
    disposeFeatures(features);
  }
});

it("chooses frames as the published programs do", () => {
  expect(chosenFrames(60, { kind: "first", count: 5 })).toEqual([0, 1, 2, 3, 4]);
  expect(chosenFrames(3, { kind: "first", count: 5 })).toEqual([0, 1, 2]);
  expect(chosenFrames(6, { kind: "uniform", count: 3 })).toEqual([0, 2, 5]);
  expect(chosenFrames(60, { kind: "uniform", count: 5 })).toEqual([0, 14, 29, 44, 59]);
  expect(chosenFrames(2, { kind: "uniform", count: 5 })).toEqual([0, 1]);
  expect(chosenFrames(1, { kind: "uniform", count: 1 })).toEqual([0]);
  // np.linspace(0, 122, 15, dtype=int) has 60 in the middle, not 61; its last number is exact.
  expect(chosenFrames(123, { kind: "uniform", count: 15 })[7]).toBe(60);
  expect(chosenFrames(62, { kind: "uniform", count: 8 }).at(-1)).toBe(61);
  expect(chosenFrames(20, { kind: "every", count: 5, step: 6 })).toEqual([0, 6, 12, 18]);
  expect(parseFrameChoice("every:6", 5)).toEqual({ kind: "every", count: 5, step: 6 });
  expect(parseFrameChoice("every:0", 5)).toBeUndefined();
  expect(() => chosenFrames(0, { kind: "first", count: 5 })).toThrow(/no frames/);
});

it("counts what a tracked frame costs at published sizes", () => {
  expect(mapsRead(HIERA_L, 5)).toBe(11);
  expect(pointersRead(5)).toBe(20);
  expect(trackingWork(HIERA_L, 11, 20).attention / 0.88e12).toBeCloseTo(1, 1);
  expect(trackingWork(HIERA_L, 7, 16).attention / 0.61e12).toBeCloseTo(1, 1);
  expect(trackingWork(HIERA_L, 11, 20).memoryEncoder / 0.012e12).toBeCloseTo(1, 1);
  const bytes = bankBytes(HIERA_L, 5);
  expect(bytes.memory).toBe(1_048_576);
  expect(bytes.bank).toBe(11 * 1_048_576 + 20 * 1024);
  expect(bytes.scores / 1e6).toBeCloseTo(738, 0);
});

it.each([
  [1, 1],
  [3, 4],
])("counts the operations that the engine runs for %d maps and %d pointers", async (maps, pointers) => {
  const { sam2 } = model.config;
  const { hiddenDim: channels, memory, imageSize } = sam2;
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const side = imageSize / 16;
  const work = trackingWork(sam2, maps, pointers);
  const counted = await products(() => {
    const f16 = tf.ones([1, side, side, channels]);
    const read = tf.ones([1, maps * side * side, memory.dim]);
    const keys = {
      maps: read,
      mapPositions: read,
      pointers: tf.ones([1, (pointers * channels) / memory.dim, memory.dim]),
    };
    memoryAttention(weights, sam2, memoryConstants(sam2), f16, keys);
  });
  expect(counted).toBe(work.attention);
  expect(
    await products(() => {
      encodeMemory(weights, tf.ones([1, side, side, channels]), tf.zeros([1, 4 * side, 4 * side]), imageSize);
    }),
  ).toBe(work.memoryEncoder);
});

it("counts the operations of trunk, neck and mask decoder that the engine runs", async () => {
  const { sam2, decoderSizes } = model.config;
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const map = (stride: number) => {
    const side = sam2.imageSize / stride;
    return tf.ones([1, side, side, sam2.hiddenDim]);
  };
  const maps = () => ({ f16: map(16), f8: map(8), f4: map(4) });
  const pixels = () => tf.zeros([1, sam2.imageSize, sam2.imageSize, 3]);
  expect(await products(() => void atOnce(encodeFrame(weights, sam2, pixels())))).toBe(encoderWork(sam2));
  const mask = (tokens: number) => decoderWork(sam2, decoderSizes, tokens) + pointerWork(sam2);
  expect(await products(() => void promptedMasks(weights, sam2, maps(), tf.ones([1, sam2.hiddenDim])))).toBe(
    mask(LANGUAGE_TOKENS),
  );
  expect(await products(() => void trackedMasks(weights, sam2, maps(), map(16), false))).toBe(mask(TRACKED_TOKENS));
  expect(encoderWork(HIERA_L) / 1e12).toBeCloseTo(1.82, 2);
  expect(decoderWork(HIERA_L, { mlp: 2048, iouHidden: 256, maskIn: 16 }, TRACKED_TOKENS) / 1e12).toBeCloseTo(0.0053, 4);
});

/** Operations of all products and convolutions of a run, 2 a multiply-add; what it makes is freed. */
async function products(run: () => void): Promise<number> {
  const { kernels } = await tf.profile(() => tf.tidy(run));
  const size = (shape: readonly number[]): number => shape.reduce((all, one) => all * one, 1);
  return kernels.reduce((sum, { name, inputShapes, outputShapes }) => {
    const [x = [], weight = []] = inputShapes as number[][];
    const [out = []] = outputShapes as number[][];
    if (/Depthwise/.test(name)) return sum + 2 * size(out) * size(weight.slice(0, 2));
    if (/Conv2D/.test(name)) return sum + 2 * size(out) * size(weight.slice(0, 3));
    if (!/MatMul/.test(name)) return sum;
    // The shared side is what both have and the result lacks.
    const squared = (size(x) * size(weight)) / size(out);
    const batches = size(out.slice(0, -2));
    return sum + 2 * size(out) * Math.sqrt(squared / batches);
  }, 0);
}
