import { describe, expect, it } from "vitest";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import type { GroupRecord, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";
import {
  gradientSpikes,
  pullOf,
  rewardRidges,
  rowDraws,
  stepMeasures,
  termShares,
  tokenPlaces,
} from "../../../src/plugins/whole-run/group-measures.ts";
import { group } from "./sample-run.ts";

const LEFT = encodeRle(Uint8Array.of(1, 1, 0, 0), 1, 4);
const RIGHT = encodeRle(Uint8Array.of(0, 0, 1, 1), 1, 4);

/** A group of loop 1 whose rollouts have these fields. */
function groupOf(step: number, rowId: string, fields: readonly Partial<RolloutRecord>[]): GroupRecord {
  const base = group(step, 1, 0);
  const rollouts = fields.map((field) => ({ ...(base.rollouts[1] as RolloutRecord), rowId, ...field }));
  const rewards = fields.map(({ reward }) => reward as number);
  return { ...base, rowId, rollouts, zeroSpread: new Set(rewards).size === 1 };
}

const terms = (iou: number, cost: number) => [
  { name: "iou", value: iou, weight: 1 },
  { name: "repetition", value: cost, weight: -0.5 },
  { name: "meteor", value: 1, weight: 0 },
];
const FIRST = groupOf(1, "a", [
  { reward: 0.2, caption: "A dog", predictedMask: LEFT, terms: terms(0.2, 0), advantage: -1 },
  { reward: 0.6, caption: "a dog ", predictedMask: RIGHT, terms: terms(0.6, 1), advantage: 1 },
]);
const SECOND = groupOf(2, "b", [
  { reward: 0.4, caption: "x", predictedMask: LEFT, terms: terms(0.4, 0) },
  { reward: 0.4, caption: "y", predictedMask: LEFT, terms: terms(0.4, 0) },
]);
const THIRD = groupOf(3, "a", [{ reward: null, caption: "z", predictedMask: null, terms: [] }]);
const ALL = [THIRD, FIRST, SECOND];

describe("measures of stored groups", () => {
  it("are means over the groups of a step: mean, best, pass@G, texts without case, pairs of masks", () => {
    const rows = stepMeasures(ALL);
    expect(rows.map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(rows[0]?.metrics).toEqual({
      "loop1/group_mean": expect.closeTo(0.4, 12),
      "loop1/group_best": 0.6,
      "loop1/group_pass": 1,
      "loop1/group_texts": 0.5,
      "loop1/group_masks": 1,
    });
    expect(rows[1]?.metrics).toMatchObject({ "loop1/group_pass": 0, "loop1/group_texts": 1, "loop1/group_masks": 0 });
    // Missing rewards and single masks have no value.
    expect(rows[2]?.metrics).toEqual({ "loop1/group_texts": 1 });
    // Empty masks are equal to each other and to no other mask.
    const empty = { predictedMask: encodeRle(new Uint8Array(4), 1, 4), reward: 0 };
    const [same, other] = stepMeasures([
      groupOf(1, "a", [empty, empty]),
      groupOf(2, "a", [empty, { ...empty, predictedMask: LEFT }]),
    ]);
    expect([same?.metrics["loop1/group_masks"], other?.metrics["loop1/group_masks"]]).toEqual([0, 1]);
  });

  it("name what the reward is made of, costs below zero, without terms that only watch", () => {
    expect(termShares(ALL).map(({ terms: shares }) => [...shares])).toEqual([
      [
        ["iou", expect.closeTo(0.4, 12)],
        ["repetition", -0.25],
      ],
      [
        ["iou", 0.4],
        ["repetition", 0],
      ],
      [],
    ]);
  });

  it("collect the draws of a row, best row first, and count those without a signal", () => {
    expect(
      rowDraws(ALL).map(({ rowId, draws, flat, mean }) => [rowId, draws.map(({ step }) => step), flat, mean]),
    ).toEqual([
      ["a", [1, 3], 1, expect.closeTo(0.4, 12)],
      ["b", [2], 1, 0.4],
    ]);
  });

  it("spread rewards over bands of steps", () => {
    const { low, high, ridges } = rewardRidges(ALL, 2, 5);
    expect([low, high]).toEqual([0, 1]);
    expect(ridges).toEqual([
      { from: 1, to: 2, shares: [0, 0.25, 0.5, 0.25, 0] },
      { from: 3, to: 3, shares: [0, 0, 0, 0, 0] },
    ]);
    expect(rewardRidges([], 2, 5).ridges).toEqual([]);
  });

  it("mean over the places of an answer", () => {
    const action = { ...(FIRST.rollouts[0] as RolloutRecord).actions[0]!, entropy: 1, kl: null };
    const long = groupOf(1, "a", [
      { advantage: -2, actions: [action, { ...action, entropy: 3, kl: 0.5 }] },
      { advantage: 1, actions: [action] },
    ]);
    expect(tokenPlaces([long])).toEqual([
      { actions: 2, entropy: 1, kl: null, advantage: 1.5 },
      { actions: 1, entropy: 3, kl: 0.5, advantage: 2 },
    ]);
  });

  it("find gradient spikes and the rollout that pulls most", () => {
    const norms = [1, 2, Number.NaN, 40, 1].map((norm, at) => [at + 1, norm] as const);
    expect(gradientSpikes(norms, 2)).toEqual([
      { step: 4, norm: 40, times: 40 / 1.5 },
      { step: 2, norm: 2, times: 2 / 1.5 },
    ]);
    const action = { ...(FIRST.rollouts[0] as RolloutRecord).actions[0]!, logp: Math.log(0.25), clipped: false };
    const actions = [action, { ...action, clipped: true }, { ...action, logp: 0 }];
    expect(pullOf({ advantage: -2, actions })).toBeCloseTo(1.5, 12);
  });
});
