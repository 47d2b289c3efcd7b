/**
 * The part of WordNet that METEOR uses: the one-word synonyms of a word. The table is one ASCII text, made by
 * scripts/build-wordnet.ts; every line ends in "\n":
 *
 *     sa2va-lab wordnet table 1            form and its version
 *     wordnet 3.0                          version of the database
 *     synsets n 46073                      for each part of speech n, v, a, r: how many lines follow
 *     Ball ball_park ballpark              lemmas of one synset, case kept, markers cut off, sorted, one space between
 *     ...
 *     exceptions n 2050                    for each of n, v, a, r: how many lines follow
 *     abaci abacus                         irregular form, then its base forms
 *     ...
 *     end
 *
 * A form is in the index of a part of speech when it is the lower-cased lemma of one of its synsets. Synsets without a
 * one-word lemma, and those whose lemmas are all in another synset, change no answer and are left out.
 */
import { addTo } from "../bytes/collections.ts";
import type { ByteSource } from "../bytes/source.ts";
import { badInput, LabError } from "../errors.ts";

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
function baseForms(
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

/** First line of a table of this form. */
export const TABLE_HEADER = "sa2va-lab wordnet table 1";

/** Synonym look-up over one WordNet version. */
export interface Wordnet {
  /** Database version, "3.0". */
  readonly version: string;
  /**
   * Names without underscore of all lemmas of all synsets of a word, in all parts of speech, after morphy; case as in
   * the database. Empty for an unknown word; contains the word itself only if it is a lemma as written.
   */
  lemmas(word: string): ReadonlySet<string>;
  /** The word and its `lemmas` (docs/spec/rewards.md#synonym-set-of-a-token-w). */
  synonyms(word: string): ReadonlySet<string>;
}

interface Part {
  /** Form → lines of its synsets. */
  readonly synsets: ReadonlyMap<string, readonly string[]>;
  readonly exceptions: ReadonlyMap<string, readonly string[]>;
  /** Letters of the longest form. */
  readonly longest: number;
}

/**
 * Reads a table.
 * @throws LabError("bad-input") when it is not a table of this form, is cut off, or has an invalid line
 */
export function parseWordnet(bytes: Uint8Array): Wordnet {
  const lines = new LineReader(bytes);
  if (lines.next() !== TABLE_HEADER) throw damaged(`it does not begin with "${TABLE_HEADER}"`);
  const version = /^wordnet (\d+\.\d+)$/u.exec(lines.next())?.[1];
  if (version === undefined) throw damaged("line 2 does not name the database version");
  const synsets = PARTS_OF_SPEECH.map((part) => readSynsets(lines, part));
  const exceptions = PARTS_OF_SPEECH.map((part) => readExceptions(lines, part));
  if (lines.next() !== "end") throw damaged(`line ${lines.line} is not "end"`);
  if (!lines.done) throw damaged(`line ${lines.line} follows "end"`);
  const parts = new Map<PartOfSpeech, Part>();
  for (const [at, part] of PARTS_OF_SPEECH.entries()) {
    const index = synsets[at] ?? new Map<string, string[]>();
    let longest = 0;
    for (const form of index.keys()) longest = Math.max(longest, form.length);
    parts.set(part, { synsets: index, exceptions: exceptions[at] ?? new Map<string, string[]>(), longest });
  }
  const lemmas = (word: string): Set<string> => lemmasOf(parts, word.toLowerCase());
  return { version, lemmas, synonyms: (word) => lemmas(word).add(word) };
}

/**
 * Reads the table from a source of bytes.
 * @throws LabError("bad-input") as `parseWordnet`, naming the source
 */
export async function loadWordnet(source: ByteSource): Promise<Wordnet> {
  const bytes = await source.read(0, source.size);
  try {
    return parseWordnet(bytes);
  } catch (thrown) {
    if (!(thrown instanceof LabError)) throw thrown;
    throw new LabError(thrown.code, `${source.name}: ${thrown.message}`, { subject: source.name, cause: thrown });
  }
}

function lemmasOf(parts: ReadonlyMap<PartOfSpeech, Part>, word: string): Set<string> {
  const names = new Set<string>();
  for (const [part, { synsets, exceptions, longest }] of parts) {
    // A form longer than any in the index needs no look-up, so very long tokens stay cheap.
    const known = (form: string): boolean => form.length <= longest && synsets.has(form);
    for (const form of baseForms(word, part, known, exceptions)) {
      for (const line of synsets.get(form) ?? []) {
        for (const name of line.split(" ")) if (!name.includes("_")) names.add(name);
      }
    }
  }
  return names;
}

function readSynsets(lines: LineReader, part: PartOfSpeech): Map<string, string[]> {
  const index = new Map<string, string[]>();
  for (let left = sectionSize(lines, "synsets", part); left > 0; left--) {
    const line = lines.next();
    if (line === "") throw damaged(`line ${lines.line} is empty`);
    for (const form of new Set(line.toLowerCase().split(" "))) {
      addTo(index, form, line);
    }
  }
  return index;
}

function readExceptions(lines: LineReader, part: PartOfSpeech): Map<string, string[]> {
  const exceptions = new Map<string, string[]>();
  for (let left = sectionSize(lines, "exceptions", part); left > 0; left--) {
    const [form = "", ...bases] = lines.next().split(" ");
    if (form === "" || bases.length === 0)
      throw damaged(`line ${lines.line} is not an irregular form with its base forms`);
    exceptions.set(form, bases);
  }
  return exceptions;
}

/** Number of lines of the section that begins here. */
function sectionSize(lines: LineReader, kind: string, part: PartOfSpeech): number {
  const [name, letter, count, ...rest] = lines.next().split(" ");
  if (name !== kind || letter !== part || rest.length > 0 || !/^\d{1,7}$/u.test(count ?? "")) {
    throw damaged(`line ${lines.line} does not begin the section "${kind} ${part}"`);
  }
  return Number(count);
}

function damaged(cause: string): LabError {
  return badInput(`the WordNet table is damaged: ${cause}; METEOR was not loaded`);
}

/** Lines of an ASCII text, one at a time; the last line needs its line feed too, so that a cut-off file is detected. */
class LineReader {
  private readonly text: string;
  private at = 0;
  /** Number of the last line read, from 1. */
  line = 0;

  constructor(bytes: Uint8Array) {
    for (let at = 0; at < bytes.length; at++) {
      if ((bytes[at] as number) > 126) throw damaged(`byte ${at} is not an ASCII character`);
    }
    this.text = new TextDecoder().decode(bytes);
  }

  get done(): boolean {
    return this.at === this.text.length;
  }

  next(): string {
    const end = this.text.indexOf("\n", this.at);
    if (end < 0) throw damaged(`it ends after line ${this.line}`);
    const line = this.text.slice(this.at, end);
    this.at = end + 1;
    this.line++;
    return line;
  }
}
