/** Alarms of a run: stored with step and rollouts, and kept when it continues. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeUserRewards } from "../../scripts/lib/node/node-sandbox.ts";
import { readAlarms } from "../../src/engine/runs/alarms.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { AGREED } from "../support/consent.ts";
import { openTestLab, type TestLab } from "../support/session.ts";

const user = nodeUserRewards(AGREED);
let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab({ user });
});
afterAll(() => user.close());

it("are told and stored alike, name rollouts that the run has, and stay when it continues", async () => {
  // A limit that every caption reaches.
  const run = await lab.start({ steps: 5, loops: "1", maxCompletionLength: 1, saveSteps: 5 });
  await run.done;
  const { id } = run.manifest;
  const told = lab.events.flatMap((event) => (event.type === "alarm" ? [event.alarm] : []));
  const stored = await readAlarms(lab.store, id);
  expect(stored).toEqual(told);
  const cut = stored?.find((alarm) => alarm.id === "truncated-1");
  expect(cut).toMatchObject({ step: 5, severity: "warning" });
  const groups = await (await openRun(lab.store, id)).readGroups(5);
  const rollouts = groups.flatMap((group) => group.rollouts);
  expect(cut?.rollouts).toEqual(rollouts.filter(({ truncated }) => truncated).map((rollout) => rollout.id));
  expect(cut?.rollouts?.length).toBeGreaterThan(0);
  const longer = await lab.resume(id, 6);
  await longer.done;
  expect((await readAlarms(lab.store, id))?.slice(0, stored?.length)).toEqual(stored);
});

it("name a reward that rises on held-out rows where the score does not", async () => {
  // Pays for letters, which say nothing about the object.
  const run = await lab.start({
    ...{ loops: "1", loop1Iou: 0, loop1Meteor: 0, loop1RepetitionCost: 0, loop1User: 1 },
    userReward: "function reward(r: Rollout): number { return (r.caption ?? '').split('e').length / 4 }",
    ...{ steps: 12, promptsPerStep: 2, numGenerations: 8, learningRate: 0.02, beta: 0, evalSteps: 12, evalRows: 24 },
  });
  expect(await run.done).toBe("finished");
  const { id } = run.manifest;
  const hollow = (await readAlarms(lab.store, id)).filter(({ id }) => id.startsWith("hollow"));
  expect(hollow).toMatchObject([{ id: "hollow-gain-1", step: 12, severity: "warning" }]);
  expect(hollow[0]?.message).toMatch(/the reward rose, \+.* but not the IoU, .*"user" carries \+/);
});
