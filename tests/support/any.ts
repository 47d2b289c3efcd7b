/**
 * Shapes and numbers drawn at random for properties that must hold for all of them. `LAB_SEED` draws others and
 * `LAB_RUNS` that many times as many; what fails is narrowed to the smallest case that still does.
 */
import fc, { type Arbitrary } from "fast-check";

const SEED = Number(process.env.LAB_SEED ?? 2611);
const MANY = Number(process.env.LAB_RUNS ?? 1);

/** Drawing and narrowing end in time for the failure to be told. */
const LIMIT_MS = 180_000 * Math.max(1, MANY);

/**
 * Draws `runs` cases, times LAB_RUNS, and tells the smallest one that fails. After the limit no further case begins; the
 * one in progress counts, however slow the machine, and ends before the next test begins.
 */
export async function forAny<T>(
  runs: number,
  drawn: Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  limit = LIMIT_MS,
): Promise<void> {
  let last: Promise<void> = Promise.resolve();
  const property = fc.asyncProperty(drawn, (value) => {
    last = holds(value);
    return last;
  });
  const details = await fc.check(property, {
    seed: SEED,
    numRuns: Math.ceil(runs * MANY),
    interruptAfterTimeLimit: limit,
    markInterruptAsFailure: false,
  });
  if (details.counterexample === null) return last;
  await last.catch(() => undefined);
  throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
}

/** 1, small, odd, or next to a multiple of the sides of tiles, at most `most`. */
export function side(most: number): Arbitrary<number> {
  const near = fc
    .tuple(fc.constantFrom(4, 8, 16, 32, 64, 256), fc.integer({ min: 1, max: 5 }), fc.integer({ min: -1, max: 1 }))
    .map(([tile, times, off]) => tile * times + off)
    .filter((size) => size <= most);
  const small = fc.integer({ min: 1, max: Math.min(9, most) });
  return most <= 9 ? small : fc.oneof(fc.constant(1), small, near, fc.integer({ min: 1, max: most }));
}

/** Sides of at most `most`, at most `elements` in all. */
export function shape(ranks: readonly [least: number, most: number], most: number, elements: number) {
  return fc
    .array(side(most), { minLength: ranks[0], maxLength: ranks[1] })
    .filter((sides) => sides.reduce((product, size) => product * size, 1) <= elements);
}

/** Seed of a tensor. */
export const tensorSeed = fc.integer({ min: 1, max: 2 ** 30 });

/** Powers of ten, tiny, usual and huge. */
export function scale(...exponents: readonly number[]): Arbitrary<number> {
  return fc.constantFrom(...exponents).map((exponent) => 10 ** exponent);
}
