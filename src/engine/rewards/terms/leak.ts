import type { Measured, TermSpec, TermTools } from "./spec.ts";
import { plainWords } from "./words.ts";

/** Penalises captions that reveal the position (docs/spec/rewards.md#4-reward-hacking). */
export const LEAK = {
  name: "leak",
  label: "Leak cost",
  help: "Penalty if a leak word occurs",
  cost: true,
  measure: ({ caption }, { settings }: TermTools): Measured => {
    const leaked = leakedWords(caption ?? "", settings.leakWords);
    return leaked.length === 0 ? { value: 0 } : { value: 1, note: leaked.join(", ") };
  },
} as const satisfies TermSpec;

/** Words and phrases of the list that occur in the caption as whole words, in the list's order. */
export function leakedWords(caption: string, list: string): string[] {
  const text = ` ${plainWords(caption).join(" ")} `;
  const phrases = list
    .split(/[,\n]/)
    .map((phrase) => plainWords(phrase).join(" "))
    .filter((phrase) => phrase !== "");
  return [...new Set(phrases)].filter((phrase) => text.includes(` ${phrase} `));
}
