import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readPairFile } from "../../../scripts/lib/scores/pair-file.ts";
import { judgeServer } from "../../support/judge-server.ts";
import { type Done, tool } from "../../support/tools.ts";

const folder = await mkdtemp(join(tmpdir(), "score-"));
afterAll(() => rm(folder, { recursive: true }));

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

const score = (...words: string[]): Promise<Done> => tool("score", words);

test("files of captions are read in all their forms", async () => {
  const forms = {
    "a.txt": "a dog\n\nA cat\r\n",
    "a.json": '["a dog", {"caption": ""}, "A cat"]',
    "a.jsonl": '{"caption": "a dog"}\n""\n\n{"caption": "A cat"}\n',
  };
  for (const [name, content] of Object.entries(forms)) {
    const path = await file(name, content);
    expect(await readPairFile(path), name).toMatchObject({ kind: "captions", items: ["a dog", "", "A cat"] });
  }
  const bracket = await readPairFile(await file("bracket.txt", "[blurred] a dog\n{a cat}"));
  expect(bracket.items).toEqual(["[blurred] a dog", "{a cat}"]);
  for (const encoding of ["utf16le", "latin1"] as const) {
    const path = await file(`${encoding}.txt`, "");
    await writeFile(path, Buffer.from(`${encoding === "utf16le" ? "\ufeff" : ""}a café\na cat\n`, encoding));
    expect((await readPairFile(path)).items, encoding).toEqual(["a café", "a cat"]);
  }
});

test("files of masks are read in all their forms", async () => {
  const dot = { size: [3, 4], counts: "714" };
  const content = [dot, { mask: dot }, { segmentation: { size: [3, 4], counts: [7, 1, 4] } }];
  for (const path of [
    await file("m.json", JSON.stringify(content)),
    await file("m.jsonl", content.map((item) => JSON.stringify(item)).join("\n")),
  ]) {
    expect(await readPairFile(path)).toMatchObject({ kind: "masks", items: [dot, dot, dot] });
  }
  expect((await readPairFile(await file("one.json", JSON.stringify(dot)))).items).toEqual([dot]);
});

test.each([
  ["empty.txt", "", "the file is empty"],
  ["list.json", "[]", "the list is empty"],
  ["cut.json", '[{"caption"', "line 1 is not valid JSON"],
  ["number.json", "[3]", "entry 1 is neither a caption nor a mask"],
  ["mixed.json", '["a dog", {"size": [3, 4], "counts": "714"}]', "captions and masks are mixed"],
  ["sum.json", '[{"size": [3, 4], "counts": "7"}]', "entry 1: mask runs add up to 7"],
])("%s is refused with its name and cause", async (name, content, cause) => {
  const path = await file(name, content);
  await expect(readPairFile(path)).rejects.toThrow(`${path}: ${cause}`);
});

test("the tool prints pairs and mean, and one JSON object per line when asked", async () => {
  const pred = await file("p.txt", "a red auto\na dog\n");
  const ref = await file("r.txt", "a red car\nthe dog\n");
  const lines = (await score("--pred", pred, "--ref", ref, "--json")).out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { pair: 1, meteor: 0.9814814814814815, chunks: 1 },
    { pair: 2, meteor: 0.25, precision: 0.5 },
    { mean: (0.9814814814814815 + 0.25) / 2, term: "meteor", pairs: 2, missing: 0 },
  ]);
  // The defaults reward captions by METEOR when no judge is set.
  expect(lines[0]).toMatchObject({ reward: 0.9814814814814815, terms: { length: 0, repetition: 0, leak: 0 } });
  expect(Object.keys(lines[0].terms)).toEqual(["meteor", "form", "length", "repetition", "leak"]);
  const plain = await score("--pred", pred, "--ref", ref);
  expect(plain).toMatchObject({ code: 0, err: "" });
  expect(plain.out).toContain("mean meteor 0.615741 of 2");
});

