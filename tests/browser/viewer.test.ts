/** What a visitor without a GPU sees on one page: the first screen, and the recorded run in every viewer. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import type { Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { decodePng } from "../../src/engine/data/image/png-decode.ts";
import { decodeRle, type Rle } from "../../src/engine/data/mask/rle.ts";
import type { RowScores } from "../../src/engine/runs/evaluations/evaluations.ts";
import { violations } from "../support/axe.ts";
import { layoutShift, type OpenPage, openPage, problems, saveExport, show } from "../support/page.ts";
import { greyFrames, junkFrames, videoFile } from "../support/videos.ts";
import { boxMask } from "../unit/data/make.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({}, { webgpu: false, width: 1440, height: 900, bypassCSP: true });
});
afterAll(() => lab.close());

/** Serves the recorded run's metrics with a change that keeps their length, which the page knows. */
async function withMetrics(context: OpenPage["context"], change: (text: string) => string): Promise<void> {
  const recorded = join(root, "public/pocket/recorded");
  const run = readdirSync(recorded).find((name) => name !== "files.json") ?? "";
  const text = readFileSync(join(recorded, run, "metrics.jsonl"), "utf8");
  const body = change(text);
  expect(body).not.toBe(text);
  expect(body).toHaveLength(text.length);
  await context.route(/recorded\/.*\/metrics\.jsonl/, (route) => route.fulfill({ body }));
}

describe("the first screen", () => {
  it("shows both loops of the recorded run on real rows, moving, above one button", async () => {
    const { page } = lab;
    await page.locator("main[data-screen=home]").waitFor();
    await expect
      .poll(() => page.getByRole("heading", { level: 1 }).textContent())
      .toMatch(/name regions and to find them/);
    for (const loop of [1, 2]) await page.getByTestId(`home-loop-${loop}`).getByRole("img").first().waitFor();
    // Greedy answers first: sampled ones also gain where answers only become less random.
    await expect
      .poll(() => page.getByTestId("home-curve").getByTestId("gain-numbers").textContent())
      .toMatch(/^greedy [+−±]\d\.\d{3} .+sampled [+−±]\d\.\d{3} .0\.\d{3} to .0\.\d{3}$/);
    await expect.poll(() => page.getByTestId("train-it-yourself").getAttribute("title")).toMatch(/WebGPU/);
    const first = await page.getByTestId("home-step").textContent();
    await expect.poll(() => page.getByTestId("home-step").textContent()).not.toBe(first);
    // No text has moved meanwhile.
    expect(await layoutShift(page)).toBeLessThan(0.05);
  });

  it("shows six held-out rows with what the recorded run said of them at its start and at its end", async () => {
    const { page } = lab;
    const recorded = join(root, "public/pocket/recorded");
    const run = readdirSync(recorded).find((name) => name !== "files.json") ?? "";
    const stored = readFileSync(join(recorded, run, "eval.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly report: { readonly step: number }; readonly rows: RowScores[] });
    const [start, end] = [stored[0], stored.at(-1)];
    const captionOf = (rows: readonly RowScores[] = [], id: string): string | undefined =>
      rows.find(({ rowId }) => rowId === id)?.captionGreedy;
    const report = end?.rows.filter(({ part }) => part !== "selection") ?? [];
    // The middle of each sixth of those that a run with the demo's settings evaluates.
    const { evalRows, selectionShare } = presetConfig("demo");
    const among = evalRows * (1 - selectionShare);
    const chosen = [1, 3, 5, 7, 9, 11].map((at) => report[Math.floor((at * among) / 12)]?.rowId ?? "");
    expect(new Set(chosen).size).toBe(6);
    const shown = page.getByTestId("before-after");
    await expect
      .poll(() => shown.locator("figcaption").textContent())
      .toMatch(new RegExp(`^6 held-out rows, .*: step ${start?.report.step} and step ${end?.report.step}$`));
    for (const [side, from] of [
      ["before", start],
      ["after", end],
    ] as const) {
      const answers = shown.locator(`li [data-side=${side}]`);
      await expect.poll(() => answers.count()).toBe(6);
      for (const [at, id] of chosen.entries()) {
        const caption = captionOf(from?.rows, id) || "no caption";
        await answers.nth(at).getByText(caption, { exact: true }).waitFor();
        const name = await answers.nth(at).getByRole("img").getAttribute("aria-label");
        expect(name?.startsWith(`Mask ${side} training, ${caption}, IoU `)).toBe(true);
      }
    }
  });

  it("stops moving when told to, and a bar leads to its rollout", async () => {
    const { page } = lab;
    const play = page.getByTestId("home-play");
    await play.click();
    await expect.poll(() => play.textContent()).toBe("Play");
    // A bar of loop 2 is named by its own caption, not by the one that was given.
    const second = page.getByTestId("home-loop-2");
    const given = await second.locator("blockquote").first().textContent();
    const names = await second
      .getByRole("button", { name: /^Open rollout/ })
      .evaluateAll((all) => all.map((bar) => (bar as HTMLElement).title.replace(/^[^:]+: /, "")));
    expect(names.some((name) => name !== given)).toBe(true);
    await page.getByTestId("home-loop-1").getByRole("button").last().click();
    await page.getByTestId("panel-rollouts").waitFor();
    expect(page.url()).toMatch(/rollout=\d+-1-\d+-\d+/);
    await page.getByTestId("inspector").waitFor();
    await page.getByTestId("nav-home").click();
    await page.locator("main[data-screen=home]").waitFor();
  });

  it("draws the reward of the loop that the run trains", async () => {
    const { page, context } = lab;
    await withMetrics(context, (text) => text.replaceAll('"loop1/', '"loop9/'));
    await page.reload();
    await page.getByRole("img", { name: /^Reward of loop 2 from 0\.\d\d to/ }).waitFor();
    await context.unrouteAll();
    await page.reload();
  });
});

describe("the time line", () => {
  const slider = () => lab.page.getByRole("slider", { name: "Step" });
  const stop = () => slider().getAttribute("aria-valuetext");

  it("moves curves and rollouts of every tab to one step, which is in the address", async () => {
    const { page } = lab;
    await show(page, { screen: "train", step: "20" });
    const strip = page.getByTestId("live-strip");
    await expect.poll(() => strip.textContent()).toMatch(/step 20/);
    await slider().focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => strip.textContent()).toMatch(/step 25/);
    expect(page.url()).toMatch(/step=25/);
    const logged = await page.getByTestId("chart-reward").locator("li b").first().textContent();
    await page.getByTestId("tab-rollouts").click();
    await expect.poll(stop).toBe("step 25");
    await slider().focus();
    await page.keyboard.press("ArrowLeft");
    await expect.poll(stop).toBe("step 20");
    await page.getByTestId("tab-curves").click();
    await expect.poll(() => strip.textContent()).toMatch(/step 20/);
    await expect.poll(() => page.getByTestId("chart-reward").locator("li b").first().textContent()).not.toBe(logged);
    await page.getByRole("button", { name: "Latest" }).click();
    await expect.poll(() => strip.textContent()).toMatch(/step 25/);
    expect(page.url()).not.toMatch(/step=/);
  });

  it("shows the nearest step with rollouts for one without, and says so", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "17" });
    await expect.poll(stop).toBe("step 15");
    await expect.poll(() => page.locator("main").textContent()).toMatch(/step 15, because step 17 has no rollouts/);
  });

  it("has the column of a rollout beside it, from what was given to the update", async () => {
    const { page } = lab;
    await show(page, { screen: "train", step: "20" });
    const place = page.getByTestId("inspected-place");
    await page.getByTestId("live-strip").getByTestId("rollout-card").nth(1).getByRole("button").click();
    const lesson = page.getByTestId("lesson");
    await expect.poll(() => lesson.locator("> li").count()).toBe(8);
    await expect.poll(() => place.textContent()).toMatch(/^step 20 · loop 1/);
    // What was said is read plain; a difference is shown on demand.
    expect(await lesson.locator("del, ins").count()).toBe(0);
    // The time line moves the open rollout too.
    await slider().focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => place.textContent()).toMatch(/^step 25 · loop 1/);
    // What was known at an earlier step: no gain before the second evaluation.
    await page.keyboard.press("ArrowLeft");
    await expect
      .poll(() => page.getByTestId("result").textContent())
      .toMatch(/after the second evaluation.*Step 0 to –/s);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.getByTestId("result").textContent()).toMatch(/Step 0 to 25/);
    // An earlier step of a tab takes the inspector with it, and Escape closes it.
    await page.getByTestId("tab-rollouts").click();
    await expect.poll(() => place.textContent()).toMatch(/^step 25 · loop 1/);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByTestId("inspector").count()).toBe(0);
    expect(page.url()).not.toMatch(/rollout=/);
    await show(page, { screen: "train" });
  });
});

