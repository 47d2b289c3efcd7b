/** Counts what became of the answers of a data set, and keeps sample pairs. */
import type { PairFate } from "../captions.ts";

/** A question with its answer and what became of them. */
export interface PairSample extends Omit<PairFate, "became"> {
  readonly became: string;
  readonly file: string;
  readonly row: number;
}

/** What became of the questions of a data set; it grows while the index is built. */
export interface AnswerTally {
  /** Answers by kind. */
  readonly counts: ReadonlyMap<PairFate["fate"], number>;
  /** Up to three pairs, of different kinds first, then in order. */
  samples(): PairSample[];
}

/** Number of sample pairs. */
const SAMPLES = 3;
/** Kinds of which a pair is shown before those of other kinds. */
const FIRST: ReadonlySet<PairFate["fate"]> = new Set(["caption", "phrase", "refused"]);

export function answerTally(): AnswerTally & { add(file: string, row: number, pairs: readonly PairFate[]): void } {
  const counts = new Map<PairFate["fate"], number>();
  const kept: (PairSample & { readonly nth: number })[] = [];
  return {
    counts,
    add: (file, row, pairs) => {
      for (const pair of pairs) {
        const nth = counts.get(pair.fate) ?? 0;
        counts.set(pair.fate, nth + 1);
        if (nth < SAMPLES) kept.push({ ...pair, became: pair.became(), file, row, nth });
      }
    },
    samples: () =>
      kept
        .toSorted((a, b) => a.nth - b.nth || Number(FIRST.has(b.fate)) - Number(FIRST.has(a.fate)))
        .slice(0, SAMPLES)
        .map(({ nth: _, ...sample }) => sample),
  };
}

const WORDS: Readonly<Record<PairFate["fate"], string>> = {
  caption: "captions",
  phrase: "[SEG] whose phrase is the caption",
  second: "about a region that has a caption",
  refused: "refused",
  mask: "without [SEG] to a request for a mask",
  "yes or no": "yes or no",
  number: "numbers",
  picture: "about the whole picture",
  beside: "about something beside the region",
  description: "that name no region",
  property: "not about a region",
  unknown: "not about a region",
};

/**
 * The counts as text: `7 answers: 2 captions, 1 about the whole picture, …`; empty if every answer is a caption, or refused
 * with its row.
 */
export function tallyText({ counts }: AnswerTally): string {
  const words = new Map<string, number>();
  let all = 0;
  for (const [kind, one] of counts) {
    words.set(WORDS[kind], (words.get(WORDS[kind]) ?? 0) + one);
    all += one;
  }
  const parts = [...words].map(([word, one]) => `${one} ${word}`);
  const isPlain = [...counts.keys()].every((kind) => kind === "caption" || kind === "refused");
  return isPlain ? "" : `${all} ${all === 1 ? "answer" : "answers"}: ${parts.join(", ")}`;
}
