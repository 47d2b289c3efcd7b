import type { RewardTerm } from "../term.ts";
import type { Measured, TermSpec } from "./spec.ts";

/**
 * What a caption is good for (CapRL): how many questions about the object a judge that reads nothing but the caption
 * answers correctly. Silence and a wrong statement earn the same, so guessing is free; the judge's own score punishes
 * wrong statements.
 */
export const UTILITY = {
  name: "utility",
  label: "Caption utility",
  help: "Share of the judge's positive questions that are answered correctly from the caption alone. Without a judge, METEOR takes its weight",
} as const satisfies TermSpec;

/** The utility in a verdict of the judge, which is not asked again; missing where the verdict is. */
export function utilityOf({ judge, note }: RewardTerm): Measured {
  if (judge === undefined || judge.score === null) return { value: null, note: note ?? "no verdict" };
  const positive = judge.answers.filter(({ type }) => type === "positive");
  // An empty caption is not asked about.
  if (positive.length === 0) return { value: 0, ...(note === undefined ? {} : { note }) };
  const right = positive.filter(({ points }) => points === 1).length;
  return { value: right / positive.length, note: `${right} of ${positive.length} questions` };
}
