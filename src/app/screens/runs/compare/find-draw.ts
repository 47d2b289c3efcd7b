/** The steps at which a run sampled a row. */
import type { GroupRecord } from "../../../../engine/runs/rollouts/records.ts";

/** Direction of the search from a step. */
export type Towards = "nearest" | "earlier" | "later";

/** Steps in the order of the search: nearest first, from all or from one side; `around` itself only for the nearest. */
export function searchOrder(steps: readonly number[], around: number, towards: Towards): number[] {
  const side = {
    nearest: () => true,
    earlier: (step: number) => step < around,
    later: (step: number) => step > around,
  };
  return steps.filter(side[towards]).sort((a, b) => Math.abs(a - around) - Math.abs(b - around) || a - b);
}

/**
 * The first group of the same loop and row in the order of the search; null where no step has it.
 * @throws LabError naming a step that cannot be read
 */
export async function findDraw(
  order: readonly number[],
  { loop, rowId }: Pick<GroupRecord, "loop" | "rowId">,
  read: (step: number) => Promise<readonly GroupRecord[]>,
  signal: AbortSignal,
): Promise<GroupRecord | null> {
  for (const step of order) {
    const found = (await read(step)).find((group) => group.loop === loop && group.rowId === rowId);
    if (found !== undefined) return found;
    if (signal.aborted) return null;
  }
  return null;
}
