/** A small run of six steps in this process, with checkpoints, evaluations and rollouts, in any store. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { openNodeDevice } from "../../../scripts/lib/node/node-gpu.ts";
import { openNodeRows } from "../../../scripts/lib/node/node-rows.ts";
import { nodeSession } from "../../../scripts/lib/node/node-session.ts";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { RegionSet } from "../../../src/engine/data/region-set.ts";
import type { TrainerEvent } from "../../../src/engine/rl/run/events.ts";
import type { RowList } from "../../../src/engine/runs/run-rows.ts";
import type { Session, StartedRun } from "../../../src/engine/session/session.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { startFork } from "../../../src/plugins/fork/fork-calls.ts";

export const STEPS = 6;
const SETTINGS = {
  steps: STEPS,
  // A store sees the same calls with one loop as with both.
  loops: "1",
  saveSteps: 2,
  saveTotalLimit: 1,
  evalSteps: 3,
  evalRows: 2,
  featureDisk: 1,
} as const;
const CREATED = "2024-01-01T00:00:00.000Z";
/** Id of the run. */
export const ID = "small-20240101000000000";

export interface SmallRun {
  readonly session: Session;
  /** Folder of its model. */
  readonly model: string;
  readonly set: RegionSet;
  readonly list: RowList;
  /** Receives the events of the run. */
  watch: (event: TrainerEvent) => void;
  start(store: RunStore): Promise<StartedRun>;
  resume(store: RunStore): Promise<StartedRun>;
  /** A copy of the run, continued from a checkpoint. */
  fork(store: RunStore, step: number): Promise<StartedRun>;
  close(): void;
}

/** @param model folder of the model; small-model.ts writes the cheapest */
export async function smallRun(model: string): Promise<SmallRun> {
  const device = await openNodeDevice();
  const { rows, set, list } = await openNodeRows();
  let current = memoryStore();
  const session = await nodeSession(device, {
    rows,
    // One session computes the runs of all stores.
    store: new Proxy(current, { get: (_, name) => Reflect.get(current, name) }),
    featureFiles: memoryStore(),
    emit: (event) => run.watch(event),
  });
  await session.openModel(await nodeFolder(model), "pocket");
  const cheap = JSON.parse(readFileSync(join(root, "tests", "fixtures", "page", "cheap.json"), "utf8")) as object;
  const settings = requireConfig({ ...cheap, ...SETTINGS }, presetConfig("demo"), "test");
  const run: SmallRun = {
    session,
    model,
    set,
    list,
    watch: () => undefined,
    start: (store) => {
      current = store;
      return session.start({ settings, list, title: "small", created: CREATED });
    },
    resume: (store) => {
      current = store;
      return session.resume(ID, list);
    },
    fork: (store, step) => {
      current = store;
      return startFork(session, ID, list, { step, title: "fork", created: CREATED, changes: {} });
    },
    close: () => {
      session.dispose();
      device.check();
      device.close();
    },
  };
  return run;
}
