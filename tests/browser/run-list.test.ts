/** Runs that are stored in this browser: compared, with notes and tags, on a leaderboard, beside completions of TRL. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "../support/axe.ts";
import { type OpenPage, problems, saveExport, show } from "../support/page.ts";
import { expectNoProblems, openViewer } from "../support/viewer.ts";

let lab: OpenPage;
beforeAll(async () => {
  lab = await openViewer();
});
afterAll(() => lab.close());

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
        // It was trained on a model that this page cannot open.
        left: (text, name) =>
          name === "run.json"
            ? text
                .replace(/"state": ?"finished"/, '"state":"running"')
                .replace(/"name": ?"vague-model",\s*"hash": ?"6e/, '"name":"Sa2VA-1B","hash":"ff')
            : text,
        short: (text, name) => {
          if (name === "run.json") return text.replace("{", '{"forkedFrom":{"run":"gone","step":3},');
          if (name === "metrics.jsonl") return text.split("\n").slice(0, 20).join("\n");
          if (name !== "eval.jsonl") return text;
          // Its first evaluation is that of a step, as in a fork with another reward.
          const later = text.replace('"step":0', '"step":3').replace(/"baseline":0\b/g, '"baseline":3');
          return later.replace(/"rowId":"[^"]*#\d*[13579]"/g, '"rowId":"other"');
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

  it("say so where the run that they were forked from is deleted", async () => {
    const { page } = lab;
    await show(page, { screen: "runs" });
    const changed = (id: string) => page.locator(`tr[data-run=${id}] [data-label=Changed]`).textContent();
    await expect.poll(() => changed("short")).toBe("its parent is deleted");
    expect(await changed("whole")).toBe("first run");
  });

  it("give their settings to Setup, where one sentence names a model that the page cannot open", async () => {
    const { page } = lab;
    await page.locator("tr[data-run=left]").getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Use settings", exact: true }).click();
    await page.locator("main[data-screen=setup]").waitFor();
    const sentence = /^Setup has the settings of "demo", but its model is not open: open the folder of Sa2VA-1B, or/;
    await page.getByTestId("problems").getByText(sentence).waitFor();
    await expect.poll(() => page.getByTestId("setting-seed").inputValue()).toBe("751");
    await page.getByTestId("problems").getByRole("button", { name: "Dismiss" }).first().click();
  });

  it("have notes and tags, which choose what is listed", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", compare: "" });
    const rows = page.getByTestId("runs-table").locator("tbody tr");
    await page.locator("tr[data-run=whole]").getByTestId("more-of-run").click();
    await page.getByRole("menuitem", { name: "Notes and tags…" }).click();
    const dialog = page.getByRole("dialog", { name: "Notes" });
    await dialog.getByLabel("Tags").fill("long, baseline 25 steps, long");
    await dialog.getByLabel("Notes").last().fill("The run of the page");
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Save" }).click();
    const filters = page.getByTestId("tag-filter").getByRole("button");
    await expect.poll(() => filters.allTextContents()).toEqual(['tag:"baseline 25 steps"', "tag:long"]);
    // Both tags are in view beside the name.
    await page.setViewportSize({ width: 1440, height: 900 });
    const tags = page.locator("tr[data-run=whole] th").getByRole("button");
    await expect.poll(() => tags.allTextContents()).toEqual(["long", "baseline 25 steps"]);
    const atTheirPlace = await tags.evaluateAll((all) =>
      all.map((tag) => {
        const { x, y, width, height } = tag.getBoundingClientRect();
        return tag === document.elementFromPoint(x + width / 2, y + height / 2);
      }),
    );
    expect(atTheirPlace).toEqual([true, true]);
    await filters.getByText("tag:long").click();
    await expect.poll(() => rows.count()).toBe(1);
    expect(page.url()).toContain("find=tag:long");
    await page.reload();
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByTestId("run-details").click();
    await page.getByTestId("details-of-run").getByText("The run of the page").waitFor();
    expect(await violations(page)).toEqual([]);
    // A word that only looks like a condition is named.
    await page.getByTestId("filter-runs").fill("taag:long");
    await expect
      .poll(() => page.getByTestId("unknown-conditions").textContent())
      .toMatch(/^"taag:long" is searched as text/);
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
    // A gain since a later step than the start says so.
    const gain = (run: string) => page.locator(`tr[data-run=${run}] [data-label=Gain]`);
    expect(await gain("short").textContent()).toMatch(/^[+−]\d\.\d+from step 3$/);
    expect(await gain("short").locator("a").getAttribute("title")).toMatch(/, from step 3 to 25: /);
    expect(await gain("whole").textContent()).toMatch(/^[+−]\d\.\d+$/);
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

  it("cannot be resumed without a checkpoint, on Train as on Runs", async () => {
    const { page } = lab;
    await show(page, { screen: "train", run: "short" });
    const resume = page.locator("main").getByRole("button", { name: /resume$/i });
    await resume.waitFor();
    expect(await resume.getAttribute("aria-disabled")).toBe("true");
    expect(await resume.getAttribute("title")).toMatch(
      /before it saved a checkpoint, so it cannot continue. Start a new run/,
    );
    // Also without a pointer over the button.
    await page.locator("main").getByText("before it saved a checkpoint").filter({ visible: true }).waitFor();
  });

  it("are offered after a reload when one was in progress: to view and to delete", async () => {
    const { page } = lab;
    await show(page, { screen: "home" });
    await page.reload();
    // Train shows it at once, and never the gain of the recorded run.
    await page.evaluate("location.hash = location.hash.replace('screen=home', 'screen=train')");
    const shown = page.getByTestId("screen-train").locator("header").filter({ hasText: / run/ }).first();
    expect(await shown.textContent()).toMatch(/stored run$/);
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
      .toMatch(/^This run ended before it saved a checkpoint/);
    await banner.getByRole("button", { name: "View" }).click();
    await expect.poll(() => page.url()).toMatch(/screen=train.*run=left/);
    await page.reload();
    await banner.getByRole("button", { name: "Delete…" }).click();
    await banner.getByRole("button", { name: /^Delete/ }).click();
    await expect.poll(() => banner.count()).toBe(0);
    await show(page, { screen: "runs" });
    await expect.poll(() => page.getByTestId("runs-table").locator("tbody tr").count()).toBe(2);
  });

  it("are compared at the newest step that both have, and what was asked for is in the window", async () => {
    const { page } = lab;
    // A run that goes on after the others, with worse answers on two rows in three at their last step.
    await page.evaluate(async () => {
      const store = await (await navigator.storage.getDirectory()).getDirectoryHandle("runs");
      const [from, to] = [
        await store.getDirectoryHandle("whole"),
        await store.getDirectoryHandle("on", { create: true }),
      ];
      type Row = { loop1_greedy: number };
      type Line = { step: number; report: { step: number; means: object }; rows: Row[] };
      const worse = (line: Line): string => {
        if (line.report.step === 0) return JSON.stringify(line);
        const rows = line.rows.map((row, at) => ({
          ...row,
          loop1_greedy: row.loop1_greedy + (at % 3 === 0 ? 0.022 : -0.03),
        }));
        const later = { ...line, report: { ...line.report, step: 40 } };
        return `${JSON.stringify({ ...line, report: { ...line.report, means: { ...line.report.means, loop1_greedy: 0.793 } }, rows })}\n${JSON.stringify(later)}`;
      };
      const changes: Readonly<Record<string, (text: string) => string>> = {
        "run.json": (text) => text.replace(/"title": ?"[^"]*"/, `"title":"a fork with a long name, β 0.1, seed 3"`),
        "metrics.jsonl": (text) => {
          const lines = text.trim().split("\n");
          const last = JSON.parse(lines.at(-1) as string) as Line;
          return [...lines, JSON.stringify({ ...last, step: 40, "loop1/reward": 0.125 })].join("\n");
        },
        "eval.jsonl": (text) =>
          text
            .trim()
            .split("\n")
            .map((line) => worse(JSON.parse(line) as Line))
            .join("\n"),
      };
      for (const [name, change] of Object.entries(changes)) {
        const text = await (await (await from.getFileHandle(name)).getFile()).text();
        const writer = await (await to.getFileHandle(name, { create: true })).createWritable();
        await writer.write(`${change(text.replaceAll('"whole"', '"on"'))}\n`);
        await writer.close();
      }
    });
    await page.goto("about:blank");
    await page.goto(`${lab.url}#screen=runs&compare=whole,on`);
    const step = page.getByTestId("compare-table").getByRole("row", { name: "Step", exact: false }).first();
    await expect.poll(() => step.getByRole("cell").allTextContents()).toEqual(["25, from 0", "25, from 0"]);
    const box = await page.getByTestId("compare").boundingBox();
    expect(box?.y).toBeLessThan(600);
    // The legend shows values of that step, not the newest of each.
    const legend = page.getByTestId("chart-compare-reward-1").locator("ul");
    await expect.poll(() => legend.textContent()).toMatch(/step 25 of each$/);
    expect(await legend.textContent()).not.toMatch(/0\.125/);
    // "Better" agrees with the sign, and the verdict with the interval.
    const sides = page.getByTestId("held-out-sides");
    const overall = page.getByTestId("sides-overall");
    await expect
      .poll(() => overall.textContent())
      .toMatch(/48 report rows: −0\.013 \(−0\.\d{3} to −0\.\d{3}\), worse; 16 rows/);
    expect(await overall.locator("b").getAttribute("data-verdict")).toBe("worse");
    const changes = await sides.locator("li > span:first-child > b").allTextContents();
    expect(new Set(changes)).toEqual(new Set(["+0.022", "+0.030"]));
    await page.getByTestId("compared-step").selectOption("newest");
    await expect.poll(() => step.getByRole("cell").allTextContents()).toEqual(["25, from 0", "40, from 0"]);
    await page.getByTestId("apart").waitFor();
    // A long name is read in full within its cell.
    const name = page.locator("tr[data-run=on]").getByTestId("open-run");
    const cell = await page.locator("tr[data-run=on] th").boundingBox();
    const link = await name.boundingBox();
    expect((link?.x ?? 0) + (link?.width ?? 0)).toBeLessThanOrEqual((cell?.x ?? 0) + (cell?.width ?? 0));
    expect(await name.evaluate((one) => one.scrollWidth > one.clientWidth)).toBe(false);
    expect(await name.getAttribute("title")).toMatch(/^a fork with a long name, β 0\.1, seed 3/);
    // Names in a legend end before the values.
    const beyond = () =>
      legend.locator("li").evaluateAll((all) => all.filter((li) => li.scrollWidth > li.clientWidth + 1));
    expect(await beyond()).toHaveLength(0);
    expect(await violations(page)).toEqual([]);
    // On a phone the table has both columns, and a button leads from the curves to it.
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "Differences", exact: true }).click();
    await expect.poll(async () => (await page.getByTestId("compare").boundingBox())?.y).toBeLessThan(400);
    const last = await step.getByRole("cell").last().boundingBox();
    expect((last?.x ?? 0) + (last?.width ?? 0)).toBeLessThanOrEqual(390);
    expect(await violations(page)).toEqual([]);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  it("are compared with a read-only run, too", async () => {
    const { page } = lab;
    await show(page, { screen: "runs", compare: "whole" });
    await page.getByTestId("runs-elsewhere").getByRole("checkbox", { name: "Compare demo" }).check();
    await page.getByText("2 runs compared").waitFor();
    await page.getByTestId("compare").waitFor();
  });
});

it("none of it is a problem", () => expectNoProblems(lab));
