import { fixed } from "../../app/styles/format.ts";
import type { ActionRecord } from "../../engine/runs/rollouts/records.ts";

/** Measures that can colour the strip of actions. */
export type ActionMeasure = "logp" | "ratio" | "kl" | "entropy" | "clipped";

export const ACTION_MEASURES: readonly {
  readonly value: ActionMeasure;
  readonly label: string;
  readonly help: string;
}[] = [
  {
    value: "logp",
    label: "log-prob",
    help: "log π under the weights being updated, in nats; a stronger colour means less likely",
  },
  { value: "ratio", label: "ratio", help: "π / π at sampling time; blue above 1, orange below" },
  { value: "kl", label: "KL", help: "k3 estimate against the reference, in nats" },
  { value: "entropy", label: "entropy", help: "Entropy of the sampling distribution, in nats" },
  { value: "clipped", label: "clipped", help: "Actions whose gradient was clipped to zero" },
];

/** Value of a measure; null when it was not measured. */
export function measureOf(action: ActionRecord, measure: ActionMeasure): number | null {
  return measure === "clipped" ? Number(action.clipped) : action[measure];
}

export function formatMeasure(action: ActionRecord, measure: ActionMeasure): string {
  if (measure === "clipped") return action.clipped ? "clipped" : "kept";
  const value = measureOf(action, measure);
  return measure === "ratio" ? fixed(value, 3) : measure === "logp" ? fixed(value, 2) : fixed(value, 3);
}

/**
 * Strength of the colour, −1..1: the sign selects the hue (above or below 1 for the ratio), the magnitude its strength.
 * Low log-probabilities get strong colours.
 */
export function measureStrength(action: ActionRecord, measure: ActionMeasure): number {
  const value = measureOf(action, measure);
  if (value === null || !Number.isFinite(value)) return 0;
  const bounded = (size: number): number => Math.min(1, Math.max(-1, size));
  if (measure === "logp") return bounded(-value / 5);
  if (measure === "ratio") return bounded(Math.log(Math.max(value, 1e-6)) / 0.3);
  if (measure === "kl") return bounded(value / 0.2);
  if (measure === "entropy") return bounded(value / 3);
  return value;
}

/** Background colour of an action; kept light, because the text keeps the page's colour. */
export function measureColour(strength: number): string {
  const hue = strength >= 0 ? "0 114 178" : "213 94 0";
  return `rgb(${hue} / ${(Math.abs(strength) * 0.5).toFixed(3)})`;
}

export interface GridCells {
  readonly rows: number;
  readonly columns: number;
  /** Action of each cell, row-major; null for a cell without one. */
  readonly cells: readonly (ActionRecord | null)[];
}

/** Actions labelled "cell row,column" as a grid; null for other labels. */
export function gridOf(actions: readonly ActionRecord[]): GridCells | null {
  if (actions.length < 4) return null;
  const places: [number, number, ActionRecord][] = [];
  for (const action of actions) {
    const match = /^cell (\d+),\s*(\d+)$/u.exec(action.label);
    if (match === null) return null;
    places.push([Number(match[1]), Number(match[2]), action]);
  }
  // A pixel mask has more cells than a call can take arguments.
  const rows = places.reduce((most, [row]) => Math.max(most, row), 0) + 1;
  const columns = places.reduce((most, [, column]) => Math.max(most, column), 0) + 1;
  if (rows * columns > 65_536) return null;
  const cells: (ActionRecord | null)[] = Array.from({ length: rows * columns }, () => null);
  for (const [row, column, action] of places) cells[row * columns + column] = action;
  return { rows, columns, cells };
}
