/** The dialog System before, during and after a run. */
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHEAP_RUN, type OpenPage, openFollowed, problems, type RunEvent, untilEvent } from "../support/page.ts";

let lab: OpenPage;
let events: RunEvent[];
beforeAll(async () => {
  ({ lab, events } = await openFollowed({ screen: "home", panel: "system", ...CHEAP_RUN }));
});
afterAll(() => lab.close());

const tab = (name: string): Promise<void> => lab.page.getByRole("tab", { name, exact: true }).click();

/** Texts of the cells of a table row, by the text that its first cell begins with. */
async function cells(table: string, row: string): Promise<readonly string[]> {
  const found = lab.page.getByTestId(table).locator("tr").filter({ hasText: row }).first().locator("td");
  return await found.allTextContents();
}

describe("before a run", () => {
  it("names adapter, features, limits and storage, and the parts of the model with their tensors", async () => {
    const { page } = lab;
    await expect.poll(() => page.getByTestId("adapter").textContent()).toMatch(/Vendor\S+.*GFLOP\/s.*µs/);
    const screen = await page.getByTestId("system").textContent();
    expect(screen).toMatch(/timestamp-query/);
    expect(screen).toMatch(/Largest binding[\d.]+ [MG]B/);
    await expect
      .poll(() => page.getByTestId("page-facts").textContent())
      .toMatch(/Storage used[\d.]+ [kMG]?B of [\d.]+ GB/);
    await tab("Memory");
    await page.getByTestId("owners").waitFor();
    expect((await cells("owners", "Vision tower"))[0]).toMatch(/^\d+$/);
    const owned = await page.getByTestId("owners").locator("tbody td:nth-of-type(1)").allTextContents();
    const [all] = await cells("owners", "Tensors, as counted by the backend");
    expect(owned.reduce((sum, text) => sum + (Number(text) || 0), 0)).toBe(Number(all));
  });

  it("tests the adapter on a press, with every check to be seen", async () => {
    const { page } = lab;
    await tab("GPU");
    await page.getByTestId("self-test").click();
    await page.getByTestId("self-test-cancel").click();
    await page
      .getByRole("region", { name: "Self-test" })
      .getByText(/^Stopped after \d+$/)
      .waitFor();
    await page.getByTestId("self-test").click();
    await page.getByText("Passed", { exact: true }).waitFor();
    const checks = page.getByTestId("self-checks");
    await expect.poll(() => checks.textContent()).toMatch(/\d+ checks agree with the host within rounding/);
    await checks.getByText("Every check").click();
    const rows = checks.getByRole("table").locator("tbody tr");
    await expect.poll(() => rows.count()).toBeGreaterThan(20);
    await expect
      .poll(() => rows.filter({ hasText: "Gradients" }).locator("td").allTextContents())
      .toEqual([expect.stringMatching(/^\d/), expect.stringMatching(/^\d/), "yes", expect.stringMatching(/s$/)]);
    expect(await problems(page)).toEqual([]);
  });
});

describe("the measurement of the card", () => {
  it("ends after the present line when it is cancelled, and gives a whole report in small sizes", async () => {
    const { page } = lab;
    await tab("Tools");
    const panel = page.getByRole("region", { name: "Measure this card" });
    await panel.getByRole("radio", { name: "Small" }).click();
    await page.getByTestId("card-measure").click();
    await page.getByTestId("card-cancel").click();
    await panel.getByText(/^Stopped after \d+$/).waitFor();
    await page.getByTestId("card-measure").click();
    await panel.getByText("Measured", { exact: true }).waitFor();
    const rows = await page.getByTestId("card-report").locator("tbody tr").allTextContents();
    expect(rows.filter((text) => /^A token of (1 row|\d+ rows)[\d.,]+ \S*s$/.test(text))).toHaveLength(4);
    for (const name of ["Multiply-adds in f32", "Workgroup memory, read", "Empty dispatch", "Submit"]) {
      expect(rows.filter((text) => text.startsWith(name) && /\d/.test(text.slice(name.length)))).toHaveLength(1);
    }
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      panel.getByRole("button", { name: "Save JSON" }).click(),
    ]);
    const report = JSON.parse(await readFile(await download.path(), "utf8")) as {
      readonly state: string;
      readonly lines: readonly { readonly stage: string; readonly limits?: object }[];
    };
    expect(report.state).toBe("done");
    expect(new Set(report.lines.map(({ stage }) => stage))).toEqual(new Set(["adapter", "rates", "decoding"]));
    expect(report.lines[0]?.limits).toBeDefined();
    expect(await problems(page)).toEqual([]);
  });
});

