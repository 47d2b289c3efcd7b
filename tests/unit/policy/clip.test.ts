/** Clips in front of the language model. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node-files.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { projectVisual } from "../../../src/engine/model/projector.ts";
import { openSa2va, type Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { HIERA_L } from "../../../src/engine/model/sam2/config.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { bankBytes, mapsRead, trackingWork } from "../../../src/engine/plan/video.ts";
import {
  captionClipPrompt,
  clipVision,
  embedClip,
  segmentClipPrompt,
} from "../../../src/engine/policy/clip/clip-prompt.ts";
import { chosenFrames, parseFrameChoice } from "../../../src/engine/policy/clip/frames.ts";
import { embedPrompt } from "../../../src/engine/policy/embedding.ts";
import { captionPrompt } from "../../../src/engine/policy/prompts.ts";
import { buildClipPrompt } from "../../../src/engine/text/clip-prompt.ts";
import { buildPrompt, REGION_CAPTION_WORDING } from "../../../src/engine/text/prompt.ts";

let model: Sa2vaModel;
beforeAll(async () => {
  await tf.setBackend("cpu");
  model = await openSa2va(await nodeFolder("tests/golden/sa2va-tiny-qwen2"), "tiny", { video: true });
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
  const three = segmentClipPrompt(model, "the Left dog", 3);
  const frame = `<img>${"<IMG_CONTEXT>".repeat(16)}</img>`;
  expect(three.full).toContain(`${frame}\n${frame}\n${frame}\nPlease segment the Left dog.`);
  expect(three.frameSpans.length).toBe(3);
  expect(segmentClipPrompt(model, "who runs?", 1).full).toContain(
    `${frame}\n who runs? Please respond with a segmentation mask.`,
  );
  expect(() => segmentClipPrompt(model, "x", 0)).toThrow(/0 frames/);
});

it("a region follows each frame on which it is seen, with that frame's tokens", async () => {
  const cells = (...set: number[]): Uint8Array =>
    Uint8Array.from({ length: 16 }, (_, at) => (set.includes(at) ? 1 : 0));
  const prompt = captionClipPrompt(model, [cells(2, 5), cells(), cells(7)]);
  expect(prompt.regionSpans.map((span) => span && span.end - span.start)).toEqual([2, undefined, 1]);
  expect(() => captionClipPrompt(model, [cells()])).toThrow(/no visual token/);
  const weights = weightsView(model.frozen, Object.fromEntries(model.base), 0);
  const picture = (shade: number) => ({ width: 16, height: 16, data: new Uint8Array(768).fill(shade) });
  const before = tf.memory().numTensors;
  const vision = clipVision(model, [picture(20), picture(120), picture(220)]);
  const embedded = embedClip(model, weights, prompt, prompt.ids, vision);
  const rows = (await embedded.array()) as number[][][];
  const at = (row: number): number[] => rows[0]?.[row] as number[];
  const [first, , last] = prompt.frameSpans;
  expect(at((prompt.regionSpans[0]?.start ?? 0) + 1)).toEqual(at((first?.start ?? 0) + 5));
  expect(at(prompt.regionSpans[2]?.start ?? 0)).toEqual(at((last?.start ?? 0) + 7));
  expect(at(first?.start ?? 0)).not.toEqual(at(last?.start ?? 0));
  tf.dispose([vision, embedded]);

  // One frame: the embeddings of a picture.
  const single = clipVision(model, [picture(90)]);
  const region = { ...captionPrompt(model, 1, cells(4)), cells: cells(4) };
  const spans = { frameSpans: [region.imageSpan], regionSpans: region.regionSpans, cells: [cells(4)] };
  const pair = tf.tidy(() => [
    embedClip(model, weights, { ...spans, ids: region.ids, full: region.full }, region.ids, single),
    embedPrompt(model, weights, region, region.ids, projectVisual(weights, single), cells(4)),
  ]);
  expect(await pair[0]?.array()).toEqual(await pair[1]?.array());
  tf.dispose([single, ...pair]);
  expect(tf.memory().numTensors).toBe(before);
});

it("chooses frames as the published programs do", () => {
  expect(chosenFrames(60, { kind: "first", count: 5 })).toEqual([0, 1, 2, 3, 4]);
  expect(chosenFrames(3, { kind: "first", count: 5 })).toEqual([0, 1, 2]);
  expect(chosenFrames(6, { kind: "uniform", count: 3 })).toEqual([0, 2, 5]);
  expect(chosenFrames(60, { kind: "uniform", count: 5 })).toEqual([0, 14, 29, 44, 59]);
  expect(chosenFrames(2, { kind: "uniform", count: 5 })).toEqual([0, 1]);
  expect(chosenFrames(1, { kind: "uniform", count: 1 })).toEqual([0]);
  expect(chosenFrames(20, { kind: "every", count: 5, step: 6 })).toEqual([0, 6, 12, 18]);
  expect(parseFrameChoice("every:6", 5)).toEqual({ kind: "every", count: 5, step: 6 });
  expect(parseFrameChoice("every:0", 5)).toBeUndefined();
  expect(() => chosenFrames(0, { kind: "first", count: 5 })).toThrow(/no frames/);
});

it("counts what a tracked frame costs at published sizes", () => {
  expect(mapsRead(HIERA_L, 5)).toBe(11);
  expect(trackingWork(HIERA_L, 11).attention / 0.88e12).toBeCloseTo(1, 1);
  expect(trackingWork(HIERA_L, 7).attention / 0.61e12).toBeCloseTo(1, 1);
  expect(trackingWork(HIERA_L, 11).memoryEncoder / 0.012e12).toBeCloseTo(1, 1);
  const bytes = bankBytes(HIERA_L, 5);
  expect(bytes.memory).toBe(1_048_576);
  expect(bytes.bank).toBe(11 * 1_048_576 + 20 * 1024);
  expect(bytes.scores / 1e6).toBeCloseTo(738, 0);
});
