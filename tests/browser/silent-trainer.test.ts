/** A trainer that no longer answers: the page says so, ends it, and the run continues as if nothing had happened. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { CHEAP_RUN, type OpenPage, openFollowed, type RunEvent, untilEvent } from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];

beforeAll(async () => {
  ({ lab, events } = await openFollowed({ screen: "train", ...CHEAP_RUN, steps: "3", saveSteps: "1" }));
});
afterAll(() => lab.close());

/** Metrics of a step by name, without those of time and memory. */
function measured(from: number, step: number): Readonly<Record<string, number>> {
  const { metrics = {} } = events.slice(from).find((event) => event.type === "step" && event.step === step) ?? {};
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !/^(time\/|memory\/|step_time)/.test(name)));
}

it("is reported while it is blocked, ended on request, and its run resumes from the last checkpoint with equal steps", async () => {
  const { page } = lab;
  const notice = page.getByTestId("trainer-notice");
  await page.getByTestId("strip-start").click();
  await untilEvent(events, 0, ({ type, step }) => type === "checkpoint" && step === 1);
  expect(await notice.count()).toBe(0);
  const trainer = page.workers().find((worker) => worker.url().includes("trainer"));
  // In a task of its own: Chromium waits for the end of a script of its developer tools before it ends a worker.
  await trainer?.evaluate("void setTimeout(() => { for (;;); }, 0)");
  await notice
    .getByText(/The trainer has not answered for \d+ s\. The run is kept up to its last checkpoint/)
    .waitFor();
  expect(await page.getByTestId("run-state").textContent()).toBe("not answering");
  await notice.getByRole("button", { name: "End the trainer" }).click();
  await notice.waitFor({ state: "detached" });
  const resumed = events.length;
  await page.getByTestId("interrupted").getByRole("button", { name: "Resume" }).click();
  await untilEvent(events, resumed, ({ type, state }) => type === "state" && state === "finished");
  const undisturbed = events.length;
  await page.getByTestId("strip-start").click();
  await untilEvent(events, undisturbed, ({ type, state }) => type === "state" && state === "finished");
  const wanted = measured(undisturbed, 3);
  expect(Object.keys(wanted).length).toBeGreaterThan(10);
  expect(measured(resumed, 3)).toEqual(wanted);
  expect(lab.consoleErrors).toEqual([]);
});
