import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";
import { visionErrors } from "../support/vision-golden.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

beforeAll(async () => {
  await useGpu();
});

describe("vision tower on the GPU", () => {
  it("matches the golden arrays and leaves no tensor behind", async () => {
    const before = tf.memory().numTensors;
    const errors = await visionErrors(await nodeFolder(GOLDEN));
    expect(Object.keys(errors)).toEqual(["vit.embeddings", "vit.layer.0", "vit.layer.1", "pixel_shuffle", "mlp1"]);
    for (const [name, error] of Object.entries(errors)) expect(error, name).toBeLessThan(1e-4);
    expect(tf.memory().numTensors).toBe(before);
  });
});
