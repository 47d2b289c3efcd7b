import type { TermSpec, TermTools } from "./spec.ts";
import { plainWords } from "./words.ts";

/** Penalises captions that repeat a phrase that scored well once (docs/spec/rewards.md#4-reward-hacking). */
export const REPETITION = {
  name: "repetition",
  label: "Repetition cost",
  help: "Penalty for repeated word sequences",
  cost: true,
  measure: ({ caption }, { settings }: TermTools) => ({
    value: repetitionCost(caption ?? "", settings.repetitionGram),
  }),
} as const satisfies TermSpec;

/** Share of the caption's n-grams that occurred in it before; 0 for a caption of n words or fewer. */
export function repetitionCost(caption: string, n: number): number {
  const words = plainWords(caption);
  const runs = words.length - n + 1;
  if (runs < 2) return 0;
  const seen = new Set(Array.from({ length: runs }, (_, at) => words.slice(at, at + n).join(" ")));
  return 1 - seen.size / runs;
}
