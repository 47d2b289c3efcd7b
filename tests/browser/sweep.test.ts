/** A sweep on the Runs screen: made from a grid, cancelled, continued after a reload; its table and report. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import { CHEAP_RUN, type OpenPage, openFollowed, problems, type RunEvent, show, untilEvent } from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];

beforeAll(async () => {
  const lengths = { steps: "2", saveSteps: "1", evalSteps: "2", evalRows: "2", selectionShare: "0" };
  const settings = { ...CHEAP_RUN, loops: "1", ...lengths };
  ({ lab, events } = await openFollowed({ screen: "runs", ...settings }, { bypassCSP: true }));
});
afterAll(() => lab.close());

const progress = (): Promise<string | null> => lab.page.getByTestId("sweep-progress").textContent();
const runs = (): Promise<number> => lab.page.getByTestId("runs-table").locator("tbody tr").count();

describe("a sweep", () => {
  it("is made from a grid over settings and seeds; a bad file is refused with its place", async () => {
    const { page } = lab;
    const file = page.getByTestId("sweep-text");
    await file.fill("title: t\nseeds: [1]\nsettings: { wat: 1 }\n");
    await page.getByTestId("sweep-start").click();
    await expect.poll(async () => (await problems(page))[0]).toMatch(/^sweep\.yaml: there is no setting "wat"/);
    await page
      .getByRole("button", { name: /^Dismiss/ })
      .first()
      .click();
    await page.getByLabel("Setting 1", { exact: true }).selectOption("temperature");
    await page.getByLabel("Values of setting 1").fill("0.9");
    await page.getByLabel("Seeds").fill("1, 2");
    await page.getByRole("button", { name: "Create file" }).click();
    expect(JSON.parse(await file.inputValue())).toMatchObject({
      preset: "demo",
      settings: { steps: 2, groupSize: 2, evalRows: 2 },
      seeds: [1, 2],
      grid: { temperature: [0.9] },
    });
    expect(await violations(page)).toEqual([]);
  });

  it("stops its job when it is cancelled, and starts no other", async () => {
    const { page } = lab;
    // Pressed inside the page: the job may take less time than a press from outside.
    await page.evaluate(`{
      const cancel = ({ detail }) => {
        if (detail.type !== "checkpoint") return;
        removeEventListener("lab:trainer", cancel);
        document.querySelector("[data-testid=sweep-cancel]").click();
      };
      addEventListener("lab:trainer", cancel);
    }`);
    await page.getByTestId("sweep-start").click();
    await untilEvent(events, 0, (event) => event.type === "checkpoint");
    await expect.poll(progress).toBe("Grid over temperature: 0 of 2 jobs done, not running");
    await expect.poll(runs).toBe(1);
  });

  it("continues after a reload with the job's own run, and shows one table over the seeds", async () => {
    const { page } = lab;
    await page.reload();
    const from = events.length;
    await page.locator("[data-testid=sweep-resume]:not([aria-disabled])").click();
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await expect.poll(progress).toBe("Grid over temperature: 2 of 2 jobs done");
    await expect.poll(runs).toBe(2);
    const grounding = page.getByTestId("sweep-table").locator("tr", { hasText: "Grounding IoU" });
    await expect
      .poll(() => grounding.textContent())
      .toMatch(/^temperature-0\.9Grounding IoU2 \(\d\)0\.\d{3}(.?0\.\d{3,} \(.+ to .+\)){2}seed 1 .+\)seed 2 .+\)$/);
    expect(await page.locator("figure img").evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(
      0,
    );
    expect(await violations(page)).toEqual([]);
  });

  it("leads from a number to the rows and rollouts behind it, in the page and in the report", async () => {
    const { page } = lab;
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByTestId("sweep-report").click()]);
    expect(download.suggestedFilename()).toBe("grid.html");
    const chunks: Uint8Array[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Uint8Array);
    const html = Buffer.concat(chunks).toString("utf8");
    expect(html).toContain("<h1>Grid over temperature</h1>");
    // Two rows in each of three lists, and the group of the last step.
    expect(html.match(/src="data:image\/png;base64,/g)).toHaveLength(7);
    await page.getByTestId("sweep-table").getByRole("link", { name: "seed 1" }).first().click();
    await page.getByRole("button", { name: /^Grounding/ }).waitFor();
    await show(page, { screen: "runs" });
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
