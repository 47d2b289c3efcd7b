/**
 * Memory over many small steps of both loops on the pocket model: tensors, bytes on the GPU, and the memory of the
 * process after a collection. After the first steps, which compile and fill pools and caches, nothing may grow.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collectGarbage } from "../../scripts/lib/node/garbage.ts";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeRows, POCKET_MODEL } from "../../scripts/lib/node/node-rows.ts";
import { nodeSession } from "../../scripts/lib/node/node-session.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import type { Session } from "../../src/engine/session/session.ts";

/** Memory after a step. */
export interface MemoryRow {
  readonly suite: "memory";
  readonly case: string;
  readonly adapter: string;
  readonly step: number;
  readonly tensors: number;
  readonly gpu_bytes: number;
  /** Includes pooled buffers. */
  readonly gpu_bytes_allocated: number;
  /** Tensors without an owner. */
  readonly nameless: number;
  /** Frozen features in host memory, a cache that is bounded in bytes. */
  readonly feature_bytes: number;
  /** JavaScript objects in use, after a collection. */
  readonly heap_bytes: number;
  /** Memory outside the heap that objects keep alive, including typed arrays. */
  readonly external_bytes: number;
  /** The part of it that typed arrays take. */
  readonly array_bytes: number;
  /** Memory of the process: all of the above, freed pages not yet returned, and the driver, which is the GPU here. */
  readonly rss_bytes: number;
}

/** Steps of the cheapest settings that sample both loops. */
const SETTINGS = {
  numGenerations: 2,
  promptsPerStep: 1,
  maxCompletionLength: 6,
  partnerMaxTokens: 6,
  loraR: 4,
  loraAlpha: 8,
  saveSteps: 0,
  seed: 1,
};

/** @returns a row every 25 steps, or ten rows of a shorter run */
export async function memoryRows(device: EngineDevice, adapter: string, steps: number): Promise<MemoryRow[]> {
  const { rows: source, list } = await openNodeRows();
  const rows: Promise<MemoryRow>[] = [];
  const every = Math.min(25, Math.max(1, Math.floor(steps / 10)));
  // On disk, because a store in memory would grow with every recorded step.
  const folder = await mkdtemp(join(tmpdir(), "memory-"));
  const take = async (step: number): Promise<MemoryRow> => {
    const { memory } = await session.system();
    const features = memory.owners.find(({ owner }) => owner === "features");
    collectGarbage();
    const { heapUsed, external, arrayBuffers, rss } = process.memoryUsage();
    return {
      suite: "memory",
      case: "small steps, both loops, pocket model",
      adapter,
      step,
      tensors: memory.tensors,
      gpu_bytes: memory.gpuBytes,
      gpu_bytes_allocated: memory.gpuBytesAllocated,
      nameless: memory.owners.find(({ owner }) => owner === "work")?.tensors ?? 0,
      feature_bytes: features?.hostBytes ?? 0,
      heap_bytes: heapUsed,
      external_bytes: external,
      array_bytes: arrayBuffers,
      rss_bytes: rss,
    };
  };
  const session: Session = await nodeSession(device, {
    store: nodeStore(folder),
    rows: source,
    emit(event) {
      if (event.type === "step" && event.step % every === 0) rows.push(take(event.step));
    },
  });
  try {
    await session.openModel(await nodeFolder(POCKET_MODEL), "pocket");
    const settings = requireConfig({ ...SETTINGS, steps }, presetConfig("demo"), "bench");
    const run = await session.start({ settings, list, title: "memory", created: new Date(0).toISOString() });
    await run.done;
  } finally {
    session.dispose();
    await rm(folder, { recursive: true, force: true });
  }
  return Promise.all(rows);
}
