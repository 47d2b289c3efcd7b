import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { inPace } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { encodeSam } from "../../src/engine/model/sam2/hiera.ts";
import { decodeMasks, selectMask } from "../../src/engine/model/sam2/mask-decoder.ts";
import { imageLogits } from "../../src/engine/model/sam2/postprocess.ts";
import { loadDeps } from "../../tools/parity/deps.ts";
import { openGoldenModel } from "../../tools/parity/golden-model.ts";
import { sa2vaSam2Parity } from "../../tools/parity/sa2va/sa2va-sam2.ts";
import { sa2vaTrainParity } from "../../tools/parity/sa2va/sa2va-train.ts";
import { sa2vaVisionParity } from "../../tools/parity/sa2va/sa2va-vision.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = fileURLToPath(new URL("../golden/sa2va-tiny-qwen2/", import.meta.url));

let engine: EngineDevice;
let tensors = 0;
beforeAll(async () => {
  engine = await useGpu();
  tensors = tf.memory().numTensors;
});
afterAll(() => {
  expect(tf.memory().numTensors).toBe(tensors);
});

async function valuesOf(tensor: Tensor): Promise<number[]> {
  const values = Array.from(await tensor.data());
  tensor.dispose();
  return values;
}

describe("SAM2 on the GPU", () => {
  it("equals every golden array and leaves nothing behind", async () => {
    const before = tf.memory().numTensors;
    const rows = [];
    for await (const row of sa2vaSam2Parity(await nodeFolder(GOLDEN), await loadDeps())) rows.push(row);
    engine.check();
    expect(rows.filter((row) => !row.pass)).toEqual([]);
    expect(rows.length).toBe(42);
    expect(tf.memory().numTensors).toBe(before);
  });

  it.each([
    { name: "preprocessing and vision tower", check: sa2vaVisionParity, rows: 10 },
    { name: "training step with every gradient", check: sa2vaTrainParity, rows: 223 },
  ])("equals the golden $name", async ({ check, rows: count }) => {
    const before = tf.memory().numTensors;
    const rows = [];
    for await (const row of check(await nodeFolder(GOLDEN), await loadDeps())) rows.push(row);
    engine.check();
    expect(rows.filter((row) => !row.pass)).toEqual([]);
    expect(rows.length).toBe(count);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("decodes the prompts of a group independently of each other", async () => {
    const model = await openGoldenModel(await nodeFolder(GOLDEN));
    const { sam2 } = model.config;
    const golden = await model.arrays("golden_sam2.safetensors");
    const lang = await golden.tensor("lang_embed");
    const size = sam2.imageSize;
    const pixels = tf.tidy(() =>
      tf
        .range(0, size * size * 3)
        .sin()
        .reshape([1, size, size, 3]),
    );
    const features = await inPace(encodeSam(model.weights, sam2, pixels));
    const turned = lang.neg();
    const pair = tf.concat([lang, turned]);
    const together = decodeMasks(model.weights, sam2, features, pair);
    const alone = decodeMasks(model.weights, sam2, features, turned);
    const all = Array.from(await together.masks.data());
    const single = Array.from(await alone.masks.data());
    const largest = single.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const second = all.slice(single.length);
    const worst = second.reduce((most, value, at) => Math.max(most, Math.abs(value - (single[at] as number))), 0);
    expect(worst / largest).toBeLessThan(1e-5);
    const first = all.slice(0, single.length);
    expect(Math.max(...first.map((value, at) => Math.abs(value - (single[at] as number))))).toBeGreaterThan(
      1e-2 * largest,
    );
    expect(together.iou.shape).toEqual([2, 4]);
    expect(together.objectScore.shape).toEqual([2, 1]);
    tf.dispose([
      lang,
      turned,
      pair,
      pixels,
      ...Object.values(features),
      ...Object.values(together),
      ...Object.values(alone),
    ]);
    model.dispose();
  });

  it("chooses among candidates 1 to 3 and gives the IoU head no gradient", async () => {
    const masks = tf.tensor4d([9, 1, 2, 3, 9, 4, 5, 6], [2, 4, 1, 1]);
    const iou = tf.tensor2d([0.99, 0.2, 0.7, 0.1, 0.99, 0.6, 0.1, 0.5], [2, 4]);
    const chosen = selectMask(masks, iou);
    expect(await valuesOf(chosen.mask)).toEqual([2, 4]);
    expect(await valuesOf(chosen.index)).toEqual([1, 0]);
    const { value, grads } = tf
      .engine()
      .gradients(() => selectMask(masks, iou).mask.square().sum(), [masks, iou], undefined, true);
    value.dispose();
    expect(await valuesOf(grads[0] as Tensor)).toEqual([0, 0, 4, 0, 0, 8, 0, 0]);
    // Not even zeros: weight decay would move the head.
    expect(grads[1] ?? null).toBeNull();
    tf.dispose([masks, iou]);
  });

  it("enlarges in two steps, not in one", async () => {
    const low = tf.tensor3d([0, 1, 2, 3], [1, 2, 2]);
    const twoSteps = await valuesOf(imageLogits(low, 4, 3, 3));
    const oneStep = await valuesOf(imageLogits(low, 2, 3, 3));
    expect(twoSteps[4]).toBeCloseTo(1.5, 6);
    expect(Math.abs((twoSteps[0] as number) - (oneStep[0] as number))).toBeGreaterThan(1e-3);
    low.dispose();
  });
});
