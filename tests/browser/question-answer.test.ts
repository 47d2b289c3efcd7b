/** The optional loop question → answer in the page: its groups beside those of both loops, inspected and exported. */
import { readFileSync } from "node:fs";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { GroupRecord } from "../../src/engine/runs/rollouts/records.ts";
import { groupsFromArrow } from "../../src/engine/runs/rollouts/rollouts-arrow.ts";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  saveExport,
  show,
  untilEvent,
} from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];
beforeAll(async () => {
  ({ lab, events } = await openFollowed({ screen: "train", ...CHEAP_RUN, steps: "1", loop3Weight: "1" }));
  await lab.page.getByTestId("strip-start").click();
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
});
afterAll(() => lab.close());

it("has curves and newest rollouts beside both loops", async () => {
  const { page } = lab;
  const steps = events.filter((event) => event.type === "step");
  expect(steps).toHaveLength(1);
  for (const { metrics } of steps)
    for (const loop of [1, 2, 3]) expect(metrics?.[`loop${loop}/reward`]).toBeTypeOf("number");
  await expect.poll(() => page.getByTestId("live-strip").getByTestId("rollout-card").count()).toBe(6);
  await expect.poll(() => page.getByTestId("live-strip").textContent()).toMatch(/Loop 3question → answer/);
  await expect.poll(() => page.getByTestId("chart-reward").textContent()).toMatch(/loop 3/);
});

it("has its groups on Rollouts; the inspector shows question, answer, reward and tokens", async () => {
  const { page } = lab;
  await show(page, { screen: "train", tab: "rollouts", step: "1" });
  await page
    .getByLabel("Groups of this step")
    .getByRole("button", { name: /^Loop 3/ })
    .click();
  await expect.poll(() => page.getByTestId("rollout-card").count()).toBe(2);
  await page.getByTestId("rollout-card").last().getByRole("button").last().click();
  const inspector = page.getByTestId("inspector");
  await expect
    .poll(() => inspector.textContent())
    .toMatch(/Please describe the marked region\..*Answer of the policy/s);
  await inspector.getByText("Please describe the marked region.").waitFor();
  await expect.poll(() => inspector.locator("[data-phase=partner]").count()).toBe(0);
  await inspector.getByText("How the reward came about").click();
  await expect.poll(() => inspector.getByRole("table").first().textContent()).toMatch(/METEOR/);
  await inspector.getByText("How the reward came about").click();
  await inspector.getByText("Tokens, prompt and completion").click();
  await inspector.getByRole("button", { name: /table/i }).click();
  await expect.poll(() => inspector.getByRole("table").first().locator("tbody tr").count()).toBeGreaterThan(0);
});

it("is in the export of the run", async () => {
  const { page } = lab;
  await show(page, { screen: "runs" });
  const download = await saveExport(page);
  const files = Object.entries(unzipSync(new Uint8Array(readFileSync(await download.path()))));
  const groups: GroupRecord[] = [];
  for (const [name, bytes] of files) if (name.endsWith(".arrow")) groups.push(...(await groupsFromArrow(bytes, name)));
  expect(groups.map(({ step, loop }) => `${step}-${loop}`).sort()).toEqual(["1-1", "1-2", "1-3"]);
  const answers = groups.filter(({ loop }) => loop === 3).flatMap(({ rollouts }) => rollouts);
  expect(answers).toHaveLength(2);
  for (const { caption, prompt } of answers) {
    expect(prompt).toContain("Please describe the marked region.");
    expect(caption).toBeTypeOf("string");
  }
  const csv = files.find(([name]) => name.endsWith("metrics.csv"))?.[1];
  expect(new TextDecoder().decode(csv).split("\n")[0]).toContain("loop3/reward");
  expect(await problems(page)).toEqual([]);
});
