/** The core needs no plug-in: with empty lists the tools train, evaluate and export the demo. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { EMPTY_LISTS } from "../../scripts/lib/build/no-plugins.ts";
import { arePluggedIn } from "../support/plugins.ts";
import { trackedFiles } from "../support/sources.ts";
import { bundledTool, coreTool } from "../support/tools.ts";

let folder: string;
let run: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "no-plugins-"));
  run = join(folder, "run");
  const words = ["--preset", "demo", "--steps", "2", "--seed", "7", "--eval-rows", "8", "--out", run];
  const { code, err } = await coreTool("train", words);
  expect(code, err).toBe(0);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const jsonLines = (name: string): Record<string, unknown>[] =>
  readFileSync(join(run, readdirSync(run)[0] as string, name), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test("every list is emptied, and no loop of a plug-in is in the bundle", async () => {
  const lists = trackedFiles((path) => /^src\/plugins\/[^/]+\.ts$/.test(path) && !path.endsWith("/plugin.ts"));
  expect(lists.map(({ path }) => path.split("/").at(-1)).sort()).toEqual(Object.keys(EMPTY_LISTS).sort());
  const [core, all] = [await bundledTool("train", true), await bundledTool("train")].map((tool) =>
    readdirSync(join(tool, ".."))
      .map((file) => readFileSync(join(tool, "..", file), "utf8"))
      .join(""),
  );
  expect(all?.includes("question → answer")).toBe(arePluggedIn("question-answer"));
  expect(core?.includes("question → answer")).toBe(false);
  expect(core?.includes("mask → caption")).toBe(true);
});

test("rows with several frames are left out with the reason", async () => {
  const { out, err } = await coreTool("check-data", ["public/pocket/clips"]);
  expect(out + err).toContain("the row is a clip, and this build has no plug-in that reads clips");
});

test("two steps train and are evaluated", () => {
  const metrics = jsonLines("metrics.jsonl");
  expect(metrics).toHaveLength(2);
  for (const line of metrics) {
    expect(Number.isFinite(line.loss)).toBe(true);
    expect(Object.keys(line).filter((name) => name.startsWith("loop3"))).toEqual([]);
  }
  expect(Object.keys(metrics[0] ?? {}).some((name) => name.startsWith("loop1/"))).toBe(true);
  expect(jsonLines("eval.jsonl").length).toBeGreaterThan(1);
});

test.each(["peft", "csv"])("the run exports as %s", async (format) => {
  const out = join(folder, format);
  const { code, err } = await coreTool("export", ["--run", run, "--format", format, "--out", out]);
  expect(code, err).toBe(0);
  expect(existsSync(out)).toBe(true);
});
