/** Tiny Qwen2.5-VL and Qwen3-VL of transformers' own classes (tests/golden/qwen-vl). */
import { expect, test } from "vitest";
import { tf } from "../../src/engine/gpu/tf.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode/decode-gpu.ts";
import { checkedGpu } from "../support/gpu.ts";
import { compareWithTransformers } from "../support/transformers-qwen.ts";

const FOLDER = "tests/golden/qwen-vl";

checkedGpu();

test.each(["qwen3_vl", "qwen2_5_vl"])("%s equals transformers", async (name) => {
  const before = tf.memory().numTensors;
  const { errors } = await compareWithTransformers(`${FOLDER}/${name}.safetensors`, decodeOnGpu);
  for (const [array, error] of Object.entries(errors)) {
    expect(error, array).toBeLessThan(array.startsWith("grad.") ? 5e-5 : 1e-5);
  }
  expect(tf.memory().numTensors).toBe(before);
});
