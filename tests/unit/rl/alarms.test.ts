import { describe, expect, it } from "vitest";
import { LOOP_IDS } from "../../../src/engine/rl/loops/abouts.ts";
import { type UpdateFacts, watchAlarms } from "../../../src/engine/rl/run/alarms.ts";
import type { GroupRecord, RolloutRecord, StepMetrics } from "../../../src/engine/runs/rollouts/records.ts";
import { group } from "../runs/sample-run.ts";

const STEPPED: UpdateFacts = { stepped: true, nonFinite: [] };

/** Alarms of steps with these metrics, one after the other. */
function alarmsOf(
  rows: readonly StepMetrics[],
): { readonly id: string; readonly step: number; readonly message: string }[] {
  const watch = watchAlarms(LOOP_IDS);
  return rows.flatMap((row, at) => watch.observe(at + 1, row, STEPPED));
}

/** The alarms that so many equal steps begin. */
const ringing = (row: StepMetrics, steps = 5): string[] => alarmsOf(Array(steps).fill(row)).map(({ id }) => id);

describe("an alarm", () => {
  it("rings once when groups stop teaching, and again after a pause", () => {
    const watch = watchAlarms(LOOP_IDS);
    const row = (share: number) => ({ "loop1/frac_reward_zero_std": share });
    const ring = (from: number, share: number) =>
      [0, 1, 2, 3, 4, 5].flatMap((i) => watch.observe(from + i, row(share), STEPPED).map((alarm) => alarm.id));
    expect(ring(1, 1)).toEqual(["zero-spread-1"]);
    expect(ring(10, 0)).toEqual([]);
    expect(ring(20, 1)).toEqual(["zero-spread-1"]);
  });

  it("is silent about a loop that does not train", () => {
    const watch = watchAlarms([1]);
    const row = { "loop1/frac_reward_zero_std": 1, "loop2/frac_reward_zero_std": 1 };
    const ids = Array.from({ length: 6 }, (_, at) => watch.observe(at + 1, row, STEPPED).map(({ id }) => id));
    expect(ids.flat()).toEqual(["zero-spread-1"]);
  });

  it("continues after a resume as if there had been none", () => {
    const rows = Array.from({ length: 12 }, (_, at) => ({
      step: at + 1,
      "loop1/frac_reward_zero_std": 1,
      grad_norm: at === 10 ? 1000 : 1,
    }));
    const whole = watchAlarms(LOOP_IDS);
    const all = rows.flatMap((row) => whole.observe(row.step, row, STEPPED));
    expect(all.map(({ id, step }) => [id, step])).toEqual([
      ["zero-spread-1", 5],
      ["gradient-spike", 11],
    ]);
    for (const cut of [3, 8]) {
      const resumed = watchAlarms(LOOP_IDS, rows.slice(0, cut));
      const later = rows.slice(cut).flatMap((row) => resumed.observe(row.step, row, STEPPED));
      expect(later).toEqual(all.filter(({ step }) => step > cut));
    }
  });

  it("names captions without spaces between words as the cause, not the temperature", () => {
    const ring = (referenceCaption: string): readonly string[] => {
      const own = group(1, 2, 0);
      const terms = [{ name: "meteor", weight: 1, value: 0 }] as unknown as RolloutRecord["terms"];
      const groups = [{ ...own, rollouts: own.rollouts.map((one) => ({ ...one, referenceCaption, terms })) }];
      const watch = watchAlarms(LOOP_IDS);
      const row = {
        "loop2/frac_reward_zero_std": 1,
        "loop2/rewards/meteor/mean": 0,
        "loop2/reward": 0,
        "loop2/group_std_mean": 0,
      };
      return [1, 2, 3, 4, 5].flatMap((step) => watch.observe(step, row, STEPPED, groups).map(({ message }) => message));
    };
    expect(ring("桌子上的红色杯子")).toEqual([
      expect.stringMatching(/^Loop 2: the captions are written without spaces/),
    ]);
    expect(ring("a red cup on a table").join()).toMatch(/raise the temperature/);
  });

  it("notices a tensor count that only grows", () => {
    const rows = [1, 2, 3, 4, 5].map((n) => ({ "memory/num_tensors": 100 + n }));
    expect(alarmsOf(rows).map(({ id }) => id)).toEqual(["tensors"]);
  });
});

