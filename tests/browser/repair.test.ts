/** From Home to a run: one that stays there with its rows, and one that repairs masks and returns to its live step. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import {
  CHEAP_RUN,
  layoutShift,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";

it("Train it yourself stays with the same rows, and ends with the result in place of the invitation", async () => {
  const { lab, events } = await openFollowed({
    screen: "home",
    ...CHEAP_RUN,
    steps: "1",
    evalSteps: "1",
    evalRows: "8",
  });
  const { page } = lab;
  const heading = (): Promise<string | null> => page.getByRole("heading", { level: 1 }).textContent();
  const rows = page.getByTestId("before-after").locator("li");
  const caption = (): Promise<string | null> => page.getByTestId("before-after").locator("figcaption").textContent();
  const ids = (): Promise<(string | undefined)[]> =>
    rows.evaluateAll((list) => list.map((row) => (row as HTMLElement).dataset.row));
  await expect.poll(() => rows.count()).toBe(6);
  const recorded = await ids();
  await expect.poll(heading).toMatch(/^A model learns/);
  const box = await page.getByTestId("train-it-yourself").boundingBox();
  const [x, y] = [(box?.x ?? 0) + 20, (box?.y ?? 0) + 10];
  // The second press of someone who saw nothing happen: it comes as soon as another button has taken the place.
  await page.evaluate(() => {
    const look = (): void => {
      const watch = [...document.querySelectorAll("button")].find(({ textContent }) => /^Watch/.test(textContent));
      if (watch === undefined) return;
      seen.disconnect();
      watch.click();
    };
    const seen = new MutationObserver(look);
    seen.observe(document, { subtree: true, childList: true });
  });
  await page.mouse.click(x, y);
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "running");
  await expect.poll(heading).toBe("Your run");
  // The second click of a double click is not for the button that has taken the place.
  const watch = page.getByRole("button", { name: "Watch its curves and rollouts" });
  await watch.waitFor();
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  await page.locator("main[data-screen=home]").waitFor();
  await expect.poll(() => page.getByTestId("home-run").textContent()).toMatch(/step \d of 1/);
  await expect.poll(ids).toEqual(recorded);
  await expect.poll(() => watch.getAttribute("aria-disabled")).toBeNull();
  // Before the first step Home says what the run does; no words contradict one another.
  const curve = page.getByTestId("home-curve");
  await curve.getByText("Step 1", { exact: true }).waitFor();
  await curve.getByText(/^The curve of the reward begins with step 2; .* measured at step 1$/).waitFor();
  expect(await caption()).toMatch(/held-out rows; their first answers come after step 1$/);
  expect(await rows.first().textContent()).toMatch(/^no answer yet/);
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
  await expect.poll(heading).toBe("Your run has ended");
  // Home and the strip count the same steps.
  await expect.poll(() => page.getByTestId("home-run").textContent()).toMatch(/step 1 of 1/);
  expect(await page.getByTestId("step").textContent()).toBe("1/1");
  await expect.poll(caption).toMatch(/ at step 0 and step 1\. The given region is blue, the partner's mask green$/);
  expect(await ids()).toEqual(recorded);
  await expect.poll(() => page.getByTestId("home-curve").getByTestId("gain-numbers").textContent()).toMatch(/^greedy /);
  for (const name of ["Compare", "Export"]) await page.getByRole("link", { name, exact: true }).waitFor();
  await page.getByRole("button", { name: "Now your data" }).click();
  await page.locator("main[data-screen=data]").waitFor();
  // The recorded run is not stored in this browser, and is compared all the same.
  await page.goBack();
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await page.getByText("2 runs compared").waitFor();
  // Another visit begins with the same result; the demo of a visitor is one step away.
  await page.goto("about:blank");
  await page.goto(lab.url);
  await expect.poll(heading).toBe("Your run has ended");
  await expect.poll(() => page.getByTestId("home-run").textContent()).toMatch(/step 1 of 1$/);
  await expect.poll(() => page.getByTestId("home-curve").getByTestId("gain-numbers").textContent()).toMatch(/^greedy /);
  for (const name of ["Compare", "Export"]) await page.getByRole("link", { name, exact: true }).waitFor();
  await page.getByRole("button", { name: "Now your data" }).waitFor();
  expect(await layoutShift(page)).toBeLessThan(0.05);
  await page.getByRole("link", { name: "Demo", exact: true }).click();
  await expect.poll(heading).toMatch(/^A model learns/);
  await page.getByTestId("train-it-yourself").waitFor();
  await expect.poll(() => page.getByTestId("home-step").textContent()).toMatch(/^Recorded run, step/);
  expect(lab.consoleErrors).toEqual([]);
  await lab.close();
});

it("a run without evaluations promises no answers on Home", async () => {
  const { lab, events } = await openFollowed({ screen: "home", ...CHEAP_RUN, steps: "1" });
  const { page } = lab;
  await page.getByTestId("before-after").waitFor();
  await page.getByTestId("train-it-yourself").click();
  await page.getByTestId("home-run").waitFor();
  for (const ended of [false, true]) {
    if (ended) await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
    await expect.poll(() => page.getByTestId("before-after").count()).toBe(0);
    expect(await page.getByTestId("home-run").textContent()).not.toMatch(/answered/);
  }
  await lab.close();
});

let lab: OpenPage;
let events: RunEvent[];

/** Held-out rows are answered by a software adapter before the first step, so their number is small. */
const FAST = { evalRows: "4", promptsPerStep: "1", numGenerations: "2" };

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
          .getByText(/^Gain in mask IoU on/)
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
    // The inspector does not stop the live view: training goes on, and so do the newest groups beside it.
    const place = page.getByTestId("inspected-place");
    const inspected = Number(/^step (\d+)/.exec((await place.textContent()) ?? "")?.[1]);
    expect(await route("step")).toBeNull();
    const latest = page.getByTestId("follow-latest");
    await expect.poll(() => latest.textContent()).toBe("Live");
    await untilEvent(events, from, (event) => event.type === "step" && (event.step ?? 0) > inspected + 1);
    const newest = () => page.getByTestId("live-strip").textContent();
    await expect.poll(async () => Number(/step (\d+)/.exec((await newest()) ?? "")?.[1])).toBeGreaterThan(inspected);
    await expect.poll(() => place.textContent()).toMatch(new RegExp(`^step ${inspected} `));
    await page.getByRole("button", { name: "Previous step" }).click();
    await expect.poll(() => latest.textContent()).toMatch(/^Live: step \d+$/);
    // At an earlier step every tab and the inspector show that step.
    const earlier = await route("step");
    await expect.poll(() => place.textContent()).toMatch(new RegExp(`^step ${earlier} `));
    await page.getByTestId("tab-rollouts").click();
    await page
      .locator("header", { hasText: `step ${earlier}` })
      .first()
      .waitFor();
    await page.getByTestId("tab-curves").click();
    await expect.poll(newest).toMatch(new RegExp(`step ${earlier}`));
    await latest.click();
    expect(await route("step")).toBeNull();
    // Masks of the start are there before the second evaluation.
    await expect.poll(() => page.getByTestId("before-after").getByRole("img").count()).toBeGreaterThan(1);
    expect(lab.consoleErrors).toEqual([]);
  });

  it("gives its settings to Setup with the damaged model, whatever is open by then", async () => {
    const { page } = lab;
    await page.getByTestId("stop").click();
    await untilReady(page);
    const model = page.getByTestId("model-facts").locator("dd").first();
    await show(page, { screen: "setup" });
    await page.getByTestId("preset-demo").click();
    await expect.poll(() => model.textContent()).toBe("pocket vague-model");
    await untilReady(page);
    await show(page, { screen: "runs" });
    await page.getByTestId("more-of-run").first().click();
    await page.getByRole("menuitem", { name: "Use settings", exact: true }).click();
    await expect.poll(() => model.textContent()).toBe("pocket damaged-model");
    await expect.poll(() => page.getByTestId("preset-repair").getAttribute("aria-pressed")).toBe("true");
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
