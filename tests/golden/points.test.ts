/** Clicks as prompts of SAM2, against transformers' prompt encoder and the masks of the independent implementation. */
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { decodeClicks } from "../../src/engine/model/sam2/mask-decoder.ts";
import { clickTokens } from "../../src/engine/model/sam2/prompt-encoder.ts";
import { openArrays } from "../../tools/parity/golden-arrays.ts";
import { openGoldenModel } from "../../tools/parity/golden-model.ts";

const folder = (name: string) => nodeFolder(fileURLToPath(new URL(name, import.meta.url)));

beforeAll(async () => {
  await tf.setBackend("cpu");
});

test("clicks have the recorded tokens, masks and predicted IoUs", async () => {
  const before = tf.memory().numTensors;
  const model = await openGoldenModel(await folder("sa2va-tiny-qwen2/"));
  const picture = await model.arrays("golden_sam2.safetensors");
  const golden = await openArrays(await folder("points/"), "points.safetensors");
  const maps = await Promise.all(["fpn.0", "fpn.1", "pix_feat_with_mem"].map((name) => picture.tensor(name)));
  const [f4, f8, f16] = maps.map((map) => tf.tidy(() => map.transpose([0, 2, 3, 1]))) as [
    tf.Tensor,
    tf.Tensor,
    tf.Tensor,
  ];
  const points = await golden.tensor("points");
  const found = decodeClicks(model.weights, model.config.sam2, { f4, f8, f16 }, points);
  const sparse = clickTokens(model.weights, points);
  for (const [name, tensor, tolerance] of [
    ["sparse", sparse, 1e-5],
    ["masks", found.masks, 5e-4],
    ["iou", found.iou, 5e-4],
  ] as const) {
    expect(tensor.shape).toEqual(golden.shape(name));
    const expected = await golden.read(name);
    const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const values = await tensor.data();
    const worst = expected.reduce((most, value, at) => Math.max(most, Math.abs(value - (values[at] as number))), 0);
    expect(worst / largest, name).toBeLessThan(tolerance);
  }
  tf.dispose([...maps, f4, f8, f16, points, sparse, ...Object.values(found)]);
  model.dispose();
  expect(tf.memory().numTensors).toBe(before);
});