describe("the curves of a run", () => {
  const chart = () => lab.page.getByTestId("chart-reward");

  /** Drags over the right half of the reward chart. */
  async function zoomIn(): Promise<void> {
    const box = await chart().locator(".u-over").boundingBox();
    if (box === null) throw new Error("The chart has no plot");
    await lab.page.mouse.move(box.x + box.width / 2, box.y + 20);
    await lab.page.mouse.down();
    await lab.page.mouse.move(box.x + box.width - 4, box.y + 20, { steps: 4 });
    await lab.page.mouse.up();
  }

  it("keep their zoom in the address, with a mark, also after a reload", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    await chart().locator(".u-over").waitFor();
    await zoomIn();
    await expect.poll(() => page.getByTestId("all-steps").textContent()).toMatch(/^Steps 1\d–(24|25)$/);
    expect(page.url()).toMatch(/zoom=1/);
    await page.reload();
    await expect.poll(() => page.getByTestId("all-steps").textContent()).toMatch(/^Steps 1\d–(24|25)$/);
    // An address pasted into the open page has its own zoom.
    const name = new URLSearchParams(new URL(page.url()).hash.slice(1)).get("zoom")?.split("@")[1];
    await show(page, { screen: "train", zoom: `5-15@${name}` });
    await expect.poll(() => page.getByTestId("all-steps").textContent()).toBe("Steps 5–15");
    await chart()
      .locator(".u-over")
      .hover({ position: { x: 1, y: 20 } });
    await expect.poll(() => chart().locator("li").last().textContent()).toBe("step 5");
  });

  it("show all steps again after a double click, which opens no rollouts; one click does", async () => {
    const { page } = lab;
    const over = chart().locator(".u-over");
    await over.dblclick({ position: { x: 60, y: 40 } });
    await expect.poll(() => page.getByTestId("all-steps").count()).toBe(0);
    expect(page.url()).toMatch(/screen=train/);
    expect(page.url()).not.toMatch(/zoom/);
    // Time after which a click counts as a single one.
    await page.waitForTimeout(600);
    expect(page.url()).toMatch(/screen=train/);
    await over.click({ position: { x: 60, y: 40 } });
    await page.getByTestId("panel-rollouts").waitFor();
  });

  it("stay where they are while the pointer moves over them", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    const over = chart().locator(".u-over");
    const top = async (): Promise<number> => (await over.boundingBox())?.y ?? Number.NaN;
    await over.waitFor();
    const before = await top();
    await over.hover({ position: { x: 90, y: 40 } });
    await expect.poll(() => chart().locator("li").last().textContent()).toMatch(/^step \d+$/);
    await expect.poll(top).toBe(before);
  });
});

