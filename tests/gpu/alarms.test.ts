/** Alarms of a run: stored with step and rollouts, and kept when it continues. */
import { beforeAll, expect, it } from "vitest";
import { readAlarms } from "../../src/engine/runs/alarms.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab();
});

it("are told and stored alike, name rollouts that the run has, and stay when it continues", async () => {
  // A limit that every caption reaches.
  const run = await lab.start({ steps: 5, loops: "1", maxNewTokens: 1, saveSteps: 5 });
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
