import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { atOnce } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import type { VisionConfig } from "../../../src/engine/model/config.ts";
import { visionShapes } from "../../../src/engine/model/families/internvl/family.ts";
import { pixelShuffle, visionTower } from "../../../src/engine/model/vision.ts";
import { weightsView } from "../../../src/engine/model/weights/weights.ts";
import { visionErrors } from "../../support/vision-golden.ts";

const CONFIG: VisionConfig = {
  hiddenSize: 8,
  layers: 3,
  heads: 2,
  mlpSize: 12,
  imageSize: 8,
  patchSize: 2,
  qkvBias: true,
  qkNormalization: false,
  normType: "layer_norm",
  normEps: 1e-6,
  selectLayer: -1,
};

beforeAll(async () => {
  await tf.setBackend("cpu");
});

let seed = 1;
const random = (shape: readonly number[]): Tensor => tf.randomNormal([...shape], 0, 0.5, "float32", seed++);
const weightsOf = (config: VisionConfig) =>
  new Map<string, Tensor>(visionShapes(config).map(([name, shape]) => [name, random(shape)]));
const largest = (a: Tensor, b: Tensor): number => tf.tidy(() => a.sub(b).abs().max().dataSync()[0] as number);

describe("the vision tower", () => {
  it("matches the golden arrays", async () => {
    const errors = await visionErrors(await nodeFolder("tests/golden/sa2va-tiny-qwen2"));
    expect(Object.keys(errors).length).toBe(5);
    for (const [name, error] of Object.entries(errors)) expect(error, name).toBeLessThan(1e-5);
  });

  it("gives the hidden state that select_layer names", () => {
    const weights = weightsView(weightsOf(CONFIG), {}, 0);
    const pixels = random([2, 8, 8, 3]);
    const seen: Tensor[] = [];
    atOnce(visionTower(weights, CONFIG, pixels, (_name, value) => seen.push(tf.keep(value.clone()))));
    expect(seen.length).toBe(4);
    for (const selectLayer of [-1, -2, -4]) {
      const got = atOnce(visionTower(weights, { ...CONFIG, selectLayer }, pixels));
      const state = seen[seen.length + selectLayer] as Tensor;
      expect(largest(got, tf.slice(state, [0, 1, 0], [2, 16, 8])), String(selectLayer)).toBe(0);
    }
  });

  it("runs the form of the 6B tower: RMS norms, no bias, normed queries and keys", () => {
    const config: VisionConfig = { ...CONFIG, qkvBias: false, qkNormalization: true, normType: "rms_norm" };
    const tensors = weightsOf(config);
    expect([...tensors.keys()].some((name) => /norm[12]\.bias|qkv\.bias/.test(name))).toBe(false);
    const pixels = random([1, 8, 8, 3]);
    const before = atOnce(visionTower(weightsView(tensors, {}, 0), config, pixels));
    // A norm over all heads makes the attention blind to the size of queries and keys, not to that of one head alone.
    const name = "vision_model.encoder.layers.0.attn.qkv.weight";
    const rows = (from: (row: number) => number) =>
      tf.tensor2d(Array.from({ length: 24 }, (_, row) => Array<number>(8).fill(from(row))).flat(), [24, 8]);
    const scaled = (factor: Tensor) =>
      atOnce(
        visionTower(
          weightsView(new Map([...tensors, [name, (tensors.get(name) as Tensor).mul(factor)]]), {}, 0),
          config,
          pixels,
        ),
      );
    expect(largest(before, scaled(rows((row) => (row < 16 ? 50 : 1))))).toBeLessThan(1e-3);
    expect(largest(before, scaled(rows((row) => (row < 4 ? 50 : 1))))).toBeGreaterThan(1e-3);
  });

  it("resizes the position embedding for another input size", () => {
    const tensors = weightsOf(CONFIG);
    const flat = tf.tile(random([1, 1, 8]), [1, 17, 1]);
    const weights = weightsView(new Map([...tensors, ["vision_model.embeddings.position_embedding", flat]]), {}, 0);
    const seen: Tensor[] = [];
    const pixels = tf.zeros([1, 12, 12, 3]);
    atOnce(visionTower(weights, CONFIG, pixels, (_name, value) => seen.push(tf.keep(value.clone()))));
    // A constant embedding stays constant, so all patches of an empty picture are alike.
    const patches = tf.slice(seen[0] as Tensor, [0, 1, 0], [1, 36, 8]);
    expect(largest(patches, tf.slice(patches, [0, 0, 0], [1, 1, 8]))).toBeLessThan(1e-5);
  });
});

describe("pixel shuffle", () => {
  it("joins 2 x 2 groups, row by row or column by column", () => {
    const grid = tf.range(0, 16).reshape([1, 16, 1]);
    const v2 = [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15];
    expect(Array.from(pixelShuffle({ psVersion: "v2" }, grid).dataSync())).toEqual(v2);
    const groups = [0, 2, 1, 3].flatMap((group) => v2.slice(4 * group, 4 * group + 4));
    expect(Array.from(pixelShuffle({ psVersion: "v1" }, grid).dataSync())).toEqual(groups);
    expect(() => pixelShuffle({ psVersion: "v2" }, tf.zeros([1, 9, 2]))).toThrow(/even side/);
  });
});
