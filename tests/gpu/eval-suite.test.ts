/** The tool `npm run eval` on refs of real photographs, base and adapter of the tiny golden model. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node-files.ts";
import { POCKET_SHARDS } from "../../scripts/lib/node-rows.ts";
import { maskIou, type Rle } from "../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../src/engine/data/region-set.ts";
import { refsForm } from "../support/data-forms.ts";
import { bundledTool, tool } from "../support/tools.ts";

const MODEL = join(root, "tests/golden/sa2va-tiny-qwen2");
const place = mkdtempSync(join(tmpdir(), "lab-eval-"));
afterAll(() => rmSync(place, { recursive: true }));

test.each(["SIGINT", "SIGTERM"] as const)("%s ends it with what to do next, and its answers stay", async (signal) => {
  const out = join(place, signal);
  const words = ["--suite", "masks", "--data", POCKET_SHARDS, "--model", MODEL, "--answers", "forced", "--out", out];
  const child = spawn(process.execPath, [await bundledTool("eval"), ...words], { cwd: root });
  let said = "";
  let sent = false;
  child.stderr.on("data", (text: Buffer) => {
    said += String(text);
    if (!sent && /^\d+ of \d+ rows$/m.test(said)) sent = child.kill(signal);
  });
  expect(await new Promise((done) => child.once("close", (code, by) => done(by ?? code))), said).toBe(1);
  expect(said.trim().split("\n").at(-1)).toBe("The evaluation was interrupted; run the same command again to continue");
  expect(readFileSync(join(out, "rows.jsonl"), "utf8").trim().split("\n").length).toBeGreaterThan(0);
});

test("scores base and adapter on the same sentences, beside published numbers, and goes on where it stopped", async () => {
  const set = await openRegionSet(await nodeFolder(join(root, "tests/fixtures/photographs")));
  const samples = await Promise.all(set.summaries.map(({ index }) => set.sample(index)));
  const data = join(place, "data");
  for (const [path, content] of Object.entries(refsForm(samples, "val"))) {
    mkdirSync(dirname(join(data, path)), { recursive: true });
    writeFileSync(join(data, path), content);
  }
  const out = join(place, "out");
  const words = ["--suite", "refcoco", "--data", data, "--model", MODEL, "--adapter", MODEL, "--answers", "forced"];
  const run = () => tool("eval", [...words, "--out", out, "--json"]);
  const first = await run();
  expect(first.code, first.err).toBe(0);
  const report = JSON.parse(first.out) as Report;
  expect(report).toMatchObject({ kind: "report", suite: "refcoco", split: "val", rows: 3, pictures: 3, leftOut: 0 });
  expect(Object.keys(report.systems)).toEqual(["base", "adapter"]);
  expect(report.published[0]).toMatchObject({ model: "Sa2VA-1B", value: 79.6 });
  const [base, adapter] = [report.systems.base?.[0], report.systems.adapter?.[0]];
  expect(report.difference[0]?.value).toBeCloseTo((adapter?.value ?? 0) - (base?.value ?? 0), 12);
  const file = join(out, "rows.jsonl");
  const rows = readFileSync(file, "utf8");
  const answers = rows
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
  expect(answers.map(({ system }) => system).sort()).toEqual([...Array(3).fill("adapter"), ...Array(3).fill("base")]);
  // The rows are in the folder, so that the scores can be computed from it alone.
  const items = new Map(
    readFileSync(join(out, "items.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly id: string; readonly masks: readonly [Rle] })
      .map(({ id, masks }) => [id, masks[0]]),
  );
  const counted = answers
    .filter(({ system }) => system === "base")
    .map(({ rowId, masks }) => maskIou(items.get(rowId) as Rle, masks[0]));
  const sum = (of: "intersection" | "union"): number => counted.reduce((total, one) => total + one[of], 0);
  expect(base?.value).toBeCloseTo(sum("intersection") / sum("union"), 12);
  // Stopped in the middle of a line.
  writeFileSync(file, rows.slice(0, Math.floor(rows.length / 2)));
  const again = await run();
  expect(again.code, again.err).toBe(0);
  expect(JSON.parse(again.out)).toEqual(report);
  expect(readFileSync(file, "utf8").trim().split("\n").sort()).toEqual(rows.trim().split("\n").sort());
});

interface Score {
  readonly metric: string;
  readonly value: number;
}

interface Report {
  readonly systems: Readonly<Record<string, readonly Score[]>>;
  readonly difference: readonly Score[];
  readonly published: readonly object[];
}

interface Answer {
  readonly system: string;
  readonly rowId: string;
  readonly masks: readonly [Rle];
}
