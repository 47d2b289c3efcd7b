/**
 * Costs of a caption, each from 0 to 1: what pays in METEOR or IoU without saying anything
 * (docs/spec/rewards.md#4-reward-hacking).
 */
import { meteorTokens } from "../meteor/tokens.ts";

/** Words of a text without case and punctuation. */
export function plainWords(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];
}

/**
 * 0 up to `ratio` times the reference's words, then rising in a straight line to 1 at `ratio + 1` times.
 * A reference without words counts as one word.
 */
export function lengthCost(caption: string, reference: string, ratio: number): number {
  const multiple = meteorTokens(caption).length / Math.max(1, meteorTokens(reference).length);
  return Math.min(1, Math.max(0, multiple - ratio));
}

/** Share of the caption's runs of n words that occurred before in it; 0 for a caption of n words or fewer. */
export function repetitionCost(caption: string, n: number): number {
  const words = plainWords(caption);
  const runs = words.length - n + 1;
  if (runs < 2) return 0;
  const seen = new Set(Array.from({ length: runs }, (_, at) => words.slice(at, at + n).join(" ")));
  return 1 - seen.size / runs;
}

/** Words and phrases of the list that occur in the caption as whole words, in the list's order. */
export function leakedWords(caption: string, list: string): string[] {
  const text = ` ${plainWords(caption).join(" ")} `;
  const phrases = list
    .split(/[,\n]/)
    .map((phrase) => plainWords(phrase).join(" "))
    .filter((phrase) => phrase !== "");
  return [...new Set(phrases)].filter((phrase) => text.includes(` ${phrase} `));
}
