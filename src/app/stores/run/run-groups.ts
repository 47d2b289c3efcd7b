/** Groups of the run of this page in memory: whole steps, each group once. */
import type { RunState } from "../../../engine/rl/run/events.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";

/** Maximum groups in memory, unless a single step has more; older groups are read from the run folder. */
export const MAX_GROUPS = 400;

/**
 * Adds the newest group. After a lost device, a run repeats steps: the new group replaces the old one, and groups of later
 * steps are removed. The oldest steps beyond `most` groups are removed as wholes, so that every step except the current
 * one is complete or absent.
 */
export function withGroup(groups: readonly GroupRecord[], group: GroupRecord, most = MAX_GROUPS): GroupRecord[] {
  const kept = groups.filter(({ step }) => step <= group.step);
  const same = kept.findIndex(
    (known) => known.step === group.step && known.loop === group.loop && known.group === group.group,
  );
  if (same >= 0) kept[same] = group;
  else kept.push(group);
  while (kept.length > most && kept[0]?.step !== group.step) {
    const oldest = kept[0]?.step;
    const end = kept.findIndex(({ step }) => step !== oldest);
    kept.splice(0, end);
  }
  return kept;
}

/**
 * Unfinished groups that remain when a group of the step is scored: those of other loops. The groups of a loop are scored
 * together, and those that dynamic sampling dropped never are.
 */
export function drawnAfter(drawn: readonly GroupRecord[], { loop }: GroupRecord): readonly GroupRecord[] {
  return drawn.some((group) => group.loop === loop) ? drawn.filter((group) => group.loop !== loop) : drawn;
}

/**
 * Groups that remain when the run reports its state. While it runs, groups after the completed steps belong to the
 * current step; when it has ended, they are removed.
 * @param step steps completed
 */
export function groupsAt(groups: readonly GroupRecord[], state: RunState, step: number): readonly GroupRecord[] {
  const last = state === "finished" || state === "failed" ? step : step + 1;
  return groups.some((group) => group.step > last) ? groups.filter((group) => group.step <= last) : groups;
}

/**
 * Finished steps of the run of this page that have groups, ascending.
 * @param stored steps in the run folder when it was read; may include steps removed after a lost device
 * @param measured steps with metrics
 * @param groups groups in memory
 * @param done steps completed
 */
export function liveSteps(
  stored: Iterable<number>,
  measured: Iterable<number>,
  groups: readonly GroupRecord[],
  done: number,
): readonly number[] {
  const known = [...stored, ...measured, ...groups.map(({ step }) => step)];
  return [...new Set(known.filter((step) => step <= done))].sort((a, b) => a - b);
}