describe("the charts of a run", () => {
  const chart = () => lab.page.getByTestId("chart-reward").first();

  it("go over time, in the size that the address says", async () => {
    const { page } = lab;
    await show(page, { screen: "train" });
    await chart().locator(".u-over").waitFor();
    await page.getByTestId("chart-options").click();
    await page.getByRole("radio", { name: "Time" }).click();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await chart()
      .locator(".u-over")
      .hover({ position: { x: 90, y: 40 } });
    await expect.poll(() => chart().locator("li").last().textContent()).toMatch(/^step \d+ · (\d+ min )?[\d.]+ s$/);
    expect(page.url()).toMatch(/x=time/);
    await page.getByRole("button", { name: "Enlarge Reward", exact: true }).click();
    const large = page.getByRole("dialog").getByTestId("chart-reward").getByRole("img").first();
    await expect.poll(() => large.getAttribute("aria-label")).toMatch(/between steps 1 and 25/);
    expect((await large.boundingBox())?.height).toBeGreaterThan(400);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await large.waitFor({ state: "detached" });
    await show(page, { screen: "train", x: "" });
  });
});

describe("every panel", () => {
  /** Size in CSS pixels of the picture in the clipboard, and whether it shows more than text on a background. */
  const copied = () =>
    lab.page.evaluate(async () => {
      const [item] = await navigator.clipboard.read();
      if (!item?.types.includes("image/png")) return null;
      const bitmap = await createImageBitmap(await item.getType("image/png"));
      const { width, height } = bitmap;
      const context = new OffscreenCanvas(width, height).getContext("2d");
      context?.drawImage(bitmap, 0, 0);
      const pixels = new Uint32Array(context?.getImageData(0, 0, width, height).data.buffer ?? new ArrayBuffer(0));
      return { width: width / 2, height: height / 2, colours: new Set(pixels).size };
    });

  it("is copied as a picture: a chart, a group with its masks, the result, any other", async () => {
    const { page } = lab;
    await lab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    /** The panel is copied until its pictures, which load late, are on the copy. */
    const expectPicture = async (panel: Locator, colours: number, copy: () => Promise<void>): Promise<void> => {
      const box = await panel.boundingBox();
      const [width, height] = [Math.round(box?.width ?? 0) + 24, Math.round(box?.height ?? 0) + 24];
      const copyAgain = async () => {
        await copy();
        const picture = await copied();
        return { ...picture, colourful: (picture?.colours ?? 0) > colours };
      };
      await expect.poll(copyAgain).toMatchObject({ width, height, colourful: true });
    };
    const press = (name: string) => () => page.getByRole("button", { name: `Copy ${name} as a picture` }).click();
    await show(page, { screen: "train" });
    const chart = page.getByTestId("chart-kl");
    await expectPicture(chart, 20, async () => {
      await chart.hover();
      await page.getByRole("button", { name: "More actions for KL and entropy", exact: true }).click();
      await page.getByRole("menuitem", { name: "Copy as a picture" }).click();
    });
    const group = page.getByTestId("live-strip").locator("article").filter({ hasText: "Loop 1" }).first();
    await expectPicture(group, 2000, press("the group of loop 1"));
    await expectPicture(page.getByTestId("result"), 20, press("the result"));
    await show(page, { screen: "home", panel: "system" });
    await page.getByRole("tab", { name: "Log" }).click();
    await expectPicture(page.getByRole("region", { name: "Log" }), 5, press("Log"));
  });
});

