/** Tiny Qwen2.5-VL and Qwen3-VL of transformers' own classes (tests/golden/qwen-vl). */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tf } from "../../src/engine/gpu/tf.ts";
import { decodeOnGpu } from "../../src/engine/policy/decode/decode-gpu.ts";
import { checkedGpu } from "../support/gpu.ts";
import { python } from "../support/tools.ts";
import { compareWithTransformers } from "../support/transformers-qwen.ts";

const FOLDER = "tests/golden/qwen-vl";

checkedGpu();

async function expectEqual(path: string): Promise<void> {
  const before = tf.memory().numTensors;
  const { errors } = await compareWithTransformers(path, decodeOnGpu);
  for (const [array, error] of Object.entries(errors)) {
    expect(error, array).toBeLessThan(array.startsWith("grad.") ? 5e-5 : 1e-5);
  }
  expect(tf.memory().numTensors).toBe(before);
}

test.each(["qwen3_vl", "qwen2_5_vl"])("%s equals transformers", async (name) => {
  await expectEqual(`${FOLDER}/${name}.safetensors`);
});

const release = await python("-c", "import transformers, peft; print(transformers.__version__)");
const pinned = release.code === 0 && release.out.startsWith("4.57.");
if (!pinned) console.warn("Skipped: no Python with transformers 4.57, peft and torch; set PYTHON to one");

test.skipIf(!pinned).each(["qwen3_vl", "qwen2_5_vl"])("another %s made now equals transformers", async (name) => {
  const folder = mkdtempSync(join(tmpdir(), "lab-qwen-"));
  try {
    const path = join(folder, "made.safetensors");
    const seed = "29";
    const made = await python("tests/oracle/make_qwen_vl.py", "--type", name, "--seed", seed, "--out", path);
    expect(made.code, made.err).toBe(0);
    await expectEqual(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