describe("the alarm of a gradient norm", () => {
  const norms = (...values: number[]) => alarmsOf(values.map((value) => ({ grad_norm: value })));

  it("rings at a jump far above the usual, and says how far", () => {
    const [alarm, ...others] = norms(1.1, 0.8, 1, 1.3, 0.9, 1736, 1.2);
    expect(others).toEqual([]);
    expect(alarm).toMatchObject({ id: "gradient-spike", step: 6 });
    expect(alarm?.message).toMatch(/^The gradient norm is 1740, 1736 times the usual 1; /);
  });

  it("knows a usual norm in spite of jumps before, and rings again for each", () => {
    expect(norms(1, 1, 1, 1, 500, 1, 500, 1, 1, 500).map(({ step }) => step)).toEqual([5, 7, 10]);
  });

  it("stays silent within the usual noise, before there is a usual norm, and after steps without a gradient", () => {
    expect(norms(1, 0.1, 3, 0.5, 9, 1, 0.2, 8)).toEqual([]);
    expect(norms(1, 1000, 1, 1)).toEqual([]);
    expect(norms(0, 0, 0, 0, 0, 0, 1)).toEqual([]);
    expect(norms(1, 1, 1, 1, Number.NaN, Number.POSITIVE_INFINITY).map(({ step }) => step)).toEqual([6]);
  });

  it("names the loop whose gradient jumped", () => {
    const row = (norm: number) => ({ grad_norm: 1, "loop1/grad_norm": 1, "loop2/grad_norm": norm });
    const [alarm, ...others] = alarmsOf([1, 1, 1, 1, 300].map(row));
    expect(others).toEqual([]);
    expect(alarm).toMatchObject({
      id: "gradient-spike-2",
      message: expect.stringMatching(/^Loop 2: the gradient norm/),
    });
  });
});

describe("the alarm of an update that was left out", () => {
  const skipped = (nonFinite: readonly string[]) =>
    watchAlarms(LOOP_IDS).observe(2, { skipped_steps: 1 }, { stepped: false, nonFinite });

  it("names the tensors, a few of many", () => {
    const [alarm, ...others] = skipped(["a.lora_A.weight", "b.lora_B.weight"]);
    expect(alarm).toMatchObject({ id: "skipped", step: 2, severity: "error" });
    expect(alarm?.message).toMatch(/not finite \(a\.lora_A\.weight, b\.lora_B\.weight\).*learning rate/);
    expect(others).toEqual([]);
    expect(skipped(["a", "b", "c", "d", "e"])[0]?.message).toMatch(/\(a, b, c and 2 more\)/);
  });

  it("says so when the norm alone overflows", () => {
    expect(skipped([])[0]?.message).toMatch(/\(its norm overflows\)/);
  });

  it("is silent in steps that update, also in the first one of a run that had skipped some before", () => {
    expect(watchAlarms(LOOP_IDS).observe(8, { skipped_steps: 3 }, STEPPED)).toEqual([]);
  });
});

describe.each([1, 2])("sparse rewards in loop %i", (loop) => {
  const row = (reward: number, spread: number): StepMetrics => ({
    [`loop${loop}/reward`]: reward,
    [`loop${loop}/group_std_mean`]: spread,
  });

  it("ring when mean and spread stay near 0, naming a weight", () => {
    const [alarm] = alarmsOf(Array(5).fill(row(0.049, 9e-4)));
    expect(alarm).toMatchObject({ id: `sparse-${loop}`, step: 5, severity: "warning" });
    expect(alarm?.message).toMatch(/mean 0\.049.*Mask confidence or Box IoU/);
  });

  it("do not ring when rewards are rare but differ, are equal but high, or come in one of the steps", () => {
    expect(ringing(row(0.01, 0.002), 8)).toEqual([]);
    expect(ringing(row(0.06, 0), 8)).toEqual([]);
    expect(ringing(row(0, 0), 4)).toEqual([]);
    const low = row(0, 0);
    expect(alarmsOf([low, low, row(0.3, 0.1), low, low, low, low])).toEqual([]);
  });

  it("do not ring without rewards", () => {
    expect(ringing({ "sft/loss": 1 })).toEqual([]);
    expect(ringing(row(Number.NaN, Number.NaN))).toEqual([]);
  });
});

describe("a collapse of the captions", () => {
  const row = (share: number): StepMetrics => ({ "loop1/completions/distinct_ratio": share });

  it("rings when groups of three or more say one thing, naming a setting", () => {
    const [alarm] = alarmsOf(Array(5).fill(row(1 / 3)));
    expect(alarm).toMatchObject({ id: "collapse-1", severity: "warning" });
    expect(alarm?.message).toMatch(/Temperature, Entropy bonus or KL weight β/);
    expect(ringing(row(1 / 8))).toEqual(["collapse-1"]);
  });

  it("does not ring while captions differ, for a step or two, or for what the partner says", () => {
    expect(ringing(row(0.4), 8)).toEqual([]);
    expect(ringing(row(1 / 8), 4)).toEqual([]);
    expect(ringing({ "loop2/completions/distinct_ratio": 1 / 8 }, 8)).toEqual([]);
  });
});

