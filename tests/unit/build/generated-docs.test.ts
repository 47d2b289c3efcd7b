/** Generated documents are up to date; `npm run docs` regenerates them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedDocs, staleSnapshots } from "../../../scripts/lib/build/generated-docs.ts";
import { pluginNames } from "../../../scripts/lib/build/no-plugins.ts";
import { root } from "../../../scripts/lib/ensure.mjs";
import { arePluggedIn } from "../../support/plugins.ts";

const SIZE = "docs/size.md";
const docs = await generatedDocs();
const written = (path: string) => readFileSync(join(root, path), "utf8");

/** Lists of what the core and all plug-ins add; a sweep adds nothing to them. */
const TABLES = ["docs/settings.md", "python/sa2va_lab/table.py", "docs/metrics.md"];
const whole = arePluggedIn(...pluginNames().filter((name) => name !== "sweep"));
const fixed = docs.filter(({ path }) => path !== SIZE && (whole || !TABLES.includes(path)));

test.each(fixed.map(({ path, text }) => [path, text]))("%s is up to date", (path, text) => {
  expect(written(path)).toBe(text);
});

test("the size of the core is told within 2 %, so that not every commit changes it", () => {
  const text = docs.find(({ path }) => path === SIZE)?.text ?? "";
  const count = /\d[\d,]*(\.\d+)?/g;
  expect(written(SIZE).replace(count, "#")).toBe(text.replace(count, "#"));
  const counts = (of: string) => (of.match(count) ?? []).map((figure) => Number(figure.replaceAll(",", "")));
  const now = counts(text);
  for (const [place, figure] of counts(written(SIZE)).entries())
    expect(Math.abs(figure - (now[place] ?? Number.NaN)), `${figure} should be ${now[place]}`).toBeLessThanOrEqual(
      Math.max(100, figure * 0.02),
    );
});

test("every kind of generated document is among them", () => {
  expect(docs.map(({ path }) => path).filter((path) => !path.endsWith(".wgsl"))).toEqual([
    "docs/settings.md",
    "python/sa2va_lab/table.py",
    "docs/metrics.md",
    "docs/size.md",
    "docs/performance/dispatches.md",
    "docs/performance/tables.md",
  ]);
});

test("every card program has a snapshot of its WGSL, and no snapshot outlives its program", async () => {
  expect(docs.filter(({ path }) => path.endsWith(".wgsl")).length).toBeGreaterThan(150);
  expect(await staleSnapshots(docs)).toEqual([]);
});
