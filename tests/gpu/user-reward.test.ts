/** A run with a custom reward: it trains by it, and pauses when the reward is stopped. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { nodeUserRewards } from "../../scripts/lib/node/node-sandbox.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { heldText, type TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { listCheckpoints } from "../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { AGREED } from "../support/consent.ts";
import { cheapConfig, openTestLab, type TestLab, untilPaused } from "../support/session.ts";

const user = nodeUserRewards(AGREED);
/** Calls that fail, by a reward that throws: both attempts score the same rollouts. */
let failures = 0;
const flaky: typeof user = {
  ...user,
  run: (...args) =>
    failures > 0 && failures-- > 0 ? user.run({ ...args[0], code: "throw 1" }, args[1], args[2]) : user.run(...args),
};
let lab: TestLab;
let baseline: number;
beforeAll(async () => {
  lab = await openTestLab({ user: flaky });
  baseline = memorySnapshot().tensors;
});
afterEach(() => {
  lab.watch = () => undefined;
  lab.events.length = 0;
});
afterAll(() => {
  lab.session.dispose();
  user.close();
});

const OWN = {
  loop1Iou: 0,
  loop1Meteor: 0,
  loop1RepetitionCost: 0,
  loop1User: 1,
  loop2Meteor: 0,
  loop2Judge: 0,
  loop2User: 1,
  maskPolicy: "candidates",
} as const;
const groups = (events: readonly TrainerEvent[]) =>
  events.flatMap((event) => (event.type === "group" ? [event.group] : []));

const REWARD = "function reward(r: Rollout): number { return r.loop + r.group.index / 4 }";

describe("a user's reward in a run", () => {
  let whole: readonly TrainerEvent[];

  it("is what both loops train on, and stands in the stored settings with its hash", async () => {
    const userReward = REWARD;
    const run = await lab.start({ ...OWN, userReward, steps: 1 });
    expect(await run.done).toBe("finished");
    whole = [...lab.events];
    const rewards = groups(lab.events).map((group) => group.rollouts.map((rollout) => rollout.reward));
    expect(rewards).toEqual([
      [1, 1.25],
      [2, 2.25, 2.5],
    ]);
    const { config } = run.manifest;
    expect([config.userReward, config.userRewardHash]).toEqual([userReward, expect.stringMatching(/^[0-9a-f]{64}$/)]);
    await expect(lab.start({ ...OWN, userReward, userRewardHash: "0".repeat(64) })).rejects.toThrow(
      /name the custom reward 000000000000…, but its source has/,
    );
  });

  it("that cannot be read is told by the plan and refused at the start, unless no loop is rewarded by it", async () => {
    const before = await lab.store.list("");
    const unread = { ...OWN, userReward: "function rewar(r) { while (1) {} }" };
    const sentence = "The custom reward defines no function named reward";
    const problems = async (changes: typeof unread | { userReward: string }) =>
      (await lab.session.plan(cheapConfig(changes))).problems;
    expect(await problems(unread)).toEqual([{ sentence, remedy: "rewards" }]);
    expect(await problems({ ...OWN, userReward: REWARD })).toEqual([]);
    expect(await problems({ userReward: unread.userReward })).toEqual([]);
    await expect(lab.start(unread)).rejects.toThrow(
      `${sentence}. Correct it on the Rewards screen; nothing was started`,
    );
    expect(await lab.store.list("")).toEqual(before);
  });

  it.each([
    ["throws", "throw new Error('no')", /threw Error: no/],
    ["loops forever", "for (;;);", /ran longer than 300 ms/],
  ])(
    "that %s pauses the run before the step, which leaves nothing, and the run can be stopped",
    async (_, body, message) => {
      const run = await lab.start({ ...OWN, userReward: `function reward() { ${body} }`, userRewardMs: 300 });
      await untilPaused(lab);
      const held = lab.events.filter((event) => event.type === "held");
      expect(held).toEqual([{ type: "held", step: 1, error: expect.objectContaining({ subject: "userReward" }) }]);
      expect(held[0]?.error.message).toMatch(message);
      // The page and the tools add how the code is corrected; a dry run, which keeps none, does not.
      expect(held.map(heldText)[0]).toMatch(/nothing of this step was kept\. The run keeps the code it started with: /);
      expect(groups(lab.events)).toEqual([]);
      lab.session.trainer?.control.stop();
      expect(await run.done).toBe("stopped");
      expect(memorySnapshot().tensors).toBe(baseline);
      expect(await lab.metrics(run.manifest.id)).toEqual([]);
      expect(await listCheckpoints(lab.store, run.manifest.id)).toEqual([]);
    },
  );

  it("that fails now and then lets the step be repeated", async () => {
    failures = 1;
    const run = await lab.start({ ...OWN, userReward: REWARD, steps: 1 });
    await untilPaused(lab);
    expect(failures).toBe(0);
    lab.session.trainer?.control.play();
    expect(await run.done).toBe("finished");
    const rewards = (events: readonly TrainerEvent[]) =>
      groups(events).map((group) => group.rollouts.map((rollout) => [rollout.caption, rollout.reward]));
    expect(rewards(lab.events)).toEqual(rewards(whole));
  });
});
