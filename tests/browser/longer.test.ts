/** A run that has done its steps, what its held-out rows say of the masks, and more steps for it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import { CHEAP_RUN, type OpenPage, openFollowed, problems, type RunEvent, show, untilEvent } from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];

beforeAll(async () => {
  const settings = { ...CHEAP_RUN, steps: "1", schedule: "constant", warmupSteps: "0", evalSteps: "1", evalRows: "3" };
  ({ lab, events } = await openFollowed({ screen: "train", ...settings }, { bypassCSP: true }));
  await lab.page.getByTestId("strip-start").click();
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
});
afterAll(() => lab.close());

describe("held-out masks", () => {
  it("are counted as papers on referring segmentation do, with paired differences", async () => {
    const { page } = lab;
    await show(page, { screen: "eval" });
    const grounding = page.getByRole("button", { name: /^Grounding/ });
    await grounding.waitFor();
    expect(await page.getByTestId("segmentation").count()).toBe(0);
    await grounding.click();
    const table = page.getByTestId("segmentation").locator("tbody");
    expect(await table.locator("th").allTextContents()).toEqual(["gIoU", "cIoU", "P@0.5", "P@0.7", "P@0.9"]);
    const cells = await table
      .locator("tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent).join("|")),
      );
    for (const text of cells) expect(text).toMatch(/^(0|1)\.\d{3}\|(0|1)\.\d{3}\|.?0\.\d{3} \(.+ to .+\)$/);
    // The mean over rows is the card's own number.
    expect(cells[0]).toContain((await grounding.locator("b").textContent()) as string);
    expect(await violations(page)).toEqual([]);
  });
});

describe("a run that has done all its steps", () => {
  it("asks how long it shall be, and takes no length it has reached", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    await page.getByRole("button", { name: "Train on…" }).click();
    const dialog = page.getByRole("dialog", { name: "Train on" });
    const length = dialog.getByLabel("Total steps");
    expect(await length.inputValue()).toBe("2");
    await dialog.getByText("1 more steps; the result equals an uninterrupted run of 2 steps").waitFor();
    await length.fill("1");
    await dialog.getByText("1 step is already done").waitFor();
    expect(await dialog.getByRole("button", { name: "Train on" }).isDisabled()).toBe(true);
    await length.fill("many");
    await dialog.getByRole("alert").waitFor();
    await length.fill("2");
    expect(await violations(page)).toEqual([]);
  });

  it("goes on to that length, and says so where it is stored", async () => {
    const { page } = lab;
    const from = events.length;
    await page.getByRole("dialog").getByRole("button", { name: "Train on" }).click();
    const step = await untilEvent(events, from, (event) => event.type === "step");
    expect(step.step).toBe(2);
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await show(page, { screen: "runs" });
    await expect.poll(() => page.getByTestId("runs-table").textContent()).toMatch(/2 \/ 2/);
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
