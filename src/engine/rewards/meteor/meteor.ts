import { badInput, LabError } from "../../errors.ts";
import type { MeteorDetail } from "../term.ts";
import type { Wordnet } from "../wordnet.ts";
import { meteorTokens } from "./tokens.ts";

// Words of captions; the stem and synonyms of each are computed once.

/** Stems and synonyms of words, as METEOR uses them. */
interface WordKnowledge {
  stem(word: string): string;
  /** The word itself and its one-word synonyms. */
  synonyms(word: string): ReadonlySet<string>;
}

/** A word. Within one pair of captions, equal texts are the same object. */
interface Word {
  readonly text: string;
  /** Undefined until it is needed. */
  stem: Word | undefined;
  /** Synonyms without the word itself; null when it has none, undefined until they are needed. */
  others: ReadonlySet<string> | null | undefined;
  /** Working values of the alignment: the pass that wrote `last`, and the last free place of the word in that pass. */
  pass: number;
  last: number;
}

/**
 * Keeps the words of recent captions: after `limit` different words, those that do not recur within the next `limit`
 * are dropped.
 */
export class Lexicon {
  readonly #knowledge: WordKnowledge;
  readonly #limit: number;
  #young = new Map<string, Word>();
  #old = new Map<string, Word>();

  constructor(knowledge: WordKnowledge, limit: number) {
    this.#knowledge = knowledge;
    this.#limit = limit;
  }

  /** Called between two pairs of captions; words are dropped only then. */
  beginPair(): void {
    if (this.#young.size < this.#limit) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  word(text: string): Word {
    const known = this.#young.get(text);
    if (known !== undefined) return known;
    const word = this.#old.get(text) ?? { text, stem: undefined, others: undefined, pass: 0, last: -1 };
    this.#young.set(text, word);
    return word;
  }

  stem(word: Word): Word {
    const known = word.stem;
    // A stem that was dropped and then read again as a word would be another object with the same text, so look it up
    // by its text.
    const stem = this.word(known === undefined ? this.#knowledge.stem(word.text) : known.text);
    word.stem = stem;
    return stem;
  }

  synonyms(word: Word): ReadonlySet<string> | null {
    if (word.others === undefined) {
      const others = new Set(this.#knowledge.synonyms(word.text));
      others.delete(word.text);
      word.others = others.size === 0 ? null : others;
    }
    return word.others;
  }
}

/** The pass that matched a pair of words. */
type MatchStage = "exact" | "stem" | "synonym";

/** [hypothesis index, reference index, stage]. */
type Match = readonly [number, number, MatchStage];

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

// Porter's stemmer with the changes of NLTK's default mode, on which METEOR's second pass rests
// (docs/spec/rewards.md#2-meteor-as-nltk-computes-it,
// Porter stemmer; M. Porter, "An algorithm for suffix stripping", 1980). Letters are code points, as in Python.

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

/** Constants of the formula. */
interface MeteorParameters {
  /** Weight of recall against precision, 0..1. */
  readonly alpha: number;
  /** Exponent of the fragmentation. */
  readonly beta: number;
  /** Largest share that fragmentation can remove, 0..1. */
  readonly gamma: number;
}

/** NLTK's defaults: recall weighs nine times precision. */
export const METEOR_DEFAULTS: MeteorParameters = { alpha: 0.9, beta: 3, gamma: 0.5 };

/** Number of words whose stem and synonyms are kept; captions of a data set have a few thousand different words. */
const CACHE_WORDS = 20_000;

/**
 * METEOR as NLTK 3.10.4 computes it with WordNet (docs/spec/rewards.md#2-meteor-as-nltk-computes-it; Lavie and
 * Agarwal 2007). Keeps stems and synonym sets
 * of the words it has seen, up to a bound, so one instance should serve a whole run.
 */
export class Meteor {
  readonly parameters: MeteorParameters;
  private readonly lexicon: Lexicon;

  /** @throws LabError("bad-config") when alpha or gamma lies outside 0..1 or beta is negative or not finite */
  constructor(wordnet: Wordnet, parameters: MeteorParameters = METEOR_DEFAULTS) {
    checkParameters(parameters);
    this.parameters = parameters;
    const knowledge = { stem: porterStem, synonyms: (word: string) => wordnet.synonyms(word) };
    this.lexicon = new Lexicon(knowledge, CACHE_WORDS);
  }

  /** Score of two captions with its alignment; 0 when a side is empty or nothing matches, at most 1. */
  score(reference: string, hypothesis: string): MeteorDetail {
    return this.scoreTokens(meteorTokens(reference), meteorTokens(hypothesis));
  }

  /**
   * The best score over several references, with the alignment to that one (the first of equals).
   * @throws LabError("bad-input") without any reference
   */
  scoreBest(references: readonly string[], hypothesis: string): MeteorDetail {
    let best: MeteorDetail | undefined;
    for (const reference of references) {
      const detail = this.score(reference, hypothesis);
      if (best === undefined || detail.score > best.score) best = detail;
    }
    if (best === undefined) throw badInput("METEOR needs a reference caption, but none was given; nothing was scored");
    return best;
  }

  /** Score of token lists; tokens are taken as lower-cased already. */
  scoreTokens(reference: readonly string[], hypothesis: readonly string[]): MeteorDetail {
    const { alpha, beta, gamma } = this.parameters;
    const matches = alignTokens(hypothesis, reference, this.lexicon);
    const count = matches.length;
    const chunks = countChunks(matches);
    const ratio = (length: number): number => (length === 0 ? 0 : count / length);
    const [precision, recall] = [ratio(hypothesis.length), ratio(reference.length)];
    const fMean = count === 0 ? 0 : (precision * recall) / (alpha * precision + (1 - alpha) * recall);
    const penalty = count === 0 ? 0 : gamma * (chunks / count) ** beta;
    return {
      hypothesis,
      reference,
      matches,
      chunks,
      precision,
      recall,
      fMean,
      penalty,
      score: (1 - penalty) * fMean,
    };
  }
}

function checkParameters({ alpha, beta, gamma }: MeteorParameters): void {
  const share = (value: number): boolean => value >= 0 && value <= 1;
  if (!share(alpha) || !share(gamma) || !(beta >= 0 && Number.isFinite(beta))) {
    throw new LabError(
      "bad-config",
      `METEOR takes alpha and gamma from 0 to 1 and beta of at least 0, not ${alpha}, ${gamma} and ${beta}; nothing was scored`,
    );
  }
}
