/** A run folder (docs/spec/formats.md#86-the-run-folder lists its files). All views of a finished run read it. */

import { parseJson } from "../bytes/json.ts";
import { inOrder } from "../bytes/pace.ts";
import { badInput, LabError, quote, thrownText, toLabError } from "../errors.ts";
import { oneAtATime } from "../storage/lock.ts";
import { type RunStore, StorageFull } from "../storage/store.ts";
import { ALARMS } from "./alarms.ts";
import { removeCheckpointsAfter } from "./checkpoint/checkpoint-folder.ts";
import { EVALUATIONS } from "./evaluations/evaluations.ts";
import { runLines } from "./lines.ts";
import { parseManifest, type RunManifest } from "./manifest.ts";
import { metricsLine, parseMetricsLine } from "./numbers-json.ts";
import { PHASES } from "./phase-lines.ts";
import type { GroupRecord, StepMetrics } from "./rollouts/records.ts";
import { groupsFromArrow, groupsToArrow } from "./rollouts/rollouts-arrow.ts";
import { stepFromName, stepName } from "./step-name.ts";

/** Number of runs read concurrently, because reading mostly waits for the disk. */
const AT_ONCE = 16;
/** Maximum attempts to read a run that grows meanwhile. */
const READINGS = 4;

export interface RunFolder {
  readonly id: string;
  readonly store: RunStore;
  /** The manifest as last written. */
  manifest(): RunManifest;
  /** Rewrites run.json with the changes; concurrent changes by other workers are kept. */
  update(
    change: Partial<
      Pick<RunManifest, "title" | "state" | "config" | "lengths" | "segments" | "smaller" | "judgeDropped">
    >,
  ): Promise<RunManifest>;
  /** Adds one line to metrics.jsonl; `step` becomes its first field. */
  appendStep(step: number, metrics: StepMetrics): Promise<void>;
  /** Adds groups to those of a step; a group of the same loop and number is replaced. */
  appendGroups(step: number, groups: readonly GroupRecord[]): Promise<void>;
  /** One row per step, ascending, each with a `step` field; NaN and infinities are numbers again. */
  readMetrics(): Promise<readonly StepMetrics[]>;
  /** Steps with stored rollouts, ascending. */
  groupSteps(): Promise<readonly number[]>;
  /** @throws LabError("storage") when the step has none */
  readGroups(step: number): Promise<readonly GroupRecord[]>;
  /**
   * Before a resume at `step`: removes later metrics, evaluations, alarms, rollouts and checkpoints, so that no curve
   * has two values for a step. Remaining lines are kept unchanged.
   * @throws LabError("bad-input") naming a file that is damaged; nothing is removed then
   */
  truncateAfter(step: number): Promise<void>;
}

/** `metrics.jsonl` of a run. */
const METRICS = runLines<StepMetrics>({
  file: "metrics.jsonl",
  format: metricsLine,
  parse: parseMetricsLine,
  stepOf: ({ step }) => step as number,
  ascending: true,
  stays: true,
});

/** Creates a run folder. @throws LabError("storage") when the id is taken or not a valid folder name */
export async function createRun(store: RunStore, manifest: RunManifest): Promise<RunFolder> {
  if (!/^[A-Za-z0-9][A-Za-z0-9-]*$/.test(manifest.id)) {
    throw new LabError("storage", `"${manifest.id}" is not a valid run name: use only letters, digits and dashes`, {
      subject: manifest.id,
    });
  }
  if ((await store.size(manifestPath(manifest.id))) !== null) {
    throw new LabError("storage", `There is already a run "${manifest.id}"; nothing was written`, {
      subject: manifest.id,
    });
  }
  if ((await store.size(`${DELETED}/${manifest.id}`)) !== null) await removeRun(store, manifest.id);
  await writeManifest(store, manifest);
  await ALARMS.write(store, manifest.id, []);
  return runFolder(store, manifest);
}

/** Empty files named after runs that are being deleted; lists of runs skip the folder's name. */
export const DELETED = ".deleted";

/** Removes a run. A part of it that a crash leaves is not mistaken for a run, because its name stays in `DELETED`. */
export async function removeRun(store: RunStore, id: string): Promise<void> {
  try {
    await store.write(`${DELETED}/${id}`, "");
  } catch (thrown) {
    // Full storage must not keep a run from being deleted.
    if (!(thrown instanceof StorageFull)) throw thrown;
  }
  await store.remove(id);
  await store.remove(`${DELETED}/${id}`);
}

/** @throws LabError("storage") when there is no such run, "bad-input" when its run.json is invalid */
export async function openRun(store: RunStore, id: string): Promise<RunFolder> {
  return runFolder(store, await readManifest(store, id));
}

interface RunListing {
  readonly runs: readonly RunManifest[];
  readonly damaged: readonly string[];
}

/** Manifests of all runs, newest first; folders whose run.json is missing or damaged are named in `damaged`. */
export async function listRuns(store: RunStore): Promise<RunListing> {
  // A name that starts with a dot is shared by all runs and is not a run.
  const ids = (await store.names("")).filter((name) => !name.startsWith("."));
  const { values: runs, damaged } = await readEach(store, ids, (id) => readManifest(store, id));
  runs.sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : a.id < b.id ? -1 : 1));
  return { runs, damaged };
}

/**
 * Reads something from each of many runs, several at a time, and returns the results in order; runs that cannot be read
 * are named in `damaged`, except those deleted meanwhile. A run that is being written is read again.
 */
