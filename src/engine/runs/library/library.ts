/** The stored runs: the page lists, opens, renames, deletes and exports them. */
import { isRecord, parseJson } from "../../bytes/json.ts";
import { badInput, LabError } from "../../errors.ts";
import { hold, type RunLocks } from "../../storage/lock.ts";
import type { RunStore } from "../../storage/store.ts";
import { type Alarm, readAlarms } from "../alarms.ts";
import { checkFiles } from "../checkpoint/checkpoint.ts";
import { inCopyOrder, listCheckpoints } from "../checkpoint/checkpoint-folder.ts";
import { readEvaluations, type StoredEvaluation, writeEvaluations } from "../evaluations/evaluations.ts";
import { type RunNotes, writeNotes } from "../notes.ts";
import type { GroupRecord, StepMetrics } from "../rollouts/records.ts";
import { DELETED, openRun, removeRun } from "../run-folder.ts";
import { digestRun, listDigests, type RunDigest } from "./digest.ts";

// Brings back a stored run that another machine continued.

/** Files that the stored run keeps, or that its next export rewrites. */
const KEPT = /^(notes\.json$|scale\/)/;

/**
 * Adds another machine's results to a stored run: steps, evaluations, rollouts and checkpoints. Checkpoints are copied
 * last and count only once their last file is there, so after an interruption the run resumes from its own checkpoint.
 * The stored run keeps its title and its evaluations of steps that the other one did not evaluate.
 * @param from store of the same run
 * @returns false when the stored run already has everything of the other one, and nothing is changed
 * @throws LabError unless the other run continues the stored one, or naming a damaged checkpoint; nothing is changed
 * then
 */
export async function takeOver(store: RunStore, from: RunStore, id: string): Promise<boolean> {
  const stored = await openRun(store, id);
  const [own, other] = await Promise.all([stored.readMetrics(), (await openRun(from, id)).readMetrics()]);
  const newestOf = async (which: RunStore): Promise<number> => (await listCheckpoints(which, id)).at(-1) ?? 0;
  const [newest, offered] = await Promise.all([newestOf(store), newestOf(from)]);
  if (offered <= newest && begins(other, own) && (await hasAll(store, from, id))) return false;
  // Equal metrics without the checkpoints mean that a copy was interrupted.
  if (!begins(own, other) || (other.length === own.length && newest === offered)) {
    throw badInput(
      `Run "${id}" is stored in this browser with ${own.length} steps, which the opened run does not continue; export and delete the stored run first`,
      id,
    );
  }
  for (const step of await listCheckpoints(from, id)) await checkFiles(from, id, step);
  const paths = (await from.list(id)).map(({ path }) => path).filter((path) => !KEPT.test(path.slice(id.length + 1)));
  const evaluations = await readEvaluations(from, id);
  const steps = new Set(evaluations.map(({ report }) => report.step));
  const more = (await readEvaluations(store, id)).filter(({ report }) => !steps.has(report.step));
  const all = [...evaluations, ...more].sort((a, b) => a.report.step - b.report.step);
  for (const path of inCopyOrder(paths, id)) {
    if (path === `${id}/eval.jsonl`) await writeEvaluations(store, id, all);
    else if (path === `${id}/run.json`)
      await store.write(path, titled(await from.readText(path), stored.manifest().title));
    else await store.write(path, await from.read(path));
  }
  return true;
}

/** Whether the second list begins with the first. */
const begins = (some: readonly unknown[], all: readonly unknown[]): boolean =>
  some.every((one, at) => JSON.stringify(one) === JSON.stringify(all[at]));

/** Whether the stored run has the rollouts and evaluations of another one with the same first steps. */
async function hasAll(store: RunStore, from: RunStore, id: string): Promise<boolean> {
  const of = async (which: RunStore): Promise<string[]> => [
    ...(await (await openRun(which, id)).groupSteps()).map(String),
    ...(await readEvaluations(which, id)).map((evaluation) => JSON.stringify(evaluation)),
  ];
  const own = new Set(await of(store));
  return (await of(from)).every((one) => own.has(one));
}

/** run.json with another title. */
function titled(text: string, title: string): string {
  const value = parseJson(text, "run.json");
  return `${JSON.stringify(isRecord(value) ? { ...value, title } : value, null, 2)}\n`;
}

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
  /** Adds the results of another machine, as `takeOver` does. @throws LabError("storage") while the run is training */
  takeOver(id: string, from: RunStore): Promise<boolean>;
  /** An interrupted removal is completed by the next `list`. @throws LabError("storage") while the run is training */
  remove(id: string): Promise<void>;
}

export function runLibrary(store: RunStore, locks?: RunLocks | null): RunLibrary {
  const whileHeld = async <T>(id: string, done: string, work: () => Promise<T>): Promise<T> => {
    const release = await hold("run", id, locks);
    if (release === null) {
      throw new LabError("storage", `Run "${id}" is being trained and was not ${done}; stop it first`, { subject: id });
    }
    try {
      return await work();
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
