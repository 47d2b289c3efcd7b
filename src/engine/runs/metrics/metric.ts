/** One row of the table of metrics. */

export interface Metric {
  /** Logged name or pattern. */
  readonly name: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** Empty if the meaning is enough. */
  readonly formula: string;
  readonly unit: string;
  /** Values in a good run, and the meaning of a change; empty if there is nothing to watch. */
  readonly healthy: string;
  /** Digits after the point when shown. */
  readonly decimals: number;
  /** Name in the design notes, if different. */
  readonly alias?: string;
  /** Better direction, if there is one. */
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
