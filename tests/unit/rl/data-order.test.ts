import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { parseSources, requireSources, sourceAt, sourceShares } from "../../../src/engine/data/sources.ts";
import { drawnRows } from "../../../src/engine/rl/run/start/prepare-run.ts";
import { lengthGrouped, type OrderRows, rowOrder } from "../../../src/engine/rl/step/data-order.ts";

/** 12 rows of a, 8 of b, 5 of c; index 0 is held out. */
const IDS = [...Array(12).fill("one/a.arrow"), ...Array(8).fill("two/b.tar"), ...Array(5).fill("c.json")].map(
  (file: string, at) => `${file}#${at}`,
);
const KNOWN: OrderRows = { train: IDS.map((_, at) => at).slice(1), id: (index) => IDS[index] as string };

function order(changes: Partial<LabConfig> = {}, known: Partial<OrderRows> = {}) {
  return rowOrder({ ...KNOWN, ...known }, { ...defaultConfig(), seed: 3, ...changes });
}

/** Data-set indices of prompts [from, to) of loop 1, one a step. */
function drawn(from: number, to: number, changes: Partial<LabConfig> = {}, known: Partial<OrderRows> = {}): number[] {
  const { rows, place } = order(changes, known).of(1);
  return Array.from({ length: to - from }, (_, at) => rows[place(from + at, from + at + 1)] as number);
}

const counts = (indices: readonly number[]): Map<string, number> => {
  const found = new Map<string, number>();
  for (const index of indices) {
    const file = (IDS[index] as string).split("#")[0] as string;
    found.set(file, (found.get(file) ?? 0) + 1);
  }
  return found;
};
const sorted = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b);

describe("the order of prompts", () => {
  it("visits every row once per epoch, in an order that depends on seed, loop and epoch", () => {
    const first = drawn(0, 24);
    for (const epoch of [first, drawn(24, 48), drawn(0, 24, { seed: 4 })]) expect(sorted(epoch)).toEqual(KNOWN.train);
    expect(drawn(24, 48)).not.toEqual(first);
    expect(drawn(0, 24, { seed: 4 })).not.toEqual(first);
    const other = order().of(2);
    expect(first.map((_, n) => other.rows[other.place(n, 1)])).not.toEqual(first);
    expect(drawn(0, 3, {}, { train: [7] })).toEqual([7, 7, 7]);
  });

  it("without a mix is that of earlier versions, so that their runs go on as they began", () => {
    const { place } = order({}, { train: [0, 1, 2, 3, 4] }).of(1);
    expect(Array.from({ length: 12 }, (_, n) => place(n, 1))).toEqual([0, 4, 2, 3, 1, 2, 1, 4, 0, 3, 1, 4]);
  });

  it("continues from any prompt as if it had drawn all before, whatever the settings", () => {
    const difficulty = KNOWN.train.map((index) => {
      return { rowId: KNOWN.id(index), loop: 1, reward: (index * 7) % 11, zeroSpread: index % 5 === 0 } as const;
    });
    const known = { words: (index: number) => 1 + ((index * 5) % 9), difficulty };
    const settings: Partial<LabConfig>[] = [
      {},
      { mixSources: "one = 1.5, b = 0.25", lengthGrouping: true },
      { mixSources: "one/a = 3, b = 1", mixBy: "weights" },
      { curriculum: "hard", curriculumSteps: 40, zeroSpreadRows: "skip", mixSources: "b = 2" },
    ];
    for (const some of settings) expect(drawn(37, 90, some, known)).toEqual(drawn(0, 90, some, known).slice(37));
  });

  it("goes on where it was when the batch changes: no row is drawn twice in an epoch, and none left out", () => {
    // Three steps of 2 rows, two of 5, then 3 a step; each step has accumulation 1.
    const batch = (promptsPerStep: number) => ({ ...defaultConfig(), seed: 3, accumulation: 1, promptsPerStep });
    const earlier = [
      { upTo: 3, config: batch(2) },
      { upTo: 5, config: batch(5) },
    ];
    for (const more of [{}, { lengthGrouping: true }] as const) {
      const known = { ...KNOWN, words: (index: number) => 1 + ((index * 5) % 9) };
      const own = rowOrder(known, { ...batch(3), ...more }, earlier);
      expect([1, 2, 3, 4, 5, 6, 7, 8].map(own.before)).toEqual([0, 2, 4, 6, 11, 16, 19, 22]);
      const sizes = [2, 2, 2, 5, 5, ...Array<number>(11).fill(3)];
      const { rows, place } = own.of(1);
      const all = sizes.flatMap((size, at) =>
        Array.from({ length: size }, (_, group) => rows[place(own.before(at + 1) + group, at + 1)] as number),
      );
      for (const from of [0, 24]) expect(sorted(all.slice(from, from + 24))).toEqual(KNOWN.train);
      // Rows of the first epoch are those of the batch with which it began.
      expect(all.slice(0, 24)).toEqual(drawn(0, 24, { ...batch(2), ...more }, known));
    }
  });

  it("of a round of dynamic sampling is its own", () => {
    const { place } = order().of(1);
    const rounds = [0, 1, 2].map((round) => Array.from({ length: 24 }, (_, n) => place(n, 1, round)));
    for (const round of rounds) expect(sorted(round)).toEqual(Array.from({ length: 24 }, (_, at) => at));
    expect(new Set(rounds.map(String)).size).toBe(3);
  });
});

