/**
 * Porter's stemmer with the changes of NLTK's default mode, on which METEOR's second pass rests
 * (docs/spec/rewards.md#2-meteor-as-nltk-computes-it,
 * Porter stemmer; M. Porter, "An algorithm for suffix stripping", 1980). Letters are code points, as in Python.
 */

/** Ending, replacement, and the condition on the rest before the ending. */
type Rule = readonly [ending: string, replacement: string, condition?: (rest: string) => boolean];

const IRREGULAR: ReadonlyMap<string, string> = new Map([
  ...["sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed"].map(
    (word) => [word, word] as const,
  ),
  ["skies", "sky"],
  ["dying", "die"],
  ["lying", "lie"],
  ["tying", "tie"],
  ["innings", "inning"],
  ["outings", "outing"],
  ["cannings", "canning"],
]);

const STEP_2: readonly Rule[] = [
  ["ational", "ate", positive],
  ["tional", "tion", positive],
  ["enci", "ence", positive],
  ["anci", "ance", positive],
  ["izer", "ize", positive],
  ["bli", "ble", positive],
  ["alli", "al", positive],
  ["entli", "ent", positive],
  ["eli", "e", positive],
  ["ousli", "ous", positive],
  ["ization", "ize", positive],
  ["ation", "ate", positive],
  ["ator", "ate", positive],
  ["alism", "al", positive],
  ["iveness", "ive", positive],
  ["fulness", "ful", positive],
  ["ousness", "ous", positive],
  ["aliti", "al", positive],
  ["iviti", "ive", positive],
  ["biliti", "ble", positive],
  ["fulli", "ful", positive],
  // The "l" counts as part of the rest, so that short rests ("geo", "theo") lose the ending too.
  ["logi", "log", (rest) => positive(`${rest}l`)],
];

const STEP_3: readonly Rule[] = [
  ["icate", "ic", positive],
  ["ative", "", positive],
  ["alize", "al", positive],
  ["iciti", "ic", positive],
  ["ical", "ic", positive],
  ["ful", "", positive],
  ["ness", "", positive],
];

const STEP_4: readonly Rule[] = [
  ...["al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"].map(dropped),
  ["ion", "", (rest) => measure(rest) > 1 && /[st]$/u.test(rest)],
  ...["ou", "ism", "ate", "iti", "ous", "ive", "ize"].map(dropped),
];

/** Stem of a word; lower-cased first, words of one or two letters are left alone. */
export function porterStem(word: string): string {
  const lower = word.toLowerCase();
  // The table is looked up with the word as given, so the rules apply to "Dying".
  const irregular = IRREGULAR.get(word);
  if (irregular !== undefined) return irregular;
  if (letterCount(lower) <= 2) return lower;
  let stem = pluralEndings(lower);
  stem = pastEndings(stem);
  stem = finalY(stem);
  stem = derivedEndings(stem);
  stem = applyFirst(stem, STEP_3);
  stem = applyFirst(stem, STEP_4);
  return doubleL(finalE(stem));
}

/** Step 1a: plural endings. */
function pluralEndings(word: string): string {
  if (word.endsWith("ies") && letterCount(word) === 4) return word.slice(0, -1);
  return applyFirst(word, Object.entries({ sses: "ss", ies: "i", ss: "ss", s: "" }));
}

