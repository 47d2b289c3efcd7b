import type { GroupRecord } from "../../../engine/runs/records.ts";

/** Reads the groups of one step of a stored run. */
export type GroupReader = (runId: string, step: number) => Promise<readonly GroupRecord[]>;

/** Steps kept in memory over all runs. */
const CAPACITY = 600;

/** Groups of stored steps, read once; a failed read is not remembered. */
export class GroupSource {
  readonly #read: GroupReader;
  readonly #steps = new Map<string, Promise<readonly GroupRecord[]>>();

  constructor(read: GroupReader) {
    this.#read = read;
  }

  /** Groups of a step, in the order they were drawn. */
  step(runId: string, step: number): Promise<readonly GroupRecord[]> {
    const key = `${runId} ${step}`;
    const groups = this.#steps.get(key) ?? this.#read(runId, step);
    this.#steps.delete(key);
    this.#steps.set(key, groups);
    groups.catch(() => this.#steps.delete(key));
    const oldest = this.#steps.keys().next();
    if (this.#steps.size > CAPACITY && oldest.done !== true) this.#steps.delete(oldest.value);
    return groups;
  }

  /** Goes through steps newest first and hands over their groups one step at a time, until aborted. */
  async scan(
    runId: string,
    steps: readonly number[],
    found: (groups: readonly GroupRecord[], done: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    let done = 0;
    for (const step of [...steps].sort((a, b) => b - a)) {
      const groups = await this.step(runId, step);
      if (signal.aborted) return;
      found(groups, ++done);
    }
  }
}
