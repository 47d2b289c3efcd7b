/** The tool `npm run eval` on refs of real photographs, base and adapter of the tiny golden model. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { encode } from "fast-png";
import { afterAll, expect, test } from "vitest";
import { root } from "../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { POCKET_SHARDS } from "../../scripts/lib/node/node-rows.ts";
import { maskIou, type Rle } from "../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../src/engine/data/region-set.ts";
import { refsForm } from "../support/data-forms.ts";
import { judgeServer } from "../support/judge-server.ts";
import { bundledTool, tool } from "../support/tools.ts";

const MODEL = join(root, "tests/golden/sa2va-tiny-qwen2");
const place = mkdtempSync(join(tmpdir(), "lab-eval-"));
afterAll(() => rmSync(place, { recursive: true }));

test("a signal ends it with what to do next, and its answers stay", async () => {
  const out = join(place, "ended");
  const words = ["--suite", "masks", "--data", POCKET_SHARDS, "--model", MODEL, "--answers", "forced", "--out", out];
  const child = spawn(process.execPath, [await bundledTool("eval"), ...words], { cwd: root });
  let said = "";
  let sent = false;
  child.stderr.on("data", (text: Buffer) => {
    said += String(text);
    if (!sent && /^\d+ of \d+ rows$/m.test(said)) sent = child.kill("SIGTERM");
  });
  expect(await new Promise((done) => child.once("close", (code, by) => done(by ?? code))), said).toBe(1);
  expect(said.trim().split("\n").at(-1)).toBe("The evaluation was interrupted; run the same command again to continue");
  expect(readFileSync(join(out, "rows.jsonl"), "utf8").trim().split("\n").length).toBeGreaterThan(0);
});

test.each([
  ["--decoder", "alone"],
  ["--judge", "http://127.0.0.1:9/v1"],
  ["--similarity", "none.json"],
])("refuses %s, which has no effect on the suite", async (...option) => {
  const out = join(place, "idle");
  const words = ["--suite", "masks", "--data", POCKET_SHARDS, "--model", MODEL, "--out", out, ...option];
  expect(await tool("eval", words)).toMatchObject({ code: 2, err: `${option[0]} has no effect on suite masks\n` });
  expect(existsSync(out)).toBe(false);
});

test.each([
  [["--suite", "dlc", "--judge-model", "reader"], "--judge-model has no effect without --judge"],
  [["--suite", "dlc", "--judge-pictures"], "--judge-pictures has no effect without --judge"],
  [
    ["--suite", "dlc", "--judge", "http://127.0.0.1:9/v1", "--replies", "none"],
    "--judge has no effect beside --replies",
  ],
  [["--ledger", place, "--suite", "dlc"], "--suite has no effect beside --ledger"],
])("refuses an option that another one makes idle: %j", async (words, sentence) => {
  const data = words.includes("--ledger") ? [] : ["--data", dlcFiles(), "--out", join(place, "idle")];
  expect(await tool("eval", [...words, ...data])).toMatchObject({ code: 2, out: "", err: `${sentence}\n` });
});

test("refuses questions beside those of the suite", async () => {
  const words = [
    "--suite",
    "dlc",
    "--data",
    POCKET_SHARDS,
    "--out",
    join(place, "idle"),
    "--judge-questions",
    "none.json",
  ];
  expect(await tool("eval", words)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^Unknown argument "--judge-questions"; /),
  });
});

test("scores base and adapter on the same sentences, beside published numbers, and continues where it stopped", async () => {
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
  // The rows are in the folder, so the scores can be computed from it alone.
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
  // Shorter answers are another evaluation.
  const shorter = await tool("eval", [...words, "--out", out, "--max-tokens", "4"]);
  expect(shorter).toMatchObject({
    code: 2,
    err: expect.stringContaining("a different evaluation (different maxTokens)"),
  });
});

/**
 * A picture with three regions and a prepared question about each, as DLC-Bench stores them; another picture is
 * missing.
 */
function dlcFiles(): string {
  const data = join(place, "dlc");
  mkdirSync(data, { recursive: true });
  const [width, height] = [30, 20];
  const json = (name: string, value: unknown): void => writeFileSync(join(data, name), JSON.stringify(value));
  writeFileSync(join(data, "x.png"), encode({ width, height, channels: 3, data: new Uint8Array(3 * width * height) }));
  const ids = [1, 2, 3];
  const boxes = ids.map((id) => [4 * id, 2, 4 * id + 3, 2, 4 * id + 3, 12, 4 * id, 12]);
  json("annotations.json", {
    images: ["x.png", "lost.png"].map((file_name, at) => ({ id: at + 1, file_name, width, height })),
    annotations: [...ids, 4].map((id, at) => ({
      id,
      image_id: at < 3 ? 1 : 2,
      category_id: 1,
      segmentation: [boxes[at % 3]],
    })),
    categories: [{ id: 1, name: "thing" }],
  });
  json("class_names.json", Object.fromEntries(ids.map((id) => [id, `thing ${id}`])));
  const choices = [
    ["Yes", 1],
    ["No", 0],
  ];
  const questions = (id: number) => [{ question: `Is it ${id}?`, type: "positive", choices }];
  json("qa.json", Object.fromEntries(ids.map((id) => [id, questions(id)])));
  return data;
}

test("a signal while the judge reads keeps its replies, and the same command continues", async () => {
  const server = await judgeServer();
  try {
    const out = join(place, "judged");
    const own = ["--suite", "dlc", "--data", dlcFiles(), "--model", MODEL, "--adapter", MODEL, "--max-tokens", "4"];
    const words = [...own, "--judge", server.url, "--out", out, "--json"];
    // Recognition and one question for each caption of both systems; the judge answers four of them and then hangs.
    const child = spawn(process.execPath, [await bundledTool("eval"), ...words], { cwd: root });
    let said = "";
    child.stderr.on("data", (text: Buffer) => {
      said += String(text);
    });
    const cache = join(out, ".judge/replies.jsonl");
    const kept = (): number => (existsSync(cache) ? readFileSync(cache, "utf8").split("\n").length - 1 : 0);
    const answered = new Set<string>();
    server.script((call, { text }) => {
      if (call >= 4) return "hang";
      answered.add(text);
      return { reply: "Yes" };
    });
    const watch = setInterval(() => {
      if (server.calls.length <= 4 || kept() < 4) return;
      clearInterval(watch);
      child.kill("SIGINT");
    }, 50);
    const ended = await new Promise((done) => child.once("close", (code, by) => done(by ?? code)));
    clearInterval(watch);
    expect(ended, said).toBe(1);
    expect(said.trim().split("\n").at(-1)).toBe(
      "The evaluation was interrupted; run the same command again to continue",
    );
    server.forget();
    server.script(() => ({ reply: "Yes" }));
    const again = await tool("eval", words);
    expect(again.code, again.err).toBe(0);
    expect(again.err).toMatch(/^3 rows; left out:\n {2}lost\.png: /);
    expect(JSON.parse(again.out)).toMatchObject({ unjudged: 0, difference: [{ metric: "Pos", value: 0 }] });
    expect(answered.size).toBe(4);
    expect(server.calls.filter(({ text }) => answered.has(text))).toEqual([]);
  } finally {
    await server.close();
  }
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
