import { describe, expect, it } from "vitest";
import {
  type AdvantageSettings,
  groupAdvantages,
  type Reward,
  ranks,
  spreadOf,
} from "../../../src/engine/rl/objective/advantages.ts";
import {
  loopAdvantages,
  rewardGroup,
  stepAdvantages,
  termAdvantages,
  trainedRollouts,
} from "../../../src/engine/rl/objective/group-advantages.ts";

const SCALES = ["group", "batch", "none"] as const;
const settings = (changes: Partial<AdvantageSettings> = {}): AdvantageSettings => ({
  scale: "group",
  eps: 1e-8,
  baseline: "mean",
  aggregation: "sum_then_normalize",
  ...changes,
});
const plain = (rewards: readonly Reward[], probabilities: readonly number[] | null = null) => ({
  rewards,
  probabilities,
  parts: [{ weight: 1, values: rewards }],
});
const advantagesOf = (groups: readonly (readonly Reward[])[], changes: Partial<AdvantageSettings> = {}) =>
  groupAdvantages(
    groups.map((rewards) => plain(rewards)),
    settings(changes),
  ).map(({ values: advantages }) => advantages);

describe("group advantages", () => {
  it("are exactly 0 in constant groups whatever the value, the size and the scale", () => {
    for (let thousandth = 1; thousandth < 1000; thousandth += 7) {
      for (const size of [2, 3, 4, 6, 8, 12, 16]) {
        const rewards = new Array<number>(size).fill(Math.fround(thousandth / 1000));
        for (const scale of SCALES) {
          const [constant, varied] = groupAdvantages(
            [plain(rewards), plain(rewards.map((r, i) => r + i))],
            settings({ scale }),
          );
          expect(constant?.values.every((a) => a === 0)).toBe(true);
          expect(constant).toMatchObject({ std: 0, zeroSpread: true });
          expect(varied?.zeroSpread).toBe(false);
        }
      }
    }
  });

  it.each([null, [0.5, 0.3, 0.2]])(
    "are exactly 0 where all rewards of the batch are equal and ε is 0 (probabilities %j)",
    (probabilities) => {
      for (const scale of SCALES) {
        for (const aggregation of ["sum_then_normalize", "normalize_then_sum"] as const) {
          for (const baseline of ["mean", "leave-one-out"] as const) {
            const groups = [plain([0.7, 0.7, 0.7], probabilities), plain([0.7, null, 0.7], probabilities)];
            const scores = groupAdvantages(groups, settings({ scale, aggregation, baseline, eps: 0 }));
            expect(scores.map(({ values: advantages }) => advantages)).toEqual([
              [0, 0, 0],
              [0, 0, 0],
            ]);
          }
        }
      }
    },
  );

  it("leave rows without a reward out of the mean, with advantage 0", () => {
    const [scores] = groupAdvantages([plain([1, null, 3, 2])], settings({ eps: 0 }));
    expect(scores?.values).toEqual([-1, 0, 1, 0]);
    expect(scores).toMatchObject({ mean: 2, std: 1, present: 3 });
  });

  it("are 0 in a group with fewer than two rewards", () => {
    const none = [0, 0, 0];
    expect(
      advantagesOf([
        [null, 5, null],
        [null, null, null],
      ]),
    ).toEqual([none, none]);
  });

  it("are ±1/√2 in pairs", () => {
    expect(advantagesOf([[0.1, 0.9]], { eps: 0 })[0]?.[1]).toBeCloseTo(Math.SQRT1_2, 12);
  });

  it("scaled by the batch have one divisor for all groups, sampled or whole", () => {
    const sampled = advantagesOf(
      [
        [0, 1],
        [0, 3],
      ],
      { scale: "batch", eps: 0 },
    );
    const std = spreadOf([0, 1, 0, 3]).std;
    expect(sampled.flat()).toEqual([-0.5, 0.5, -1.5, 1.5].map((a) => a / std));
    const whole = groupAdvantages(
      [plain([0, 1], [0.5, 0.5]), plain([0, 3], [0.25, 0.75])],
      settings({ scale: "batch", eps: 0 }),
    );
    const [first, second] = whole.map(({ values: advantages }) => advantages);
    const gap = (own: readonly number[] = []) => (own[1] as number) - (own[0] as number);
    expect(gap(second) / gap(first)).toBeCloseTo(3, 12);
  });

  it("leave-one-out compares with the mean of the others", () => {
    const [advantages] = advantagesOf([[1, 2, 6]], { scale: "none", baseline: "leave-one-out" });
    advantages?.forEach((a, i) => {
      expect(a).toBeCloseTo([1 - 4, 2 - 3.5, 6 - 1.5][i] as number, 12);
    });
  });

  it("normalising each term first tells apart what the sum cannot", () => {
    const term = (name: string, value: number | null, weight: number) => ({ name, value, weight });
    const rows = [
      [1, 0],
      [0, 1],
      [1, 0.2],
      [0, 0],
    ];
    const terms = rows.map(([a = 0, b = 0]) => [term("iou", a, 1), term("meteor", b, 1), term("leak", null, 0)]);
    const rewards = [1, 1, 1.2, 0];
    const rollouts = rewards.map((reward, n) => ({ reward, terms: terms[n] ?? [], caption: null }));
    const group = rewardGroup({ rollouts, probabilities: null });
    expect(group.parts.map(({ weight }) => weight)).toEqual([1, 1]);
    const [scores] = groupAdvantages([group], settings({ aggregation: "normalize_then_sum", eps: 1e-4 }));
    expect(scores?.values[0]).not.toBeCloseTo(scores?.values[1] as number, 3);
    expect(scores?.values.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 10);
    expect(scores?.mean).toBeCloseTo(0.8, 12);
  });

  it("have a signal where the parts differ under equal sums, and none where equal parts make the sums", () => {
    const parts = (weight: number, ...rows: readonly (readonly [number, number])[]) => ({
      rewards: rows.map(([a, b]) => weight * a + b),
      probabilities: null,
      parts: [0, 1].map((at) => ({ weight: at === 0 ? weight : 1, values: rows.map((row) => row[at] as number) })),
    });
    // Every sum is 2; normalised, the parts have the same size and the first one weighs more.
    const told = parts(2, [1, 0], [0, 2], [0.5, 1]);
    const flat = parts(1, [0.25, 0.5], [0.25, 0.5]);
    const [one, other] = groupAdvantages([told, flat], settings({ aggregation: "normalize_then_sum" }));
    expect(one?.values.some((advantage) => Math.abs(advantage) > 0.1)).toBe(true);
    expect(one).toMatchObject({ std: 0, zeroSpread: false });
    expect(other).toMatchObject({ values: [0, 0], zeroSpread: true });
    // Opposite parts cancel although the sums of the rewards differ.
    const opposite = parts(1, [2, 0], [0, 1], [2, 0], [0, 1]);
    const [cancelled] = groupAdvantages([opposite], settings({ aggregation: "normalize_then_sum", eps: 0 }));
    expect(cancelled).toMatchObject({ values: [0, 0, 0, 0], zeroSpread: true });
    expect(cancelled?.std).toBeGreaterThan(0.5);
    expect(groupAdvantages([told, flat], settings()).map(({ zeroSpread }) => zeroSpread)).toEqual([true, true]);
  });

  it("ranked terms ignore units and outliers, and equal values share a place", () => {
    expect(ranks([3, null, 1000, 3, -2])).toEqual([0.5, null, 1, 0.5, 0]);
    expect(ranks([7])).toEqual([0.5]);
    expect(ranks([2, 2, 2])).toEqual([0.5, 0.5, 0.5]);
    const of = (first: readonly number[], second: readonly number[]) => ({
      rewards: first.map((value, n) => value + (second[n] as number)),
      probabilities: null,
      parts: [
        { weight: 1, values: first },
        { weight: 0.5, values: second },
      ],
    });
    const aggregation = "rank_then_sum" as const;
    const [one, other] = groupAdvantages(
      [of([0, 1, 2], [0.3, 0.2, 0.1]), of([-50, 7, 9e6], [3, 2, 1])],
      settings({ aggregation, scale: "none" }),
    );
    // Sums of 0 + ½·1, ½ + ½·½ and 1 + 0, around ¾.
    for (const [n, wanted] of [-0.25, 0, 0.25].entries()) expect(one?.values[n]).toBeCloseTo(wanted, 12);
    expect(other?.values).toEqual(one?.values);
    expect(other?.mean).toBeCloseTo((-47 + 9 + 9e6 + 1) / 3, 6);
  });

  it("refuse rewards that are not finite", () => {
    expect(() => advantagesOf([[1, Number.NaN]])).toThrow(/row 1/);
  });
});

