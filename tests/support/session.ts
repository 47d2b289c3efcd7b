/** Training on the pocket model under Node: the same session as the page's worker, with its files in memory. */
import { join } from "node:path";
import { expect } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { nodeWordnet, openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { requireConfig } from "../../src/engine/config/parse.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import type { RowSource } from "../../src/engine/data/training-row.ts";
import type { PictureSize } from "../../src/engine/model/families/family.ts";
import type { StorageChoice } from "../../src/engine/model/weights/storage-choice.ts";
import type { FeatureFiles } from "../../src/engine/policy/feature-store.ts";
import { rewardScorer } from "../../src/engine/rewards/scorer.ts";
import type { UserRewards } from "../../src/engine/rewards/user/watched.ts";
import type { Wordnet } from "../../src/engine/rewards/wordnet.ts";
import type { TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { checkpointPath } from "../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import type { RowList } from "../../src/engine/runs/run-rows.ts";
import { Session, type StartedRun } from "../../src/engine/session/session.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { folderStore, type RunStore } from "../../src/engine/storage/store.ts";
import { atEndOfFile, useGpu as openGpu, openGpuAgain } from "./gpu.ts";
import { WAIT } from "./hang.ts";
import { smallModel } from "./small-model.ts";

/** Folder of the pocket model. */
export const POCKET = join(root, "public", "pocket", "model");

/** The cheapest settings that still train both loops with a spread of rewards. */
export const CHEAP = {
  numGenerations: 2,
  promptsPerStep: 1,
  maxCompletionLength: 4,
  partnerMaxTokens: 4,
  steps: 2,
  warmupSteps: 0,
  saveSteps: 0,
  evalSteps: 0,
  loraR: 4,
  loraAlpha: 8,
  loop2Weight: 0.1,
} as const satisfies Partial<LabConfig>;

export function cheapConfig(changes: Partial<LabConfig> = {}): LabConfig {
  return requireConfig({ ...CHEAP, ...changes }, presetConfig("demo"), "test");
}

interface Pocket {
  readonly rows: RowSource;
  readonly list: RowList;
  readonly wordnet: Wordnet;
}

let pocket: Promise<Pocket> | undefined;

async function readPocket(shards?: readonly string[]): Promise<Pocket> {
  const { rows, list } = await openNodeRows(shards);
  return { rows, list, wordnet: await nodeWordnet() };
}

/** Calls back with every event, while the trainer is between two of its lines: pacing from here is deterministic. */
export type Watcher = (event: TrainerEvent, session: Session) => void;

export interface TestLab {
  readonly session: Session;
  readonly store: RunStore;
  readonly list: RowList;
  readonly events: TrainerEvent[];
  /** Of the rows that were read. */
  readonly captions: Set<string>;
  /** Sizes of their pictures or frames. */
  readonly pictures: PictureSize[];
  /** Replaced by a test that acts on events. */
  watch: Watcher;
  start(changes?: Partial<LabConfig>): Promise<StartedRun>;
  /** @param steps the run's length from now on */
  resume(id: string, steps?: number): Promise<StartedRun>;
  /** Starts and waits for the end; the metrics of every step. */
  train(changes?: Partial<LabConfig>): Promise<readonly StepMetrics[]>;
  metrics(id: string): Promise<readonly StepMetrics[]>;
}

let created = 0;

/**
 * Frozen features of pictures, which the test files of one run share: computing them takes a third of a
 * cheap step. The run makes and removes the folder (shared-folder.ts).
 */
const sharedFeatures = process.env.LAB_TEST_FEATURES;

export interface LabOptions {
  /** Store of the runs; in memory when absent. */
  readonly store?: RunStore;
  /** Runs user-written rewards. */
  readonly user?: UserRewards;
  /** Where frozen features are kept, null to compute them; those that all files share when absent. */
  readonly features?: FeatureFiles | null;
  /** Precision of the frozen matrices. */
  readonly choice?: StorageChoice;
  /** Rows in place of the pocket shards. */
  readonly shards?: readonly string[];
  /** Folder of a model in place of the small one; POCKET where it matters that the model is trained. */
  readonly model?: string;
}

/** A fresh session with a freshly loaded model. */
export async function openTestLab({
  store = memoryStore(),
  user,
  features = sharedFeatures === undefined ? null : nodeStore(sharedFeatures),
  choice,
  shards,
  model = smallModel(),
}: LabOptions = {}): Promise<TestLab> {
  const device = await openGpu();
  pocket ??= readPocket();
  const { rows, list, wordnet } = await (shards === undefined ? pocket : readPocket(shards));
  // For runs whose settings ask for it; a resumed run has its own copy.
  const difficulty = list.rows.flatMap(([rowId], at) =>
    ([1, 2] as const).map((loop) => ({ rowId, loop, reward: ((at * 7) % 10) / 10, zeroSpread: at % 6 === 0 })),
  );
  const scorer = rewardScorer(user === undefined ? { wordnet } : { wordnet, user });
  const events: TrainerEvent[] = [];
  const captions = new Set<string>();
  const pictures: PictureSize[] = [];
  const session = new Session({
    device,
    reopen: openGpuAgain,
    store,
    featureFiles: features ?? undefined,
    rows: async (index) => {
      const row = await rows(index);
      const { caption, frames = 1, height, width } = row.summary;
      captions.add(caption);
      pictures.push({ height: height / frames, width });
      return row;
    },
    scorer,
    now: () => performance.now() / 1000,
    emit(event) {
      events.push(event);
      lab.watch(event, session);
    },
  });
  const metrics = async (id: string): Promise<readonly StepMetrics[]> => (await openRun(store, id)).readMetrics();
  const lab: TestLab = {
    session,
    store,
    list,
    events,
    captions,
    pictures,
    watch: () => undefined,
    start: (changes) => {
      // Ids are derived from the second in which a run began.
      created++;
      const when = new Date(Date.UTC(2024, 0, 1, 0, 0, created)).toISOString();
      const settings = cheapConfig({ featureDisk: features === null ? 0 : 1, ...changes });
      return session.start({ settings, list: { ...list, difficulty }, title: "test", created: when });
    },
    resume: (id, steps) => session.resume(id, list, steps),
    metrics,
    async train(changes) {
      const run = await lab.start(changes);
      await run.done;
      return metrics(run.manifest.id);
    },
  };
  atEndOfFile(() => session.dispose());
  await session.openModel(await nodeFolder(model), "pocket", { choice });
  return lab;
}

/** Metrics of a row that depend on nothing but weights, seed and data. */
export function repeatable(row: StepMetrics): StepMetrics {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== "step_time" && !name.startsWith("time/")));
}

