/** CIDEr-D of caption sets, equal to the class Cider of pycocoevalcap (n-grams of 1 to 4 tokens, sigma 6). */

/** Tokens of one item. */
interface CiderItem {
  readonly references: readonly (readonly string[])[];
  readonly hypothesis: readonly string[];
}

const ORDERS = [1, 2, 3, 4] as const;
const SIGMA = 6;

/** CIDEr of every item, 0..10 (papers print 100 times the mean). Document frequencies come from the set itself. */
export function cider(given: readonly CiderItem[]): number[] {
  // The original splits tokens at every blank, including the no-break space of "1 1/2".
  const words = (tokens: readonly string[]): string[] => tokens.flatMap((token) => token.split("\u00a0"));
  const items = given.map((item) => ({ references: item.references.map(words), hypothesis: words(item.hypothesis) }));
  const frequencies = new Map<string, number>();
  for (const { references } of items) {
    for (const gram of new Set(references.flatMap((tokens) => [...gramsOf(tokens).keys()]))) {
      frequencies.set(gram, (frequencies.get(gram) ?? 0) + 1);
    }
  }
  const most = Math.log(items.length);
  const weigh = (tokens: readonly string[]): Weighted => {
    const weights = ORDERS.map(() => new Map<string, number>());
    for (const [gram, { count, order }] of gramsOf(tokens)) {
      const weight = count * (most - Math.log(Math.max(1, frequencies.get(gram) ?? 0)));
      weights[order - 1]?.set(gram, weight);
    }
    const norms = weights.map((grams) => Math.hypot(...grams.values()));
    return { weights, norms, length: Math.max(0, tokens.length - 1) };
  };
  return items.map(({ references, hypothesis }) => {
    const own = weigh(hypothesis);
    const each = references.map((tokens) => similarity(own, weigh(tokens)));
    return references.length === 0 ? 0 : (10 * each.reduce((sum, value) => sum + value, 0)) / references.length;
  });
}

interface Weighted {
  /** Weights of the n-grams of each order. */
  readonly weights: readonly ReadonlyMap<string, number>[];
  readonly norms: readonly number[];
  /** Number of bigrams, which the original uses as the length. */
  readonly length: number;
}

function similarity(hypothesis: Weighted, reference: Weighted): number {
  const penalty = Math.exp(-((hypothesis.length - reference.length) ** 2) / (2 * SIGMA ** 2));
  let sum = 0;
  for (const [at, grams] of hypothesis.weights.entries()) {
    let value = 0;
    for (const [gram, weight] of grams) {
      const other = reference.weights[at]?.get(gram) ?? 0;
      value += Math.min(weight, other) * other;
    }
    const norm = (hypothesis.norms[at] as number) * (reference.norms[at] as number);
    sum += (norm === 0 ? value : value / norm) * penalty;
  }
  return sum / ORDERS.length;
}

/** Counts of all n-grams of a text. */
function gramsOf(tokens: readonly string[]): Map<string, { count: number; readonly order: number }> {
  const grams = new Map<string, { count: number; readonly order: number }>();
  for (const order of ORDERS) {
    for (let at = 0; at + order <= tokens.length; at++) {
      const gram = tokens.slice(at, at + order).join(" ");
      const known = grams.get(gram);
      if (known === undefined) grams.set(gram, { count: 1, order });
      else known.count++;
    }
  }
  return grams;
}
