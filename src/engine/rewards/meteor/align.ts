import type { Lexicon, Word } from "./lexicon.ts";

/** The pass that matched a pair of words. */
export type MatchStage = "exact" | "stem" | "synonym";

/** [hypothesis index, reference index, stage]. */
export type Match = readonly [number, number, MatchStage];

/** Id of the current pass over all alignments, which marks words. */
let pass = 0;

/**
 * Greedy alignment in three passes, each over the words still free: equal words, equal stems, synonyms
 * (docs/spec/rewards.md#alignment). Each pass goes from the last hypothesis word to the first and takes the last
 * fitting reference word. The third pass uses the stems of the second, not the words, so only stems that are dictionary
 * forms can have synonyms. Synonyms are those of the hypothesis word only.
 *
 * @returns matches sorted by hypothesis index
 */
export function alignTokens(hypothesis: readonly string[], reference: readonly string[], lexicon: Lexicon): Match[] {
  lexicon.beginPair();
  const left = hypothesis.map((text) => lexicon.word(text));
  const right = reference.map((text) => lexicon.word(text));
  /** Match of each hypothesis word; undefined = free. */
  const found: (Match | undefined)[] = new Array(left.length);
  const taken = new Uint8Array(right.length);
  let free = Math.min(left.length, right.length);
  free -= matchEqual(left, right, found, taken, "exact");
  if (free > 0) {
    for (let i = 0; i < left.length; i++) if (found[i] === undefined) left[i] = lexicon.stem(left[i] as Word);
    for (let j = 0; j < right.length; j++) if (taken[j] === 0) right[j] = lexicon.stem(right[j] as Word);
    free -= matchEqual(left, right, found, taken, "stem");
  }
  if (free > 0) matchSynonyms(left, right, found, taken, lexicon);
  return found.filter((match) => match !== undefined);
}

/**
 * Pairs free words that are equal. The positions of a word in the reference form a linked list from the last to the
 * first, so that each look-up is one step.
 * @returns the number of new matches
 */
function matchEqual(
  left: readonly Word[],
  right: readonly Word[],
  found: (Match | undefined)[],
  taken: Uint8Array,
  stage: MatchStage,
): number {
  pass++;
  const before = new Int32Array(right.length);
  for (let j = 0; j < right.length; j++) {
    if (taken[j] === 1) continue;
    const word = right[j] as Word;
    before[j] = word.pass === pass ? word.last : -1;
    word.pass = pass;
    word.last = j;
  }
  let count = 0;
  for (let i = left.length - 1; i >= 0; i--) {
    if (found[i] !== undefined) continue;
    const word = left[i] as Word;
    if (word.pass !== pass || word.last < 0) continue;
    const j = word.last;
    word.last = before[j] as number;
    taken[j] = 1;
    found[i] = [i, j, stage];
    count++;
  }
  return count;
}

/** Pairs free words with free synonyms. The first pass has already matched all equal words. */
function matchSynonyms(
  left: readonly Word[],
  right: readonly Word[],
  found: (Match | undefined)[],
  taken: Uint8Array,
  lexicon: Lexicon,
): void {
  for (let i = left.length - 1; i >= 0; i--) {
    if (found[i] !== undefined) continue;
    const synonyms = lexicon.synonyms(left[i] as Word);
    if (synonyms === null) continue;
    for (let j = right.length - 1; j >= 0; j--) {
      if (taken[j] === 1 || !synonyms.has((right[j] as Word).text)) continue;
      taken[j] = 1;
      found[i] = [i, j, "synonym"];
      break;
    }
  }
}

/** Runs of matches that are adjacent on both sides; 0 without a match. Matches sorted by hypothesis index. */
export function countChunks(matches: readonly Match[]): number {
  let chunks = 0;
  let [lastHypothesis, lastReference] = [Number.NaN, Number.NaN];
  for (const [hypothesis, reference] of matches) {
    if (hypothesis !== lastHypothesis + 1 || reference !== lastReference + 1) chunks++;
    lastHypothesis = hypothesis;
    lastReference = reference;
  }
  return chunks;
}
