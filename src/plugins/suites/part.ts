/**
 * The pictures of a suite in two parts: one to choose a checkpoint, prompt or threshold, the other to report the choice
 * (docs/spec/evaluation.md#64-selection-and-report-are-different-pictures).
 */
import { splitByImage } from "../../engine/data/splits.ts";
import type { SuiteRows } from "./suite.ts";

export const SUITE_PARTS = ["all", "selection", "report"] as const;
export type SuitePart = (typeof SUITE_PARTS)[number];

/** Share of the pictures that choose. */
const SELECTION_SHARE = 0.3;
/** The same pictures for every run, independent of its split. */
const SALT = 0x5e1ec7;

/** The rows of one part; no picture is in both. */
export function suitePart(rows: SuiteRows, part: SuitePart): SuiteRows {
  if (part === "all") return rows;
  const { train, heldOut } = splitByImage(rows.items, SELECTION_SHARE, SALT);
  const places = part === "selection" ? heldOut : train;
  const { clip } = rows;
  const at = (index: number): number => places[index] ?? -1;
  return {
    items: places.map((place) => rows.items[place] as (typeof rows.items)[number]),
    leftOut: rows.leftOut,
    picture: (index) => rows.picture(at(index)),
    ...(clip === undefined ? {} : { clip: (index) => clip(at(index)) }),
  };
}