export async function readEach<T>(
  store: RunStore,
  ids: readonly string[],
  read: (id: string, index: number) => Promise<T>,
): Promise<{ readonly values: T[]; readonly damaged: string[] }> {
  const values: T[] = [];
  const damaged: string[] = [];
  let index = 0;
  for await (const done of inOrder(ids.length, AT_ONCE, (at) => {
    const id = ids[at] as string;
    return steady(
      () => read(id, at),
      async () => (await store.names(id)).length > 0,
    );
  })) {
    const id = ids[index++] as string;
    if ("value" in done) values.push(done.value);
    else if (!(done.thrown instanceof LabError)) throw done.thrown;
    else if ((await store.names(id)).length > 0) damaged.push(id);
  }
  return { values, damaged };
}

/** Reading a file that grows meanwhile fails with "storage"; the next attempt sees the new end. */
async function steady<T>(read: () => Promise<T>, isThere: () => Promise<boolean>): Promise<T> {
  for (let left = READINGS; ; ) {
    try {
      return await read();
    } catch (thrown) {
      const again = --left > 0 && thrown instanceof LabError && thrown.code === "storage";
      if (!again || !(await isThere())) throw thrown;
    }
  }
}

/** A run with a known manifest. */
export function runFolder(store: RunStore, first: RunManifest): RunFolder {
  const { id } = first;
  const rolloutPath = (step: number): string => `${id}/rollouts/${stepName(step)}.arrow`;
  let current = first;

  const groupSteps = async (): Promise<number[]> =>
    (await store.names(`${id}/rollouts`))
      .flatMap((name) => (name.endsWith(".arrow") ? (stepFromName(name.slice(0, -".arrow".length)) ?? []) : []))
      .sort((a, b) => a - b);
  const readGroups = async (step: number): Promise<readonly GroupRecord[]> =>
    groupsFromArrow(await store.read(rolloutPath(step)), rolloutPath(step));

  return {
    id,
    store,
    manifest: () => current,
    update: (change) =>
      oneAtATime(manifestPath(id), async () => {
        // Read again: another worker may have changed the title.
        const { manifest, settings } = await readStored(store, id);
        const next = { ...manifest, ...change };
        // Settings of other versions are kept.
        await writeManifest(store, { ...next, config: { ...settings, ...next.config } });
        current = next;
        return next;
      }),
    appendStep: async (step, metrics) => {
      const { step: _, ...rest } = metrics;
      await METRICS.append(store, id, { step, ...rest });
    },
    appendGroups: async (step, groups) => {
      const path = rolloutPath(step);
      const replaced = new Set(groups.map((group) => `${group.loop}-${group.group}`));
      const kept = (await store.size(path)) === null ? [] : await readGroups(step);
      const all = [...kept.filter((group) => !replaced.has(`${group.loop}-${group.group}`)), ...groups];
      await store.write(path, groupsToArrow(all));
    },
    readMetrics: () => METRICS.read(store, id),
    groupSteps,
    readGroups,
    truncateAfter: async (step) => {
      for (const lines of [METRICS, EVALUATIONS, ALARMS]) await lines.read(store, id);
      // Checkpoints are removed first, so that a run killed midway resumes from this step and not after removed lines.
      await removeCheckpointsAfter(store, id, step);
      await EVALUATIONS.truncateAfter(store, id, step);
      await METRICS.truncateAfter(store, id, step);
      for (const later of await groupSteps()) if (later > step) await store.remove(rolloutPath(later));
      await PHASES.truncateAfter(store, id, step);
      await ALARMS.truncateAfter(store, id, step);
    },
  };
}

function manifestPath(id: string): string {
  return `${id}/run.json`;
}

async function writeManifest(store: RunStore, manifest: RunManifest): Promise<void> {
  await store.write(manifestPath(manifest.id), `${JSON.stringify(manifest, null, 2)}\n`);
}

async function readManifest(store: RunStore, id: string): Promise<RunManifest> {
  return (await readStored(store, id)).manifest;
}

/** A manifest with its settings as stored. */
async function readStored(
  store: RunStore,
  id: string,
): Promise<{ readonly manifest: RunManifest; readonly settings: object }> {
  const path = manifestPath(id);
  const bad = (cause: string, thrown?: unknown): LabError =>
    badInput(`${path} ${cause}; the run's files are kept`, path, thrown);
  const text = await store.readText(path);
  let value: unknown;
  try {
    value = parseJson(text, "it");
  } catch (thrown) {
    throw bad(`is not valid JSON (${thrownText(thrown)})`, thrown);
  }
  const parsed = parseManifest(value);
  if ("problem" in parsed) throw bad(`is not a run that this version reads: ${parsed.problem}`);
  if (parsed.manifest.id !== id) throw bad(`describes another run, ${quote(parsed.manifest.id)}`);
  return { manifest: parsed.manifest, settings: (value as { readonly config: object }).config };
}

// Marks the folder of a failed run.

/**
 * Marks a run as failed.
 * @returns the error to throw: the failure, or both messages if the mark could not be written
 */
export async function failedRun(run: RunFolder, failure: unknown): Promise<unknown> {
  try {
    await run.update({ state: "failed" });
    return failure;
  } catch (thrown) {
    const { code, message, subject } = toLabError(failure);
    const why = toLabError(thrown, "storage").message;
    return new LabError(code, `${message}; and the run could not be marked as failed: ${why}`, {
      ...(subject === undefined ? {} : { subject }),
      cause: failure,
    });
  }
}
