import type { RegionSummary } from "./sample.ts";

/** Captions of the other regions of a row's picture, each once, in data-set order, without the row's caption. */
export function otherCaptions(summaries: readonly RegionSummary[], index: number): string[] {
  const own = summaries[index];
  if (own === undefined) return [];
  const found = new Set<string>();
  for (const { imageId, caption } of summaries) if (imageId === own.imageId) found.add(caption);
  found.delete(own.caption);
  return [...found];
}
