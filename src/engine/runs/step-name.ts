/** Maximum steps of a run; the setting allows fewer. */
export const MOST_STEPS = 1_000_000;

/** "step-000123", which sorts by number up to a million steps. */
export function stepName(step: number): string {
  return `step-${String(step).padStart(6, "0")}`;
}

/** Inverse of stepName; null for any other text. */
export function stepFromName(name: string): number | null {
  const digits = /^step-(\d{6,})$/.exec(name)?.[1];
  const step = Number(digits ?? Number.NaN);
  return step <= MOST_STEPS ? step : null;
}
