/** What else uses a model on Qwen-VL: stored conversions, features on disk, clips and suites. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { POCKET_SHARDS } from "../../scripts/lib/node/node-rows.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { visibleFrames } from "../../src/engine/data/film-strip.ts";
import { decodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import { unpacked } from "../../src/engine/gpu/packed/linear.ts";
import { PackedMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { ModelCache } from "../../src/engine/loading/model-cache.ts";
import { openModelFolder } from "../../src/engine/loading/open-model.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { checkedGpu } from "../support/gpu.ts";
import { openTestLab, repeatable } from "../support/session.ts";
import { writeTinyQwen } from "../support/tiny-qwen.ts";
import { tool } from "../support/tools.ts";

checkedGpu();

const scratch = mkdtempSync(join(tmpdir(), "lab-qwen-uses-"));
const folder = join(scratch, "model");
beforeAll(() => writeTinyQwen(folder, "qwen3"));
afterAll(() => rmSync(scratch, { recursive: true }));

/** Bits of every weight by name. */
async function bitsOf({ frozen, base }: Sa2vaModel): Promise<Map<string, unknown>> {
  const bits = new Map<string, unknown>();
  for (const [name, matrix] of [...frozen, ...base]) {
    const tensor = matrix instanceof PackedMatrix ? unpacked(matrix) : matrix;
    bits.set(name, [matrix instanceof PackedMatrix ? matrix.storage : "f32", tensor.shape, await tensor.data()]);
    if (tensor !== matrix) tensor.dispose();
  }
  return bits;
}

it("a stored conversion gives the weights of the folder", async () => {
  const cache = new ModelCache(memoryStore());
  const options = { choice: { language: "q8", towers: "f16" }, cache } as const;
  const opened = [];
  for (const expected of ["written", "read"]) {
    const { model, cached } = await openModelFolder(await nodeFolder(folder), "tiny", options);
    expect(cached).toBe(expected);
    opened.push(await bitsOf(model));
    model.dispose();
  }
  expect(opened[1]).toEqual(opened[0]);
});

it("features on disk, of plain pictures and of pictures with a drawn region, give the steps of computed ones", async () => {
  const place = join(scratch, "features");
  const lab = await openTestLab({ model: folder, features: nodeStore(place) });
  const settings = {
    steps: 1,
    maskPolicy: "candidates",
    loop1Confidence: 1,
    loop2Confidence: 1,
    loop2Weight: 1,
    heldOutShare: 0,
    regionPrompt: "outline",
    featureDisk: 1,
  } as const;
  const files = async (): Promise<string[]> => (await readdir(place, { recursive: true })).sort();
  const computed = await lab.train(settings);
  const kept = await files();
  expect(kept.length).toBeGreaterThan(1);
  const read = await lab.train(settings);
  expect(await files()).toEqual(kept);
  expect(read.map(repeatable)).toEqual(computed.map(repeatable));
});

it("trains on clips, whose frames it sees one after the other", async () => {
  const frames = 2;
  const lab = await openTestLab({ model: folder, features: null, shards: [join(root, "public", "pocket", "clips")] });
  const run = await lab.start({ steps: 1, clipFrames: frames, maskPolicy: "candidates", maxCompletionLength: 4 });
  await run.done;
  const { id } = run.manifest;
  for (const row of await lab.metrics(id)) {
    for (const loop of [1, 2]) expect(row[`loop${loop}/logp_train_vs_sampling/max`]).toBeLessThan(1e-4);
    expect(Number.isFinite(row.loss)).toBe(true);
  }
  const groups = await (await openRun(lab.store, id)).readGroups(1);
  expect(groups.length).toBeGreaterThan(1);
  for (const { rollouts } of groups) {
    for (const { givenMask, prompt } of rollouts) {
      expect(visibleFrames(decodeRle(givenMask as Rle), 6).length).toBe(frames);
      expect(prompt.split("<|vision_start|>").length - 1).toBe(frames);
    }
  }
});

it("answers a suite", async () => {
  const out = join(scratch, "suite");
  const words = ["--suite", "masks", "--data", POCKET_SHARDS, "--model", folder, "--answers", "forced", "--rows", "4"];
  const done = await tool("eval", [...words, "--out", out]);
  expect(done.code, done.err).toBe(0);
  const report = JSON.parse(readFileSync(join(out, "report.json"), "utf8")) as { readonly systems: { base: unknown } };
  expect(report.systems.base).toBeDefined();
  expect(readFileSync(join(out, "rows.jsonl"), "utf8").trim().split("\n")).toHaveLength(4);
});