describe("a collapse of the masks", () => {
  const row = (overlap: number, entropy: number): StepMetrics => ({
    "loop2/mask/pairwise_iou": overlap,
    "loop2/entropy": entropy,
  });

  it("rings when the masks are one and the policy is sure, naming a setting", () => {
    const [alarm] = alarmsOf(Array(5).fill(row(0.995, 0.02)));
    expect(alarm).toMatchObject({ id: "collapse-2", severity: "warning" });
    expect(alarm?.message).toMatch(/noise σ of the mask policy, Entropy bonus or KL weight β/);
  });

  it("does not ring when masks differ, the policy still tries others, or only for a few steps", () => {
    expect(ringing(row(0.9, 0.02), 8)).toEqual([]);
    expect(ringing(row(0.995, 0.5), 8)).toEqual([]);
    expect(ringing(row(0.995, 0.02), 4)).toEqual([]);
    expect(ringing({ "loop2/mask/pairwise_iou": 1 }, 8)).toEqual([]);
  });
});

describe("the rollouts of an alarm", () => {
  const groups: readonly GroupRecord[] = [group(5, 1, 0), group(5, 1, 1), group(5, 2, 0)];
  const change = (change: (rollout: RolloutRecord, group: GroupRecord) => Partial<RolloutRecord>) =>
    groups.map((own) => ({ ...own, rollouts: own.rollouts.map((one) => ({ ...one, ...change(one, own) })) }));
  const named = (row: StepMetrics, of: readonly GroupRecord[], update = STEPPED): (readonly string[] | undefined)[] => {
    const watch = watchAlarms(LOOP_IDS);
    for (let step = 1; step < 5; step++) watch.observe(step, { ...row, [Object.keys(row)[0] as string]: 0 }, STEPPED);
    return watch.observe(5, row, update, of).map(({ rollouts }) => rollouts);
  };
  const all = (...loops: readonly number[]): string[] =>
    groups.flatMap(({ loop, rollouts }) => (loops.includes(loop) ? rollouts.map(({ id }) => id) : []));

  it("are those of its loop, the worst first", () => {
    const kl = (rollout: RolloutRecord): number => (rollout.index + 1) * (rollout.group + 1);
    const of = change((one) => ({ actions: one.actions.map((action) => ({ ...action, kl: kl(one) })) }));
    const [ids] = named({ "loop1/kl": 9 }, of);
    expect([...(ids ?? [])].sort()).toEqual(all(1).sort());
    expect(ids?.[0]).toBe(`5-1-1-${(groups[1]?.rollouts.length ?? 0) - 1}`);
  });

  it("are those without a verdict, for the judge's", () => {
    const of = change((one, { loop }) => ({
      terms: loop === 2 && one.index === 1 ? [{ name: "judge", value: null, weight: 1 }] : [],
    }));
    expect(named({ "judge/failures": 3 }, of)).toEqual([["5-2-0-1"]]);
  });

  it("are all of the step for an update that was left out, and none for a leak", () => {
    expect(named({ loss: 1 }, groups, { stepped: false, nonFinite: [] })).toEqual([all(1, 2)]);
    const watch = watchAlarms(LOOP_IDS);
    const found = [1, 2, 3, 4, 5].flatMap((n) => watch.observe(n, { "memory/num_tensors": n }, STEPPED, groups));
    expect(found).toEqual([expect.not.objectContaining({ rollouts: expect.anything() })]);
  });

  it("are those that are true of the step: without a spread, cut off, empty", () => {
    const flat = groups.map((own) => ({ ...own, zeroSpread: own.group === 1 }));
    const watch = (row: StepMetrics, of: readonly GroupRecord[]) => {
      const own = watchAlarms(LOOP_IDS);
      return [1, 2, 3, 4, 5].flatMap((step) => own.observe(step, row, STEPPED, of)).map(({ rollouts }) => rollouts);
    };
    const second = groups[1]?.rollouts.map(({ id }) => id);
    expect(watch({ "loop1/frac_reward_zero_std": 1 }, flat)).toEqual([second]);
    const cut = change((one, { loop, group: at }) => ({ truncated: loop === 1 && at === 1 && one.index === 0 }));
    expect(watch({ "loop1/completions/clipped_ratio": 1 }, cut)).toEqual([["5-1-1-0"]]);
    const empty = change((one, { loop }) => ({ predictedMask: loop === 2 ? null : one.predictedMask }));
    expect(watch({ "loop2/mask/empty_ratio": 1 }, empty)).toEqual([all(2)]);
  });
});