/** Step 1b: "-ed" and "-ing", then repair of the rest of the word. */
function pastEndings(word: string): string {
  if (word.endsWith("ied")) return word.slice(0, letterCount(word) === 4 ? -1 : -2);
  if (word.endsWith("eed")) return positive(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const ending = ["ed", "ing"].find((end) => word.endsWith(end) && hasVowel(word.slice(0, -end.length)));
  if (ending === undefined) return word;
  const rest = word.slice(0, -ending.length);
  if (["at", "bl", "iz"].some((end) => rest.endsWith(end))) return `${rest}e`;
  const letters = [...rest];
  const last = letters.at(-1) ?? "";
  if (letters.length >= 2 && letters.at(-2) === last && isConsonant(letters, letters.length - 1)) {
    return ["l", "s", "z"].includes(last) ? rest : letters.slice(0, -1).join("");
  }
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
}

/** Step 1c: "y" after a consonant that is not the first letter becomes "i". */
function finalY(word: string): string {
  if (!word.endsWith("y")) return word;
  const letters = [...word.slice(0, -1)];
  return letters.length > 1 && isConsonant(letters, letters.length - 1) ? `${letters.join("")}i` : word;
}

/** Step 2; "-alli" is taken first and the result goes through the step again. */
function derivedEndings(word: string): string {
  let stem = word;
  while (stem.endsWith("alli") && positive(stem.slice(0, -4))) stem = stem.slice(0, -2);
  return applyFirst(stem, STEP_2);
}

/** Step 5a: a final "e" is removed after a long rest. */
function finalE(word: string): string {
  if (!word.endsWith("e")) return word;
  const rest = word.slice(0, -1);
  const size = measure(rest);
  return size > 1 || (size === 1 && !endsShort(rest)) ? rest : word;
}

/** Step 5b: "-ll" becomes "-l" in a long word. */
function doubleL(word: string): string {
  return word.endsWith("ll") && measure(word.slice(0, -1)) > 1 ? word.slice(0, -1) : word;
}

/** The first rule with a matching ending decides, even if its condition does not hold. */
function applyFirst(word: string, rules: readonly Rule[]): string {
  for (const [ending, replacement, condition] of rules) {
    if (!word.endsWith(ending)) continue;
    const rest = word.slice(0, word.length - ending.length);
    return condition === undefined || condition(rest) ? rest + replacement : word;
  }
  return word;
}

function dropped(ending: string): Rule {
  return [ending, "", (rest) => measure(rest) > 1];
}

function positive(rest: string): boolean {
  return measure(rest) > 0;
}

/** Number of vowel-consonant changes: m of [C](VC)^m[V]. */
function measure(rest: string): number {
  const letters = [...rest];
  let count = 0;
  let afterVowel = false;
  let consonant = true;
  for (let at = 0; at < letters.length; at++) {
    consonant = consonantAfter(letters[at] as string, at === 0, consonant);
    if (consonant && afterVowel) count++;
    afterVowel = !consonant;
  }
  return count;
}

function hasVowel(rest: string): boolean {
  const letters = [...rest];
  return letters.some((_, at) => !isConsonant(letters, at));
}

/**
 * Consonant-vowel-consonant at the end, the last letter not w, x or y; also true for a two-letter vowel-consonant word.
 */
function endsShort(rest: string): boolean {
  const letters = [...rest];
  const size = letters.length;
  if (size === 2) return !isConsonant(letters, 0) && isConsonant(letters, 1);
  return (
    size >= 3 &&
    isConsonant(letters, size - 3) &&
    !isConsonant(letters, size - 2) &&
    isConsonant(letters, size - 1) &&
    !["w", "x", "y"].includes(letters[size - 1] as string)
  );
}

/** "y" is a consonant at the start and after a vowel; every letter that is not a vowel is a consonant. */
function isConsonant(letters: readonly string[], at: number): boolean {
  // Letters of a run of "y" alternate, so the answer depends on where the run starts.
  let start = at;
  while (start > 0 && letters[start] === "y") start--;
  let consonant = consonantAfter(letters[start] as string, start === 0, true);
  for (let next = start + 1; next <= at; next++) consonant = !consonant;
  return consonant;
}

function consonantAfter(letter: string, first: boolean, previousConsonant: boolean): boolean {
  if ("aeiou".includes(letter)) return false;
  return letter !== "y" || first || !previousConsonant;
}

function letterCount(word: string): number {
  return [...word].length;
}
