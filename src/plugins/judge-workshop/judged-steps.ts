/** The stored steps that the tests of the judge read, and their groups. */
import { thrownText } from "../../engine/errors.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";

/** Maximum steps to read: enough for ranks, few enough for memory. */
const MOST = 24;

/**
 * The newest steps whose groups are in the run folder, ascending.
 * @param steps known steps, ascending
 * @param done steps completed: groups of the current step arrive before its file is written. Null for a run that does
 * not train here: its steps come from files
 */
export function finishedSteps(steps: readonly number[], done: number | null): readonly number[] {
  return (done === null ? steps : steps.filter((step) => step <= done)).slice(-MOST);
}

export interface ReadSteps {
  readonly groups: readonly GroupRecord[];
  /** One sentence for each step that could not be read. */
  readonly unread: readonly string[];
}

/**
 * Groups of all steps that can be read, in the order of the steps.
 * @returns null when aborted
 */
export async function readSteps(
  read: (step: number) => Promise<readonly GroupRecord[]>,
  steps: readonly number[],
  signal: AbortSignal,
): Promise<ReadSteps | null> {
  const groups: GroupRecord[] = [];
  const unread: string[] = [];
  for (const step of steps) {
    if (signal.aborted) return null;
    try {
      groups.push(...(await read(step)));
    } catch (thrown) {
      unread.push(`Step ${step} is skipped because it cannot be read: ${thrownText(thrown)}`);
    }
  }
  return signal.aborted ? null : { groups, unread };
}
