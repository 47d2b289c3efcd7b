import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { tool } from "../../support/tools.ts";
import { boxMask, row } from "./make.ts";

let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "check-data-"));
  await mkdir(join(directory, "good"));
  await mkdir(join(directory, "bad"));
  await writeFile(join(directory, "good", "data-00000-of-00001.arrow"), writeRegionShard([row(), row({}, " "), row()]));
  await writeFile(join(directory, "bad", "notes.arrow"), "only text");
});
afterAll(() => rm(directory, { recursive: true }));

const run = (...args: string[]) => tool("check-data", args);

test("prints schema, adapter, checks and what was left out; 0 with good rows, 1 without", async () => {
  const good = await run(join(directory, "good"));
  expect(good.code).toBe(0);
  expect(good.out).toContain("adapter  conversations, one mask per row");
  expect(good.out).toContain("ok      ready for training: all checks passed");
  expect(good.out).toContain("data-00000-of-00001.arrow, row 1, conversations: the caption is empty");
  const bad = await run(join(directory, "bad"));
  expect(bad.code).toBe(1);
  expect(bad.out).toContain('notes.arrow is text, not Arrow; it begins with "only text"');
});

test("three questions with what became of their answers, of different kinds first", async () => {
  const talk = (...texts: string[]) => texts.map((value, at) => ({ from: at % 2 === 0 ? "human" : "gpt", value }));
  const rows = [
    ["Describe <region1>.", "A box.", "What is in the picture?", "A room.", "Is it red?", "Yes."],
    ["Please segment the red box in this image.", "Sure, [SEG]."],
    ["Which one would you open? Please output segmentation mask.", "[SEG]"],
  ].map((texts) => row({ conversations: talk(...texts) }));
  const place = join(directory, "talk");
  await mkdir(place);
  await writeFile(join(place, "a.arrow"), writeRegionShard(rows));
  const { out } = await run(place);
  expect(out).toContain(
    [
      "questions and what became of their answers, for example:",
      '  a.arrow, row 0: "Describe <region1>." → "A box."',
      '    caption of the mask: "A box."',
      '  a.arrow, row 1: "Please segment the red box in this image." → "Sure, [SEG]."',
      '    caption of the mask: "the red box"',
      '  a.arrow, row 2: "Which one would you open? Please output segmentation mask." → "[SEG]"',
      "    refused: no phrase can be read from the question",
    ].join("\n"),
  );
  expect(out).toContain("5 answers: 1 captions, 1 about the whole picture, 1 yes or no");
  const json = (await run("--json", place)).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string });
  expect(json.filter(({ kind }) => kind === "pair")).toMatchObject([
    {
      row: 0,
      question: "Describe <region1>.",
      answer: "A box.",
      fate: "caption",
      became: 'caption of the mask: "A box."',
    },
    { row: 1, fate: "phrase" },
    { row: 2, fate: "refused" },
  ]);
});

test("captions without spaces between words are named with the consequence", async () => {
  const place = join(directory, "unspaced");
  await mkdir(place);
  const rows = ["桌子上的红色杯子", "ถ้วยสีแดงบนโต๊ะ", "赤いカップです", "红色 的 杯子", "a red cup"].map((text) =>
    row({}, text),
  );
  await writeFile(join(place, "data-00000-of-00001.arrow"), writeRegionShard(rows));
  const { code, out } = await run(place);
  expect(code).toBe(0);
  expect(out).toMatch(/^FAILED {2}words separated: 60\.0 % of the captions are written without spaces .* use a judge/m);
});

