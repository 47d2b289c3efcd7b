/** Held-out rows and alarms in the page: of a run just trained and after a reload. */

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { violations } from "../support/axe.ts";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  show,
  untilEvent,
  untilReady,
} from "../support/page.ts";
import { testWith } from "../support/plugins.ts";

let lab: OpenPage;
let events: RunEvent[];
let runId: string;
/** Answers of each side that were shown between the first evaluation and the second. */
let firstShown: readonly number[];

const shownRows = () => lab.page.getByTestId("before-after");
const shownSides = (): Promise<readonly number[]> =>
  Promise.all(["before", "after"].map((side) => shownRows().locator(`[data-side=${side}]`).count()));

beforeAll(async () => {
  // Every caption reaches this length for five steps, which raises an alarm.
  const settings = {
    ...CHEAP_RUN,
    steps: "5",
    maxCompletionLength: "1",
    saveSteps: "4",
    evalSteps: "5",
    evalRows: "4",
  };
  const followed = await openFollowed({ screen: "train", ...settings, selectionShare: "0.5" }, { bypassCSP: true });
  ({ lab, events } = followed);
  await lab.page.evaluate(`{
    globalThis.told = [];
    const strip = document.querySelector("header");
    const look = () => told.push(strip.textContent);
    new MutationObserver(look).observe(strip, { subtree: true, childList: true, characterData: true });
  }`);
  await lab.page.getByTestId("strip-start").click();
  await shownRows()
    .getByText(/ at step 0, the only evaluation so far\./)
    .waitFor();
  firstShown = await shownSides();
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
});
afterAll(() => lab.close());

describe("the recorded run", () => {
  it("names the score that chooses, and its alarms are known", async () => {
    const { page } = lab;
    const id = await page.evaluate(async () => {
      const files = await fetch(new URL("pocket/recorded/files.json", document.baseURI));
      return ((await files.json()) as { readonly path: string }[])[0]?.path.split("/")[0];
    });
    await show(page, { screen: "train", tab: "held-out", run: id ?? "" });
    await page.getByTestId("eval-selection").waitFor();
    await expect
      .poll(() => page.getByTestId("eval-selection").textContent())
      .toMatch(/goes by “run reward, sampled” on 16 selection/);
    await show(page, { screen: "train", run: id ?? "" });
    await page.getByTestId("live-strip").waitFor();
    await expect.poll(() => page.getByText("Alarms could not be read").count()).toBe(0);
    expect(await problems(page)).toEqual([]);
  });
});

