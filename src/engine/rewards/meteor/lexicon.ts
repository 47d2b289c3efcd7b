/** Words of captions; the stem and synonyms of each are computed once. */

/** Stems and synonyms of words, as METEOR uses them. */
export interface WordKnowledge {
  stem(word: string): string;
  /** The word itself and its one-word synonyms. */
  synonyms(word: string): ReadonlySet<string>;
}

/** A word. Within one pair of captions, equal texts are the same object. */
export interface Word {
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
