/** The command tests/scripts/true-shapes.ts with small sizes: a made checkpoint, loaded packed, against stock operations. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { trueConfig, writeGoldenTokenizer, writeSynthetic } from "../../bench/made-up/checkpoint.ts";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openModelFolder } from "../../src/engine/loading/open-model.ts";
import { openCheckpoint } from "../../src/engine/model/weights/checkpoint.ts";
import { compareForward } from "../scripts/compare-forward.ts";
import { useGpu } from "../support/gpu.ts";

let directory: string;
beforeAll(async () => {
  await useGpu();
  directory = await mkdtemp(join(tmpdir(), "lab-shapes-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it("loads a made checkpoint of mixed types in f16 without loss and agrees with stock operations", async () => {
  const { shards } = writeSynthetic(directory, trueConfig("small"), 2_000_000);
  expect(shards).toBeGreaterThan(2);
  writeGoldenTokenizer(directory);
  const folder = await nodeFolder(directory);
  const checkpoint = await openCheckpoint(folder);
  expect(checkpoint.tensorNames.filter((name) => /memory_attention|maskmem|no_obj_ptr/.test(name))).toEqual([]);
  // Blocks of few rows, so that embedding and head are split as the true ones are.
  const choice = { language: "f16", towers: "f16" } as const;
  const { model } = await openModelFolder(folder, "made", { choice, blockElements: 2 ** 12 });
  const rows: string[] = [];
  for await (const row of compareForward(model, folder, "f16")) {
    rows.push(row.part);
    expect(row.pass, `${row.part}: ${row.maxRel}`).toBe(true);
  }
  expect(rows.length).toBe(6);
  model.dispose();
});
