/** Search for rollouts of the same row in compared runs. */

import type { RunManifest } from "../../engine/runs/manifest.ts";
import type { GroupRecord } from "../../engine/runs/rollouts/records.ts";

/** A run and those that it continues. */
export interface DrawnRun {
  readonly id: string;
  /** Its fork, the fork of its parent and so on, as far as those runs are known; empty for a run that is no fork. */
  readonly forks: readonly { readonly run: string; readonly step: number }[];
}

/** The forks that lead to a run, the last one first. @param all runs that may be among its parents */
export function forksOf({ forkedFrom }: RunManifest, all: readonly RunManifest[]): DrawnRun["forks"] {
  if (forkedFrom === undefined) return [];
  const parent = all.find(({ id }) => id === forkedFrom.run);
  // A damaged file may name a run that descends from its own.
  const rest = all.filter((one) => one !== parent);
  return [forkedFrom, ...(parent === undefined ? [] : forksOf(parent, rest))];
}

/** Reads stored rollouts. */
interface Source {
  /** Steps of a run with groups, ascending. */
  readonly steps: (id: string) => Promise<readonly number[]>;
  readonly groups: (id: string, step: number) => Promise<readonly GroupRecord[]>;
}

/** The run that drew the rollouts of a step: up to its fork, a run holds those of the run that it continues. */
function originOf({ id, forks }: DrawnRun, step: number): string {
  const own = forks.findIndex((fork) => step > fork.step);
  return forks.slice(0, own < 0 ? undefined : own).at(-1)?.run ?? id;
}

/** Why two runs have the same rollouts at a step; "" if they have their own. */
export function sameRolloutsText(one: DrawnRun, other: DrawnRun, step: number): string {
  const same = (at: number): boolean => one.id !== other.id && originOf(one, at) === originOf(other, at);
  const steps = [...one.forks, ...other.forks].map((fork) => fork.step).filter((at) => at >= step && same(at));
  return same(step) ? `Same rollouts: before the fork at step ${Math.max(...steps)}` : "";
}

/** Steps of a run whose rollouts another run drew than those of a step of `first`; other steps of the same run. */
function apart(order: readonly number[], run: DrawnRun, first: DrawnRun, step: number): number[] {
  return order.filter((at) => (run.id === first.id ? at !== step : originOf(run, at) !== originOf(first, step)));
}

/** The order of a search for a row of a step of `first`: steps of the run's own rollouts come first. */
export function drawOrder(order: readonly number[], run: DrawnRun, first: DrawnRun, step: number): number[] {
  const own = apart(order, run, first, step);
  return run.id === first.id ? own : [...own, ...order.filter((at) => !own.includes(at))];
}

/** Steps of each run that are searched for a shared row. */
const SEARCHED = 16;

/**
 * The newest group of a run whose row all others sampled too, at the same step or near it; null if none is found. Where
 * a fork is compared, rows with rollouts of both sides of the fork come before those that it shares with its parent.
 * @param others the run itself for a row that it sampled at another step, too
 */
export async function findShared(
  first: DrawnRun,
  others: readonly DrawnRun[],
  source: Source,
  signal: AbortSignal,
): Promise<GroupRecord | null> {
  const theirs = await Promise.all(others.map(async (run) => ({ run, steps: await source.steps(run.id) })));
  const own = await source.steps(first.id);
  // Runs of one seed draw equal rows at equal steps, so steps that all have come first.
  const common = own.filter((step) => theirs.every(({ steps }) => steps.includes(step)));
  const order = [...new Set([...common.reverse(), ...[...own].reverse()])].slice(0, SEARCHED);
  for (const search of [apart, drawOrder]) {
    for (const step of order) {
      for (const group of await source.groups(first.id, step)) {
        const found = await Promise.all(
          theirs.map(({ run, steps }) =>
            findDraw(
              search(searchOrder(steps, step, "nearest"), run, first, step).slice(0, SEARCHED),
              group,
              (at) => source.groups(run.id, at),
              signal,
            ),
          ),
        );
        if (found.every((one) => one !== null)) return group;
        if (signal.aborted) return null;
      }
    }
  }
  return null;
}

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
