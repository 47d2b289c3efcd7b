import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type ByteFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { loadDeps } from "../../../tools/parity/deps.ts";
import type { ParityRow } from "../../../tools/parity/row.ts";
import { sa2vaLlmParity } from "../../../tools/parity/sa2va/sa2va-llm.ts";
import { sa2vaSam2Parity } from "../../../tools/parity/sa2va/sa2va-sam2.ts";
import { sa2vaTextParity } from "../../../tools/parity/sa2va/sa2va-text.ts";
import { sa2vaTrainParity } from "../../../tools/parity/sa2va/sa2va-train.ts";
import { sa2vaVisionParity } from "../../../tools/parity/sa2va/sa2va-vision.ts";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

beforeAll(async () => {
  await tf.setBackend("cpu");
});

async function all(rows: AsyncIterable<ParityRow>): Promise<ParityRow[]> {
  const list: ParityRow[] = [];
  for await (const row of rows) list.push(row);
  return list;
}

test("a model of other sizes, forms and stored types equals the independent implementation at every stage", async () => {
  const folder = await nodeFolder(FOLDER);
  const deps = await loadDeps();
  const before = tf.memory().numTensors;
  const counts: Record<string, number> = {};
  const cases: string[] = [];
  for (const [name, rows] of Object.entries({
    text: sa2vaTextParity(folder),
    vision: sa2vaVisionParity(folder, deps),
    language: sa2vaLlmParity(folder),
    sam2: sa2vaSam2Parity(folder, deps),
    train: sa2vaTrainParity(folder, deps),
  })) {
    const list = await all(rows);
    expect(list.filter((row) => !row.pass)).toEqual([]);
    counts[name] = list.length;
    if (name === "sam2") cases.push(...list.map((row) => row.case));
  }
  // Two [SEG]: every decoder array has two entries, and the greedy answer gives two masks.
  expect(cases).toContain("obj_ptr");
  expect(cases).toContain("generated.mask.1");
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(329);
  expect(tf.memory().numTensors).toBe(before);
});

test("another adapter scale is a miss in the adapter's arrays only", async () => {
  const folder = await nodeFolder(FOLDER);
  const settings = { peft_type: "LORA", r: 2, lora_alpha: 7, target_modules: ["q_proj", "v_proj", "down_proj"] };
  const bytes = new TextEncoder().encode(JSON.stringify(settings));
  const changed: ByteFolder = {
    paths: folder.paths,
    get: (path) => (path === "adapter_config.json" ? memorySource(path, bytes) : folder.get(path)),
  };
  const missed = (await all(sa2vaLlmParity(changed))).filter((row) => !row.pass);
  expect(missed.map((row) => row.what)).toContain("lora.logits");
  expect(missed.some((row) => row.what.startsWith("base.") || row.case.startsWith("greedy"))).toBe(false);
});
