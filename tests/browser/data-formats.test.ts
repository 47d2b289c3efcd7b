/**
 * Data of other layouts in the built page's worker: the rows read, the checks' results, and the errors that block a
 * run.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeRegionShard } from "../../scripts/lib/build/write-shard.ts";
import { root } from "../../scripts/lib/ensure.mjs";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { formatShare } from "../../src/app/styles/format.ts";
import { presetConfig } from "../../src/engine/config/presets.ts";
import { runRows } from "../../src/engine/runs/run-rows.ts";
import { expectedLayouts } from "../support/layouts.ts";
import { type OpenPage, openPage, problems, show, untilReady } from "../support/page.ts";
import { boxMask, png, row } from "../unit/data/make.ts";

const LAYOUTS = join(root, "tests/fixtures/data/layouts");
const place = mkdtempSync(join(tmpdir(), "lab-formats-"));

let lab: OpenPage;
beforeAll(async () => {
  lab = await openPage({ screen: "data" });
  await untilReady(lab.page);
});
afterAll(async () => {
  await lab.close();
  rmSync(place, { recursive: true });
});

/** Picks a folder and waits for its rows. */
async function open(folder: string, rows: number): Promise<void> {
  const { page } = lab;
  await show(page, { screen: "data" });
  await page.getByTestId("pick-shards").setInputFiles(folder);
  await expect.poll(() => page.getByTestId("data-counts").textContent()).toMatch(new RegExp(`^${rows} rows?`));
}

