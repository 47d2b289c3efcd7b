/** Evaluations of a run: the same rows and draws for every seed, the run's reward, the policy that trains. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { nodeUserRewards } from "../../scripts/lib/node/node-sandbox.ts";
import { type LabConfig, SETTINGS } from "../../src/engine/config/table.ts";
import { type Rle, rleArea } from "../../src/engine/data/mask/rle.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import {
  type Drawn,
  type RowScores,
  readEvaluations,
  type StoredEvaluation,
} from "../../src/engine/runs/evaluations/evaluations.ts";
import { AGREED } from "../support/consent.ts";
import { openTestLab, type TestLab, untilPaused } from "../support/session.ts";

const user = nodeUserRewards(AGREED);
/** Fails where the test asks for it. */
let failures = 0;
const flaky = {
  ...user,
  run: (...args: Parameters<typeof user.run>) =>
    failures-- > 0 ? user.run({ ...args[0], code: "throw 1" }, args[1], args[2]) : user.run(...args),
};
let lab: TestLab;
let baseline: number;
beforeAll(async () => {
  lab = await openTestLab({ user: flaky });
  baseline = memorySnapshot().tensors;
});
afterEach(() => {
  failures = 0;
  lab.watch = () => undefined;
  lab.events.length = 0;
});
afterAll(() => {
  lab.session.dispose();
  user.close();
});

const EVALUATED = { steps: 1, evalSteps: 1, evalRows: 4, selectionShare: 0.5, groupsAtOnce: 0 } as const;

/** Evaluations of a run of one step: before it and after it. */
async function evaluated(changes: Partial<LabConfig> = {}): Promise<readonly StoredEvaluation[]> {
  const run = await lab.start({ ...EVALUATED, ...changes });
  expect(await run.done).toBe("finished");
  return readEvaluations(lab.store, run.manifest.id);
}

/** The evaluation before the first step of a run, which ends there. */
async function start(changes: Partial<LabConfig>): Promise<StoredEvaluation> {
  lab.watch = (event, session) => {
    if (event.type === "eval") session.trainer?.control.stop();
  };
  const run = await lab.start({ ...EVALUATED, ...changes });
  expect(await run.done).toBe("stopped");
  lab.watch = () => undefined;
  const stored = await readEvaluations(lab.store, run.manifest.id);
  expect(stored).toHaveLength(1);
  return stored[0] as StoredEvaluation;
}
const values = <K extends keyof RowScores>({ rows }: StoredEvaluation, name: K): RowScores[K][] =>
  rows.map((row) => row[name]);

