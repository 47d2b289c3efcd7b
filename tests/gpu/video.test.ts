/** SAM2's memory on the GPU: recorded runs, and a clip whose cost does not grow with its length. */
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { FrameMaps } from "../../src/engine/model/sam2/hiera.ts";
import { type ClipOptions, type ClipStep, followClip, type StoredTracking } from "../../src/plugins/clips/sam2/clip.ts";
import { disposeFrameMasks } from "../../src/plugins/clips/sam2/frame-masks.ts";
import { videoClipsParity } from "../../tools/parity/video/video-clips.ts";
import { openVideoGolden, type VideoGolden } from "../../tools/parity/video/video-golden.ts";
import { videoOpsParity } from "../../tools/parity/video/video-ops.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = fileURLToPath(new URL("../golden/video/", import.meta.url));

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});

it.each([
  { name: "run", check: videoClipsParity, rows: 66 },
  { name: "piece", check: videoOpsParity, rows: 14 },
])("equals every recorded $name and leaves nothing behind", async ({ check, rows: count }) => {
  const before = tf.memory().numTensors;
  const rows = [];
  for await (const row of check(await nodeFolder(GOLDEN))) rows.push(row);
  engine.check();
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(rows.length).toBe(count);
  expect(tf.memory().numTensors).toBe(before);
});

/** Follows one object through a clip of `total` frames, starting at frame 2. */
async function follow(golden: VideoGolden, lang: Tensor, total: number, options: Partial<ClipOptions>, each?: Each) {
  const copy = ({ f16, f8, f4 }: FrameMaps): FrameMaps => ({ f16: f16.clone(), f8: f8.clone(), f4: f4.clone() });
  const clip = { total, maps: async (frame: number) => copy(golden.maps[frame % golden.maps.length] as FrameMaps) };
  const prompt = { kind: "language", frames: [2, 3], lang } as const;
  const found = new Map<number, number[]>();
  const blank = false;
  for await (const step of followClip(golden.weights, golden.config, clip, prompt, { blank, ...options })) {
    found.set(step.frame, Array.from(await step.masks.lowRes.data()));
    disposeFrameMasks(step.masks);
    await each?.(step);
  }
  return found;
}
type Each = (step: ClipStep) => Promise<void> | void;

it("holds as much after frame 18 as at the end, frees everything when it is left and continues where it stopped", async () => {
  const golden = await openVideoGolden(await nodeFolder(GOLDEN));
  const lang = tf.tidy(() => tf.range(0, 32).sin().reshape([1, 32])) as Tensor;
  const before = tf.memory().numTensors;
  const bytes: number[] = [];
  const tensors: number[] = [];
  const banks: number[] = [];
  let left: StoredTracking | undefined;
  const whole = await follow(golden, lang, 22, {}, async (step) => {
    bytes.push(tf.memory().numBytes);
    tensors.push(tf.memory().numTensors);
    banks.push(step.bankBytes);
    if (step.frame === 19) left = await step.save();
  });
  expect(tf.memory().numTensors).toBe(before);
  // Two conditioning frames, fifteen tracked ones with pointers, and six of them with maps: after that nothing is
  // added.
  const full = 17;
  expect(bytes.slice(full - 1, 20)).toEqual(bytes.slice(full - 1, 20).map(() => bytes[full - 1]));
  expect(tensors.slice(full - 1, 20)).toEqual(tensors.slice(full - 1, 20).map(() => tensors[full - 1]));
  expect(banks[full - 1]).toBeGreaterThan(banks[full - 2] as number);
  expect(banks[19]).toBe(banks[full - 1]);
  expect([...whole.keys()].slice(0, 4)).toEqual([2, 3, 4, 5]);
  expect([...whole.keys()].slice(-3)).toEqual([21, 1, 0]);

  const rest = await follow(golden, lang, 22, { resume: left });
  expect([...rest.keys()]).toEqual([20, 21, 1, 0]);
  for (const [frame, values] of rest) expect(values).toEqual(whole.get(frame));

  const stopped = follow(golden, lang, 22, {}, ({ frame }) => {
    if (frame === 4) throw new Error("left");
  });
  await expect(stopped).rejects.toThrow("left");
  expect(tf.memory().numTensors).toBe(before);
  lang.dispose();
  golden.dispose();
});
