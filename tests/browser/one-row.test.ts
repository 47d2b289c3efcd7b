/** The wording of the screens where one row, one step or one group is all there is. */
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { CHEAP_RUN, type OpenPage, openFollowed, problems, show, untilEvent } from "../support/page.ts";
import { testWith } from "../support/plugins.ts";
import { row } from "../unit/data/make.ts";

let lab: OpenPage;

const SHARD = {
  name: "data-00000-of-00001.arrow",
  mimeType: "application/octet-stream",
  buffer: Buffer.from(writeRegionShard([row()])),
};

/** Places where the screen names one of a thing as several, in its words, names and titles. */
const wrongPlurals = (screen: Locator): Promise<readonly string[]> =>
  screen.evaluate((root) => {
    const named = [...root.querySelectorAll("*")].flatMap((element) =>
      ["title", "aria-label", "aria-valuetext", "placeholder"].flatMap((name) => element.getAttribute(name) ?? []),
    );
    const text = [(root as HTMLElement).innerText, ...named].join("\n");
    const things = "row|picture|sample|caption|rollout|group|step|evaluation|file|shard|checkpoint|token|warning";
    return text.match(new RegExp(`.*(?<![\\d.,/×]|loop )\\b1 (?:[a-z-]+ )?(?:${things})s\\b.*`, "g")) ?? [];
  });

/** Shows a place, waits for something in it, and returns its wrong plurals. */
async function wordsOf(place: Readonly<Record<string, string>>, shown: string): Promise<readonly string[]> {
  await show(lab.page, place);
  await lab.page.locator(shown).first().waitFor();
  return wrongPlurals(lab.page.locator("#root"));
}

beforeAll(async () => {
  const settings = { ...CHEAP_RUN, steps: "1", saveSteps: "1", evalSteps: "1", evalRows: "2", selectionShare: "0.5" };
  const followed = await openFollowed({ screen: "train", ...settings });
  lab = followed.lab;
  await lab.page.getByTestId("strip-start").click();
  await untilEvent(followed.events, 0, (event) => event.type === "state" && event.state === "finished");
});
afterAll(() => lab.close());

it("counts one as one on Train and Runs, after one step with one held-out and one selection row", async () => {
  const { page } = lab;
  expect(await wordsOf({ screen: "train" }, "[data-testid=before-after]")).toEqual([]);
  expect(await wordsOf({ screen: "train", tab: "rollouts" }, "[data-testid=rollout-card]")).toEqual([]);
  expect(await wordsOf({ screen: "train", tab: "held-out" }, "[data-testid=eval-row]")).toEqual([]);
  await expect.poll(() => page.getByTestId("eval-where").textContent()).toBe("1 report row, after 1 step");
  const line = page.getByTestId("eval-selection");
  await expect.poll(() => line.textContent()).toMatch(/ on 1 selection row\. The scores below are of the other rows\./);
  expect(await wordsOf({ screen: "runs" }, "[data-testid=runs-table]")).toEqual([]);
  await page.getByTestId("run-details").first().click();
  await page.getByTestId("checkpoints").waitFor();
  expect(await wrongPlurals(page.locator("#root"))).toEqual([]);
});

testWith("whole-run")(
  "leaves no slider without a second step, no hole between two cards and no empty area",
  async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts" });
    expect(await page.getByRole("slider", { name: "Step", exact: true }).isDisabled()).toBe(true);
    const [first, second] = await page
      .getByTestId("rollout-card")
      .evaluateAll((cards) => cards.map((card) => card.getBoundingClientRect().toJSON() as DOMRect));
    expect((second?.left ?? 0) - (first?.right ?? 0)).toBeLessThan(20);
    await page.getByRole("radio", { name: "Whole run" }).click();
    const area = page.getByRole("img", { name: /^Contributions of IoU/ });
    const wide = (): Promise<number> =>
      area.evaluate((svg) => Math.max(...[...svg.querySelectorAll("path")].map((path) => path.getBBox().width)));
    await expect.poll(wide).toBe(400);
  },
);

it("counts one row as one on Data, Setup, Rewards and an empty Train", async () => {
  const { page } = lab;
  await page.goto("about:blank");
  await page.goto(`${lab.url}#screen=data&rowFilter=area:0..1`);
  await page.getByTestId("gallery").getByRole("button").first().waitFor();
  await page.getByTestId("pick-shard-files").setInputFiles([SHARD]);
  await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^1 row1 picture1 shard/);
  await expect
    .poll(() => page.getByTestId("training-rows").textContent())
    .toMatch(/^Training uses 1 of 1 row: area:0\.\.1/);
  expect(await wrongPlurals(page.locator("#root"))).toEqual([]);
  await page.getByTestId("checks").click();
  await page.getByRole("dialog").waitFor();
  expect(await wrongPlurals(page.getByRole("dialog"))).toEqual([]);
  await page.keyboard.press("Escape");
  expect(await wordsOf({ screen: "setup" }, "[data-testid=forecast]")).toEqual([]);
  expect(await wordsOf({ screen: "rewards" }, "[data-testid=reward-matrix]")).toEqual([]);
  expect(await wordsOf({ screen: "train" }, "[data-testid=tab-curves]")).toEqual([]);
  expect(await problems(page)).toEqual([]);
});
