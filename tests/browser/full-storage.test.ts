/** A run in the page when storage is full. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { CHEAP_RUN, type OpenPage, openFollowed, type RunEvent, show, untilEvent } from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];
beforeAll(async () => {
  const settings = { screen: "train", ...CHEAP_RUN, loops: "1", steps: "500", saveSteps: "1", evalSteps: "0" };
  ({ lab, events } = await openFollowed(settings, {}));
});
afterAll(() => lab.close());

it("waits, says so, and continues without a gap once there is room", async () => {
  const { page } = lab;
  const client = await page.context().newCDPSession(page);
  const { origin } = new URL(page.url());
  await page.getByTestId("strip-start").click();
  await untilEvent(events, 0, (event) => event.type === "step");
  await client.send("Storage.overrideQuotaForOrigin", { origin, quotaSize: 1000 });
  await page
    .getByText(/the storage is full; it was not written .*; free up space, then continue$/)
    .first()
    .waitFor();
  await expect.poll(() => page.getByTestId("run-state").textContent()).toBe("paused");
  await page.getByTestId("problems").getByRole("link", { name: "Stored runs" }).click();
  await page.getByTestId("runs-table").waitFor();
  await show(page, { screen: "train" });
  await client.send("Storage.overrideQuotaForOrigin", { origin });
  const from = events.length;
  await page.getByTestId("play").click();
  const step = await untilEvent(events, from, (event) => event.type === "step");
  await page.getByTestId("stop").click();
  await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
  const done = (type: string) => events.flatMap((event) => (event.type === type ? [event.step] : []));
  const all = Array.from({ length: Math.max(step.step ?? 0, done("step").length) }, (_, at) => at + 1);
  expect([done("step"), done("checkpoint")]).toEqual([all, all]);
});
