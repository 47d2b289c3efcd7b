/** Noun, verb, adjective (satellites included), adverb, in the order of look-up in WordNet. */
export const PARTS_OF_SPEECH = ["n", "v", "a", "r"] as const;
export type PartOfSpeech = (typeof PARTS_OF_SPEECH)[number];

const SUFFIX_RULES: Readonly<Record<PartOfSpeech, readonly (readonly [ending: string, replacement: string])[]>> = {
  n: [
    ["s", ""],
    ["ses", "s"],
    ["ves", "f"],
    ["xes", "x"],
    ["zes", "z"],
    ["ches", "ch"],
    ["shes", "sh"],
    ["men", "man"],
    ["ies", "y"],
  ],
  v: [
    ["s", ""],
    ["ies", "y"],
    ["es", "e"],
    ["es", ""],
    ["ed", "e"],
    ["ed", ""],
    ["ing", "e"],
    ["ing", ""],
  ],
  a: [
    ["er", ""],
    ["est", ""],
    ["er", "e"],
    ["est", "e"],
  ],
  r: [],
};

/**
 * Base forms of a word for one part of speech (WordNet's morphy as NLTK 3.10.4 runs it): the word itself and its listed
 * bases if it is irregular, else the word itself and every result of one suffix rule; of these, the known ones.
 * @param known whether a form is in the index of this part of speech
 */
export function baseForms(
  word: string,
  part: PartOfSpeech,
  known: (form: string) => boolean,
  exceptions: ReadonlyMap<string, readonly string[]>,
): string[] {
  const ruled = (): string[] =>
    SUFFIX_RULES[part].flatMap(([ending, replacement]) =>
      word.endsWith(ending) ? [word.slice(0, word.length - ending.length) + replacement] : [],
    );
  return [...new Set([word, ...(exceptions.get(word) ?? ruled())])].filter(known);
}