describe("rows of the demo shard", () => {
  it("are filtered by bars, sent to training, counted there, and all used again", async () => {
    const { page } = lab;
    const histogram = page.getByTestId("row-histograms").getByRole("region", { name: "Words in caption" });
    const counts = page.getByTestId("data-counts");
    const bar = histogram.getByRole("button", { name: /^2: / });
    await bar.click();
    await expect.poll(() => counts.textContent()).toMatch(/^36 of 320 rows/);
    await page.keyboard.press("Shift+ArrowRight");
    await expect.poll(() => counts.textContent()).toMatch(/^51 of 320 rows/);
    const [from, to] = [await bar.boundingBox(), await histogram.getByRole("button", { name: /^4: / }).boundingBox()];
    if (from === null || to === null) throw new Error("The bars have no place");
    const middle = from.y + from.height / 2;
    await page.mouse.move(to.x + to.width / 2, middle);
    await page.mouse.down();
    await page.mouse.move(from.x + from.width / 2, middle, { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => counts.textContent()).toMatch(/^81 of 320 rows/);
    await page.getByLabel("Search captions").fill("big ");
    const filter = "words:2..4 big";
    const { list } = await openNodeRows();
    const { train, heldOut } = runRows(list, { ...presetConfig("demo"), rowFilter: filter });
    const chosen = `${train.length + heldOut.length} of 320 rows`;
    await expect.poll(() => counts.textContent()).toContain(chosen);
    expect(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("rows")).toBe(filter);

    await page.getByRole("button", { name: "Train on these rows" }).click();
    await expect.poll(() => page.getByTestId("setting-rowFilter").inputValue()).toBe(filter);
    await expect
      .poll(() => page.getByTestId("run-length").textContent())
      .toContain(`epochs of ${train.length} training`);
    await page.getByTestId("setting-rowFilter").fill("category:spoon");
    await expect
      .poll(() => page.getByTestId("run-length").textContent())
      .toContain(
        'rowFilter "category:spoon" leaves no row of the open data set to train on: 0 of 320 match, 0 held out',
      );
    await page.getByTestId("setting-rowFilter").fill(filter);

    await show(page, { screen: "data" });
    const told = page.getByTestId("training-rows");
    await expect.poll(() => told.textContent()).toContain(`Training uses ${chosen}`);
    await page.getByRole("button", { name: "Clear filter" }).click();
    await expect.poll(() => counts.textContent()).toMatch(/^320 rows/);
    await page.getByRole("button", { name: "Show these rows" }).click();
    await expect.poll(() => page.getByLabel("Search captions").inputValue()).toBe("big");
    await histogram.getByRole("button", { name: "All" }).click();
    await expect.poll(() => page.url()).toMatch(/rows=big/);
    await page.getByRole("button", { name: "Train on all rows" }).click();
    await told.waitFor({ state: "detached" });
    expect(page.url()).not.toContain("rowFilter");
  });
});

describe("layouts of other libraries", () => {
  it("are read in the worker, under the page's content policy", async () => {
    const { page } = lab;
    for (const [name, expected] of await expectedLayouts(LAYOUTS)) {
      await open(join(LAYOUTS, name), expected.length);
      await expect.poll(() => page.getByTestId("checks").textContent(), { message: name }).toBe("Checks: all passed…");
      const shares = expected.map(({ area, size: [height, width] }) => formatShare(area / (height * width)));
      const tiles = page.getByTestId("gallery").getByRole("button");
      await expect.poll(() => tiles.count(), { message: name }).toBe(expected.length);
      for (const [at, share] of shares.entries()) {
        await expect.poll(() => tiles.nth(at).textContent(), { message: name }).toContain(share);
      }
    }
  });
});

describe("a wrong guess", () => {
  it("is corrected by hand, kept as a file, and read from it when the folder is opened again", async () => {
    const folder = join(place, "two-texts");
    mkdirSync(folder);
    writeFileSync(join(folder, "a.png"), png(32, 24));
    const lines = ["cat", "dog"].map((caption) => ({
      image: "a.png",
      mask: boxMask(24, 32, 4, 4, 12, 9),
      caption: `the ${caption}`,
      title: `title of the ${caption}`,
    }));
    writeFileSync(join(folder, "rows.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
    await open(folder, 2);
    const { page } = lab;
    const tiles = page.getByTestId("gallery").getByRole("button");
    await expect.poll(() => tiles.first().textContent()).toContain("the cat");
    await page.getByRole("button", { name: /^1 shard, / }).click();
    await page.getByTestId("corrections").getByText("Correct the detected columns").click();
    await page.getByLabel("Text", { exact: true }).selectOption("title");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save data-mapping.json" }).click(),
    ]);
    await page.getByRole("button", { name: "Reopen" }).click();
    await expect.poll(() => tiles.first().textContent()).toContain("title of the cat");
    expect(download.suggestedFilename()).toBe("data-mapping.json");
    // Opens other data, then the folder with the mapping file: nothing is corrected by hand now.
    await open(join(LAYOUTS, "parquet-hub"), 3);
    await download.saveAs(join(folder, "data-mapping.json"));
    await open(folder, 2);
    await expect.poll(() => tiles.first().textContent()).toContain("title of the cat");
  });

  it("of a split is told what splits there are, and a file that is left out for its split can be chosen again", async () => {
    const folder = join(place, "splits");
    mkdirSync(folder);
    writeFileSync(join(folder, "a.png"), png(32, 24));
    for (const split of ["train", "val"]) {
      const line = { image: "a.png", mask: boxMask(24, 32, 4, 4, 12, 9), caption: `a thing to ${split}` };
      writeFileSync(join(folder, `rows-${split}.jsonl`), JSON.stringify(line));
    }
    await open(folder, 1);
    const { page } = lab;
    const tiles = page.getByTestId("gallery").getByRole("button");
    const correct = async (split: string): Promise<void> => {
      await page.getByRole("button", { name: /^\d+ shards?, / }).click();
      await page.getByTestId("corrections").getByText("Correct the detected columns").click();
      await page.getByLabel("File", { exact: true }).selectOption("rows-train.jsonl");
      await page.getByLabel("Split", { exact: true }).fill(split);
      await page.getByRole("button", { name: "Reopen" }).click();
    };
    await correct("val");
    await expect.poll(() => tiles.first().textContent()).toContain("a thing to val");
    await correct("fold3");
    await page.getByRole("button", { name: /^\d+ shards?, / }).click();
    const sentence = 'there is no split "fold3", only train, validation; nothing is read';
    await expect.poll(() => page.getByRole("dialog").textContent()).toContain(sentence);
    await page.keyboard.press("Escape");
    await correct("");
    await expect.poll(() => tiles.first().textContent()).toContain("a thing to train");
  });
});

describe("checks", () => {
  it("are listed with their sentences", async () => {
    const { page } = lab;
    await open(join(LAYOUTS, "parquet-hub"), 3);
    await page.getByTestId("checks").click();
    const list = page.getByTestId("checks-list");
    await expect.poll(() => list.getByRole("listitem").count()).toBe(7);
    await expect.poll(() => list.textContent()).toContain("3 masks fit their pictures and cover");
    await page.keyboard.press("Escape");
  });

  it("warn of a name that belongs to another data set, and let a run begin", async () => {
    const folder = join(place, "describe-anything-dataset");
    mkdirSync(folder);
    writeFileSync(join(folder, "data-00000-of-00001.arrow"), writeRegionShard([row(), row()]));
    await open(folder, 2);
    const { page } = lab;
    await expect
      .poll(() => page.getByTestId("failed-checks").textContent())
      .toContain("The name suggests describe-anything, but the rows");
    await expect.poll(() => page.getByTestId("checks").textContent()).toBe("Checks: 1 warning…");
    await show(page, { screen: "setup" });
    await expect.poll(() => page.getByTestId("start-reason").textContent()).not.toContain("not ready");
  });

  it("tell captions that are about another region than their mask", async () => {
    const folder = join(place, "relations");
    mkdirSync(folder);
    const rows = ["The other region is in front of this region.", "The other region is a cup.", "a plate"];
    writeFileSync(join(folder, "data-00000-of-00001.arrow"), writeRegionShard(rows.map((caption) => row({}, caption))));
    await open(folder, 3);
    await expect.poll(() => lab.page.getByTestId("failed-checks").textContent()).toContain("Meaning 2 of 3 captions");
  });

  it("that fail stop a run, with the reason", async () => {
    const folder = join(place, "dots");
    mkdirSync(folder);
    const dots = [1, 2, 3].map((n) => row({ mask: boxMask(24, 32, n, n, 1, 1) }));
    writeFileSync(join(folder, "data-00000-of-00001.arrow"), writeRegionShard(dots));
    await open(folder, 3);
    const { page } = lab;
    await expect.poll(() => page.getByTestId("failed-checks").textContent()).toContain("3 of 3 masks are almost empty");
    await expect.poll(() => page.getByTestId("checks").textContent()).toBe("Checks: training is not possible…");
    await show(page, { screen: "setup" });
    await expect
      .poll(() => page.getByTestId("start-reason").textContent())
      .toMatch(/^The data is not ready for training: 3 of 3 masks/);
  });

  it("nothing else is listed as having failed", async () => {
    expect(await problems(lab.page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });
});