describe("the control with shuffled rewards", () => {
  const config = {
    seed: 7,
    scaleRewards: "group",
    advantageEps: 0,
    advantageBaseline: "mean",
    multiObjectiveAggregation: "sum_then_normalize",
    captionWordsMin: 0,
    captionWordsMax: 0,
  } as const;
  const rewards = [1, 0, 0];
  const group = (probabilities: readonly number[] | null) => ({
    loop: 2 as const,
    group: 3,
    rollouts: rewards.map((reward) => ({ reward, terms: [], caption: null })),
    probabilities,
  });
  const advantages = (probabilities: readonly number[] | null, shuffleRewards: boolean, step: number) =>
    stepAdvantages([group(probabilities)], { ...config, shuffleRewards }, () => step)[0]?.values ?? [];
  const steps = Array.from({ length: 6000 }, (_, step) => step);

  it.each([[null], [[0.8, 0.1, 0.1]]])(
    "pushes no action over the steps, samples or a whole set: %j",
    (probabilities) => {
      const all = steps.map((step) => advantages(probabilities, true, step));
      for (const at of [0, 1, 2]) {
        const column = all.map((own) => own[at] as number);
        const mean = column.reduce((sum, value) => sum + value, 0) / column.length;
        const size = Math.sqrt(column.reduce((sum, value) => sum + value * value, 0) / column.length);
        // Four standard errors; a permutation alone pushes the likeliest action of the whole set by eleven, the others by eight.
        expect(Math.abs(mean)).toBeLessThan((4 * size) / Math.sqrt(column.length));
      }
    },
  );

  it("keeps rewards and sizes of advantages, turns the signs of half of the groups, and is off by default", () => {
    const plain = advantages(null, false, 1);
    expect(advantages(null, false, 2)).toEqual(plain);
    const sizes = (own: readonly number[]) => own.map((value) => Math.abs(value).toFixed(9)).sort();
    const sums = steps.slice(0, 400).map((step) => {
      const own = advantages(null, true, step);
      expect(sizes(own)).toEqual(sizes(plain));
      return own.filter((value) => value > 0).length;
    });
    const turned = sums.filter((positive) => positive === 2).length;
    expect(Math.abs(turned - 200)).toBeLessThan(40);
    const order = trainedRollouts(group(null), { seed: 7, shuffleRewards: true }, 5);
    expect(order.map(({ reward }) => reward).sort()).toEqual([0, 0, 1]);
  });
});

