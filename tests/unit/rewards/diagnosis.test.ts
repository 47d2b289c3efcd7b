import { describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { normal } from "../../../src/engine/gpu/random.ts";
import {
  type BenchGroup,
  type GroupBounds,
  rolloutOf,
  UNSCORED,
} from "../../../src/plugins/reward-bench/bench-group.ts";
import { scoredGroup } from "../../../src/plugins/reward-bench/bench-scores.ts";
import { diagnose } from "../../../src/plugins/reward-bench/diagnosis.ts";

const FACTS = {
  loop: 2,
  reference: "a",
  caption: "b",
  given: null,
  predicted: null,
  confidence: null,
  truncated: false,
} as const;

const draw = (row: number, position: number): number =>
  normal({ seed: 4, step: 0, loop: 0, row, rollout: 0, position, stream: 9 });

/** A group of 8 masks whose METEOR is `slope` times IoU plus noise, apart from the group's own level. */
function group(index: number, slope: number, bounds?: GroupBounds): BenchGroup {
  const rows = Array.from({ length: 8 }, (_, at) => {
    const iou = 0.5 + 0.2 * draw(index, at);
    return { iou, meteor: draw(index, 99) + slope * iou + 0.1 * draw(index, 20 + at) };
  });
  const unscored = {
    ...UNSCORED,
    ...{ key: String(index), batch: "", step: 0, loop: 2 as const, group: 0 },
    ...{ rowId: String(index), imageId: null, probabilities: null },
    ...(bounds === undefined ? {} : { bounds }),
    rollouts: rows.map((_, at) =>
      rolloutOf(FACTS, { id: `${index}-${at}`, index: at, rowId: String(index), imageId: "", completion: "" }),
    ),
  };
  const scores = rows.map(({ iou, meteor }) => ({
    reward: meteor,
    terms: [
      { name: "iou", value: iou, weight: 0 },
      { name: "meteor", value: meteor, weight: 1 },
    ],
  }));
  return scoredGroup(unscored, scores, defaultConfig());
}

const groups = (slope: number, bounds?: GroupBounds): BenchGroup[] =>
  Array.from({ length: 30 }, (_, index) => group(index, slope, bounds));

const bounds = (greedy: number, truth: number): GroupBounds => ({
  greedy: [
    { name: "iou", value: 0.6, weight: 0 },
    { name: "meteor", value: greedy, weight: 0 },
  ],
  truth: {
    terms: [
      { name: "iou", value: 1, weight: 0 },
      { name: "meteor", value: truth, weight: 0 },
    ],
    alike: greedy === truth,
  },
});

describe("the diagnosis of a reward", () => {
  it("finds the correlation inside groups, whatever the groups' own levels, in an interval", () => {
    // Deviations 0.2 of IoU and 0.1 of the noise: 1 / sqrt(1 + 0.25).
    const { terms } = diagnose(groups(1));
    expect(terms.map(({ measure }) => measure)).toEqual(["reward", "meteor"]);
    const [reward] = terms;
    expect(reward?.low).toBeLessThan(0.894);
    expect(reward?.high).toBeGreaterThan(0.894);
    expect((reward?.high ?? 1) - (reward?.low ?? 0)).toBeLessThan(0.1);
  });

  it("expects a gain where the reward follows and the truth earns more", () => {
    const { headroom, expectation } = diagnose(groups(1, bounds(0.5, 0.7)));
    expect(headroom).toMatchObject({ groups: 30, alike: 0 });
    expect(headroom?.iou).toBeCloseTo(0.6, 12);
    expect((headroom?.best ?? 0) - (headroom?.greedy ?? 0)).toBeCloseTo(0.2, 12);
    expect(expectation).toContain("true masks earn 0.20 more than greedy ones: there is something to learn");
  });

  it("expects none from a blind reward, without room, or without spread", () => {
    expect(diagnose(groups(0, bounds(0.5, 0.7))).expectation).toContain("barely depends on the masks");
    expect(diagnose(groups(1, bounds(0.7, 0.7))).expectation).toContain("greedy masks already earn 0.70 of 0.70");
    const flat = groups(1).map((one) => ({ ...one, rollouts: one.rollouts.map((r) => ({ ...r, reward: 0.5 })) }));
    expect(diagnose(flat).expectation).toContain("does not vary inside groups");
  });

  it("does not depend on the size of the reward", () => {
    const scaled = (one: BenchGroup, factor: number): BenchGroup => ({
      ...one,
      rollouts: one.rollouts.map((rollout) => ({ ...rollout, reward: (rollout.reward ?? 0) * factor })),
    });
    const verdict = (greedy: number, factor: number): string => {
      const own = groups(1, bounds(greedy * factor, 0.7 * factor));
      return diagnose(own.map((one) => scaled(one, factor))).expectation;
    };
    for (const factor of [0.01, 1, 100]) {
      expect(verdict(0.5, factor), String(factor)).toContain("there is something to learn");
      expect(verdict(0.69, factor), String(factor)).toContain("expect no gain");
    }
  });

  it("has no headroom where a weighted term of the bounds is missing", () => {
    const without = {
      ...bounds(0.5, 0.7),
      truth: { terms: [{ name: "iou", value: 1, weight: 0 }], alike: false },
    };
    expect(diagnose(groups(1, without)).headroom).toBeNull();
    expect(diagnose(groups(1)).headroom).toBeNull();
  });

  it("compares greedy captions with the best of each group, since a row's caption need not earn most", () => {
    const text = (greedy: number): BenchGroup[] =>
      groups(1).map((own) => ({
        ...own,
        loop: 1,
        bounds: {
          greedy: [
            { name: "iou", value: 0.6, weight: 0 },
            { name: "meteor", value: (own.rollouts[0]?.reward ?? 0) + greedy, weight: 0 },
          ],
        },
        // The same two rewards in every group, the better one with the better mask.
        rollouts: own.rollouts.map((rollout, at) => ({
          ...rollout,
          reward: (own.rollouts[0]?.reward ?? 0) + (at % 2) / 4,
          terms: rollout.terms.map((term) => (term.name === "iou" ? { ...term, value: (at % 2) / 4 } : term)),
          advantage: (at % 2) - 0.5,
        })),
      }));
    const far = diagnose(text(-0.5));
    expect((far.headroom?.best ?? 0) - (far.headroom?.greedy ?? 0)).toBeCloseTo(0.75, 12);
    expect(far.headroom?.alike).toBeNull();
    expect(far.expectation).toContain("the best sampled captions earn 0.75 more than greedy ones");
    // A greedy caption better than all sampled ones bounds itself.
    const near = diagnose(text(0.4));
    expect(near.headroom?.best).toBeCloseTo(near.headroom?.greedy ?? 0, 12);
    expect(near.expectation).toMatch(
      /greedy captions already earn .* expect no gain of greedy captions; sampled ones earn/,
    );
  });

  it("expects none of a control, whose reward follows and whose advantages do not", () => {
    const control = groups(1).map((own) =>
      scoredGroup(
        { ...own, step: Number(own.key) },
        own.rollouts.map(({ reward, terms }) => ({ reward, terms })),
        { ...defaultConfig(), shuffleRewards: true },
      ),
    );
    const { terms, expectation } = diagnose(control);
    expect(terms[0]?.withIou).toBeGreaterThan(0.8);
    expect(expectation).toMatch(/but the advantages with -?0\.[01]\d only: updates do not follow the reward/);
  });

  it("asks for more rows where few groups say little", () => {
    // Of four masks without overlap one earns something, of four true ones two do: a correlation of 0.26.
    const few = [0, 1].map((index) => {
      const own = group(index, 0);
      const rollouts = own.rollouts.map((rollout, at) => ({
        ...rollout,
        reward: Number([1, 4, 6].includes(at)),
        terms: [{ name: "iou", value: Number(at > 3), weight: 0 }],
      }));
      return { ...own, rollouts };
    });
    const { terms, expectation } = diagnose(few);
    expect(terms[0]?.withIou).toBeCloseTo(0.258, 3);
    expect(terms[0]?.low).toBeLessThan(0);
    expect(expectation).toContain("sample more rows");
  });
});
