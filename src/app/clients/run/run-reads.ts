/** What the page reads of run folders, through the cache of `stores/reads.ts`. */

import type { StoredRun, StoredRuns } from "../../../../workers/stored-runs.ts";
import { thrownText } from "../../../engine/errors.ts";
import type { Alarm } from "../../../engine/runs/alarms.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { outdate, outdateRun, type Read, readKey } from "../../stores/reads.ts";
import { fillMetrics, replaceMetrics } from "../../stores/run/metrics.ts";
import { useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { lab } from "../lab.ts";

/** The stored runs, and read-only runs from elsewhere. */
export const RUNS: Read<{ readonly stored: StoredRuns; readonly elsewhere: readonly RunDigest[] }> = {
  key: readKey("runs"),
  read: async () => {
    const { data } = lab();
    const [stored, elsewhere] = await Promise.all([data.runs(), data.runsElsewhere()]);
    return { stored, elsewhere };
  },
};

/** A run and its steps with groups; its metrics go into its store. */
export const readRun = (id: string): Read<Omit<StoredRun, "metrics">> => ({
  key: readKey("run", id),
  read: async () => {
    const { metrics, ...rest } = await lab().data.run(id);
    // The run of this page may have gone on meanwhile.
    (useRun.getState().runId === id ? fillMetrics : replaceMetrics)(id, metrics);
    return rest;
  },
});

/** Groups of a step, in sampling order. */
export const readGroups = (id: string, step: number): Read<readonly GroupRecord[]> => ({
  key: readKey("groups", id, step),
  read: () => lab().data.runGroups(id, step),
  lasting: true,
});

/** Held-out evaluations, oldest first. */
export const readEvaluations = (id: string): Read<readonly StoredEvaluation[]> => ({
  key: readKey("evaluations", id),
  read: () => lab().data.evaluations(id),
});

/** Alarms, oldest first. */
export const readAlarms = (id: string): Read<readonly Alarm[]> => ({
  key: readKey("alarms", id),
  read: () => lab().data.alarms(id),
});

/** Milliseconds between two reads of another tab's or machine's run. */
const FOLLOW_MS = 3000;

/** Reads what other tabs and machines write again; called once. */
export function followOthers(): void {
  setInterval(() => {
    const { otherTabs, elsewhere } = useSession.getState();
    const growing = Object.keys(elsewhere).filter((id) => elsewhere[id] === "address");
    const parts = ["run", "evaluations", "alarms"] as const;
    outdate(...[...otherTabs, ...growing].flatMap((id) => parts.map((part) => readKey(part, id))));
  }, FOLLOW_MS);
  useSession.subscribe((now, before) => {
    if (now.otherTabs !== before.otherTabs) for (const id of [...now.otherTabs, ...before.otherTabs]) outdateRun(id);
    if (now.recordedRun !== before.recordedRun || now.elsewhere !== before.elsewhere) outdate(readKey("runs"));
  });
}

export interface ScanProgress {
  /** Steps processed, including those that could not be read. */
  readonly done: number;
  readonly unread: number;
  /** Why the first of them could not be read; null if all were read. */
  readonly cause: string | null;
}

export const NOTHING_READ: ScanProgress = { done: 0, unread: 0, cause: null };

/**
 * Reads the groups of steps, newest first, one step at a time, until aborted. A step that cannot be read is counted and
 * yields none.
 * @param known groups of some of the steps, newest first, which are not read again
 * @param found the groups of all steps so far, newest first, after each step
 */
export async function scanGroups(
  read: (step: number) => Promise<readonly GroupRecord[]>,
  steps: readonly number[],
  known: readonly GroupRecord[],
  found: (groups: () => readonly GroupRecord[], progress: ScanProgress) => void,
  signal: AbortSignal,
): Promise<void> {
  const order = [...steps].sort((a, b) => b - a);
  const kept = new Map<number, readonly GroupRecord[]>();
  for (const group of known) kept.set(group.step, [...(kept.get(group.step) ?? []), group]);
  const missing = order.filter((step) => !kept.has(step));
  const groups = (): GroupRecord[] => order.flatMap((step) => kept.get(step) ?? []);
  let progress: ScanProgress = { ...NOTHING_READ, done: order.length - missing.length };
  if (progress.done > 0) found(groups, progress);
  for (const step of missing) {
    const own = await read(step).catch(thrownText);
    if (signal.aborted) return;
    const failed = typeof own === "string";
    progress = {
      done: progress.done + 1,
      unread: progress.unread + Number(failed),
      cause: progress.cause ?? (failed ? own : null),
    };
    if (!failed) kept.set(step, own);
    found(groups, progress);
  }
}

/** One sentence about the steps that a scan skipped; null if it skipped none. */
export function unreadText({ unread, cause }: ScanProgress): string | null {
  if (unread === 0) return null;
  return `${unread} ${unread === 1 ? "step" : "steps"} could not be read: ${cause}`;
}
