/** Generated documents are up to date; `npm run docs` regenerates them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generatedDocs, staleSnapshots } from "../../../scripts/lib/build/generated-docs.ts";
import { root } from "../../../scripts/lib/ensure.mjs";

const docs = await generatedDocs();

test.each(docs.map(({ path, text }) => [path, text]))("%s is up to date", (path, text) => {
  expect(readFileSync(join(root, path), "utf8")).toBe(text);
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
