import { badInput, LabError } from "../../errors.ts";
import type { MeteorDetail } from "../term.ts";
import type { Wordnet } from "../wordnet.ts";
import { alignTokens, countChunks } from "./align.ts";
import { Lexicon } from "./lexicon.ts";
import { porterStem } from "./porter.ts";
import { meteorTokens } from "./tokens.ts";

/** Constants of the formula. */
export interface MeteorParameters {
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
