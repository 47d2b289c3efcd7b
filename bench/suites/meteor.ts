/** Caption pairs per second and core: METEOR with tokenising and alignment, on pairs of the real recorded captions. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeWordnet } from "../../scripts/lib/node/node-rows.ts";
import { Meteor } from "../../src/engine/rewards/meteor/meteor.ts";
import { median } from "../row.ts";

/** Captions with fewer words are not region captions. */
const LEAST_WORDS = 15;
const PAIRS = 20_000;

export interface MeteorRow {
  readonly suite: "meteor";
  readonly case: string;
  readonly pairs: number;
  readonly words_per_caption: number;
  /** Median over the rounds, in processor time of this process, which other load affects little. */
  readonly pairs_per_second: number;
  readonly rounds: number;
}

interface Case {
  readonly reference: string;
  readonly hypothesis: string;
  readonly referenceLength: number;
  readonly hypothesisLength: number;
}

/** Every reference with every hypothesis, so that 20,000 pairs differ; once with all words known and once with none. */
export async function* meteorRows(rounds: number): AsyncGenerator<MeteorRow> {
  const wordnet = await nodeWordnet();
  const file = readFileSync(join(root, "tests", "golden", "meteor", "pairs.json"), "utf8");
  const cases = (JSON.parse(file) as { readonly cases: readonly Case[] }).cases.filter(
    (item) => item.referenceLength >= LEAST_WORDS && item.hypothesisLength >= LEAST_WORDS,
  );
  const pairs = Array.from({ length: PAIRS }, (_, n) => {
    const reference = cases[n % cases.length] as Case;
    const hypothesis = cases[(n + Math.floor(n / cases.length)) % cases.length] as Case;
    return [reference.reference, hypothesis.hypothesis] as const;
  });
  const words = cases.reduce((sum, item) => sum + item.referenceLength + item.hypothesisLength, 0) / cases.length / 2;
  const warm = new Meteor(wordnet);
  const measure = (make: () => Meteor): number => {
    const meteor = make();
    const before = process.cpuUsage();
    let sum = 0;
    for (const [reference, hypothesis] of pairs) sum += meteor.score(reference, hypothesis).score;
    const { user, system } = process.cpuUsage(before);
    // The sum is used, so that no call can be optimised away.
    return Number.isFinite(sum) ? PAIRS / ((user + system) / 1e6) : Number.NaN;
  };
  for (const [name, make] of [
    ["all words met before", () => warm],
    ["every word met for the first time", () => new Meteor(wordnet)],
  ] as const) {
    const rates: number[] = [];
    // The first round compiles.
    for (let round = -1; round < rounds; round++) {
      const rate = measure(make);
      if (round >= 0) rates.push(rate);
    }
    yield {
      suite: "meteor",
      case: name,
      pairs: PAIRS,
      words_per_caption: words,
      pairs_per_second: median(rates),
      rounds,
    };
  }
}