describe("held-out rows of a run", () => {
  it("are shown after the first evaluation, and before and after training from the second one on", async () => {
    expect(firstShown).toEqual([2, 0]);
    // The strip counted the rows meanwhile.
    const told = (await lab.page.evaluate("told")) as string[];
    expect(told.some((text) => /evaluate \d+\/4/.test(text))).toBe(true);
    await show(lab.page, { screen: "train" });
    await expect
      .poll(() => shownRows().locator("figcaption").textContent())
      .toMatch(/^2 of 2 held-out rows, .* at step 0 and step 5\. The given region is blue/);
    expect(await shownSides()).toEqual([2, 2]);
    // A gain is called one, and the rows that its number leaves out are named beside it.
    await expect
      .poll(() => lab.page.getByTestId("result").textContent())
      .toMatch(
        /^Gain in loop 1 reward on 2 held-out rows.*Step 0 to 5, 95 % intervals, without the rows that choose the best checkpoint/,
      );
  });

  it("are reported apart from those that chose the best checkpoint, whose score is named", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "held-out" });
    const line = page.getByTestId("eval-selection");
    await line.waitFor();
    await expect.poll(() => page.getByTestId("eval-where").textContent()).toBe("2 report rows, after 5 steps");
    await expect
      .poll(() => line.textContent())
      .toMatch(
        /^Best checkpoint: step 5, with run reward, sampled \d\.\d{3} on 2 selection rows\. The scores below are of the other rows\. The report rows are few: with fewer than 10 pictures no interval can be trusted\.$/,
      );
    const titles = await page
      .locator("[data-testid=panel-held-out] fieldset button > span:first-child")
      .allTextContents();
    // The rewards of this run equal IoU and METEOR, so they have no cards of their own.
    expect(titles).toEqual([
      "Loop 1 IoU, greedy",
      "Loop 1 IoU, sampled",
      "Loop 2 METEOR, greedy",
      "Loop 2 METEOR, sampled",
      "Grounding IoU",
      "Caption METEOR",
    ]);
    // Only these two steps were evaluated, so the axis has no others between them.
    const ticks = page.locator(".recharts-xAxis-tick-labels text");
    await expect.poll(() => ticks.allTextContents()).toEqual(["0", "5"]);
    const scale = await page.locator(".recharts-yAxis-tick-labels text").allTextContents();
    expect(new Set(scale).size).toBe(scale.length);
    // The rows behind a score are the report rows.
    await page.getByRole("heading", { name: /better, \d worse/ }).waitFor();
    const rows = page.getByTestId("eval-row");
    await expect.poll(() => rows.count()).toBe(2);
    // The pictures of a row stand side by side, also where only one of their captions wraps.
    const uneven = () =>
      page.evaluate(() => {
        const captions = [...document.querySelectorAll("[data-testid=eval-row] div > span.anywhere")];
        captions.forEach((caption, at) => {
          if (at % 2 === 1) caption.textContent = "a long caption that wraps ".repeat(20);
        });
        return [...document.querySelectorAll("[data-testid=eval-row]")].filter((row) => {
          const tops = [...row.querySelectorAll("canvas")].map((canvas) => canvas.getBoundingClientRect().top);
          return new Set(tops).size !== 1;
        }).length;
      });
    expect(await uneven()).toBe(0);
    // Two pictures are too few to call a mean better or worse; a row is a fact from the last decimal of its score on.
    const verdicts = (place: string) =>
      page
        .getByTestId("panel-held-out")
        .locator(`${place} [data-verdict]`)
        .evaluateAll((all) => all.map((one) => [(one as HTMLElement).dataset.verdict, one.textContent] as const));
    expect(new Set((await verdicts("fieldset")).map(([verdict]) => verdict))).toEqual(new Set(["open"]));
    const changes = await verdicts("[data-testid=eval-row]");
    expect(changes).toHaveLength(2);
    for (const [verdict, text] of changes) {
      const change = Number(text?.replace("−", "-").replace("±", ""));
      expect(verdict).toBe(Math.abs(change) < 0.01 ? "open" : change > 0 ? "better" : "worse");
    }
    expect(await violations(page)).toEqual([]);
  });

  it("have one answer each in the first evaluation, which nothing is compared with", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "held-out", step: "0" });
    await page.getByRole("heading", { name: "2 rows at step 0, the first evaluation; later ones are" }).waitFor();
    const rows = page.getByTestId("eval-row");
    expect(await rows.count()).toBe(2);
    expect(await rows.locator("canvas").count()).toBe(2);
    expect(await rows.locator("[data-verdict]").count()).toBe(0);
    await rows.first().getByRole("button").first().click();
    const columns = page.getByTestId("eval-row-details").getByRole("heading", { level: 3 });
    await expect.poll(() => columns.allTextContents()).toEqual([expect.stringMatching(/^Start 0/)]);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await show(page, { screen: "train", tab: "held-out" });
  });

  it("name the score of the best checkpoint in the list of runs", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    const table = page.getByTestId("runs-table");
    runId = (await table.locator("tbody tr").first().getAttribute("data-run")) as string;
    await page.getByTestId("run-details").first().click();
    await expect
      .poll(() => table.textContent())
      .toMatch(/5 \(best\).*best by run reward, sampled \d\.\d{3} on 2 selection/);
    // The actions cover no other column.
    for (const width of [1440, 1439, 1280]) {
      await page.setViewportSize({ width, height: 860 });
      const beyond = () => table.evaluate((all) => all.scrollWidth - (all.parentElement?.clientWidth ?? 0));
      await expect.poll(beyond).toBeLessThanOrEqual(0);
    }
    expect(await violations(page)).toEqual([]);
  });

  it("can be asked for of any checkpoint, and are then those of its step", async () => {
    const { page } = lab;
    const cell = page.getByTestId("checkpoints").locator("li");
    await expect.poll(() => cell.allTextContents()).toEqual(["4Evaluate", expect.stringMatching(/^5 \(best\)scores$/)]);
    // The second click neither starts another evaluation nor removes the progress.
    await page.getByTestId("evaluate-checkpoint").dblclick();
    await page.getByText(/^Evaluating step 4 of/).waitFor();
    await expect.poll(() => cell.first().textContent()).toMatch(/^4.*scores$/);
    await cell.first().getByRole("link").click();
    await expect.poll(() => page.getByTestId("eval-where").textContent()).toBe("2 report rows, after 4 steps");
    // The time line stops at every evaluation.
    const line = page.getByRole("slider", { name: "Step" });
    await line.focus();
    for (const [key, stop] of [
      ["End", "step 5"],
      ["Home", "step 0"],
      ["ArrowRight", "step 4"],
    ] as const) {
      await page.keyboard.press(key);
      await expect.poll(() => line.getAttribute("aria-valuetext")).toBe(stop);
    }
    await expect.poll(() => page.getByTestId("eval-where").textContent()).toBe("2 report rows, after 4 steps");
    // Against the start, like any other evaluation of the run.
    await page
      .getByText(/from \d\.\d{2}/)
      .first()
      .waitFor();
    expect(await problems(page)).toEqual([]);
  });
});

