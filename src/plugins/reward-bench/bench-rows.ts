/** Completes groups of the bench from open rows where their file leaves something out. */
import { isStoredRow } from "../../engine/data/open-rows.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";
import { type BenchGroup, factsOf, rolloutOf } from "./bench-group.ts";

/**
 * Reference and given mask of a group's open row, where the file has none. A row with the same id but another picture
 * belongs to another data set and adds nothing.
 */
export function withOpenRow(group: BenchGroup, rows: readonly RegionSummary[]): BenchGroup {
  const row = rows.find((candidate) => isStoredRow(candidate, group));
  if (row === undefined) return group;
  return {
    ...group,
    rollouts: group.rollouts.map((rollout) => {
      const facts = factsOf(group.loop, rollout);
      const { reference, given, predicted } = facts;
      const fits = predicted === null || String(predicted.size) === String(row.mask.size);
      const known = { ...facts, reference: reference ?? row.caption, given: given ?? (fits ? row.mask : null) };
      return rolloutOf(known, rollout);
    }),
  };
}
