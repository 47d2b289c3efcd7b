/** Language models of transformers' own classes: logits, greedy ids and gradients of the adapter. */
import { beforeAll, expect, test } from "vitest";
import { tf } from "../../src/engine/gpu/tf.ts";
import { decodeOnHost } from "../../src/engine/policy/decode/decode-host.ts";
import { expectLikeTransformers } from "../support/transformers-language.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

test.each([
  ["qwen3", { family: "qwen3", headSize: 16, tiedHead: false, attentionBias: false }],
  ["qwen3-tied", { family: "qwen3", headSize: 8, tiedHead: true, outputBias: true }],
  ["llama", { family: "llama", headSize: 6, attentionBias: true, mlpBias: true }],
  ["llama3", { family: "llama", headSize: 16, tiedHead: true, rope: { theta: 5e5, scaling: { kind: "divided" } } }],
])("%s", async (name, expected) => {
  const before = tf.memory().numTensors;
  expect(await expectLikeTransformers(`tests/golden/language/${name}.safetensors`, decodeOnHost, true)).toMatchObject(
    expected,
  );
  expect(tf.memory().numTensors).toBe(before);
});
