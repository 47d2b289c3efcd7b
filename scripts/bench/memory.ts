/**
 * Memory over many small steps of both loops on the pocket model: tensors, bytes on the GPU, buffers of the decoder and
 * the process. After the first steps, which compile and fill pools, nothing may grow.
 */
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { type EngineDevice, openAgain } from "../../src/engine/gpu/device.ts";
import { decodeBytes } from "../../src/engine/policy/decode-gpu.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import { Session } from "../../src/engine/rl/session.ts";
import { memoryStore } from "../../src/engine/runs/memory-store.ts";
import { nodeFolder } from "../lib/node-files.ts";
import { openNodeDevice } from "../lib/node-gpu.ts";
import { nodeWordnet, openNodeRows, POCKET_MODEL } from "../lib/node-rows.ts";

/** Memory after a step. */
export interface MemoryRow {
  readonly suite: "memory";
  readonly case: string;
  readonly adapter: string;
  readonly step: number;
  readonly tensors: number;
  readonly gpu_bytes: number;
  /** Of the backend's buffers, pooled ones included. */
  readonly gpu_bytes_allocated: number;
  /** Of the decoder's own buffers. */
  readonly decode_bytes: number;
  /** JavaScript objects in use, after a collection where Node offers one (--expose-gc). */
  readonly heap_bytes: number;
  /** Memory outside the heap that objects hold on to, typed arrays included. */
  readonly external_bytes: number;
  /** Of those, the contents of typed arrays. */
  readonly array_bytes: number;
  /** Of the process: all of the above, freed pages not yet handed back, and the driver, which is the GPU here. */
  readonly rss_bytes: number;
}

/** Steps of the cheapest settings that still play both loops. */
const SETTINGS = {
  groupSize: 2,
  promptsPerStep: 1,
  maxNewTokens: 6,
  partnerMaxTokens: 6,
  loraRank: 4,
  loraAlpha: 8,
  saveSteps: 0,
  seed: 1,
};

/** @returns about ten rows, evenly over the steps */
export async function memoryRows(device: EngineDevice, adapter: string, steps: number): Promise<MemoryRow[]> {
  const { rows: source, list } = await openNodeRows();
  const rows: MemoryRow[] = [];
  const every = Math.max(1, Math.floor(steps / 10));
  const session = new Session({
    device,
    reopen: () => openAgain(openNodeDevice),
    store: memoryStore(),
    rows: source,
    scorer: rewardScorer({ wordnet: await nodeWordnet() }),
    now: () => performance.now() / 1000,
    emit(event) {
      if (event.type !== "step" || event.step % every !== 0) return;
      globalThis.gc?.();
      const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
      rows.push({
        suite: "memory",
        case: "small steps, both loops, pocket model",
        adapter,
        step: event.step,
        tensors: event.metrics["memory/num_tensors"] as number,
        gpu_bytes: event.metrics["memory/gpu_bytes"] as number,
        gpu_bytes_allocated: event.metrics["memory/gpu_bytes_allocated"] as number,
        decode_bytes: decodeBytes(),
        heap_bytes: heapUsed,
        external_bytes: external,
        array_bytes: arrayBuffers,
        rss_bytes: rss,
      });
    },
  });
  try {
    await session.openModel(await nodeFolder(POCKET_MODEL), "pocket");
    const config = requireConfig({ ...SETTINGS, steps }, presetConfig("demo"), "bench");
    const run = await session.start(config, list, "memory", new Date(0).toISOString());
    await run.done;
  } finally {
    session.dispose();
  }
  return rows;
}
