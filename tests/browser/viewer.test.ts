/** What a visitor meets on one page without a GPU: the first screen, and the recorded run in every viewer. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OpenPage, openPage, problems } from "../support/page.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({}, { webgpu: false, width: 1440, height: 900 });
});
afterAll(() => lab.close());

describe("the first screen", () => {
  it("shows both loops of the recorded run on real rows, moving, above one button", async () => {
    const { page } = lab;
    await page.locator("main[data-screen=home]").waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toMatch(/name regions and to find them/);
    for (const loop of [1, 2]) await page.getByTestId(`home-loop-${loop}`).getByRole("img").first().waitFor();
    expect(await page.getByTestId("home-gain").textContent()).toMatch(/^[+−-]0\.\d{3}$/);
    expect(await page.getByTestId("train-it-yourself").getAttribute("title")).toMatch(/WebGPU/);
    const first = await page.getByTestId("home-step").textContent();
    await expect.poll(() => page.getByTestId("home-step").textContent()).not.toBe(first);
  });

  it("stops moving when told to, and a bar leads to its rollout", async () => {
    const { page } = lab;
    const play = page.getByTestId("home-play");
    await play.click();
    expect(await play.textContent()).toBe("Play");
    await page.getByTestId("home-loop-1").getByRole("button").last().click();
    await page.locator("main[data-screen=rollouts]").waitFor();
    expect(page.url()).toMatch(/rollout=\d+-1-\d+-\d+/);
    await page.getByTestId("nav-home").click();
    await page.locator("main[data-screen=home]").waitFor();
  });
});

it("none of it is a problem", async () => {
  expect((await problems(lab.page)).filter((text) => !/WebGPU/.test(text))).toEqual([]);
  expect(lab.consoleErrors).toEqual([]);
});
