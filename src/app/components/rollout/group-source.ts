import { Lru, remember } from "../../../engine/bytes/collections.ts";
import { thrownText } from "../../../engine/errors.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";
import { lab } from "../../clients/lab.ts";

/** Reads the groups of one step of a stored run. */
type GroupReader = (runId: string, step: number) => Promise<readonly GroupRecord[]>;

/** Steps kept in memory over all runs. */
const CAPACITY = 600;

export interface ScanProgress {
  /** Steps processed, including those that could not be read. */
  readonly done: number;
  readonly unread: number;
  /** Why the first of them could not be read; null if all were read. */
  readonly cause: string | null;
}

export const NOTHING_READ: ScanProgress = { done: 0, unread: 0, cause: null };

/** Groups of stored steps, read once; a failed read is tried again. */
export class GroupSource {
  readonly #read: GroupReader;
  readonly #steps = new Lru<string, Promise<readonly GroupRecord[]>>(CAPACITY);

  constructor(read: GroupReader) {
    this.#read = read;
  }

  /** Groups of a step, in sampling order. */
  step(runId: string, step: number): Promise<readonly GroupRecord[]> {
    return remember(this.#steps, `${runId} ${step}`, () => this.#read(runId, step));
  }

  /** Forgets the groups read so far, because some steps were dropped. */
  forget(): void {
    this.#steps.clear();
  }

  /**
   * Reads the groups of steps, newest first, one step at a time, until aborted. A step that cannot be read is counted and
   * yields none.
   * @param known groups of some of the steps, newest first, which are not read again
   * @param found the groups of all steps so far, newest first, after each step
   */
  async scan(
    runId: string,
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
      const read = await this.step(runId, step).catch(thrownText);
      if (signal.aborted) return;
      const failed = typeof read === "string";
      progress = {
        done: progress.done + 1,
        unread: progress.unread + Number(failed),
        cause: progress.cause ?? (failed ? read : null),
      };
      if (!failed) kept.set(step, read);
      found(groups, progress);
    }
  }
}

/** One sentence about the steps that a search skipped; null if it skipped none. */
export function unreadText({ unread, cause }: ScanProgress): string | null {
  if (unread === 0) return null;
  return `${unread} ${unread === 1 ? "step" : "steps"} could not be read: ${cause}`;
}

/** Groups of steps in run folders, read once for all screens. */
export const storedGroups = new GroupSource((runId, step) => lab().data.runGroups(runId, step));
