/** Whole steps of dual-loop GRPO on the pocket model, every other one with the stock ops. */
import { join } from "node:path";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { openRegionSet } from "../../src/engine/data/region-set.ts";
import { decodeRle } from "../../src/engine/data/rle.ts";
import { LabError } from "../../src/engine/errors.ts";
import { type EngineDevice, openAgain } from "../../src/engine/gpu/device.ts";
import { switchOwnKernels } from "../../src/engine/gpu/own-kernels.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import { loadWordnet } from "../../src/engine/rewards/wordnet.ts";
import { Session } from "../../src/engine/rl/session.ts";
import { memoryStore } from "../../src/engine/runs/memory-store.ts";
import { root } from "../lib/ensure.mjs";
import { nodeFolder, nodeFolders, nodeSource } from "../lib/node-files.ts";
import { openNodeDevice } from "../lib/node-gpu.ts";
import { decodeImage } from "../lib/node-images.ts";
import { type BenchRow, benchRow } from "./measure.ts";

/** @param rounds timed steps of each contender; one more of each goes before, for compiling */
export async function* stepRows(device: EngineDevice, adapter: string, rounds: number): AsyncGenerator<BenchRow> {
  const set = await openRegionSet(await nodeFolders([join(root, "public", "pocket", "shards")]));
  const times: { own: number[]; stock: number[] } = { own: [], stock: [] };
  let step = 0;
  let before = performance.now();
  const session = new Session({
    device,
    reopen: () => openAgain(openNodeDevice),
    store: memoryStore(),
    rows: async (index) => {
      const sample = await set.sample(index);
      const summary = set.summaries[index];
      if (summary === undefined) throw new LabError("internal", `There is no row ${index}`);
      return { summary, rgb: await decodeImage(sample.image), mask: decodeRle(sample.mask) };
    },
    scorer: rewardScorer({
      wordnet: await loadWordnet(await nodeSource(join(root, "public", "wordnet", "wordnet30.txt"))),
    }),
    now: () => performance.now() / 1000,
    emit(event) {
      if (event.type !== "step") return;
      const now = performance.now();
      if (step >= 2) times[step % 2 === 0 ? "own" : "stock"].push(now - before);
      before = now;
      step++;
      switchOwnKernels(step % 2 === 0);
    },
  });
  try {
    await session.openModel(await nodeFolder(join(root, "public", "pocket", "model")), "pocket");
    const config = requireConfig({ steps: 2 * (rounds + 1), seed: 1, saveSteps: 0 }, presetConfig("demo"), "bench");
    const list = { dataSet: "shards", rows: set.summaries.map((row) => [row.id, row.imageId] as const) };
    switchOwnKernels(true);
    before = performance.now();
    const run = await session.start(config, list, "demo", new Date(0).toISOString());
    await run.done;
  } finally {
    switchOwnKernels(true);
    session.dispose();
  }
  yield benchRow({ suite: "step", case: "GRPO step, both loops, pocket model", adapter }, times.own, times.stock);
}
