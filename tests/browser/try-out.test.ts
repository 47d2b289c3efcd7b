/** The model asked outside training: regions of a row, phrases, an own picture; and the fit before a start. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";

describe("trying the model out", () => {
  let lab: OpenPage;
  beforeAll(async () => {
    lab = await openPage({ screen: "data" });
    await untilReady(lab.page);
  });
  afterAll(() => lab.close());

  const ask = async (): Promise<string> => {
    const { page } = lab;
    await page.getByTestId("try-ask").click();
    await page.getByTestId("try-answer").waitFor();
    return (await page.getByTestId("try-answer").textContent()) ?? "";
  };

  it("describes the row's region and a box, each by itself", async () => {
    const { page } = lab;
    await page.getByTestId("gallery").getByRole("button").nth(2).click();
    await page.getByRole("tab", { name: "Try the model" }).click();
    await page.getByTestId("try-add-box").click();
    await ask();
    const captions = await page.getByTestId("try-answer").locator("dd").allTextContents();
    expect(captions).toHaveLength(2);
    // The pocket model knows the demo rows: the row's region is the red chair.
    expect(captions[0]).toMatch(/chair/);
  });

  it("segments phrases and compares with the row", async () => {
    const { page } = lab;
    await page.getByRole("radio", { name: "Segment phrases" }).click();
    await page
      .getByTestId("try-phrases")
      .fill("the red chair at the bottom left\nthe large green chair at the top right");
    const text = await ask();
    const shown = [...text.matchAll(/IoU with the row ([\d.]+)/g)].map((found) => Number(found[1]));
    expect(shown).toHaveLength(2);
    expect(shown[0]).toBeGreaterThan(0.5);
    expect(shown[1]).toBeLessThan(0.2);
  });

  it("takes a picture of one's own, with a box that was drawn", async () => {
    const { page } = lab;
    await page.getByTestId("try-picture").setInputFiles(join(root, "tests/golden/sa2va-tiny-qwen2/image.png"));
    await page.getByRole("radio", { name: "Describe regions" }).click();
    await page.getByRole("button", { name: "Remove Box 1" }).click();
    const frame = await page.getByTestId("try-draw").boundingBox();
    if (frame === null) throw new Error("The picture has no place on the page");
    await page.mouse.move(frame.x + frame.width * 0.6, frame.y + frame.height * 0.3);
    await page.mouse.down();
    await page.mouse.move(frame.x + frame.width * 0.8, frame.y + frame.height * 0.7, { steps: 4 });
    await page.mouse.up();
    const numbers = await page.locator("[data-testid=try-out] input[type=number]").count();
    expect(numbers).toBe(4);
    await ask();
    expect(await page.getByTestId("try-answer").locator("dd").count()).toBe(1);
    expect(await problems(page)).toEqual([]);
  });

  it("gives a question up with the picture it was about", async () => {
    const { page } = lab;
    await page.getByRole("radio", { name: "Segment phrases" }).click();
    await page.getByTestId("try-phrases").fill("the thing on the left");
    // In one go: an answer may take less time than two presses from outside.
    await page.evaluate(`(() => {
      document.querySelector("[data-testid=try-ask]").click();
      [...document.querySelectorAll("button")].find(({ textContent }) => textContent === "Back to the row").click();
    })()`);
    await page.getByTestId("try-ask").waitFor();
    expect(await page.getByTestId("try-answer").count()).toBe(0);
    expect(await ask()).toMatch(/IoU with the row/);
    expect(await problems(page)).toEqual([]);
  });

  it("says what does not fit the card and what would, and does not start", async () => {
    const { page } = lab;
    await show(page, { screen: "setup", gpuMemory: "0" });
    // A software adapter has no memory of its own to find.
    const find = page.getByTestId("find-memory");
    expect(await find.getAttribute("title")).toMatch(/software adapter/);
    expect(await find.getAttribute("aria-disabled")).toBe("true");
    await show(page, { screen: "setup", gpuMemory: "0.02", recompute: "false" });
    await expect
      .poll(() => page.getByTestId("start-reason").textContent())
      .toMatch(/A step needs .* MB, but a run can use .* MB; /);
    expect(await page.getByTestId("start").getAttribute("aria-disabled")).toBe("true");
    await show(page, { screen: "setup", gpuMemory: "8" });
    await expect.poll(() => page.getByTestId("start-reason").textContent()).toBe("Ready to start");
  });

  it("answers any question, with every mask of the answer on the picture, in order", async () => {
    const { page } = lab;
    const golden = join(root, "tests/golden/sa2va-tiny-variant");
    await show(page, { screen: "setup" });
    await page.getByTestId("pick-model").setInputFiles(golden);
    await expect.poll(() => page.getByTestId("model-facts").textContent()).toMatch(/variant/);
    await show(page, { screen: "data" });
    await page.getByTestId("gallery").getByRole("button").nth(2).click();
    await page.getByRole("tab", { name: "Try the model" }).click();
    await page.getByTestId("try-picture").setInputFiles(join(golden, "image.png"));
    await page.getByRole("radio", { name: "Ask anything" }).click();
    await page.getByTestId("try-question").fill("Segment it.");
    await ask();
    // The golden answer has two [SEG]; their marks are numbered in the text and in the list.
    expect(await page.getByTestId("try-text").textContent()).toMatch(/^[^\d]*1[^\d]*2[^\d]*$/);
    const list = page.getByTestId("try-masks").locator("li");
    expect(await list.count()).toBe(3);
    const picture = page.getByTestId("try-out").getByRole("img");
    await expect.poll(() => picture.getAttribute("aria-label")).toMatch(/2 masks shown/);
    // Taken to be looked at.
    const folder = process.env.PICTURES;
    if (folder !== undefined) await page.screenshot({ path: join(root, folder, "try-out-masks.png") });
    await list.nth(2).getByRole("radio").check();
    await expect.poll(() => picture.getAttribute("aria-label")).toMatch(/1 mask shown/);
    expect(await page.getByTestId("try-masks").textContent()).toMatch(/of the picture/);
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
