import { beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { sa2vaLlmParity } from "../../tools/parity/sa2va/sa2va-llm.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

beforeAll(async () => {
  await useGpu();
});

describe("language model on the GPU", () => {
  it("matches the golden arrays, greedy runs and gradients, and leaves no tensor behind", async () => {
    const before = tf.memory().numTensors;
    const rows = [];
    for await (const row of sa2vaLlmParity(await nodeFolder(GOLDEN))) rows.push(row);
    expect(rows.filter((row) => !row.pass)).toEqual([]);
    expect(rows.length).toBeGreaterThan(60);
    expect(tf.memory().numTensors).toBe(before);
  });
});