describe("a mix", () => {
  it("repeats every row of a source as often as it says, and a fraction of them chosen anew each epoch", () => {
    // 11 rows of a twice, 8 of b 0.5 times, 5 of c once.
    const mixSources = "one/ = 2, b.tar = 0.5";
    const epochs = [0, 1, 2, 3].map((epoch) => drawn(31 * epoch, 31 * (epoch + 1), { mixSources }));
    for (const epoch of epochs) {
      expect(Object.fromEntries(counts(epoch))).toEqual({ "one/a.arrow": 22, "two/b.tar": 4, "c.json": 5 });
      const once = epoch.filter((index) => index < 12);
      for (const index of once) expect(once.filter((other) => other === index).length).toBe(2);
      expect(new Set(epoch.filter((index) => index >= 12 && index < 20)).size).toBe(4);
    }
    const halves = epochs.map((epoch) => String(sorted(epoch.filter((index) => index >= 12 && index < 20))));
    expect(new Set(halves).size).toBeGreaterThan(1);
  });

  it("by weights draws sources in their proportion, whatever their size", () => {
    const found = counts(drawn(0, 4000, { mixSources: "one/=1, b=3, *=0", mixBy: "weights" }));
    expect([...found.keys()].sort()).toEqual(["one/a.arrow", "two/b.tar"]);
    // Three standard deviations of a share of 0.75.
    expect(Math.abs((found.get("two/b.tar") ?? 0) / 4000 - 0.75)).toBeLessThan(0.021);
  });

  it("is told before it is drawn: rows and shares by source", () => {
    const ids = KNOWN.train.map(KNOWN.id);
    expect(sourceShares("one/ = 2, b.tar = 0.5", "repeats", ids)).toEqual([
      { name: "one/", amount: 2, rows: 11, share: 22 / 31 },
      { name: "b.tar", amount: 0.5, rows: 8, share: 4 / 31 },
      { name: "*", amount: 1, rows: 5, share: 5 / 31 },
    ]);
    expect(sourceShares("one=1, nothing=5", "weights", ids).map(({ share }) => share)).toEqual([0.5, 0, 0.5]);
    expect(order({ mixSources: "b.tar = 2" }).source("two/b.tar#15")).toBe("b.tar");
    expect(order().source("two/b.tar#15")).toBeNull();
  });

  it("with the number 0 leaves the rows of a source out of the count of a run's first line", () => {
    const count = (mixSources: string): number => {
      const changes = { mixSources };
      return drawnRows(order(changes), { ...defaultConfig(), ...changes });
    };
    expect(count("")).toBe(24);
    expect(count("b=0, one=2")).toBe(16);
    expect(count("b=0, *=2")).toBe(16);
  });

  it("is found by its longest name, in any order of the names", () => {
    const ids = ["set/refcoco/a.json#0", "set/refcoco+/a.json#0", "set/refcocog/a.json#0", "set/refc.json#0"];
    const names = ["refcoco", "refcoco+", "refcocog", "*"];
    for (const text of ["refcoco=4, refcoco+=2, refcocog=1", "refcocog=1, refcoco+=2, refcoco=4"]) {
      requireSources(text, ids);
      const sources = parseSources(text);
      expect(ids.map((id) => sources[sourceAt(sources, id)]?.name)).toEqual(names);
    }
  });

  it("of another form is refused with its part", () => {
    for (const [text, sentence] of [
      ["refcoco", /has "refcoco", which is not name=number/],
      ["a = -1", /"a = -1"/],
      ["a=1, a=2", /names "a" twice/],
      ["a=0, *=0", /gives the number 0 to every source/],
    ] as const) {
      expect(() => parseSources(text), text).toThrow(sentence);
    }
    expect(() => requireSources("one=1, twoo=2", IDS)).toThrow(
      'mixSources has "twoo", which matches no file of the data set; its files are "one/a.arrow", "two/b.tar", "c.json"',
    );
    requireSources("one=1, c.json=0, *=0", IDS);
    requireSources("", IDS);
    expect(() => order({ mixSources: "nowhere=1, *=0" }).of(1)).toThrow(/leaves no training row for loop 1/);
  });
});