test("the tool composes what a file of settings says, custom reward included", async () => {
  const pred = await file("pm.json", '[{"size": [3, 4], "counts": "714"}, {"size": [3, 4], "counts": "<"}]');
  const ref = await file("rm.json", '[{"size": [3, 4], "counts": "714"}, {"size": [3, 4], "counts": "714"}]');
  const settings = { loop1Iou: 0.5, loop1User: 2, userReward: "export const reward = (r) => r.predicted.area / 4" };
  const config = await file("own.json", JSON.stringify(settings));
  const { code, out } = await score(
    "--pred",
    pred,
    "--ref",
    ref,
    "--config",
    config,
    "--allow-custom-reward",
    "--json",
  );
  expect(code).toBe(0);
  expect(
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toMatchObject([
    { iou: 1, reward: 1, terms: { iou: 1, box: 1, centre: 1, user: 0.25 } },
    { iou: 0, reward: 0, terms: { iou: 0, box: 0, user: 0 } },
    { mean: 0.5, reward: 0.5, missing: 0 },
  ]);
  const judged = await file("confidence.json", JSON.stringify({ loop1Confidence: 1 }));
  const lacking = await score("--pred", pred, "--ref", ref, "--config", judged, "--allow-custom-reward");
  expect(lacking.out).toContain("reward missing");
  expect(lacking.out).toContain("mean reward missing of 0, 2 without one");
  // A mask has no caption that could leak, a caption no mask with a confidence.
  const text = await file("t.txt", "a dog\n");
  const unknown = await file("unknown.json", JSON.stringify({ loop1LeakCost: 1, loop2Confidence: 1 }));
  for (const pairs of [
    ["--pred", pred, "--ref", ref],
    ["--pred", text, "--ref", text],
  ]) {
    const words = [...pairs, "--config", unknown, "--json"];
    expect(JSON.parse((await score(...words)).out.split("\n")[0] as string)).toMatchObject({ reward: null });
  }
  const failing = await file("failing.json", JSON.stringify({ loop1User: 1, userReward: "throw new Error('mine')" }));
  const stopped = await score("--pred", pred, "--ref", ref, "--config", failing, "--allow-custom-reward");
  expect(stopped.code).toBe(1);
  expect(stopped.err).toMatch(/^The custom reward threw Error: mine/);
});

test("with a judge the reward has all terms of the settings, and nothing is sent before a custom reward may run", async () => {
  const server = await judgeServer();
  try {
    const pred = await file("judged.txt", "a red dog\n\n");
    const ref = await file("true.txt", "a dog\na cat\n");
    const plain = { loop2Meteor: 0, loop2Judge: 0, loop2LengthCost: 1, lengthRatio: 1, loop2User: 0 };
    const words = ["--pred", pred, "--ref", ref, "--judge", server.url, "--json", "--config"];
    const costs = await file("costs.json", JSON.stringify(plain));
    const { code, out, err } = await score(...words, costs);
    expect(code, err).toBe(0);
    const lines = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { reward: -0.5, terms: { length: 0.5 }, judge: expect.any(Number) },
      { reward: 0, terms: { length: 0 } },
      { mean: { reward: -0.25 }, missing: 0 },
    ]);
    server.forget();
    const named = await file("named.json", JSON.stringify({ judge: "questions", judgeUrl: server.url }));
    const unasked = await score("--pred", pred, "--ref", ref, "--config", named);
    expect(unasked.err).toContain("named.json is not asked without --judge; METEOR has its weight");
    const own = { ...plain, loop2User: 1, userReward: "export default () => 0.25" };
    const user = await file("own.json", JSON.stringify(own));
    expect((await score(...words, user)).code).toBe(2);
    expect(server.calls).toEqual([]);
    const allowed = await score(...words, user, "--allow-custom-reward");
    expect(JSON.parse(allowed.out.split("\n")[0] as string)).toMatchObject({ reward: -0.25, terms: { user: 0.25 } });
  } finally {
    await server.close();
  }
});

test("a bad argument or pair ends with code 2 and one sentence", async () => {
  const masks = await file("a.json", '[{"size": [3, 4], "counts": "714"}]');
  const turned = await file("b.json", '[{"size": [4, 3], "counts": "714"}]');
  const captions = await file("c.txt", "a\nb\n");
  const ids = await file("ids.json", '[{"id": 1, "caption": "a"}, {"id": 2, "caption": "b"}]');
  const mixed = await file("other.json", '[{"id": "1", "caption": "a"}, {"id": "x", "caption": "b"}]');
  const cases: [string[], string][] = [
    [["--pred", mixed, "--ref", ids], "Pair 2 has id x in"],
    [["--pred", masks], "--ref FILE is missing"],
    [["--pred", masks, "--ref", join(folder, "none")], "there is no such file"],
    [["--pred", masks, "--ref", captions], "a.json has 1 masks, but"],
    [["--pred", masks, "--ref", turned], "pair 1: a mask of 3 x 4 pixels cannot be compared"],
    [["--pred", masks, "--ref", masks, "--judge", "http://x"], "--judge scores captions"],
    [["--pred", captions, "--ref", captions, "--judge-model", "x"], "--judge-model has no effect without --judge"],
    [["--pred", captions, "--ref", captions, "--judge-cache", folder], "--judge-cache has no effect without --judge"],
    [["--pred", captions, "--ref", captions, "--allow-judge", "http://x"], "--allow-judge has no effect on scores"],
  ];
  for (const [words, cause] of cases) {
    const { code, out, err } = await score(...words);
    expect({ code, out, lines: err.trim().split("\n").length }, cause).toEqual({ code: 2, out: "", lines: 1 });
    expect(err).toContain(cause);
  }
});