describe("the window of words", () => {
  const config = {
    scaleRewards: "none",
    advantageEps: 0,
    advantageBaseline: "mean",
    multiObjectiveAggregation: "sum_then_normalize",
    captionWordsMin: 2,
    captionWordsMax: 3,
  } as const;
  const captions = ["book", "a book", "a red book", "a red, red book", null];
  const scored = (loop: 1 | 2, changes: Partial<Record<"captionWordsMin" | "captionWordsMax", number>> = {}) => {
    const rollouts = captions.map((caption, n) => ({ reward: n, terms: [], caption }));
    return loopAdvantages([{ loop, rollouts, probabilities: null }], { ...config, ...changes })[0];
  };

  it("takes the advantage of captions outside and nothing else", () => {
    expect(scored(1)).toMatchObject({ mean: 2, zeroSpread: false, values: [0, -1, 0, 0, 0] });
    expect(scored(1, { captionWordsMin: 0 })?.values).toEqual([-2, -1, 0, 0, 2]);
    expect(scored(1, { captionWordsMax: 0 })?.values).toEqual([0, -1, 0, 1, 0]);
    expect(scored(1, { captionWordsMin: 0, captionWordsMax: 0 })?.values).toEqual([-2, -1, 0, 1, 2]);
  });

  it("leaves loops alone whose actions are masks", () => {
    expect(scored(2)?.values).toEqual([-2, -1, 0, 1, 2]);
  });
});

describe("the terms' shares of the advantages", () => {
  /** Two groups of four; one term is 0 in weight, one reward is missing. */
  const groups = [0, 1].map((group) => ({
    loop: 1 as const,
    group,
    probabilities: group === 0 ? null : [0.4, 0.3, 0.2, 0.1],
    rollouts: [0, 1, 2, 3].map((n) => {
      const terms = [
        { name: "iou", value: Math.sin(3 * n + group), weight: 1 },
        { name: "meteor", value: group + n === 4 ? null : Math.cos(5 * n), weight: 0.5 },
        { name: "length", value: n % 2, weight: -0.3 },
        { name: "judge", value: n, weight: 0 },
      ];
      const missing = terms.some(({ value, weight }) => value === null && weight !== 0);
      const reward = missing ? null : terms.reduce((sum, { value, weight }) => sum + (value ?? 0) * weight, 0);
      return { reward, terms, caption: "word ".repeat(n + 1) };
    }),
  }));

  it.each(
    SCALES.flatMap((scaleRewards) =>
      (["sum_then_normalize", "normalize_then_sum", "rank_then_sum"] as const).flatMap((multiObjectiveAggregation) =>
        [0, 3].flatMap((captionWordsMax) =>
          [false, true].map((shuffleRewards) => ({
            scaleRewards,
            multiObjectiveAggregation,
            shuffleRewards,
            captionWordsMax,
          })),
        ),
      ),
    ),
  )("add up to them: %j", (changes) => {
    const config = {
      advantageEps: 1e-4,
      advantageBaseline: "leave-one-out",
      seed: 5,
      captionWordsMin: 0,
      ...changes,
    } as const;
    // Without the missing reward where terms are changed one by one: it moves their centres.
    const own = changes.multiObjectiveAggregation !== "sum_then_normalize" ? groups.slice(0, 1) : groups;
    const scores = stepAdvantages(own, config, () => 3);
    const shares = termAdvantages(own, scores, config, 3);
    expect([...shares.keys()]).toEqual(["iou", "meteor", "length"]);
    for (const [at, { values: advantages }] of scores.entries()) {
      expect(Math.max(...advantages.map(Math.abs))).toBeGreaterThan(0.01);
      for (const [n, advantage] of advantages.entries()) {
        const sum = [...shares.values()].reduce((total, term) => total + (term[at]?.[n] as number), 0);
        expect(sum).toBeCloseTo(advantage, 9);
      }
    }
  });
});
