/** Whole steps of dual-loop GRPO on the pocket model, every other one with the stock ops. */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { type EngineDevice, openAgain } from "../../src/engine/gpu/device.ts";
import { switchOwnKernels } from "../../src/engine/gpu/own-kernels.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import { Session } from "../../src/engine/rl/session.ts";
import { memoryStore } from "../../src/engine/runs/memory-store.ts";
import { nodeFolder } from "../lib/node-files.ts";
import { openNodeDevice } from "../lib/node-gpu.ts";
import { nodeWordnet, openNodeRows, POCKET_MODEL } from "../lib/node-rows.ts";
import { type BenchRow, benchRow } from "./measure.ts";

/** @param rounds timed steps of each contender; one more of each goes before, for compiling */
export async function* stepRows(device: EngineDevice, adapter: string, rounds: number): AsyncGenerator<BenchRow> {
  const { rows, list } = await openNodeRows();
  const times: { own: number[]; stock: number[] } = { own: [], stock: [] };
  let step = 0;
  let before = performance.now();
  const session = new Session({
    device,
    reopen: () => openAgain(openNodeDevice),
    store: memoryStore(),
    rows,
    scorer: rewardScorer({ wordnet: await nodeWordnet() }),
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
    await session.openModel(await nodeFolder(POCKET_MODEL), "pocket");
    const config = requireConfig({ steps: 2 * (rounds + 1), seed: 1, saveSteps: 0 }, presetConfig("demo"), "bench");
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