test("captions that describe another mask than theirs are counted, and the rows can still be used", async () => {
  const place = join(directory, "relations");
  await mkdir(place);
  const masks = [boxMask(24, 32, 0, 0, 4, 4), boxMask(24, 32, 9, 9, 5, 5)];
  const talk = (question: string, answer: string) => [
    { from: "human", value: `<image>\n${question}` },
    { from: "gpt", value: answer },
  ];
  const rows = [
    row({
      mask: masks,
      conversations: talk("What is the relation between <Prompt1> and <Prompt0>?", "<Prompt1> is on <Prompt0>."),
    }),
    row({ mask: masks, conversations: talk("Describe both.", "<Prompt0>: a cup. <Prompt1>: a plate.") }),
  ];
  await writeFile(join(place, "data-00000-of-00001.arrow"), writeRegionShard(rows, { layout: "relation" }));
  const { code, out } = await run(place);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^FAILED {2}captions describe their mask: 1 of 4 captions .*"The other region is on this region\."/m,
  );
});

test("files that are ignored for the same reason share a line, records before pictures", async () => {
  const place = join(directory, "pictures");
  await mkdir(place);
  for (const name of ["a.png", "b.png", "c.png"]) await writeFile(join(place, name), "none");
  await writeFile(join(place, "x.json"), "[{}]");
  const { out } = await run(place);
  expect(out.split("\n").filter((line) => line.startsWith("ignored"))).toEqual([
    expect.stringMatching(/^ignored {2}x\.json: /),
    "ignored  a.png and 2 more: a picture, read if a row names it",
  ]);
});

test("a name with a line end stays on its line", async () => {
  const place = join(directory, "two\nlines");
  await mkdir(place);
  await writeFile(join(place, "a\nFAILED.arrow"), "only text");
  const { code, out } = await run(place);
  expect(code).toBe(1);
  expect(out).toContain("a FAILED.arrow");
  expect(out).not.toMatch(/^(?:lines|FAILED\.arrow)/m);
  const absent = await tool("score", ["--pred", join(place, "none\nthere"), "--ref", place]);
  expect([absent.code, absent.err.trim().split("\n").length]).toEqual([2, 1]);
});

test("--json gives one object per line", async () => {
  const { code, out } = await run("--json", join(directory, "good"), join(directory, "bad"));
  expect(code).toBe(0);
  const lines = out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string });
  expect(lines.map((line) => line.kind)).toEqual([
    ...["shard", "shard", "skipped", "skipped"],
    ...Array<string>(8).fill("check"),
    ...Array<string>(3).fill("pair"),
    "summary",
  ]);
  expect(lines.at(-1)).toMatchObject({ samples: 2, rows: 3, pictures: 1, skipped: 2, parts: { good: 2 } });
});

test("a folder named after another data set than its columns is told so, and its rows can be used", async () => {
  const place = join(directory, "describe-anything-dataset");
  await mkdir(place);
  await writeFile(join(place, "data-00000-of-00001.arrow"), writeRegionShard([row()]));
  const { code, out } = await run(place);
  expect(code).toBe(0);
  expect(out).toContain(
    "FAILED  data set named: the name suggests describe-anything, but the rows have columns as in Grasp-Any-Region Fine-Grained (conversations beside mask_rle, a struct); the columns decide",
  );
  expect(out).toContain("ok      ready for training: the rows can be used; not passed: data set named");
});

test.each([[[]], [["--frobnicate", "."]], [["/no/such/place"]]])(
  "a bad argument is one sentence and exit 2: %j",
  async (args) => {
    const { code, out, err } = await run(...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err.trim().split("\n").length).toBe(1);
  },
);

test("corrections are kept only if there are any; masklets are written into a folder only", async () => {
  const keep = await run(join(directory, "good"), "--keep", join(directory, "keep.json"));
  expect(keep).toMatchObject({ code: 2, err: expect.stringMatching(/^--keep has no effect without a correction/) });
  const named = ["--text", "nowhere", "--keep", join(directory, "keep.json")];
  expect(await run(join(directory, "good"), ...named)).toMatchObject({
    code: 1,
    err: `${named.at(-1)} was not written, because no sample fits the corrections\n`,
  });
  expect(existsSync(join(directory, "keep.json"))).toBe(false);
  const file = join(directory, "bad", "notes.arrow");
  const into = await tool("masklets", ["--data", directory, "--model", directory, "--out", file]);
  expect(into).toMatchObject({ code: 2, err: `--out ${file} is a file\n` });
});