describe("evaluations of several seeds", () => {
  it("score the same rows with the same draws, in the same two parts", async () => {
    const [one, other] = [await evaluated({ seed: 1 }), await evaluated({ seed: 90_210 })];
    expect(values(one[0] as StoredEvaluation, "part").sort()).toEqual(["report", "report", "selection", "selection"]);
    // Before the first step the weights are those of the model, whatever the seed.
    expect(other[0]).toEqual(one[0]);
    // The partner's own answers are then the policy's.
    for (const [own, partners] of [
      ["maskGreedy", "partnerMask"],
      ["grounding_iou", "partnerIou"],
      ["captionGreedy", "partnerCaption"],
      ["caption_meteor", "partnerMeteor"],
    ] as const) {
      expect(values(one[0] as StoredEvaluation, partners)).toEqual(values(one[0] as StoredEvaluation, own));
    }
    // With the given masks, so that a page without the rows can draw them.
    for (const { givenMask, groundingPixels } of one[0]?.rows ?? []) {
      expect(rleArea(givenMask as Rle)).toBeGreaterThan(0);
      expect(rleArea(givenMask as Rle)).toBeLessThanOrEqual(groundingPixels[1]);
    }
    expect(one[1]?.report.partner).toMatchObject({ grounding_iou: { difference: expect.anything() } });
    expect(values(other[1] as StoredEvaluation, "rowId")).toEqual(values(one[1] as StoredEvaluation, "rowId"));
    expect(one[1]?.report).toMatchObject({ n: 2, baseline: 0, selection: { metric: "reward", n: 2 } });
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

describe("the run reward of held-out rows", () => {
  it("is the mean of the loops' own scores where these are all that a run is rewarded for", async () => {
    const { rows } = await start({ loop1Meteor: 0, loop1RepetitionCost: 0, loop2Meteor: 1, loop2Judge: 0 });
    for (const row of rows) {
      const mean = (drawn: readonly Drawn[] = []) =>
        drawn.reduce((sum, { score, weight }) => sum + (score ?? 0) * weight, 0);
      expect(row.drawn?.[1]).toHaveLength(4);
      expect(mean(row.drawn?.[1])).toBeCloseTo(row.loop1_sampled, 10);
      expect(mean(row.drawn?.[2])).toBeCloseTo(row.loop2_sampled, 10);
      expect(row.rewards?.reward1_sampled).toBeCloseTo(row.loop1_sampled, 10);
      expect(row.rewards?.reward1_greedy).toBeCloseTo(row.loop1_greedy, 10);
      expect(row.rewards?.reward2_sampled).toBeCloseTo(row.loop2_sampled, 10);
      expect(row.rewards?.reward2_greedy).toBeCloseTo(row.loop2_greedy, 10);
    }
  });

  const OWN = { loop1Iou: 0, loop1Meteor: 0, loop1RepetitionCost: 0, loop1User: 1, loop2Meteor: 0, loop2Judge: 0 };

  it("is a user's function where that is the reward, and chooses by it", async () => {
    const userReward = "function reward(r: Rollout): number { return r.loop + r.group.index / 4 }";
    const [, { report, rows }] = (await evaluated({ ...OWN, loop2User: 1, userReward })) as [
      StoredEvaluation,
      StoredEvaluation,
    ];
    // Four draws of each loop: 0, 1/4, 2/4 and 3/4 above the loop's number.
    const rewards = { reward1_sampled: 1.375, reward1_greedy: 1, reward2_sampled: 2.375, reward2_greedy: 2 };
    for (const row of rows) expect(row.rewards).toEqual(rewards);
    expect(report.selection).toEqual({ metric: "reward", n: 2, value: 1.875 });
    expect(report.reward).toMatchObject({ judge: "none", scores: { reward1_sampled: { mean: 1.375, n: 2 } } });
  });

  it("exists only for loops that train", async () => {
    const { rows } = await start({ loops: "1" });
    for (const { rewards } of rows) {
      expect([rewards?.reward1_sampled, rewards?.reward2_sampled]).toEqual([expect.any(Number), null]);
    }
  });

  it("that cannot be given holds the run before the evaluation, which begins anew when a person continues", async () => {
    const userReward = "function reward(r) { return r.iou.value }";
    const settings = { ...EVALUATED, ...OWN, loop2User: 1, userReward };
    // The start is scored after the first step.
    lab.watch = (event) => {
      if (event.type === "step") failures = 1;
    };
    const run = await lab.start(settings);
    await untilPaused(lab);
    lab.watch = () => undefined;
    const held = lab.events.filter((event) => event.type === "held");
    expect(held).toEqual([{ type: "held", step: 0, error: expect.objectContaining({ subject: "userReward" }) }]);
    expect(lab.events.findLast((event) => event.type === "state")).toMatchObject({ next: { phase: "eval" } });
    lab.session.trainer?.control.play();
    expect(await run.done).toBe("finished");
    expect(await readEvaluations(lab.store, run.manifest.id)).toEqual(await evaluated(settings));
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

describe("loop 2 of held-out rows", () => {
  it("is sampled by the mask policy that the run trains, with its noise", async () => {
    // The core's two come first.
    const policies = SETTINGS.maskPolicy.choices
      .map(({ value }) => value)
      .filter((value) => !["proposals", "answer", "pathwise"].includes(value));
    expect(policies.slice(0, 2)).toEqual(["candidates", "field"]);
    const found = new Map<string, StoredEvaluation>();
    // The reward is the overlap with the row's mask, which differs even where two masks have the same caption.
    const settings = { loops: "2", loop2Meteor: 0, loop2Judge: 0, loop2Iou: 1, evalRows: 2 } as const;
    for (const maskPolicy of policies) found.set(maskPolicy, await start({ ...settings, maskPolicy, fieldSigma: 3 }));
    const overlaps = ({ rows }: StoredEvaluation) => rows.map(({ rewards }) => rewards?.reward2_sampled);
    const [candidates, ...others] = policies.map((name) => found.get(name) as StoredEvaluation);
    for (const other of others) {
      // Without sampling the policies draw the same mask.
      expect(values(other, "loop2_greedy")).toEqual(values(candidates as StoredEvaluation, "loop2_greedy"));
      expect(values(other, "grounding_iou")).toEqual(values(candidates as StoredEvaluation, "grounding_iou"));
      expect(overlaps(other)).not.toEqual(overlaps(candidates as StoredEvaluation));
    }
    expect(policies.map((name) => found.get(name)?.report.maskPolicy)).toEqual([...policies]);
    const calm = await start({ ...settings, maskPolicy: "field", fieldSigma: 0.01 });
    const [noisy] = others as [StoredEvaluation];
    expect(values(calm, "loop2_sampled")).toEqual(values(calm, "loop2_greedy"));
    expect(overlaps(noisy)).not.toEqual(noisy.rows.map(({ rewards }) => rewards?.reward2_greedy));
  });
});
