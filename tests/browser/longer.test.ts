/** A finished run, the view of its held-out masks, and its extension. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { violations } from "../support/axe.ts";
import { WAIT } from "../support/hang.ts";
import {
  CHEAP_RUN,
  type OpenPage,
  openFollowed,
  problems,
  type RunEvent,
  saveExport,
  show,
  untilEvent,
} from "../support/page.ts";
import { testWith } from "../support/plugins.ts";

let lab: OpenPage;
let events: RunEvent[];

beforeAll(async () => {
  const settings = {
    ...CHEAP_RUN,
    steps: "1",
    lrSchedulerType: "constant",
    warmupSteps: "0",
    evalSteps: "1",
    evalRows: "3",
  };
  ({ lab, events } = await openFollowed({ screen: "train", ...settings }, { bypassCSP: true }));
  await lab.page.getByTestId("strip-start").click();
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
});
afterAll(() => lab.close());

describe("held-out masks", () => {
  it("are counted as papers on referring segmentation do, with paired differences", async () => {
    const { page } = lab;
    await show(page, { screen: "train", tab: "held-out" });
    const grounding = page.getByRole("button", { name: /^Grounding/ });
    await grounding.waitFor();
    await expect.poll(() => page.getByTestId("segmentation").count()).toBe(0);
    await grounding.click();
    const table = page.getByTestId("segmentation").locator("tbody");
    await expect.poll(() => table.locator("th").allTextContents()).toEqual(["gIoU", "cIoU", "P@0.5", "P@0.7", "P@0.9"]);
    const cells = await table
      .locator("tr")
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.textContent).join("|")),
      );
    for (const text of cells)
      expect(text).toMatch(/^(0|1)\.\d{2}\|(0|1)\.\d{2}\|.?0\.\d{3} \((.+ to .+|no change|no interval)\)$/);
    // The mean over rows is the card's own number.
    expect(cells[0]).toContain((await grounding.locator("b").textContent()) as string);
    // Beside it the score of the partner, with its picture on every row.
    await expect.poll(() => grounding.textContent()).toMatch(/Partner [01]\.\d{2}, /);
    const row = page.getByTestId("eval-row").first();
    await expect
      .poll(() => row.locator("small").allTextContents())
      .toEqual([
        expect.stringMatching(/^Start/),
        expect.stringMatching(/^Now/),
        expect.stringMatching(/^Partner now [01]\.\d\d$/),
      ]);
    await expect.poll(() => row.locator("canvas").count()).toBe(3);
    expect(await violations(page)).toEqual([]);
  });
});

describe("a held-out row", () => {
  it("shows the four sampled captions behind its score, and all of them with their words in the inspector beside the rows", async () => {
    const { page } = lab;
    await page.getByRole("button", { name: /^Loop 1 IoU, sampled/ }).click();
    const card = page.getByTestId("eval-row").first();
    await expect.poll(() => card.locator("canvas").count()).toBe(8);
    // The score of each side is the mean of its four masks.
    for (const side of [0, 1]) {
      const numbers = (await card.locator(`div > small + div >> nth=${side}`).locator("b").allTextContents()).map(
        Number,
      );
      const shown = Number(await card.locator("small b").nth(side).textContent());
      expect(numbers).toHaveLength(4);
      expect(Math.abs(numbers.reduce((sum, value) => sum + value, 0) / 4 - shown)).toBeLessThan(0.011);
    }
    await card.getByRole("button").first().click();
    const details = page.getByTestId("eval-row-details");
    await expect.poll(() => details.locator("canvas").count()).toBe(10);
    await expect.poll(() => details.getByText(/^Sample \d/).count()).toBe(8);
    expect(await page.getByRole("dialog").count()).toBe(0);
    expect(await violations(page)).toEqual([]);
    // Keys lead to the next row, which the address keeps, and back to the rows.
    const place = details.getByText(/^1 of \d+ · row /);
    await place.waitFor();
    const address = page.url();
    await page.keyboard.press("ArrowRight");
    await details.getByText(/^2 of \d+ · row /).waitFor();
    expect(page.url()).not.toBe(address);
    await page.keyboard.press("Escape");
    await details.waitFor({ state: "detached" });
  });
});

describe("the report of a run", () => {
  it("is one page that opens from a file, offline, with curves, result, rollouts and settings", async () => {
    const { page, browser } = lab;
    await show(page, { screen: "runs" });
    const download = await saveExport(page, "Report (one HTML file)");
    expect(download.suggestedFilename()).toMatch(/\.html$/);
    const path = `${await download.path()}.html`;
    await download.saveAs(path);
    const context = await browser.newContext({ offline: true });
    context.setDefaultTimeout(WAIT);
    const report = await context.newPage();
    const [asked, errors]: [string[], string[]] = [[], []];
    report.on("request", (request) => asked.push(request.url()));
    report.on("console", (message) => errors.push(message.text()));
    report.on("pageerror", (error) => errors.push(error.message));
    await report.goto(pathToFileURL(path).href);
    const figures = report.locator("figure");
    await expect.poll(() => figures.locator("svg path").count()).toBeGreaterThan(4);
    const pictures = await figures
      .locator("img")
      .evaluateAll((all) => all.map((img) => (img as HTMLImageElement).naturalWidth));
    expect(pictures.length).toBeGreaterThan(3);
    expect(Math.min(...pictures)).toBeGreaterThan(100);
    const darkest = await figures.locator("img").evaluateAll((all) =>
      Math.min(
        ...all.map((img) => {
          const canvas = document.createElement("canvas");
          const context = canvas.getContext("2d") as CanvasRenderingContext2D;
          [canvas.width, canvas.height] = [32, 32];
          context.drawImage(img as HTMLImageElement, 0, 0, 32, 32);
          return Math.max(...context.getImageData(0, 0, 32, 32).data.filter((_, at) => at % 4 !== 3));
        }),
      ),
    );
    expect(darkest).toBeGreaterThan(60);
    await expect
      .poll(() => report.locator(".headline").first().textContent())
      .toMatch(/loop 1 reward, greedy \(.+\), on \d held-out rows: \d better, \d worse/);
    await expect
      .poll(() => report.getByRole("heading").allTextContents())
      .toEqual(expect.arrayContaining(["Curves", "Best rollouts of loop 1", "Worst rollouts of loop 2", "Settings"]));
    await report.locator("summary").click();
    await expect
      .poll(() => report.locator("tr", { hasText: "maxCompletionLength" }).locator("b").textContent())
      .toBe("4");
    expect(errors).toEqual([]);
    expect(asked.filter((url) => !url.startsWith("data:"))).toEqual([pathToFileURL(path).href]);
    await context.close();
  });
});

describe("a run that has done all its steps", () => {
  it("asks for its new length, and takes no length it has reached", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    await page.getByRole("button", { name: "Extend…" }).click();
    const dialog = page.getByRole("dialog", { name: "Extend run" });
    const length = dialog.getByLabel("Total steps");
    await expect.poll(() => length.inputValue()).toBe("2");
    await dialog.getByText("1 more step; the result equals an uninterrupted run of 2 steps").waitFor();
    await length.fill("1");
    await dialog.getByText("1 step is already done").waitFor();
    await expect.poll(() => dialog.getByRole("button", { name: "Extend", exact: true }).isDisabled()).toBe(true);
    await length.fill("many");
    await dialog.getByRole("alert").waitFor();
    await length.fill("2");
    expect(await violations(page)).toEqual([]);
  });

  it("continues to that length, and says so where it is stored", async () => {
    const { page } = lab;
    const from = events.length;
    await page.getByRole("dialog").getByRole("button", { name: "Extend", exact: true }).click();
    const step = await untilEvent(events, from, (event) => event.type === "step");
    expect(step.step).toBe(2);
    await untilEvent(events, from, (event) => event.type === "state" && event.state === "finished");
    await show(page, { screen: "runs" });
    await expect.poll(() => page.getByTestId("runs-table").textContent()).toMatch(/2 \/ 2/);
    // The settings form for a new run still has the length with which the run was started.
    await page.getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Use settings" }).click();
    await expect.poll(() => page.getByTestId("setting-steps").inputValue()).toBe("2");
    await show(page, { screen: "runs" });
    expect(await problems(page)).toEqual([]);
  });

  it("leaves for many GPUs whole, with its rows, words and commands", async () => {
    const { page } = lab;
    const download = await saveExport(page, "For many GPUs (Python)");
    const name = download.suggestedFilename().replace(/\.zip$/, "");
    const folder = `${name}/${name.replace(/-scale-out$/, "")}`;
    const files = unzipSync(new Uint8Array(readFileSync(await download.path())));
    const text = (path: string): string => strFromU8(files[`${folder}/${path}`] as Uint8Array);
    const manifest = JSON.parse(text("run.json")) as { data: { rows: number; hash: string } };
    const data = JSON.parse(text("scale/data.json")) as Record<"train" | "selection" | "report", number[]> & {
      shards: { name: string; bytes: number; head: string }[];
    };
    expect(data).toMatchObject(manifest.data);
    const places = [...data.train, ...data.selection, ...data.report].sort((a, b) => a - b);
    expect(places).toEqual(Array.from({ length: manifest.data.rows }, (_, at) => at));
    expect(text("scale/rows.jsonl").trim().split("\n")).toHaveLength(manifest.data.rows);
    const own = (path: string): Buffer => readFileSync(join(root, "public", path));
    expect(own("wordnet/wordnet30.txt").equals(files[`${folder}/scale/wordnet30.txt`] as Uint8Array)).toBe(true);
    for (const { name: file, bytes, head } of data.shards) {
      const shard = own(`pocket/shards/${file}`);
      expect([
        shard.length,
        createHash("sha256")
          .update(shard.subarray(0, 2 ** 20))
          .digest("hex"),
      ]).toEqual([bytes, head]);
    }
    expect(text("scale/launch/8gpu.sh")).toMatch(/--nproc_per_node \S+ --max-restarts 3 -m sa2va_lab.train/);
    for (const path of ["scale/contract.json", "checkpoints/step-000002/complete.json", "rollouts/step-000002.arrow"]) {
      expect(Object.keys(files)).toContain(`${folder}/${path}`);
    }
  });

  it("is repeated with equal bits where it was exported and dropped again", async () => {
    const { page } = lab;
    const download = await saveExport(page);
    const id = download.suggestedFilename().replace(/\.zip$/, "");
    const files = Object.entries(unzipSync(new Uint8Array(readFileSync(await download.path()))));
    const renamed = files.map(([path, bytes]): [string, Uint8Array] => {
      const name = path.replace(id, "other");
      return [name, name === "other/run.json" ? strToU8(strFromU8(bytes).replace(id, "other")) : bytes];
    });
    const buffer = Buffer.from(zipSync(Object.fromEntries(renamed), { level: 0 }));
    await show(page, { screen: "data" });
    await page
      .getByTestId("pick-shard-files")
      .setInputFiles({ name: "other.zip", mimeType: "application/zip", buffer });
    await page.getByText("imported run, read-only").waitFor();
    await show(page, { screen: "train", tab: "rollouts", run: "other", step: "1" });
    await page.getByTestId("rollout-card").first().getByRole("button").click();
    await page
      .getByTestId("inspector")
      .getByText(/^More: /)
      .click();
    await page.getByRole("tab", { name: "Recompute" }).click();
    await page.getByRole("button", { name: "Replay step 1" }).click();
    await page.getByText(/Repeated from the start: 4 rollouts and \d+ metrics equal the log bit for bit/).waitFor();
    expect(await violations(page)).toEqual([]);
    await show(page, { screen: "runs" });
  });

  it("continues as a fork from an earlier checkpoint of the dropped run with the parent's next step; it saves and evaluates while paused", async () => {
    const { page } = lab;
    const parent = events.findLast(({ type }) => type === "step");
    // The settings of the page are offered as a difference.
    await show(page, { screen: "runs", beta: "0.2" });
    const dropped = page.getByTestId("runs-elsewhere").locator("tr").filter({ hasText: "2 / 2" });
    await dropped.getByRole("button", { name: "Fork…" }).click();
    const dialog = page.getByRole("dialog", { name: "Continue from a checkpoint" });
    // After its last step a fork is longer.
    await expect.poll(() => dialog.getByLabel("Total steps").inputValue()).toBe("4");
    await dialog.getByLabel("Total steps").fill("2");
    await dialog.getByText(/^The checkpoint of step 2 leaves no step of a run of 2/).waitFor();
    await dialog.getByLabel("Checkpoint").selectOption("1");
    const beta = dialog.getByTestId("fork-changes").getByRole("checkbox", { name: /^KL weight β .+ → 0\.2$/ });
    await expect.poll(() => beta.isChecked()).toBe(true);
    await beta.uncheck();
    await dialog.getByLabel("Total steps").fill("3");
    expect(await violations(page)).toEqual([]);
    const from = events.length;
    // The page itself presses, so that a slow test does not let the step go on.
    await page.evaluate(() => {
      const pause = (event: Event): void => {
        if ((event as CustomEvent<{ state?: string }>).detail.state !== "running") return;
        removeEventListener("lab:trainer", pause);
        setTimeout(() => dispatchEvent(new KeyboardEvent("keydown", { key: "p" })));
      };
      addEventListener("lab:trainer", pause);
    });
    await dialog.getByRole("button", { name: "Fork", exact: true }).click();
    await untilEvent(events, from, ({ type, state }) => type === "state" && state === "paused");
    await page.getByTestId("save-now").click();
    expect((await untilEvent(events, from, ({ type }) => type === "checkpoint")).step).toBe(1);
    expect(events.slice(from).filter(({ type }) => type === "step")).toEqual([]);
    await page.getByTestId("single-step").click();
    const step = await untilEvent(events, from, ({ type }) => type === "step");
    const repeatable = (metrics: RunEvent["metrics"] = {}) =>
      Object.fromEntries(Object.entries(metrics).filter(([name]) => !/^(time\/|memory\/|step_time)/.test(name)));
    expect(repeatable(step.metrics)).toEqual(repeatable(parent?.metrics));
    // Three steps were requested: the run pauses after its second.
    const paused = events.length;
    await untilEvent(events, from, ({ type, state, step }) => type === "state" && state === "paused" && step === 2);
    await show(page, { screen: "train", tab: "held-out" });
    const evaluate = page.getByTestId("evaluate-now");
    const evaluations = events.filter(({ type }) => type === "eval").length;
    await evaluate.click();
    await expect.poll(() => events.filter(({ type }) => type === "eval").length).toBe(evaluations + 1);
    await expect.poll(() => evaluate.getAttribute("aria-busy")).toBe("false");
    expect(events.slice(paused).filter(({ type }) => type === "step")).toEqual([]);
    await page.getByTestId("stop").click();
    await untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
    await show(page, { screen: "runs" });
    await page.getByTestId("run-details").first().click();
    await expect.poll(() => page.getByTestId("details-of-run").textContent()).toMatch(/Fork of .*, step 1/);
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });

  it("continues as a fork with the settings of the page, shown as a difference; the fork marks the change and leads to its parent", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", beta: "0.2", learningRate: "0.02" });
    const parent = page.getByTestId("runs-table").locator("tr").filter({ hasText: "2 / 2" });
    const title = (await parent.getByTestId("open-run").textContent()) as string;
    await parent.getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Fork…" }).click();
    const dialog = page.getByRole("dialog", { name: "Continue from a checkpoint" });
    await dialog.getByLabel("Checkpoint").selectOption("1");
    const beta = dialog.getByTestId("fork-changes").getByRole("checkbox", { name: /^KL weight β .+ → 0\.2$/ });
    await expect.poll(() => beta.isChecked()).toBe(true);
    await dialog.getByLabel("Total steps").fill("2");
    const from = events.length;
    await dialog.getByRole("button", { name: "Fork", exact: true }).click();
    expect((await untilEvent(events, from, ({ type }) => type === "step")).step).toBe(2);
    await untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
    await page.getByTestId("step-notes").click();
    await page.getByText(/^Fork: KL weight β 0\.2/).waitFor();
    await page.keyboard.press("Escape");
    await show(page, { screen: "runs" });
    const fork = page.getByTestId("runs-table").locator("tr[data-live=true]");
    await expect.poll(() => fork.locator("[data-label=Changed]").textContent()).toMatch(/^KL weight β 0\.2/);
    // The number of further changes leads to all of them.
    await fork.getByRole("button", { name: "+1 more change", exact: true }).click();
    await page
      .getByTestId("details-of-run")
      .getByText(/^Learning rate .*→ 0\.02$/)
      .last()
      .waitFor();
    await page
      .getByTestId("details-of-run")
      .getByRole("link", { name: `Fork of ${title}, step 1` })
      .click();
    await page.getByRole("heading", { level: 1, name: title, exact: true }).waitFor();
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });

  testWith("compare")("is compared as a fork over the steps after the fork alone; the charts have both", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    const rows = page.getByTestId("runs-table").locator("tr[data-run]").filter({ hasText: "2 / 2" });
    const ids = await rows.evaluateAll((all) => all.map((row) => (row as HTMLElement).dataset.run ?? ""));
    expect(ids).toHaveLength(2);
    const [fork, parent] = ids;
    await show(page, { screen: "runs", compare: `${parent},${fork}` });
    const legend = page.getByTestId("chart-compare-reward-1").locator("ul");
    await expect.poll(() => legend.textContent()).toMatch(/\d\.\d{3}.*\d\.\d{3}.*step 2 of each$/);
    expect(await legend.locator("line").count()).toBe(2);
    // Scores and rollouts are those of the step after the fork.
    await expect.poll(() => page.getByTestId("compared-step").inputValue()).toBe("2");
    const sides = page.getByTestId("side-by-side").locator("section");
    await expect.poll(() => sides.getByText(/step 2/).count()).toBe(2);
    await expect.poll(() => sides.getByTestId("rollout-card").count()).toBe(4);
    expect(await page.getByTestId("same-rollouts").count()).toBe(0);
    // Those before it are the same ones, and are called so.
    await sides.first().getByRole("button", { name: "Earlier" }).click();
    await page.getByText("Same rollouts: before the fork at step 1", { exact: true }).waitFor();
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
