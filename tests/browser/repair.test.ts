/** From Home to a run that repairs masks: it starts by itself, leads with masks, and returns to its live step. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import { type OpenPage, openFollowed, problems, type RunEvent, show, untilEvent } from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];

/** Held-out rows are answered by a software adapter before the first step, so their number is small. */
const FAST = { evalRows: "4", promptsPerStep: "1", groupSize: "2" };

beforeAll(async () => {
  ({ lab, events } = await openFollowed({ screen: "home" }, { bypassCSP: true }));
});
afterAll(() => lab.close());

const route = async (name: string): Promise<string | null> =>
  new URLSearchParams(String(await lab.page.evaluate("location.hash.slice(1)"))).get(name);

describe("Let loop 2 repair masks", () => {
  it("starts its run at once, in place of the recorded one", async () => {
    const { page } = lab;
    await page.getByTestId("open-repair").click();
    // The rows are open already, so the pictures stay while the model loads.
    await expect.poll(() => page.getByTestId("open-repair").textContent()).toBe("Loading the damaged model…");
    expect(await page.getByText("Picture not available").count()).toBe(0);
    await untilEvent(events, 0, (event) => event.type === "state" && event.state === "running");
    await page.locator("main[data-screen=train]").waitFor();
    expect(await route("preset")).toBe("repair");
    await expect.poll(() => page.getByTestId("screen-train").getByText("recorded run").count()).toBe(0);
    await expect
      .poll(() =>
        page
          .getByTestId("result")
          .getByText(/^mask IoU on/)
          .count(),
      )
      .toBe(1);
    expect(await violations(page)).toEqual([]);
  });

  it("an error that its run causes goes with the run", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    await page.getByRole("button", { name: "Use demo shard" }).first().click();
    await expect.poll(() => problems(page)).toEqual([expect.stringMatching(/Stop it before you open something else/)]);
    const from = events.length;
    await page.getByTestId("stop").click();
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await expect.poll(() => problems(page)).toEqual([]);
  });

  it("an inspected rollout does not keep Train from its live step", async () => {
    const { page } = lab;
    await show(page, { screen: "train", ...FAST });
    const from = events.length;
    await page.getByTestId("strip-start").click();
    await untilEvent(events, from, (event) => event.type === "step" && event.step === 2);
    await page.getByTestId("live-strip").getByTestId("rollout-card").first().getByRole("button").click();
    await page.locator("[data-testid=panel-rollouts]").waitFor();
    expect(await route("step")).not.toBeNull();
    const latest = page.getByTestId("follow-latest");
    await expect.poll(() => latest.textContent()).toMatch(/^Live: step \d+$/);
    await page.getByTestId("nav-train").click();
    await page.locator("main[data-screen=train]").waitFor();
    expect(await route("step")).toBeNull();
    await expect.poll(() => latest.textContent()).toBe("Live");
    await page.getByRole("button", { name: "Previous step" }).click();
    await expect.poll(() => latest.textContent()).toMatch(/^Live: step \d+$/);
    await latest.click();
    expect(await route("step")).toBeNull();
    // Masks of the start are there before the second evaluation.
    await expect.poll(() => page.getByTestId("before-after").getByRole("img").count()).toBeGreaterThan(1);
    expect(lab.consoleErrors).toEqual([]);
  });
});
