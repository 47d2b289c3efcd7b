import { describe, expect, it } from "vitest";
import { presetConfig } from "../../../src/engine/config/presets.ts";
import type { Completion } from "../../../src/engine/policy/decode/generate.ts";
import type { GroupAdvantages } from "../../../src/engine/rl/objective/advantages.ts";
import { loopAdvantages } from "../../../src/engine/rl/objective/group-advantages.ts";
import { type LossType, lossSettings } from "../../../src/engine/rl/objective/loss-types.ts";
import type { Group, LossGroup, LossReadback } from "../../../src/engine/rl/step/group.ts";
import { groupRecord } from "../../../src/engine/rl/step/listeners.ts";
import { measuredLoss } from "../../../src/engine/rl/step/metrics/loss-metrics.ts";
import { captionMetrics, pairMetrics } from "../../../src/engine/rl/step/metrics/rollout-metrics.ts";
import { overPasses, passMetrics, sampledMetrics } from "../../../src/engine/rl/step/metrics/step-metrics.ts";
import { groupsFromArrow, groupsToArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { gridOf } from "../../../src/plugins/rollout-tools/action-colour.ts";

const mask = { size: [1, 2] as const, counts: "02" };

/** A group of two rollouts of `side`² cells each, sampled with log-probabilities of -1. */
function sampled(side: number, changes: Partial<Group> = {}): Group {
  const actions = side * side;
  const rollout = {
    rowId: "row",
    imageId: "picture",
    prompt: "",
    completion: "",
    caption: "",
    referenceCaption: "",
    captionPrime: null,
    givenMask: mask,
    predictedMask: mask,
    greedyMask: null,
    terms: [],
    truncated: false,
  };
  return {
    loop: 2,
    group: 0,
    row: { summary: { id: "row" }, rgb: { height: 1, width: 1, data: new Uint8Array(3) } } as Group["row"],
    actions,
    labels: [0, 1].map(() =>
      Array.from({ length: actions }, (_, at) => ({ id: 1, label: `cell ${Math.floor(at / side)},${at % side}` })),
    ),
    promptIds: [1],
    mask: new Float32Array(2 * actions).fill(1),
    samplingLogps: new Float32Array(2 * actions).fill(-1),
    probabilities: null,
    rollouts: [0, 1].map((reward) => ({ ...rollout, reward })),
    logProbs: () => {
      throw new Error("not asked here");
    },
    dispose: () => undefined,
    metrics: {},
    ...changes,
  };
}

function trained(group: Group, old: number, reference: number | null = null): LossGroup {
  const filled = (value: number) => new Float32Array(2 * group.actions).fill(value);
  return {
    ...group,
    advantages: { values: [-1, 1], mean: 0.5, std: 0.7, stdUsed: 0.7, present: 2, zeroSpread: false },
    place: 0,
    refLogps: reference === null ? null : filled(reference),
    oldLogps: filled(old),
    equal: null,
  };
}

function readback({ actions }: Group, logp: number): LossReadback {
  const size = 2 * actions;
  return {
    loss: 0.5,
    policy: 0.5,
    logps: new Float32Array(size).fill(logp),
    entropies: new Float32Array(size).fill(0.1),
    auxiliary: {},
  };
}

/** Without a reference there is no KL term. */
function settingsOf({ refLogps }: LossGroup, type: LossType = "grpo") {
  return lossSettings(type, refLogps === null ? { beta: 0 } : {});
}

function metrics(group: LossGroup, logp: number, pass = 0, type: LossType = "grpo") {
  return {
    ...sampledMetrics(2, [group]),
    ...passMetrics(2, [measuredLoss(group, readback(group, logp), settingsOf(group, type))], pass === 0),
  };
}

describe("a group of 256 × 256 pixels", () => {
  const group = trained(sampled(256), -1);

  it.each(["grpo", "luspo"] as const)("is measured with %s", (type) => {
    expect(metrics(group, -0.75, 0, type)["loop2/logp_train_vs_sampling/max"]).toBe(0.25);
  });

  it("is recorded, stored, read again and drawn as a grid", async () => {
    const record = groupRecord(1, measuredLoss(group, readback(group, -1), settingsOf(group)));
    const [again] = await groupsFromArrow(groupsToArrow([record]), "rollouts.arrow");
    expect(again?.rollouts.map(({ actions }) => actions.length)).toEqual([65_536, 65_536]);
    expect(gridOf(again?.rollouts[1]?.actions ?? [])).toMatchObject({ rows: 256, columns: 256 });
  });

  it("is no grid to draw when a group is larger", () => {
    const large = trained(sampled(400), -1);
    const { rollouts } = groupRecord(1, measuredLoss(large, readback(large, -1), settingsOf(large)));
    const [actions = []] = rollouts.map((rollout) => rollout.actions);
    expect(gridOf(actions)).toBeNull();
  });
});

describe("the mean of a term", () => {
  const of = (rewards: readonly number[], probabilities: readonly number[] | null) => {
    const { rollouts } = sampled(1);
    const scored = rewards.map((reward) => {
      const terms = [{ name: "meteor", value: reward, weight: 1 }];
      return { ...(rollouts[0] as Group["rollouts"][number]), reward, terms };
    });
    const group = sampled(1, { rollouts: scored, probabilities });
    const [advantages] = loopAdvantages([group], presetConfig("demo"));
    return { ...group, place: 0, refLogps: null, advantages: advantages as GroupAdvantages };
  };

  it.each([
    [null, 0.625, 0.4375],
    [[0.9, 0.1], 0.925, 0.6875],
  ] as const)("is that of the reward when it is the only one (probabilities %j)", (probabilities, alone, both) => {
    // A whole set may have another number of actions.
    const second = probabilities === null ? of([0.5, 0], null) : of([0.5, 0.5, 0], [0.6, 0.3, 0.1]);
    const groups = [of([1, 0.25], probabilities), second];
    for (const [count, mean] of [
      [1, alone],
      [2, both],
    ] as const) {
      const found = sampledMetrics(2, groups.slice(0, count));
      expect(found["loop2/reward"]).toBeCloseTo(mean, 12);
      expect(found["loop2/rewards/meteor/mean"]).toBeCloseTo(mean, 12);
    }
  });
});

describe("ratio and clips", () => {
  const plain = sampled(2);

  it("are told against what the loss divided by; the agreement against what sampled", () => {
    const row = metrics(trained(plain, -1.5, -1.5), -1, 0, "notes");
    expect(row["loop2/ratio/mean"]).toBeCloseTo(Math.exp(0.5), 12);
    expect(row["loop2/clip_ratio/high_mean"]).toBe(0.5);
    expect(row["loop2/logp_train_vs_sampling/max"]).toBe(0);
  });

  it("of the records are the same ones", () => {
    const group = trained(plain, -1.5, -1.5);
    const { rollouts } = groupRecord(1, measuredLoss(group, readback(plain, -1), lossSettings("notes")));
    expect(rollouts.map(({ actions }) => actions[0]?.clipped)).toEqual([false, true]);
    expect(rollouts[1]?.actions[0]).toMatchObject({ samplingLogp: -1, refLogp: -1.5, ratio: Math.exp(0.5) });
  });

  it("of a later pass leave the agreement out: its weights did not sample", () => {
    const row = metrics(trained(plain, -1), -1.5, 1);
    expect(row["loop2/clip_ratio/low_mean"]).toBe(0.5);
    expect(Object.keys(row).filter((name) => name.includes("logp_train"))).toEqual([]);
  });

  it("clip nothing where the policy's loss is given no advantage", () => {
    const row = metrics(trained(sampled(2, { policyGradient: false }), -1), -1.5, 1);
    expect(row["loop2/clip_ratio/region_mean"]).toBe(0);
    expect(row["loop2/advantage_abs_mean"]).toBe(1);
  });
});

it("extremes of several groups are the extreme of all, other metrics their mean", () => {
  const groups = [2, 10].map((length) =>
    trained(sampled(2, { metrics: { "completions/min_length": length, "completions/mean_length": length } }), -1),
  );
  const settings = lossSettings("grpo", { beta: 0 });
  const losses = groups.map((group, at) => measuredLoss(group, readback(group, -1 + at), settings));
  const found = { ...sampledMetrics(2, groups), ...passMetrics(2, losses, true) };
  expect(found["loop2/completions/min_length"]).toBe(2);
  expect(found["loop2/completions/mean_length"]).toBe(6);
  expect(found["loop2/ratio/min"]).toBe(1);
  expect(found["loop2/ratio/max"]).toBeCloseTo(Math.E, 6);
  expect(found["loop2/logp_train_vs_sampling/max"]).toBe(1);
  expect(found["loop2/logp_train_vs_sampling/mean"]).toBe(0.5);
});

describe("the reward over the start", () => {
  const over = (changes: Partial<Group>) => metrics({ ...trained(sampled(1), -1), ...changes }, -1);
  const logs = (...shares: number[]) => Float32Array.from(shares, Math.log);

  it("is 0 while the policy is the start, and absent where the start was not asked", () => {
    expect(over({ startLogps: new Float32Array(2).fill(-1) })).toMatchObject({
      "loop2/reward_over_start": 0,
      "loop2/start_sample_share": 1,
    });
    expect(over({ startLogps: null })).not.toHaveProperty("loop2/reward_over_start");
  });

  it("is exact for a whole action set", () => {
    const shares = { probabilities: [0.2, 0.8], samplingLogps: logs(0.2, 0.8), startLogps: logs(0.5, 0.5) };
    const row = over(shares);
    // The policy takes the second action, which earns 1, in 80 % and the start in 50 %.
    expect(row["loop2/reward_over_start"]).toBeCloseTo(0.3, 6);
    expect(row["loop2/start_sample_share"]).toBeCloseTo(1 / (0.25 / 0.2 + 0.25 / 0.8), 6);
  });

  it("weighs samples by how much likelier the start finds them, padding and missing rewards apart", () => {
    const group = trained(sampled(2), -1);
    const labels = group.labels.map((own) => own.slice(0, 2));
    const startLogps = Float32Array.from([-1, -1 + Math.log(3), 9, 9, -1, -1, 9, 9]);
    const row = metrics({ ...group, labels, startLogps }, -1);
    expect(row["loop2/reward_over_start"]).toBeCloseTo(0.5 - 0.25, 6);
    // What the loss masks, as a truncated caption, was sampled all the same.
    const unlearnt = metrics({ ...group, labels, startLogps, mask: new Float32Array(8) }, -1);
    expect(unlearnt["loop2/reward_over_start"]).toBe(row["loop2/reward_over_start"]);
    const rollouts = group.rollouts.map((one) => ({ ...one, reward: null }));
    expect(metrics({ ...group, rollouts, labels, startLogps }, -1)).not.toHaveProperty("loop2/reward_over_start");
  });
});

describe("metrics of several groups", () => {
  it("leave out a group whose completions are all masked", () => {
    const groups = [new Float32Array(8).fill(1), new Float32Array(8)].map((mask) =>
      trained(sampled(2, { mask }), -1, -1),
    );
    const settings = lossSettings("grpo", { beta: 0.04 });
    const told = (own: readonly LossGroup[]) => {
      const losses = own.map((group) => measuredLoss(group, readback(group, -0.5), settings));
      return passMetrics(2, losses, true);
    };
    const whole = told(groups.slice(0, 1));
    for (const name of ["entropy", "kl", "ratio/mean", "ratio/min", "logp_train_vs_sampling/mean"]) {
      expect(told(groups)[`loop2/${name}`], name).toBe(whole[`loop2/${name}`]);
      expect(told(groups.slice(1)), name).not.toHaveProperty([`loop2/${name}`]);
    }
  });

  it("average ended completions over all of them, however many each group has", () => {
    const texts = (lengths: readonly number[]): LossGroup => {
      const completions = lengths.map((length): Completion => {
        return { ids: Array(length).fill(1), logps: [], entropies: [], ended: length < 4 };
      });
      const metrics = captionMetrics(
        lengths.map(() => "a"),
        completions,
      );
      return {
        ...trained(sampled(1), -1),
        metrics,
        rollouts: lengths.flatMap((length) =>
          sampled(1)
            .rollouts.slice(1)
            .map((own) => ({ ...own, truncated: length === 4 })),
        ),
      };
    };
    const found = sampledMetrics(1, [texts([1, 4, 4]), texts([3, 3, 2]), texts([4, 4, 4])]);
    expect(found["loop1/completions/mean_terminated_length"]).toBe(9 / 4);
    expect(found["loop1/completions/mean_length"]).toBeCloseTo(29 / 9, 12);
    expect(sampledMetrics(1, [texts([4])])).not.toHaveProperty("loop1/completions/mean_terminated_length");
  });

  it("take masks without a pixel for equal", () => {
    const [none, one] = [Uint8Array.of(0, 0), Uint8Array.of(1, 0)];
    expect(pairMetrics([none, none], ["a", "a"])["mask/pairwise_iou"]).toBe(1);
    expect(pairMetrics([none, one], ["a", "a"])["mask/pairwise_iou"]).toBe(0);
  });
});

describe("several passes", () => {
  it("are one row of means, with the extremes of all and what only one of them has", () => {
    const first = {
      "loop1/kl": 0.1,
      "loop1/ratio/min": 1,
      "loop1/ratio/max": 1,
      "loop1/logp_train_vs_sampling/max": 0.25,
    };
    const second = { "loop1/kl": 0.3, "loop1/ratio/min": 0.5, "loop1/ratio/max": 2 };
    const third = { "loop1/kl": 0.2, "loop1/ratio/min": 0.8, "loop1/ratio/max": 1.2 };
    const row = overPasses([first, second, third]);
    expect(row["loop1/kl"]).toBeCloseTo(0.2, 12);
    expect(row).toMatchObject({
      "loop1/ratio/min": 0.5,
      "loop1/ratio/max": 2,
      "loop1/logp_train_vs_sampling/max": 0.25,
    });
  });

  it("keep equal numbers to the last bit, and a single pass as it is", () => {
    const row = { "loop1/reward": 0.1 + 0.2, "loop1/reward_std": Number.NaN };
    expect(overPasses([row, row, row])).toEqual(row);
    expect(overPasses([row])).toBe(row);
  });
});