describe("the rollouts of a run", () => {
  it("show the details of a rollout within the window", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "rollouts", step: "25" });
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    const inspector = page.getByTestId("inspector");
    // At 1440 × 900: picture, caption and reward.
    for (const part of ["figure", "[data-phase=generate]", "[data-phase=reward]"]) {
      const box = await inspector.locator(part).first().boundingBox();
      expect((box?.y ?? Number.NaN) + (box?.height ?? Number.NaN), part).toBeLessThanOrEqual(900);
    }
  });

  it("show what the policy said plainly, and its difference to the reference on request", async () => {
    const { page } = lab;
    await page.keyboard.press("End");
    const said = page.getByTestId("inspector").locator("[data-phase=generate]");
    const marks = said.locator("ins, del");
    await said.getByRole("button", { name: "Difference" }).waitFor();
    expect(await marks.count()).toBe(0);
    await said.getByRole("button", { name: "Difference" }).click();
    await expect.poll(() => marks.count()).toBeGreaterThan(0);
    await said.getByRole("button", { name: "Plain" }).click();
    await expect.poll(() => marks.count()).toBe(0);
    await page.keyboard.press("Home");
  });

  it("show the computation of their advantage", async () => {
    const { page } = lab;
    const text = (await page.getByTestId("lesson").locator("[data-phase=advantage] code").textContent()) ?? "";
    const [reward, mean, centred, std, advantage] = [...text.replaceAll("−", "-").matchAll(/[+-]?\d\.\d{3}/g)].map(
      Number,
    );
    expect(text).toMatch(/\(group\).*÷.*\(group\)/);
    expect((reward as number) - Math.abs(mean as number)).toBeCloseTo(centred as number, 2);
    expect((centred as number) / (std as number)).toBeCloseTo(advantage as number, 1);
  });

  it("show what other settings would give: as logged with the run's own, otherwise with others", async () => {
    const { page } = lab;
    await page
      .getByTestId("inspector")
      .getByText(/^More: /)
      .click();
    await page.getByRole("tab", { name: "What if" }).click();
    const loss = page.getByTestId("what-if-loss");
    const folder = join(root, "public/pocket/recorded");
    const [id = ""] = readdirSync(folder).filter((name) => name !== "files.json");
    const lines = readFileSync(join(folder, id, "metrics.jsonl"), "utf8")
      .trim()
      .split("\n");
    const logged = lines
      .map((line) => JSON.parse(line) as Readonly<Record<string, number>>)
      .find(({ step }) => step === 25);
    await expect.poll(() => loss.textContent()).toContain((logged?.["loop1/loss"] ?? Number.NaN).toFixed(5));
    const rewards = () => page.getByTestId("what-if").locator("tbody td:nth-child(3)").allTextContents();
    const before = await rewards();
    // The run of the demo has weight 0.
    await page.getByLabel("Weight of METEOR").fill("1");
    await expect.poll(rewards).not.toEqual(before);
    await expect.poll(() => loss.textContent()).toMatch(/→/);
    await page.getByRole("button", { name: "Reset", exact: true }).click();
    await expect.poll(rewards).toEqual(before);
  });

  it("that match a search are shown, from the nearest step", async () => {
    const { page } = lab;
    const search = page.getByPlaceholder("Search captions and rows");
    await search.fill("umbrella");
    await page.getByText(/groups? in \d+ steps? match/).waitFor();
    await expect.poll(() => page.getByText("No rollout matches").count()).toBe(0);
    await expect.poll(() => page.getByTestId("rollout-card").count()).toBeGreaterThan(0);
    await expect
      .poll(() => page.getByRole("slider", { name: "Step" }).getAttribute("aria-valuetext"))
      .toMatch(/^step /);
    await search.fill("");
  });

  it("know that the row is drawn in the group that is shown", async () => {
    const { page } = lab;
    await page.getByRole("tab", { name: "History" }).click();
    await expect.poll(() => page.getByTestId("inspector").textContent()).toMatch(/sampled 1 time in/);
  });

  it("begin at their top, however far the last screen was scrolled", async () => {
    const { page } = lab;
    const scrolled = () => page.locator("main").evaluate((main) => main.scrollTop);
    await show(page, { screen: "train" });
    await page.setViewportSize({ width: 1440, height: 300 });
    await page.getByTestId("chart-reward").waitFor();
    await page.mouse.move(700, 200);
    await page.mouse.wheel(0, 200);
    await expect.poll(scrolled).toBeGreaterThan(100);
    await show(page, { screen: "train", tab: "rollouts" });
    await expect.poll(scrolled).toBe(0);
    await page.setViewportSize({ width: 1440, height: 900 });
  });
});

/** Asks for an export of the first run that has nothing to save, and closes the notice that says so. */
async function saveExportRefused(page: OpenPage["page"], form: string, sentence: RegExp): Promise<void> {
  await page.getByTestId("export-run").first().click();
  await page.getByRole("menuitem", { name: form }).click();
  await page.getByTestId("problems").getByText(sentence).waitFor();
  await page.getByTestId("problems").getByRole("button", { name: "Dismiss" }).first().click();
}

