/** The supervised mode's mask loss at sampled points, against the golden set. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { pointMaskLoss, samplePoints, selectPoints } from "../../src/plugins/supervised/point-loss.ts";
import { openArrays } from "../../tools/parity/golden-arrays.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = fileURLToPath(new URL("../golden/sa2va-tiny-qwen2/", import.meta.url));

let tensors = 0;
beforeAll(async () => {
  await useGpu();
  tensors = tf.memory().numTensors;
});
afterAll(() => {
  expect(tf.memory().numTensors).toBe(tensors);
});

describe("point-sampled mask loss", () => {
  it("selects, samples and weighs as the golden set does", async () => {
    const golden = await openArrays(await nodeFolder(GOLDEN), "golden_train_seg.safetensors");
    const [logits, truth] = [await golden.tensor("low_res_mask"), await golden.tensor("gt_low_res")];
    const [candidates, uniform] = [
      await golden.tensor("points.rand_oversample"),
      await golden.tensor("points.rand_uniform"),
    ];
    const maps = logits.reshape(truth.shape);
    const keep = (golden.shape("points.selected")[1] as number) - (uniform.shape[1] as number);
    const points = await selectPoints(maps, candidates, keep, uniform);
    const sampled = samplePoints(maps, points);
    const targets = samplePoints(truth, points);
    const expected = await golden.read("points.pred");
    for (const [at, value] of Array.from(await sampled.data()).entries())
      expect(value).toBeCloseTo(expected[at] as number, 5);
    const { bce, dice } = pointMaskLoss(sampled, targets);
    expect(2 * ((await bce.data())[0] as number)).toBeCloseTo(1.4065179824829102, 5);
    expect(0.5 * ((await dice.data())[0] as number)).toBeCloseTo(0.4672558605670929, 5);
    tf.dispose([logits, truth, candidates, uniform, maps, points, sampled, targets, bce, dice]);
  });

  it("spreads a gradient over the four neighbours and none outside", async () => {
    const maps = tf.zeros([1, 2, 2]);
    const coords = tf.tensor3d([0.5, 0.5, 0, 0, 2, 2], [1, 3, 2]);
    const slope = tf.grad((x: Tensor) => samplePoints(x, coords).sum())(maps);
    // The centre weighs each of the four cells 1/4, the corner touches one with 1/4, the last point is outside.
    expect(Array.from(await slope.data())).toEqual([0.5, 0.25, 0.25, 0.25]);
    tf.dispose([maps, coords, slope]);
  });
});
