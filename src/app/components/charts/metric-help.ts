/** What a logged quantity means, in one or two sentences; null when nothing is known of it. */
export function explainMetric(_metric: string): string | null {
  return null;
}
