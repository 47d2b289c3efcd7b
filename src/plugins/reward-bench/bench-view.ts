/** Selection of the bench: the groups and rollouts behind a number. */

import { termName } from "../../app/components/rollout/rollout-view.ts";
import { fixed } from "../../app/styles/format.ts";
import type { BenchGroup, BenchRollout } from "./bench-group.ts";
import { type Bin, inBin, isFlat, type Measure, measureOf } from "./statistics.ts";

/** The number that was clicked. */
export type Selection =
  | { readonly kind: "bin"; readonly measure: Measure; readonly bin: Bin; readonly last: boolean }
  | { readonly kind: "missing"; readonly measure: Measure }
  | { readonly kind: "flat"; readonly measure: Measure }
  | { readonly kind: "pair"; readonly a: Measure; readonly b: Measure; readonly inside: boolean };

/** A pair of measures, over all rollouts or within groups. */
export type MeasurePair = Extract<Selection, { readonly kind: "pair" }>;

export interface MeasuresProps {
  readonly groups: readonly BenchGroup[];
  readonly measures: readonly Measure[];
  readonly selection: Selection | null;
  readonly onSelect: (selection: Selection) => void;
}

export function measureName(measure: Measure): string {
  return measure === "reward" ? "Reward" : termName(measure);
}

export function selectionName(selection: Selection): string {
  switch (selection.kind) {
    case "bin":
      return `${measureName(selection.measure)} from ${fixed(selection.bin.from, 3)} to ${fixed(selection.bin.to, 3)}`;
    case "missing":
      return `${measureName(selection.measure)} missing`;
    case "flat":
      return selection.measure === "reward"
        ? "Groups whose advantages are all 0"
        : `Groups in which ${measureName(selection.measure)} does not vary`;
    case "pair":
      return `${measureName(selection.a)} against ${measureName(selection.b)}`;
  }
}

/** Whether the number includes the rollout. */
export function isSelected(group: BenchGroup, rollout: BenchRollout, selection: Selection | null): boolean {
  if (selection === null) return true;
  switch (selection.kind) {
    case "bin":
      return inBin(measureOf(rollout, selection.measure), selection.bin, selection.last);
    case "missing":
      return measureOf(rollout, selection.measure) === null;
    case "flat": {
      const { measure } = selection;
      if (measure === "reward") return group.zeroSpread;
      return isFlat(group.rollouts.map((own) => measureOf(own, measure)).filter((value) => value !== null));
    }
    case "pair":
      return measureOf(rollout, selection.a) !== null && measureOf(rollout, selection.b) !== null;
  }
}

/** Groups with at least one rollout that the number includes. */
export function selectedGroups(groups: readonly BenchGroup[], selection: Selection | null): readonly BenchGroup[] {
  return selection === null
    ? groups
    : groups.filter((group) => group.rollouts.some((rollout) => isSelected(group, rollout, selection)));
}