describe("alarms", () => {
  const alarms = () => lab.page.getByTestId("alarms").locator("li").filter({ hasText: "reach the length limit" });
  const rollouts = () =>
    alarms()
      .first()
      .getByRole("link", { name: /^loop 1, group 1/ });

  it("are listed with their step and rollouts, and can be dismissed while the page has the run", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    await alarms().first().waitFor();
    await expect.poll(() => alarms().first().getByRole("link", { name: "Step 5" }).count()).toBe(1);
    await expect.poll(() => rollouts().count()).toBeGreaterThan(0);
    const before = await alarms().count();
    await alarms().first().getByRole("button", { name: "Dismiss" }).click();
    await expect.poll(() => alarms().count()).toBe(before - 1);
  });

  it("come back with the stored run after a reload, and lead to a rollout", async () => {
    const { page } = lab;
    await page.goto("about:blank");
    await page.goto(`${lab.url}#screen=train&run=${runId}`);
    // A finished run shows its newest alarm; one press shows the others.
    await page
      .getByTestId("alarms")
      .getByRole("button", { name: /^Show all/ })
      .click();
    await alarms().first().waitFor();
    await expect.poll(() => page.getByRole("button", { name: "Dismiss" }).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    const link = rollouts().first();
    const id = new URLSearchParams(((await link.getAttribute("href")) as string).slice(1)).get("rollout");
    expect(id).toMatch(/^5-1-0-\d$/);
    await link.click();
    await page.locator("[data-testid=panel-rollouts]").waitFor();
    await page.getByTestId("rollout-card").first().waitFor();
    expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("run")).toBe(runId);
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });

  testWith("fork", "clips")(
    "offer a fork with another setting, which opens the rows of its run in place of others",
    async () => {
      const { page } = lab;
      await show(page, { screen: "data" });
      await page.getByRole("button", { name: "Use demo clips" }).first().click();
      await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/clips/);
      await untilReady(page);
      await show(page, { screen: "train", run: runId });
      await page
        .getByTestId("alarms")
        .getByRole("button", { name: /^Show all/ })
        .click();
      const from = events.length;
      await alarms()
        .first()
        .getByRole("button", { name: /Caption length/ })
        .first()
        .click();
      expect((await untilEvent(events, from, ({ type }) => type === "step")).step).toBe(5);
      await untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
      await show(page, { screen: "runs" });
      const fork = page.getByTestId("runs-table").locator("tr[data-live=true]");
      await expect.poll(() => fork.locator("[data-label=Changed]").textContent()).toBe("Caption length 2");
      await show(page, { screen: "data" });
      await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/pictures/);
      expect(await problems(page)).toEqual([]);
      expect(lab.consoleErrors).toEqual([]);
    },
  );
});

describe("a page without the rows of its runs", () => {
  it("draws the given masks that a run has stored, and says where one has none", async () => {
    const { page, context, url } = lab;
    await context.route(/pocket\/shards\//, (route) => route.abort());
    await page.goto("about:blank");
    await page.goto(`${url}#screen=train&run=${runId}`);
    await shownRows().getByText("The given region is blue, the partner's mask green").waitFor();
    await shownRows().scrollIntoViewIfNeeded();
    const blue = () =>
      shownRows()
        .locator("canvas")
        .evaluateAll((all) =>
          (all as HTMLCanvasElement[]).map((canvas) => {
            const rgba = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height).data ?? [];
            const isBlue = (at: number): boolean => rgba[at] === 0x56 && rgba[at + 1] === 0xb4 && rgba[at + 2] === 0xe9;
            return Array.from({ length: rgba.length / 4 }, (_, at) => 4 * at).some(isBlue);
          }),
        );
    await expect.poll(blue).toEqual([true, true, true, true]);
    const recorded = readdirSync(join(root, "public/pocket/recorded")).find((name) => name !== "files.json") ?? "";
    await show(page, { screen: "train", run: recorded });
    await shownRows().getByText("The partner's mask is green; open the rows of the run to see").waitFor();
  });
});
