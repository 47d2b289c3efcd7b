/** How a pair of words was found. */
export type MatchStage = "exact" | "stem" | "synonym";

/** [hypothesis index, reference index, stage]. */
export type Match = readonly [number, number, MatchStage];

/** What the passes need to know about words. */
export interface WordKnowledge {
  stem(word: string): string;
  /** The word itself and its one-word synonyms. */
  synonyms(word: string): ReadonlySet<string>;
}

interface Word {
  readonly index: number;
  readonly text: string;
}

/**
 * Greedy alignment in three passes over what the passes before left: equal words, equal stems, synonyms
 * (rewards.md §2, Alignment). Each pass goes from the last hypothesis word to the first and takes the last fitting
 * reference word. The third pass sees the stems of the second, not the words: only stems that are dictionary forms
 * can have synonyms. Synonyms are those of the hypothesis word only.
 *
 * @returns matches sorted by hypothesis index
 */
export function alignTokens(
  hypothesis: readonly string[],
  reference: readonly string[],
  knowledge: WordKnowledge,
): Match[] {
  const matches: Match[] = [];
  let left = indexed(hypothesis);
  let right = indexed(reference);
  const pass = (stage: MatchStage, fits: (word: string) => (other: string) => boolean): void => {
    for (let i = left.length - 1; i >= 0; i--) {
      const word = left[i] as Word;
      const test = fits(word.text);
      for (let j = right.length - 1; j >= 0; j--) {
        const other = right[j] as Word;
        if (!test(other.text)) continue;
        matches.push([word.index, other.index, stage]);
        left.splice(i, 1);
        right.splice(j, 1);
        break;
      }
    }
  };
  const equal = (word: string) => (other: string) => word === other;
  pass("exact", equal);
  const stemmed = (words: readonly Word[]): Word[] =>
    words.map(({ index, text }) => ({ index, text: knowledge.stem(text) }));
  left = stemmed(left);
  right = stemmed(right);
  pass("stem", equal);
  if (right.length > 0) {
    pass("synonym", (word) => {
      const set = knowledge.synonyms(word);
      return (other) => set.has(other);
    });
  }
  return matches.sort((a, b) => a[0] - b[0]);
}

/** Runs of matches that are neighbours on both sides; 0 without a match. Matches sorted by hypothesis index. */
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

function indexed(words: readonly string[]): Word[] {
  return words.map((text, index) => ({ index, text }));
}
