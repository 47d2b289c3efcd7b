/** One row of the table of metrics. */

export interface Metric {
  /** Logged name or pattern. */
  readonly name: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** Empty when the meaning says it all. */
  readonly formula: string;
  readonly unit: string;
  /** What a good run shows, and what a move means; empty when there is nothing to watch. */
  readonly healthy: string;
  /** Digits after the point when shown. */
  readonly decimals: number;
  /** Name in the design notes, when it is another. */
  readonly alias?: string;
  /** Which way is better, when one is. */
  readonly better?: "up" | "down";
}

/** A row of the table. @param decimals digits after the point when shown */
export function row(
  name: string,
  meaning: string,
  formula: string,
  unit: string,
  healthy: string,
  decimals: number,
  more: Pick<Metric, "alias" | "better"> = {},
): Metric {
  return { name, meaning, formula, unit, healthy, decimals, ...more };
}

/** Unit of a share. */
export const SHARE = "share 0–1";
export const UP = { better: "up" } as const;
export const DOWN = { better: "down" } as const;
