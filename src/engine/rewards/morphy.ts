/** Noun, verb, adjective (satellites included), adverb, in the order in which WordNet is asked. */
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

/** Every result of one suffix rule on one of the forms, without repetition. */
export function applySuffixRules(forms: Iterable<string>, part: PartOfSpeech): Set<string> {
  const results = new Set<string>();
  for (const form of forms) {
    for (const [ending, replacement] of SUFFIX_RULES[part]) {
      if (form.endsWith(ending)) results.add(form.slice(0, form.length - ending.length) + replacement);
    }
  }
  return results;
}

/**
 * Base forms of a word for one part of speech (WordNet's morphy as NLTK runs it, rewards.md §2): an irregular form
 * gives itself and its listed bases and nothing else; any other word itself and one round of suffix rules; only if
 * none of these is in the index, further rounds until one is or no rule applies.
 * @param known whether a form is in the index of this part of speech
 */
export function baseForms(
  word: string,
  part: PartOfSpeech,
  known: (form: string) => boolean,
  exceptions: ReadonlyMap<string, readonly string[]>,
): string[] {
  const found = (forms: Iterable<string>): string[] => [...new Set(forms)].filter(known);
  const listed = exceptions.get(word);
  if (listed !== undefined) return found([word, ...listed]);
  let forms = applySuffixRules([word], part);
  let results = found([word, ...forms]);
  while (results.length === 0 && forms.size > 0) {
    forms = applySuffixRules(forms, part);
    results = found(forms);
  }
  return results;
}