describe("with a run", () => {
  it("shows the memory of a run while it continues", async () => {
    const { page } = lab;
    await page.keyboard.press("Escape");
    await page.getByTestId("strip-start").click();
    await page.locator("main[data-screen=train]").waitFor();
    await page.getByText(/^[1-9]\d* GPU programs compiled$/).waitFor();
    await page.getByTestId("gpu-chip").click();
    await tab("Memory");
    await page.getByTestId("owners").getByText("Moving average φ").waitFor();
    await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
  });

  it("gives the run's memory back in the end, and scrolls wide tables in their own frame at 390 px", async () => {
    const { page } = lab;
    await tab("Memory");
    await expect.poll(() => page.getByTestId("owners").getByText("Moving average φ").count()).toBe(0);
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = () => page.evaluate("document.querySelector('[role=dialog] > div').scrollWidth - innerWidth");
    await expect.poll(overflow).toBeLessThanOrEqual(0);
    await page.setViewportSize({ width: 1280, height: 860 });
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });

  it("copies a report that names no data", async () => {
    const { page } = lab;
    await lab.context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy report" }).click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const report = JSON.parse((await page.evaluate("navigator.clipboard.readText()")) as string) as {
      readonly lastStep: { readonly phases: Readonly<Record<string, { readonly dispatches: number }>> };
      readonly memory: { readonly tensors: number };
    };
    expect(report.lastStep.phases.loss?.dispatches).toBeGreaterThan(100);
    expect(report.memory.tensors).toBeGreaterThan(0);
    expect(JSON.stringify(report)).not.toMatch(/arrow|caption|judge/i);
  });

  it("keeps a log of what happened, over reloads, and saves it with the report", async () => {
    const { page } = lab;
    await tab("Log");
    const log = page.getByTestId("log");
    await expect.poll(() => log.textContent()).toMatch(/ is (finished|paused|running) at step \d+/);
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Download diagnostics" }).click(),
    ]);
    const saved = JSON.parse(await readFile(await file.path(), "utf8")) as {
      readonly log: readonly { readonly text: string }[];
    };
    expect(saved.log.map(({ text }) => text)).toContain("The page was opened");
    expect(saved.log.some(({ text }) => /^Model .* is loaded$/.test(text))).toBe(true);
  });
});

describe("kernel forms", () => {
  it("are measured for the shapes of the run, kept when it is cancelled, exported and imported", async () => {
    const { page } = lab;
    await tab("Tools");
    const panel = page.getByRole("region", { name: "Kernel forms" });
    await panel.getByText(/^\d+ shapes without a measurement/).waitFor();
    await page.getByTestId("tune").click();
    await panel.getByText(/^([3-9]|\d\d+) of \d+: (product|attention) /).waitFor();
    await page.getByTestId("tune-cancel").click();
    await panel.getByText("Stopped", { exact: true }).waitFor();
    const rows = page.getByTestId("tuning-entries").locator("tbody tr");
    const before = await rows.allTextContents();
    expect(before.length).toBeGreaterThanOrEqual(2);
    for (const row of before) expect(row).toMatch(/^(product|attention) .*\d\.\d\d(\d+\.\d\d|none).*%$/);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      panel.getByRole("button", { name: "Export" }).click(),
    ]);
    const json = await readFile(await download.path(), "utf8");
    const table = JSON.parse(json) as { entries: unknown[] };
    expect(table.entries).toHaveLength(before.length);
    const file = (name: string, text: string) => ({ name, mimeType: "application/json", buffer: Buffer.from(text) });
    await page.getByTestId("tuning-file").setInputFiles(file("bad.json", '{"format": 3}'));
    await page
      .getByTestId("problems")
      .getByText(/^bad\.json: "format" is/)
      .waitFor();
    await expect.poll(() => rows.allTextContents()).toEqual(before);
    const fewer = JSON.stringify({ ...table, entries: table.entries.slice(0, 1) });
    await page.getByTestId("tuning-file").setInputFiles(file("one.json", fewer));
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByTestId("tuning-file").setInputFiles(file("all.json", json));
    await expect.poll(() => rows.allTextContents()).toEqual(before);
  });
});
