/** The page without any plug-in (`vite build --mode core`): the demo is shown, trains, is evaluated and is exported. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { type PreviewServer, preview } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
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

let dist: string;
let server: PreviewServer;
let lab: OpenPage;
let events: RunEvent[];

beforeAll(async () => {
  dist = mkdtempSync(join(tmpdir(), "core-page-"));
  // Vite builds React for development where a test runner has set this.
  const { NODE_ENV: _, ...env } = process.env;
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  const words = ["build", "--mode", "core", "--outDir", dist, "--emptyOutDir", "--logLevel", "error"];
  execFileSync(process.execPath, [vite, ...words], { cwd: root, env });
  server = await preview({
    root,
    logLevel: "error",
    build: { outDir: dist },
    preview: { port: 0, strictPort: false, open: false },
  });
  process.env.LAB_PAGE = server.resolvedUrls?.local[0] as string;
  ({ lab, events } = await openFollowed({ screen: "train", ...CHEAP_RUN, evalSteps: "2", evalRows: "4" }));
});

afterAll(async () => {
  await lab?.close();
  await server?.close();
  rmSync(dist, { recursive: true, force: true });
});

test("the scripts of the page and its workers hold no plug-in", () => {
  const scripts = readdirSync(join(dist, "assets")).filter((name) => name.endsWith(".js"));
  const text = scripts.map((name) => readFileSync(join(dist, "assets", name), "utf8")).join("\n");
  const held = [
    "mask → caption",
    "question → answer",
    "Measure this card",
    "Reward bench",
    "stopped evaluation suite",
    "Kernel forms",
    "Rollouts side by side",
  ];
  expect(held.filter((words) => text.includes(words))).toEqual(["mask → caption"]);
});

test("the demo trains two steps and is evaluated", async () => {
  await lab.page.keyboard.press("p");
  await untilEvent(events, 0, (event) => event.type === "state" && event.state === "finished");
  const steps = events.filter(({ type }) => type === "step");
  expect(steps).toHaveLength(2);
  for (const { metrics } of steps) expect(Number.isFinite(metrics?.loss)).toBe(true);
  await show(lab.page, { screen: "train", tab: "held-out" });
  await expect.poll(() => lab.page.getByTestId("eval-where").textContent()).toContain("after 2 steps");
  expect(await lab.page.getByRole("radio", { name: "Suites" }).count()).toBe(0);
});

test("its rollouts are shown, and every other screen", async () => {
  await show(lab.page, { screen: "train", tab: "rollouts" });
  await lab.page.getByTestId("screen-train").getByRole("heading", { level: 1 }).first().waitFor();
  expect(await lab.page.getByRole("radio", { name: "Whole run" }).count()).toBe(0);
  expect(await lab.page.getByRole("radio", { name: "One step" }).count()).toBe(1);
  for (const screen of ["home", "data", "setup", "rewards"]) await show(lab.page, { screen });
  await show(lab.page, { screen: "home", panel: "system" });
  await lab.page.getByTestId("system").waitFor();
  expect(await lab.page.getByRole("tab", { name: "Tools" }).count()).toBe(0);
  await show(lab.page, { screen: "home" });
  expect(await problems(lab.page)).toEqual([]);
});

test("the run is exported whole", async () => {
  await show(lab.page, { screen: "runs" });
  const download = await saveExport(lab.page);
  const files = Object.keys(unzipSync(readFileSync(await download.path())));
  expect(files.some((name) => name.endsWith("run.json"))).toBe(true);
  expect(files.some((name) => name.endsWith("metrics.jsonl"))).toBe(true);
});