describe("runs of this browser", () => {
  /** Copies of the recorded run: one that was interrupted, and one that is shorter and was evaluated on fewer rows. */
  beforeAll(async () => {
    await lab.page.evaluate(async () => {
      const base = new URL("pocket/recorded/", document.baseURI);
      const files = (await (await fetch(new URL("files.json", base))).json()) as { readonly path: string }[];
      const store = await (await navigator.storage.getDirectory()).getDirectoryHandle("runs", { create: true });
      const changes: Readonly<Record<string, (text: string, name: string) => string>> = {
        whole: (text) => text,
        left: (text, name) => (name === "run.json" ? text.replace(/"state": ?"finished"/, '"state":"running"') : text),
        short: (text, name) => {
          if (name === "metrics.jsonl") return text.split("\n").slice(0, 20).join("\n");
          return name !== "eval.jsonl" ? text : text.replace(/"rowId":"[^"]*#\d*[13579]"/g, '"rowId":"other"');
        },
      };
      for (const { path } of files.filter(({ path }) => /\.jsonl?$/.test(path))) {
        const text = await (await fetch(new URL(path, base))).text();
        const [from = "", name = ""] = path.split("/");
        for (const [id, change] of Object.entries(changes)) {
          const folder = await store.getDirectoryHandle(id, { create: true });
          const writer = await (await folder.getFileHandle(name, { create: true })).createWritable();
          await writer.write(change(text.replaceAll(`"${from}"`, `"${id}"`), name));
          await writer.close();
        }
      }
    });
  });

  it("are compared without NaN where one is shorter, over the rows that all were evaluated on", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", compare: "whole,short" });
    const legend = page.getByTestId("chart-compare-reward-1").locator("ul");
    await expect.poll(() => legend.textContent()).toMatch(/0\.\d{3}.*0\.\d{3}/);
    await expect.poll(() => legend.textContent()).not.toMatch(/NaN/);
    const dashes = await legend
      .locator("line")
      .evaluateAll((lines) => lines.map((line) => line.getAttribute("stroke-dasharray")));
    expect(new Set(dashes).size).toBe(2);
    // Where the shorter run has no step, its last value before is not repeated.
    const over = page.getByTestId("chart-compare-reward-1").locator(".u-over");
    const width = (await over.boundingBox())?.width ?? 0;
    await over.hover({ position: { x: width - 3, y: 40 } });
    await expect.poll(() => legend.textContent()).toMatch(/–.*step \d+$/);
    await expect.poll(() => legend.textContent()).not.toMatch(/NaN/);
    await expect.poll(() => page.getByTestId("compare-table").textContent()).toMatch(/were evaluated on: \d+/);
  });

  it("have notes and tags, which choose what is listed", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", compare: "" });
    const rows = page.getByTestId("runs-table").locator("tbody tr");
    await page.locator("tr[data-run=whole]").getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Notes and tags…" }).click();
    const dialog = page.getByRole("dialog", { name: "Notes" });
    await dialog.getByLabel("Tags").fill("long, baseline, long");
    await dialog.getByLabel("Notes").last().fill("The run of the page");
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Save" }).click();
    const filters = page.getByTestId("tag-filter").getByRole("button");
    await expect.poll(() => filters.allTextContents()).toEqual(["tag:baseline", "tag:long"]);
    await filters.getByText("tag:long").click();
    await expect.poll(() => rows.count()).toBe(1);
    expect(page.url()).toContain("find=tag:long");
    await page.reload();
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByTestId("run-details").click();
    await page.getByTestId("details-of-run").getByText("The run of the page").waitFor();
    expect(await violations(page)).toEqual([]);
    // A filter is saved in this browser; runs are grouped by their first tag.
    await page.getByTestId("filter-runs").fill("tag:long state:finished");
    await page.getByTestId("save-filter").click();
    await page.getByTestId("filter-runs").fill("");
    await expect.poll(() => rows.count()).toBe(4);
    await page.reload();
    await filters.getByText("tag:long state:finished").click();
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByTestId("save-filter").click();
    await page.getByTestId("filter-runs").fill("");
    await page.getByLabel("Groups").selectOption("tag");
    await expect.poll(() => rows.locator("th[scope=rowgroup]").allTextContents()).toHaveLength(2);
    await page.getByLabel("Groups").selectOption("none");
    await expect.poll(() => rows.count()).toBe(3);
  });

  it("have notes at steps, shown by the curves", async () => {
    const { page } = lab;
    await show(page, { screen: "train", run: "whole", step: "20" });
    const notes = page.getByTestId("step-notes");
    await notes.click();
    await page.getByLabel("Note at step 20").fill("raised the temperature");
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await expect.poll(() => notes.textContent()).toBe("Notes · 1");
    await page.reload();
    await expect.poll(() => notes.textContent()).toBe("Notes · 1");
    const over = page.getByTestId("chart-reward").locator(".u-over");
    await over.waitFor();
    const width = (await over.boundingBox())?.width ?? 0;
    // Of steps 1 to 25, the twentieth.
    await over.hover({ position: { x: (width * 19) / 24, y: 30 } });
    const told = page.getByTestId("chart-reward").locator("li").last();
    await expect.poll(() => told.textContent()).toBe("step 20 raised the temperature");
    // A note that cannot be stored is not lost.
    await page.evaluate(async () => {
      const runs = await (await navigator.storage.getDirectory()).getDirectoryHandle("runs");
      const folder = await runs.getDirectoryHandle("whole");
      const file = await folder.getFileHandle("notes.json");
      const text = await (await file.getFile()).text();
      Object.assign(globalThis, {
        putNotes: async (next: string) => {
          const writer = await file.createWritable();
          await writer.write(next);
          await writer.close();
        },
        notesBefore: text,
      });
    });
    await page.evaluate(`putNotes("{")`);
    await notes.click();
    const field = page.getByLabel("Note at step 20", { exact: true });
    await field.fill("lowered it again");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await problems(page)).join()).toMatch(/notes\.json/);
    await expect.poll(() => field.inputValue()).toBe("lowered it again");
    // A step has one note.
    await page.getByRole("button", { name: "Replace" }).waitFor();
    await page.evaluate("putNotes(notesBefore)");
    await page.keyboard.press("Escape");
    const problem = page.getByTestId("problems").locator("div").filter({ hasText: "notes.json" });
    await problem.getByRole("button", { name: "Dismiss" }).click();
    await show(page, { screen: "runs" });
  });

  it("lead from the first screen to their own curves", async () => {
    const { page } = lab;
    await show(page, { screen: "home", run: "short" });
    // By its title; for a run without rollouts the last step with metrics.
    await expect.poll(() => page.getByTestId("home-step").textContent()).toBe("demo, step 19 of 25");
    await page.getByRole("link", { name: "All curves and rollouts" }).click();
    await page.locator("main[data-screen=train]").waitFor();
    expect(page.url()).toMatch(/run=short/);
    await show(page, { screen: "runs" });
  });

  it("are on a leaderboard with those of the same rows, and lead to the rows behind a score", async () => {
    const { page } = lab;
    await page.getByTestId("leaderboard-open").click();
    const tables = page.getByTestId("leaderboard").getByRole("table");
    await expect.poll(() => tables.count()).toBe(2);
    // Whole and left have the same rows and scores; short has others.
    const lines = tables.first().locator("tbody tr");
    await expect.poll(() => lines.count()).toBe(2);
    await expect
      .poll(() => lines.first().textContent())
      .toMatch(/250\.\d{3}[+−±]0\.\d{3} \(.0\.\d{3} to .0\.\d{3}\)\d+, \d+$/);
    await page.getByTestId("leaderboard-score").selectOption("loop1_greedy");
    const difference = "0\\.\\d{3}[+−±]0\\.\\d{3} \\(.0\\.\\d{3} to .0\\.\\d{3}\\)";
    await expect.poll(() => lines.first().textContent()).toMatch(new RegExp(`25${difference}${difference}\\d+, \\d+$`));
    await expect.poll(() => tables.last().locator("tbody tr").count()).toBe(1);
    await page.getByTestId("leaderboard-base").selectOption("whole");
    await expect
      .poll(() => lines.allTextContents())
      .toContainEqual(expect.stringMatching(/±0\.000 \(no change\)0, 0$/));
    expect(await violations(page)).toEqual([]);
    await lines.first().getByRole("link").click();
    await expect.poll(() => page.getByTestId("eval-where").textContent()).toMatch(/after 25 steps$/);
  });

  it("have one line each with all columns and their curves beside them, which nothing on the page moves", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", compare: "" });
    const table = page.getByTestId("runs-table");
    const lines = table.locator("tbody tr");
    const tops = () => lines.evaluateAll((all) => all.map((row) => row.getBoundingClientRect().top));
    await page.getByTestId("run-charts").waitFor();
    expect(await table.evaluate((all) => all.scrollWidth - (all.parentElement?.clientWidth ?? 0))).toBeLessThanOrEqual(
      0,
    );
    expect(Math.max(...(await lines.evaluateAll((all) => all.map((row) => row.clientHeight))))).toBeLessThan(60);
    // The name opens the run; it is changed elsewhere.
    expect(await lines.getByTestId("open-run").first().getAttribute("href")).toMatch(/screen=train/);
    const before = await tops();
    for (const run of ["whole", "short"]) await page.locator(`tr[data-run=${run}]`).getByRole("checkbox").check();
    await page.getByText("2 runs compared").waitFor();
    await page.getByTestId("held-out-sides").waitFor();
    await saveExport(page, "Tables (CSV) and pictures");
    await page
      .getByTestId("exported")
      .getByText(/was saved/)
      .waitFor();
    expect(await tops()).toEqual(before);
    await page.getByRole("button", { name: "OK", exact: true }).click();
    expect(await violations(page)).toEqual([]);
    for (const run of ["whole", "short"]) await page.locator(`tr[data-run=${run}]`).getByRole("checkbox").uncheck();
  });

  it("stand beside completions that TRL logged, which are compared by prompt", async () => {
    const { page } = lab;
    const place = mkdtempSync(join(tmpdir(), "lab-completions-"));
    try {
      // Copies of the recorded run have no rollouts until here.
      await saveExportRefused(page, "Completions as TRL logs them (Parquet)", /stored no rollouts/);
      await page.evaluate(async () => {
        const base = new URL("pocket/recorded/", document.baseURI);
        const files = (await (await fetch(new URL("files.json", base))).json()) as { readonly path: string }[];
        const runs = await (await navigator.storage.getDirectory()).getDirectoryHandle("runs");
        for (const id of ["whole", "short", "left"]) {
          const folder = await (await runs.getDirectoryHandle(id)).getDirectoryHandle("rollouts", { create: true });
          for (const { path } of files.filter((file) => file.path.endsWith(".arrow"))) {
            const name = path.split("/").at(-1) as string;
            const writer = await (await folder.getFileHandle(name, { create: true })).createWritable();
            await writer.write(await (await fetch(new URL(path, base))).arrayBuffer());
            await writer.close();
          }
        }
      });
      const download = await saveExport(page, "Completions as TRL logs them (Parquet)");
      const files = Object.entries(unzipSync(new Uint8Array(readFileSync(await download.path()))));
      expect(files.length).toBeGreaterThan(1);
      for (const name of ["mine", "theirs"]) {
        mkdirSync(join(place, name));
        for (const [path, bytes] of files) writeFileSync(join(place, name, path.split("/").at(-1) ?? ""), bytes);
        await page.getByTestId("open-completions").setInputFiles(join(place, name));
        await page.getByTestId("completions").getByRole("columnheader", { name }).waitFor();
      }
      const shown = page.getByTestId("completions");
      await expect.poll(() => shown.getByRole("rowheader").allTextContents()).toContain("iou");
      await shown.getByLabel("Step").selectOption("10");
      await expect.poll(() => shown.getByRole("region").first().getByRole("table").count()).toBe(2);
      expect(await violations(page)).toEqual([]);
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  it("keep their actions in a window of 1024 pixels", async () => {
    const { page } = lab;
    await page.setViewportSize({ width: 1024, height: 900 });
    await show(page, { screen: "runs", compare: "" });
    const button = page.getByTestId("runs-table").getByTestId("more-of-run").first();
    await button.waitFor();
    const box = await button.boundingBox();
    expect((box?.x ?? Number.NaN) + (box?.width ?? Number.NaN)).toBeLessThanOrEqual(1024);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it("are offered after a reload when one was in progress: to view and to delete", async () => {
    const { page } = lab;
    await show(page, { screen: "home" });
    await page.reload();
    const banner = page.getByTestId("interrupted");
    await expect.poll(() => banner.textContent()).toMatch(/stopped at step 25 of 25, without a checkpoint/);
    // Another tab that holds the run takes the offer away, until it is closed with the run as it was.
    const other = await lab.context.newPage();
    await other.goto(`${lab.url}pocket/shards/files.json`);
    await other.evaluate(() => void navigator.locks.request("sa2va-lab/run/left", () => new Promise(() => undefined)));
    await expect.poll(() => banner.count()).toBe(0);
    await other.close();
    await expect
      .poll(() => banner.getByRole("button", { name: "Resume" }).getAttribute("title"))
      .toBe("The run has no checkpoint");
    await banner.getByRole("button", { name: "View" }).click();
    await expect.poll(() => page.url()).toMatch(/screen=train.*run=left/);
    await page.reload();
    await banner.getByRole("button", { name: "Delete…" }).click();
    await banner.getByRole("button", { name: /^Delete/ }).click();
    await expect.poll(() => banner.count()).toBe(0);
    await show(page, { screen: "runs" });
    await expect.poll(() => page.getByTestId("runs-table").locator("tbody tr").count()).toBe(2);
  });
});

describe("demo clips", () => {
  const number = () => lab.page.getByTestId("row-detail").getByTestId("frame-number").textContent();
  const saved = async (kind: string): Promise<Uint8Array> => {
    const [file] = await Promise.all([
      lab.page.waitForEvent("download"),
      lab.page.getByTestId("row-detail").getByTestId(`export-${kind}`).click(),
    ]);
    return new Uint8Array(readFileSync(await file.path()));
  };

  it("play in the gallery under the pointer, and stay still for users who prefer less motion", async () => {
    const { page } = lab;
    await show(page, { screen: "data" });
    const gallery = page.getByTestId("gallery");
    await gallery.getByRole("img").first().waitFor();
    // Rows of another data set take the place of these, and nothing else moves.
    const tops = await gallery.evaluateHandle((element) => {
      const seen = new Set([element.getBoundingClientRect().top]);
      const look = (): void => {
        const now = document.querySelector("[data-testid=gallery]");
        if (now !== null) seen.add(now.getBoundingClientRect().top);
        requestAnimationFrame(look);
      };
      look();
      return seen;
    });
    await page.getByRole("button", { name: "Use demo clips" }).first().click();
    const tile = gallery.getByRole("img", { name: /of the clip$/ }).first();
    await tile.waitFor();
    await page.getByTestId("data-counts").getByText("48 clips").waitFor();
    expect(await tops.evaluate((seen) => seen.size)).toBe(1);
    expect(await gallery.getByText("frame 1/6").count()).toBeGreaterThan(0);
    const pixels = () => tile.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    await expect.poll(async () => (await pixels()).length).toBeGreaterThan(4000);
    const poster = await pixels();
    await tile.hover();
    await expect.poll(pixels).not.toBe(poster);
    await page.mouse.move(1, 1);
    await expect.poll(pixels).toBe(poster);
    await page.emulateMedia({ reducedMotion: "reduce" });
    await tile.hover();
    await tile.click();
    await expect.poll(number).toBe("Frame 1 of 6");
    await page.getByRole("button", { name: "Play the clip" }).click();
    // Plays once, then waits.
    await expect.poll(number).toBe("Frame 6 of 6");
    await page.getByRole("button", { name: "Play the clip" }).waitFor();
    expect(await pixels()).not.toBe(poster);
    await page.emulateMedia({ reducedMotion: null });
  });

  it("can be stepped through by frame, with the outlines of the frames around it", async () => {
    const { page } = lab;
    const figure = page.getByTestId("row-detail").getByRole("img").first();
    const pixels = () => figure.evaluate((canvas) => (canvas as HTMLCanvasElement).toDataURL());
    await page.getByTestId("row-detail").getByRole("slider", { name: "Frame" }).focus();
    /** What the figure shows after a key press. */
    const shownBy = async (key: string): Promise<string> => {
      const before = await pixels();
      await page.keyboard.press(key);
      await expect.poll(pixels).not.toBe(before);
      return pixels();
    };
    await shownBy("Home");
    const plain = await shownBy("ArrowRight");
    await expect.poll(number).toBe("Frame 2 of 6");
    await page.getByRole("button", { name: "Onion skin" }).click();
    await expect.poll(pixels).not.toBe(plain);
    await page.getByRole("button", { name: "Onion skin" }).click();
    await expect.poll(pixels).toBe(plain);
  });

  it("export as run lengths and as pictures", async () => {
    const { objects, size } = JSON.parse(new TextDecoder().decode(await saved("json"))) as {
      readonly objects: readonly Rle[][];
      readonly size: readonly number[];
    };
    expect([size, objects.map((masks) => masks.length)]).toEqual([[96, 96], [6]]);
    const files = unzipSync(await saved("png"));
    expect(Object.keys(files)).toEqual(Array.from({ length: 6 }, (_, at) => `given/0000${at}.png`));
    const { data } = decodePng(files["given/00003.png"] as Uint8Array, "mask's");
    expect(Array.from(data, (pixel) => pixel / 255)).toEqual([...decodeRle(objects[0]?.[3] as Rle)]);
  });

  it("export no video when cancelled", async () => {
    const { page } = lab;
    const before = await problems(page);
    let downloads = 0;
    page.on("download", () => downloads++);
    await page.evaluate(() => {
      const press = (_: unknown, observer: MutationObserver): void => {
        const buttons = document.querySelectorAll<HTMLElement>("fieldset[aria-label='Export of masklets'] button");
        const cancel = [...buttons].find(({ textContent }) => textContent === "Cancel");
        if (cancel === undefined) return;
        observer.disconnect();
        cancel.click();
        document.body.dataset.cancelled = cancel.parentElement?.textContent ?? "";
      };
      new MutationObserver(press).observe(document.body, { subtree: true, childList: true });
    });
    await page.getByTestId("export-webm").click();
    await page.locator("body[data-cancelled='0 of 6 framesCancel']").waitFor();
    await page.getByTestId("export-webm").waitFor();
    expect([downloads, await problems(page)]).toEqual([0, before]);
  });

  it("export as a video, which opens as a row beside MP4, WebM and Ref-SAV; a broken video is left out with a sentence", async () => {
    const { page } = lab;
    const film = await saved("webm");
    const shades = [20, 60, 100, 140, 180, 220];
    const grey = await greyFrames(page, 64, 48, shades);
    const whole = await videoFile("mp4", grey);
    const two = await videoFile("webm", grey, await greyFrames(page, 32, 24, [90, 90]));
    const videos: Readonly<Record<string, readonly [bytes: Uint8Array, masks: number]>> = {
      "grey.webm": [await videoFile("webm", grey), 6],
      "grey.mp4": [whole, 6],
      "film.webm": [film, 6],
      "cut.mp4": [whole.subarray(0, whole.length - 30), 6],
      "sizes.webm": [two, 8],
      "none.webm": [await videoFile("webm"), 1],
      "long.webm": [await videoFile("webm", junkFrames(10_000, 640, 360)), 6],
      "few.webm": [film, 9],
    };
    const masks = (count: number, side = 48) =>
      Array.from({ length: count }, () => boxMask(side, side === 48 ? 64 : side, 8, 8, 20, 20));
    const rows = Object.entries(videos).map(([video, [bytes, count]]) => {
      return { video, masks: masks(count, bytes === film ? 480 : 48), caption: video };
    });
    const folder = mkdtempSync(join(tmpdir(), "lab-videos-"));
    for (const [name, [bytes]] of Object.entries(videos)) writeFileSync(join(folder, name), bytes);
    writeFileSync(join(folder, "rows.json"), JSON.stringify(rows));
    // A masklet for every fourth frame: 0 and 4.
    const objects = { "1": { formated: "grey.sav" } };
    const sav = { a: { video_path: "videos/grey.mp4", anno_path: "sav_manual.json", objects } };
    writeFileSync(join(folder, "Ref-SAV.json"), JSON.stringify(sav));
    const masklet = masks(2).map((mask) => [null, mask]);
    writeFileSync(join(folder, "sav_manual.json"), JSON.stringify({ masklet }));

    await page.getByTestId("pick-shards").setInputFiles(folder);
    await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(/^4 rows.*skipped/);
    rmSync(folder, { recursive: true });
    const detail = page.getByTestId("row-detail");
    /** The middle of the right border, beside the mask, where the picture is shown a fifth darker. */
    const shade = () =>
      detail
        .getByRole("img")
        .first()
        .evaluate((element) => {
          const canvas = element as HTMLCanvasElement;
          const pixel = canvas.getContext("2d")?.getImageData(canvas.width - 20, canvas.height / 2, 1, 1).data[0] ?? 0;
          return Math.round((pixel - 16) / 32) * 40 + 20;
        });
    for (const [name, expected] of Object.entries({
      "grey.webm": shades,
      "grey.mp4": shades,
      "grey.sav": [20, 180],
    })) {
      await page.getByTestId("gallery").getByRole("button", { name }).click();
      await expect.poll(number).toBe(`Frame 1 of ${expected.length}`);
      await detail.getByRole("slider", { name: "Frame" }).focus();
      for (const grey of expected) {
        await expect.poll(shade).toBe(grey);
        await page.keyboard.press("ArrowRight");
      }
    }
    await page.getByTestId("gallery").getByRole("button", { name: "film.webm" }).click();
    await expect.poll(number).toBe("Frame 1 of 6");

    await page.getByTestId("skipped").click();
    const reasons = page.getByRole("dialog").locator("tbody td:last-child");
    await expect
      .poll(() => reasons.allTextContents())
      .toEqual(
        expect.arrayContaining([
          "the video is cut off: 5 of its 6 frames can be decoded",
          "frame 6 of the video is 32 x 24 pixels, the others 64 x 48",
          "the video has no track of pictures, or is cut off before its first frame",
          expect.stringMatching(/^the video has 10000 frames of 640 x 360, of which 10000 would be read/),
          "the clip has 6 frames and 9 masks",
        ]),
      );
    await page.keyboard.press("Escape");
  });
});

it("none of it is a problem", async () => {
  expect((await problems(lab.page)).filter((text) => !/WebGPU/.test(text))).toEqual([]);
  expect(lab.consoleErrors).toEqual([]);
});
