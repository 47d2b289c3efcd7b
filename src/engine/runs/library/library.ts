/** The stored runs: the page lists, opens, renames, deletes and exports them. */
import { LabError } from "../../errors.ts";
import { hold, type RunLocks } from "../../storage/lock.ts";
import type { RunStore } from "../../storage/store.ts";
import { type Alarm, readAlarms } from "../alarms.ts";
import { readEvaluations, type StoredEvaluation } from "../evaluations/evaluations.ts";
import { type RunNotes, writeNotes } from "../notes.ts";
import type { GroupRecord, StepMetrics } from "../rollouts/records.ts";
import { DELETED, openRun, removeRun } from "../run-folder.ts";
import { digestRun, listDigests, type RunDigest } from "./digest.ts";
import { takeOver } from "./take-over.ts";

export interface RunLibrary {
  /** Newest first. `damaged` names folders whose run.json or metrics cannot be read; they are kept. */
  list(): Promise<{
    readonly runs: readonly RunDigest[];
    readonly damaged: readonly string[];
    readonly usage: number;
    readonly quota: number;
  }>;
  open(id: string): Promise<{
    readonly run: RunDigest;
    readonly metrics: readonly StepMetrics[];
    readonly groupSteps: readonly number[];
  }>;
  groups(id: string, step: number): Promise<readonly GroupRecord[]>;
  /** Held-out evaluations, oldest first. */
  evaluations(id: string): Promise<readonly StoredEvaluation[]>;
  /** Alarms, oldest first. */
  alarms(id: string): Promise<readonly Alarm[]>;
  rename(id: string, title: string): Promise<void>;
  /** Replaces the given parts, as `writeNotes` does. */
  setNotes(id: string, changes: Partial<RunNotes>): Promise<RunNotes>;
  /** Adds the results of another machine; see take-over.ts. @throws LabError("storage") while the run is training */
  takeOver(id: string, from: RunStore): Promise<void>;
  /** An interrupted removal is completed by the next `list`. @throws LabError("storage") while the run is training */
  remove(id: string): Promise<void>;
}

export function runLibrary(store: RunStore, locks?: RunLocks | null): RunLibrary {
  const whileHeld = async (id: string, done: string, work: () => Promise<void>): Promise<void> => {
    const release = await hold("run", id, locks);
    if (release === null) {
      throw new LabError("storage", `Run "${id}" is being trained and was not ${done}; stop it first`, { subject: id });
    }
    try {
      await work();
    } finally {
      release();
    }
  };
  const completeRemovals = async (): Promise<void> => {
    for (const id of await store.names(DELETED)) {
      const release = await hold("run", id, locks);
      // Another tab is deleting it.
      if (release === null) continue;
      try {
        await removeRun(store, id);
      } catch (thrown) {
        // A store that cannot be changed is listed as it is; the next list tries again.
        if (!(thrown instanceof LabError && thrown.code === "storage")) throw thrown;
      } finally {
        release();
      }
    }
  };
  return {
    list: async () => {
      await completeRemovals();
      return { ...(await listDigests(store)), ...(await store.usage()) };
    },
    open: async (id) => {
      const run = await openRun(store, id);
      return { run: await digestRun(run), metrics: await run.readMetrics(), groupSteps: await run.groupSteps() };
    },
    evaluations: (id) => readEvaluations(store, id),
    alarms: (id) => readAlarms(store, id),
    groups: async (id, step) => (await openRun(store, id)).readGroups(step),
    rename: async (id, title) => {
      await (await openRun(store, id)).update({ title });
    },
    setNotes: async (id, changes) => writeNotes(store, (await openRun(store, id)).id, changes),
    takeOver: (id, from) => whileHeld(id, "changed", () => takeOver(store, from, id)),
    remove: (id) => whileHeld(id, "deleted", () => removeRun(store, id)),
  };
}
