/**
 * A run begins in the page, continues in two processes of the Python package by its own launch file, and ends in the
 * page: these 3 + 3 + 3 steps equal nine steps in the page. A batch that was widened there is the page's own again
 * after the return. PYTHON names the interpreter; without one that has the packages it is skipped.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { unzipSync, zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { POCKET_SHARDS, presetModel } from "../../scripts/lib/node/node-rows.ts";
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
import { expectSameRun, recordsOf } from "../support/same-run.ts";
import { launched, python } from "../support/tools.ts";

const SETTINGS = {
  ...{ ...CHEAP_RUN, promptsPerStep: "2", lrSchedulerType: "constant" },
  ...{ saveSteps: "3", evalSteps: "3", evalRows: "3" },
};
process.env.PYTHONPATH = join(root, "python");
const needed = await python("-c", "import torch, accelerate, transformers, peft, pyarrow, PIL, nltk, pycocotools");
if (needed.code !== 0) console.warn("Skipped: no Python with torch and the package's libraries; set PYTHON to one");

describe.skipIf(needed.code !== 0)("a run from the page to two processes and back", () => {
  let lab: OpenPage;
  let events: RunEvent[];
  let scratch: string;

  beforeAll(async () => {
    scratch = await mkdtemp(join(tmpdir(), "lab-way-"));
    ({ lab, events } = await openFollowed({ screen: "train", ...SETTINGS, steps: "3" }, { bypassCSP: true }));
  });
  afterAll(async () => {
    await lab.close();
    await rm(scratch, { recursive: true, force: true });
  });

  const finished = (from: number) =>
    untilEvent(events, from, ({ type, state }) => type === "state" && state === "finished");
  async function start(): Promise<void> {
    const from = events.length;
    await lab.page.getByTestId("strip-start").click();
    await finished(from);
    await show(lab.page, { screen: "runs" });
  }
  /** Saves an export of the newest run and unpacks it. @returns its run folder */
  async function saved(form?: string): Promise<string> {
    const { page } = lab;
    const download = await saveExport(page, form);
    const out = await mkdtemp(join(scratch, "out-"));
    for (const [path, bytes] of Object.entries(unzipSync(await readFile(await download.path())))) {
      await mkdir(dirname(join(out, path)), { recursive: true });
      await writeFile(join(out, path), bytes);
    }
    const home = (await readdir(out, { recursive: true })).find((path) => path.endsWith("run.json")) as string;
    return dirname(join(out, home));
  }
  /** The run's folder as one zip. */
  async function packed(run: string): Promise<Buffer> {
    const files = (await readdir(run, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const paths = files.map((entry) => join(entry.parentPath, entry.name));
    const read = await Promise.all(
      paths.map(async (path) => [path.slice(dirname(run).length + 1), await readFile(path)]),
    );
    return Buffer.from(zipSync(Object.fromEntries(read) as Record<string, Uint8Array>, { level: 0 }));
  }

  /** The newest run goes on in two processes up to a step, back and on in the page to its last step. @returns its folder */
  async function thereAndBack(flags: readonly string[], there: number, steps: number): Promise<string> {
    const { page } = lab;
    const run = await saved("For many GPUs (Python)");
    const calm = { OMP_NUM_THREADS: "1", TOKENIZERS_PARALLELISM: "false" };
    const folders = { MODEL: presetModel("demo"), SHARDS: POCKET_SHARDS };
    const words = [...flags, "--steps", `${there}`];
    const done = await launched(run, "8gpu.sh", words, { ...folders, ...calm, GPUS: "2" });
    expect(done.code, done.err).toBe(0);

    const buffer = await packed(run);
    await show(page, { screen: "data" });
    await page.getByTestId("pick-shard-files").setInputFiles({ name: "back.zip", mimeType: "application/zip", buffer });
    await page.locator("main[data-screen=runs]").waitFor();
    await expect.poll(() => page.getByTestId("runs-table").textContent()).toContain(`${there} / ${there}`);
    await page.getByRole("button", { name: "Extend…" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Extend run" });
    await dialog.getByLabel("Total steps").fill(`${steps}`);
    const from = events.length;
    await dialog.getByRole("button", { name: "Extend", exact: true }).click();
    await finished(from);
    await show(page, { screen: "runs" });
    return await saved();
  }

  it("equals nine steps in the page", async () => {
    const { page } = lab;
    await start();
    const back = await recordsOf(await thereAndBack([], 6, 9));
    expect(back.manifest.segments).toMatchObject([
      { fromStep: 3, engine: "sa2va_lab", world: 2 },
      { fromStep: 6, engine: "lab" },
    ]);
    expect(back.steps).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(back.evaluations.map(({ report }) => [report.step, report.baseline])).toEqual([
      [0, undefined],
      [3, 0],
      [6, 0],
      [9, 0],
    ]);

    await show(page, { screen: "train", steps: "9" });
    await start();
    expectSameRun(back, await recordsOf(await saved()), 4);
    expect(await problems(page)).toEqual([]);
    expect(lab.consoleErrors).toEqual([]);
  });

  it("has its own batch again after a wider one", async () => {
    const { page } = lab;
    const run = await thereAndBack(["--prompts-per-step", "4"], 10, 11);
    const { manifest, rollouts, metrics } = await recordsOf(run);
    expect(manifest.config).toMatchObject({ promptsPerStep: 2, steps: 11 });
    expect(manifest.segments).toMatchObject([
      { fromStep: 9, engine: "sa2va_lab", world: 2, changed: { promptsPerStep: { from: 2, to: 4 } } },
      { fromStep: 10, engine: "lab", changed: { promptsPerStep: { from: 4, to: 2 } } },
    ]);
    // One table without a gap, which says what computed each step; the epoch counts each step's own batch.
    const groups = rollouts.map((own) => own.filter(({ loop }) => loop === 1).length);
    expect(groups).toEqual([...Array(9).fill(2), 4, 2]);
    const { trainRows } = manifest.data as { readonly trainRows: number };
    expect(metrics.map(({ epoch }) => Math.round((epoch as number) * trainRows))).toEqual(
      groups.map((_, at) => groups.slice(0, at + 1).reduce((sum, count) => sum + count, 0)),
    );
    const table = (await readFile(join(run, "metrics.csv"), "utf8")).trim().split("\n");
    const by = table
      .filter((line) => !line.startsWith("0,"))
      .map((line) => /sa2va_lab, 2 processes|[^,]*$/.exec(line)?.[0]);
    expect(by).toEqual(["computed_by", ...Array(9).fill("lab"), "sa2va_lab, 2 processes", "lab"]);
    await page.getByTestId("run-details").first().click();
    const parts = await page.getByTestId("run-parts").textContent();
    expect(parts).toMatch(/Steps 1–9 lab.*Step 10 sa2va_lab, 2 processes.* 2 → 4.*Step 11 lab.* 4 → 2/);
    expect(lab.consoleErrors).toEqual([]);
  });
});
