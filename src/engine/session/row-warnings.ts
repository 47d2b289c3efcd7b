/** What rows ask of a model and its settings: words that the model can write, and captions that fit. */
import type { LabConfig } from "../config/table.ts";
import { LabError, quote } from "../errors.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Advice } from "../rl/run/start/blockers.ts";

type Tokenizer = Sa2vaModel["tokenizer"];

/** Captions that are read, spread evenly over the rows. */
export const ROW_SAMPLE = 256;
/** Share of the words that may be unknown, such as names. */
const UNKNOWN_SHARE = 0.1;
/** Longest caption length that is proposed, in tokens. */
const LONGEST = 1024;

/**
 * Compares captions with a vocabulary and with the settings.
 * @param captions a sample of those of the rows
 */
export function rowWarnings(
  { encode, decode }: Pick<Tokenizer, "encode" | "decode">,
  captions: readonly string[],
  config: Pick<LabConfig, "maxCompletionLength" | "mode" | "evalSteps">,
): readonly Advice[] {
  const read = captions.flatMap((caption) => caption.match(WORDS) ?? []);
  const known = new Map<string, boolean>();
  for (const word of read) {
    if (known.has(word)) continue;
    const pieces = word.match(PIECES) ?? [];
    known.set(
      word,
      pieces.every((piece) => isWritten(piece, encode, decode)),
    );
  }
  const unknown = read.filter((word) => known.get(word) === false);
  if (unknown.length > UNKNOWN_SHARE * read.length) {
    const words = [...new Set(unknown)];
    const rest = words.length - 3;
    const more = rest > 0 ? ` and ${rest} more ${rest === 1 ? "word" : "words"}` : "";
    const named = words.slice(0, 3).map((word) => quote(word));
    const sentence = `The model has no tokens for ${named.join(", ")}${more} of these captions: it was made for other pictures and cannot describe these`;
    // Lengths in tokens of another vocabulary say nothing.
    return [{ sentence, remedy: "model" }];
  }
  if (config.mode !== "rl" && config.evalSteps === 0) return [];
  const lengths = captions.map((caption) => encode(caption).length).sort((a, b) => a - b);
  const at = (share: number): number => lengths[Math.floor(share * (lengths.length - 1))] ?? 0;
  if (at(0.5) < config.maxCompletionLength) return [];
  // One token ends the text.
  const wanted = Math.min(LONGEST, at(0.95) + 1);
  return [
    {
      sentence: `Captions of these rows have ${at(0)} to ${at(1)} tokens, but the model may write ${config.maxCompletionLength}: most captions are longer than its limit`,
      remedy: {
        label: `Set Caption length to ${wanted}`,
        values: { maxCompletionLength: wanted, partnerMaxTokens: wanted },
      },
    },
  ];
}

/** Letters and digits, and what is between them up to white space, as in "black-and-white". */
const WORDS = /[\p{L}\p{M}\p{N}](?:\S*[\p{L}\p{M}\p{N}])?/gu;
/** Parts of a word, which a vocabulary may hold one by one. */
const PIECES = /[\p{L}\p{M}\p{N}]+/gu;

/** Whether a vocabulary gives a part of a word back; word-level ones lose or refuse what they lack. */
function isWritten(word: string, encode: Tokenizer["encode"], decode: Tokenizer["decode"]): boolean {
  try {
    return decode(encode(word)).toLowerCase().includes(word.toLowerCase());
  } catch (thrown) {
    if (thrown instanceof LabError) return false;
    throw thrown;
  }
}
