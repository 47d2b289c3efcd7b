/** A folder like a published one, small: the way that tests/scripts/true-size.ts takes with one of true size. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeHollow, writePublished } from "../../bench/made-up/published.ts";
import { WAIT } from "../support/hang.ts";
import { dragModel, type OpenPage, openPage, problems, untilReady } from "../support/page.ts";
import { walkTrueSize } from "../support/true-walk.ts";

const folder = mkdtempSync(join(tmpdir(), "lab-true-size-"));
afterAll(() => rmSync(folder, { recursive: true }));

it("a dropped checkpoint trains and resumes from its last checkpoint after a reload, a kill and a closed tab", async () => {
  writePublished(folder, "small");
  const walk = await walkTrueSize({ folder, wait: WAIT, settings: { weightStorage: "f16", towerStorage: "same" } });
  expect(walk.consoleErrors).toEqual([]);
  expect(walk.answers?.said.join()).toMatch(/Encoding/);
  expect(walk.answers?.masks).toBe(1);
  expect(walk.run).toEqual({ leftAt: [1, 2, 3], resumedAt: [1, 2, 3] });
  for (const { what, megabytes } of walk.parts) {
    expect(megabytes.renderer, what).toBeGreaterThan(10);
    expect(megabytes.GPU, what).toBeGreaterThan(10);
  }
});

describe("a checkpoint above 1 GB", () => {
  const large = join(folder, "large");
  let lab: OpenPage;
  beforeAll(async () => {
    expect(writeHollow(large, 8).bytes).toBeGreaterThan(1.2e9);
    lab = await openPage({ screen: "setup" });
    await untilReady(lab.page);
  });
  afterAll(() => lab.close());

  const reading = () => lab.page.getByRole("progressbar", { name: "Bytes of the model read" });
  const model = () => lab.page.getByTestId("model-facts");

  it("is read at once after the drop, told in bytes, and can be stopped: one sentence and its button remain", async () => {
    const { page } = lab;
    await dragModel(page, large);
    await expect.poll(() => reading().getAttribute("value")).toMatch(/^\d{6,}$/);
    expect(Number(await reading().getAttribute("max"))).toBeGreaterThan(1.2e9);
    await page.getByRole("button", { name: "Stop loading" }).click();
    await reading().waitFor({ state: "detached" });
    expect(await problems(page)).toEqual([]);
    expect(await page.getByTestId("start-reason").textContent()).toMatch(/^No model is loaded/);
    await page.getByRole("button", { name: "Use pocket model" }).click();
    await untilReady(page);
  });

  it("leads from the drop to Start without another action if the memory is unknown", async () => {
    const { page } = lab;
    await dragModel(page, large);
    await model().filter({ hasText: "large" }).waitFor({ state: "attached" });
    await untilReady(page);
    expect(await model().textContent()).toMatch(/in f16/);
    expect(await page.getByTestId("setting-gpuMemory").inputValue()).toBe("8");
  });

  it.each([8, 12, 16, 24])("can start with %i GB entered, in which the forecast stays", async (gigabytes) => {
    const { page } = lab;
    const field = page.getByTestId("setting-gpuMemory");
    await field.fill(String(gigabytes));
    await field.press("Enter");
    const usable = async (): Promise<number> => {
      const text = (await page.getByTestId("forecast").textContent()) ?? "";
      return Number(/ of ([\d.]+) GB/u.exec(text)?.[1]) / gigabytes;
    };
    await expect.poll(usable).toBeCloseTo(0.92, 1);
    await untilReady(page);
  });
});