describe("length grouping", () => {
  const { cases } = JSON.parse(
    readFileSync(new URL("../../golden/evaluation/sampler/length_grouped.json", import.meta.url), "utf8"),
  ) as {
    readonly cases: readonly {
      lengths: number[];
      groupBatchSize: number;
      permutations: number[][];
      indices: number[];
    }[];
  };
  const plain = cases.filter(({ lengths }) => lengths.every((length) => length > 0));

  it("of the same permutations is that of xtuner", () => {
    expect(plain.length).toBeGreaterThan(1);
    for (const { lengths, groupBatchSize, permutations, indices } of plain) {
      expect(lengthGrouped(permutations[0] as number[], lengths, groupBatchSize)).toEqual(indices);
    }
  });

  it("puts captions of similar length into one step and keeps the epoch", () => {
    const words = (index: number): number => 1 + ((index * 7) % 24);
    const epoch = drawn(0, 24, { lengthGrouping: true, promptsPerStep: 3 }, { words });
    expect(sorted(epoch)).toEqual(KNOWN.train);
    const spread = (all: readonly number[]): number =>
      [0, 1, 2, 3, 4, 5, 6, 7].reduce((sum, step) => {
        const own = all.slice(3 * step, 3 * step + 3).map(words);
        return sum + Math.max(...own) - Math.min(...own);
      }, 0);
    expect(spread(epoch)).toBeLessThan(0.7 * spread(drawn(0, 24)));
  });
});

describe("a curriculum", () => {
  const difficulty = KNOWN.train
    .filter((index) => index !== 24)
    .map((index) => {
      return { rowId: KNOWN.id(index), loop: 1, reward: index / 24, zeroSpread: index === 5 } as const;
    });

  it("draws the easy rows first, then more, then every row once per epoch", () => {
    const settings = { curriculum: "easy", curriculumStart: 0.25, curriculumSteps: 40 } as const;
    // 6 of 24 rows; the unmeasured one is of median difficulty.
    expect(drawn(0, 1, settings, { difficulty })[0]).toBeGreaterThan(17);
    const start = drawn(0, 10, { ...settings, curriculumSteps: 1_000_000 }, { difficulty });
    expect(new Set(start).size).toBeGreaterThan(3);
    for (const index of start) expect(index).toBeGreaterThan(16);
    expect(start).not.toContain(24);
    const hard = drawn(0, 10, { ...settings, curriculum: "hard", curriculumSteps: 1_000_000 }, { difficulty });
    for (const index of hard) expect(index).toBeLessThan(8);
    expect(sorted(drawn(48, 72, settings, { difficulty }))).toEqual(KNOWN.train);
  });

  it("leaves out rows measured without spread, and needs measured rows", () => {
    const left = KNOWN.train.filter((index) => index !== 5);
    expect(sorted(drawn(0, 23, { zeroSpreadRows: "skip" }, { difficulty }))).toEqual(left);
    expect(() => order({ curriculum: "easy" }).of(1)).toThrow(
      /curriculum needs the difficulty of the training rows in loop 1/,
    );
    expect(() => order({ zeroSpreadRows: "skip" }, { difficulty }).of(2)).toThrow(/zeroSpreadRows needs .* in loop 2/);
  });
});
