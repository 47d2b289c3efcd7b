/** The groups of the run of this page that are kept in memory: whole steps, each group once. */
import type { RunState } from "../../engine/rl/run/events.ts";
import type { GroupRecord } from "../../engine/runs/records.ts";

/** Groups kept in memory, but for a single step that has more; older ones are read back from the run folder. */
export const MAX_GROUPS = 400;

/**
 * Adds the newest group. A run whose device was lost plays steps again: what was there of this group gives its place to
 * it, and what was there of later steps goes. The oldest steps beyond `most` groups go as wholes, so that every step
 * but the one being played is here with all of its groups or not at all.
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
    kept.splice(
      0,
      kept.findIndex(({ step }) => step !== oldest),
    );
  }
  return kept;
}

/**
 * Groups that are left when the run says its state. While it goes on, those of the step after the completed ones are of
 * the step being played; once it has ended, that step was dropped.
 * @param step steps completed
 */
export function groupsAt(groups: readonly GroupRecord[], state: RunState, step: number): readonly GroupRecord[] {
  const last = state === "finished" || state === "failed" ? step : step + 1;
  return groups.some((group) => group.step > last) ? groups.filter((group) => group.step <= last) : groups;
}

/**
 * Steps of the run of this page that have groups, ascending.
 * @param stored those in the run folder when it was read; steps that a lost device has set back are no longer there
 * @param measured those with metrics
 * @param groups those in memory
 * @param done steps completed
 */
export function liveSteps(
  stored: Iterable<number>,
  measured: Iterable<number>,
  groups: readonly GroupRecord[],
  done: number,
): readonly number[] {
  const completed = [...stored, ...measured].filter((step) => step <= done);
  return [...new Set([...completed, ...groups.map(({ step }) => step)])].sort((a, b) => a - b);
}
