/** A run on rows of the user's folder, over a reload: its small pictures, and the button that opens the folder and resumes. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { CHEAP_RUN, openFollowed, problems, show, untilEvent, untilReady } from "../support/page.ts";

it("a run whose folder is closed keeps small pictures, and one button opens the folder and resumes", async () => {
  const { lab, events } = await openFollowed({ screen: "data", ...CHEAP_RUN, steps: "2" }, {}, async (page) => {
    // A folder of the private file system in the place of the one that the user picks.
    await page.addInitScript(() => {
      const pick = async () => (await navigator.storage.getDirectory()).getDirectoryHandle("mine");
      Object.assign(window, { showDirectoryPicker: pick });
    });
  });
  const { page } = lab;
  await page.evaluate(async () => {
    const rows = await (await fetch("pocket/shards/data-00000-of-00002.arrow")).blob();
    const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle("mine", { create: true });
    const writer = await (await folder.getFileHandle("rows.arrow", { create: true })).createWritable();
    await writer.write(rows);
    await writer.close();
  });
  await page.getByRole("button", { name: "Open folder…" }).click();
  await page.getByRole("heading", { level: 1, name: "mine" }).waitFor();
  await untilReady(page);
  await page.getByTestId("single-step").click();
  await untilEvent(events, 0, ({ type, state }) => type === "state" && state === "paused");
  const stop = page.getByTestId("stop");
  const places = async () => {
    const found: unknown[] = [];
    for (const width of [390, 1024, 1280]) {
      await page.setViewportSize({ width, height: 860 });
      found.push(await stop.boundingBox());
    }
    return found;
  };
  const before = await places();
  await stop.click();
  await untilEvent(events, 0, ({ type, state }) => type === "state" && state === "finished");
  await page.getByTestId("strip-resume").waitFor();
  expect(await places()).toEqual(before);
  // A second press at the same place, or of the same key, starts nothing.
  const box = await stop.boundingBox();
  await page.mouse.click((box?.x ?? 0) + 10, (box?.y ?? 0) + 10);
  await page.keyboard.press("Enter");
  expect(await page.getByTestId("run-state").textContent()).toBe("stopped");

  // What the run measured holds for its settings, rows and model, whatever the length and the rate of the next one.
  await show(page, { screen: "setup" });
  const forecast = page.getByTestId("forecast");
  const measured = /^[\d.]+ MB of GPU memory, .* \(measured in the last step\)$/;
  await expect.poll(() => forecast.textContent()).toMatch(measured);
  // The strip has the same number, so that the two can be compared.
  const peak = /^[\d.]+ MB/.exec((await forecast.textContent()) ?? "")?.[0];
  await expect.poll(() => page.getByTestId("gpu-chip").textContent()).toBe(`peak ${peak}`);
  await show(page, { screen: "setup", steps: "9", learningRate: "0.01" });
  await expect.poll(() => page.getByTestId("setting-steps").inputValue()).toBe("9");
  await expect.poll(() => forecast.textContent()).toMatch(measured);
  await show(page, { screen: "setup", numGenerations: "8" });
  await expect.poll(() => forecast.textContent()).toMatch(/\(forecast for these settings\)$/);
  await show(page, { screen: "setup", numGenerations: "2" });
  await expect.poll(() => forecast.textContent()).toMatch(measured);

  await page.reload();
  await untilReady(page);
  await show(page, { screen: "runs" });
  const run = await page.getByTestId("runs-table").locator("tr[data-run]").getAttribute("data-run");
  await show(page, { screen: "train", tab: "rollouts", run: run ?? "" });
  await expect
    .poll(() => page.getByTestId("missing-data").textContent())
    .toMatch(/^The rows of this run, mine, are not/);
  // One offer for the folder, not two.
  await expect.poll(() => page.getByTestId("last-time").filter({ visible: true }).count()).toBe(0);
  const figure = page.getByTestId("rollout-card").first().locator("canvas");
  // Without a picture the canvas is transparent but for the masks.
  const opaque = (): Promise<number> =>
    figure.evaluate((canvas: HTMLCanvasElement) => {
      const { data } = canvas.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [0] };
      return [...data].filter((value, at) => at % 4 === 3 && value === 255).length / (canvas.width * canvas.height);
    });
  await expect.poll(opaque).toBeGreaterThan(0.5);

  const from = events.length;
  await page.getByRole("button", { name: "Open mine and resume" }).click();
  expect((await untilEvent(events, from, ({ type }) => type === "step")).step).toBe(2);
  await untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
  await expect.poll(() => page.getByTestId("missing-data").count()).toBe(0);
  expect(await problems(page)).toEqual([]);
  // A visit by the bare address has the settings of the demo; those of the run are offered beside its folder.
  await page.goto("about:blank");
  await page.goto(lab.url);
  await untilReady(page);
  const offer = page.getByTestId("last-time");
  await expect.poll(() => offer.textContent()).toMatch(/^Last time: mine and (.+?)Open mineUse the settings of \1$/);
  await offer.getByRole("button", { name: /^Use the settings/ }).click();
  await expect.poll(() => offer.textContent()).toBe("Last time: mineOpen mine");
  await page.getByTestId("nav-setup").click();
  await expect.poll(() => page.getByTestId("setting-steps").inputValue()).toBe("2");
  expect(lab.consoleErrors).toEqual([]);
  await lab.close();
});

it("a run on picked files asks for the files again, names wrong ones, and goes on with the right ones", async () => {
  const { lab, events } = await openFollowed({ screen: "data", ...CHEAP_RUN, steps: "2" });
  const { page } = lab;
  const shard = (at: number): string => join(root, "public", "pocket", "shards", `data-0000${at}-of-00002.arrow`);
  await page.getByTestId("pick-shard-files").setInputFiles([shard(0)]);
  await page.getByRole("heading", { level: 1, name: "data-00000-of-00002.arrow" }).waitFor();
  await untilReady(page);
  await page.getByTestId("single-step").click();
  await untilEvent(events, 0, ({ type, state }) => type === "state" && state === "paused");
  await page.getByTestId("stop").click();
  await untilEvent(events, 0, ({ type, state }) => type === "state" && state === "finished");
  await page.reload();
  await untilReady(page);
  const table = page.getByTestId("runs-table");
  const ask = async (press: () => Promise<void>) => {
    const asked = page.waitForEvent("filechooser");
    await press();
    const chooser = await asked;
    expect(await chooser.element().getAttribute("data-testid")).toBe("pick-shard-files");
    return chooser;
  };
  const resume = async (): Promise<void> => {
    await show(page, { screen: "runs" });
    await table.getByRole("button", { name: "Resume" }).click();
  };
  const fork = async (): Promise<void> => {
    await show(page, { screen: "runs" });
    await table.getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Fork…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Fork", exact: true }).click();
  };
  // Files that are opened after Cancel start nothing.
  for (const press of [fork, resume]) {
    const chooser = await ask(press);
    await chooser.element().evaluate((input) => input.dispatchEvent(new Event("cancel")));
  }
  await page.getByTestId("pick-shard-files").setInputFiles([shard(1)]);
  await page.getByRole("heading", { level: 1, name: "data-00001-of-00002.arrow" }).waitFor();
  await untilReady(page);
  expect(await problems(page)).toEqual([]);
  await (await ask(resume)).setFiles([shard(1)]);
  await expect
    .poll(() => problems(page))
    .toEqual([expect.stringMatching(/; data-00001-of-00002\.arrow has other rows/)]);
  const from = events.length;
  await (await ask(resume)).setFiles([shard(0)]);
  expect((await untilEvent(events, from, ({ type }) => type === "step")).step).toBe(2);
  await untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
  expect(await problems(page)).toEqual([]);
  expect(lab.consoleErrors).toEqual([]);
  await lab.close();
});
