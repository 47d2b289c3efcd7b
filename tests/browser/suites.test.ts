/** An evaluation suite in the page on the open rows, stopped, continued, its rows and numbers. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({ screen: "data" });
  await untilReady(lab.page);
});
afterAll(() => lab.close());

it("scores rows, goes on after a stop, and shows the worst rows first", async () => {
  const { page } = lab;
  await show(page, { screen: "eval", part: "suites" });
  await page.getByTestId("suite-rows").fill("24");
  await page.getByTestId("suite-rows").blur();
  await page.getByRole("radio", { name: "Forced [SEG]" }).click();
  await page.getByTestId("suite-start").click();
  await expect.poll(() => page.getByTestId("suite-progress").textContent()).toMatch(/^Answering, [1-9]\d* of 24 rows/);
  await page.getByTestId("suite-stop").click();
  await page.getByTestId("suite-start").waitFor();
  await page.getByTestId("suite-start").click();
  await expect.poll(() => page.getByTestId("suite-progress").textContent()).toMatch(/[1-9]\d* answers kept$/);
  const table = page.getByTestId("suite-scores");
  await table.waitFor();
  expect(await page.getByTestId("suite-counts").textContent()).toMatch(/^24 rows of \d+ pictures, 95 %/);
  expect(await table.getByRole("rowheader").allTextContents()).toEqual([
    "cIoU",
    "gIoU",
    ...[5, 6, 7, 8, 9].map((bound) => `P@0.${bound}`),
  ]);
  const scores = await page.getByTestId("suite-cards").locator("small b").allTextContents();
  expect(scores.length).toBe(12);
  expect(scores.map(Number)).toEqual(scores.map(Number).sort((a, b) => a - b));
  // It is listed from now on, and its table can be saved.
  const earlier = page.getByTestId("earlier-evaluations").locator("tbody tr");
  await earlier.waitFor();
  expect(await earlier.getByRole("rowheader").allTextContents()).toEqual(["masks"]);
  await earlier.getByRole("checkbox").check();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save table as Parquet" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("evaluations.parquet");
  expect(await violations(page)).toEqual([]);
  expect(await problems(page)).toEqual([]);
});