/** Waits until run control pauses the run. @throws Error when it never does */
export async function untilPaused(lab: TestLab): Promise<void> {
  for (let waited = 0; lab.session.trainer?.control.state !== "paused"; waited += 20) {
    if (waited > WAIT) throw new Error("The run was not paused");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Files of a checkpoint by their name. */
export async function checkpointFiles(
  store: RunStore,
  id: string,
  step: number,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const folder = checkpointPath(id, step);
  const files = new Map<string, Uint8Array>();
  for (const { path } of await store.list(folder)) files.set(path.slice(folder.length + 1), await store.read(path));
  return files;
}

/** The files of a run in a store that refuses writes. */
export async function readOnlyCopy(store: RunStore, id: string): Promise<RunStore> {
  const files = (await store.list(id)).map(async ({ path }) => [path, await store.read(path)] as const);
  return folderStore(memoryFolder(Object.fromEntries(await Promise.all(files))));
}

/** Same names, same bytes; a difference is reported by the name of the file. */
export function expectSameFiles(
  found: ReadonlyMap<string, Uint8Array>,
  expected: ReadonlyMap<string, Uint8Array>,
): void {
  expect([...found.keys()]).toEqual([...expected.keys()]);
  for (const [name, bytes] of expected) expect(Buffer.from(found.get(name) ?? []).equals(bytes), name).toBe(true);
}
