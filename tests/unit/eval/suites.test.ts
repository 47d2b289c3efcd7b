import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode as decodePng, encode as encodePng } from "fast-png";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseArguments } from "../../../scripts/lib/arguments.ts";
import { root } from "../../../scripts/lib/ensure.mjs";
import { JUDGE_OPTIONS } from "../../../scripts/lib/node/node-judge.ts";
import { suiteJudge } from "../../../scripts/lib/scores/suite-judge.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, parseRle, type Rle, rleArea, rleFromBox } from "../../../src/engine/data/mask/rle.ts";
import { suiteOf } from "../../../src/plugins/suites/all.ts";
import { ptbTokens } from "../../../src/plugins/suites/benchmarks/ptb-tokens.ts";
import { judgePictures } from "../../../src/plugins/suites/judge-pictures.ts";
import { repliedVerdict } from "../../../src/plugins/suites/judged.ts";
import { SUITE_PARTS, suitePart } from "../../../src/plugins/suites/part.ts";
import { findFiles } from "../../../src/plugins/suites/rows.ts";
import type { AnsweredItem, Suite, SuiteItem, SuiteRows, SuiteTools } from "../../../src/plugins/suites/suite.ts";
import { suiteValues } from "../../../tools/parity/evaluation/suite-values.ts";
import { judgeServer } from "../../support/judge-server.ts";

const GOLDEN = join(root, "tests/golden/evaluation");
const SIZE = [20, 30] as const;
const NONE: SuiteTools = { meteor: () => 0 };
const NEVER = new AbortController().signal;

let place: string;
beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "eval-"));
});
afterAll(() => rm(place, { recursive: true }));

const golden = async (path: string) => JSON.parse(await readFile(join(GOLDEN, path), "utf8"));
const suite = (name: string): Suite => suiteOf(name) as Suite;
const png = (width: number, height: number, shade: number) =>
  encodePng({ width, height, channels: 3, data: new Uint8Array(width * height * 3).fill(shade) });

test("files that no plug-in of this build reads are named as such", async () => {
  await expect(findFiles(memoryFolder({}), { unheard: "files of another plug-in" })).rejects.toThrow(
    "The suite needs files of another plug-in, which this build has no plug-in to read",
  );
});

test("gRefCOCO: refs without a target are rows too, a second ref of an id is none", async () => {
  const sentences = [{ sent_id: 1, sent: "the dog" }];
  const grefs = [
    { ref_id: 7, image_id: 1, ann_id: [11, 12], split: "val", sentences },
    { ref_id: 8, image_id: 1, ann_id: [-1], split: "val", sentences: [{ sent_id: 2, sent: "a ship" }] },
    { ref_id: 8, image_id: 1, ann_id: [12], split: "val", sentences },
    { ref_id: 9, image_id: 1, ann_id: [11], split: "train", sentences },
  ];
  const annotations = [11, 12].map((id, at) => ({
    id,
    image_id: 1,
    category_id: 1,
    segmentation: [[at * 10, 0, at * 10 + 5, 0, at * 10 + 5, 10, at * 10, 10]],
  }));
  const images = [{ id: 1, file_name: "a.png", height: 20, width: 30 }];
  const folder = memoryFolder({
    "grefs(unc).json": JSON.stringify(grefs),
    "instances.json": JSON.stringify({ images, annotations, categories: [] }),
    "images/a.png": png(30, 20, 9),
  });
  const { items, leftOut, picture } = await suite("grefcoco").open(folder, "val");
  expect(items.map(({ id, text, masks }) => [id, text, masks.length])).toEqual([
    ["ref 7/0", "the dog", 1],
    ["ref 8/0", "a ship", 0],
  ]);
  expect(leftOut).toEqual([
    "split val is read: 3 refs; 1 of train are left out",
    "ref 8/0: an earlier row has the same id",
  ]);
  expect(await picture(1)).toMatchObject({ width: 30, height: 20, mime: "image/png" });
});

test("gRefCOCO: a picture whose ref names a mask that the instances lack is left out", async () => {
  const ref = { image_id: 1, split: "val", sentences: [{ sent_id: 1, sent: "the dog" }] };
  const annotations = [1, 2].map((image) => ({
    id: 10 * image,
    image_id: image,
    category_id: 1,
    segmentation: [[0, 0, 5, 0, 5, 10, 0, 10]],
  }));
  const images = [1, 2].map((id) => ({ id, file_name: `${id}.png`, height: 20, width: 30 }));
  const folder = memoryFolder({
    "grefs(unc).json": JSON.stringify([
      { ...ref, ref_id: 6, ann_id: [10] },
      { ...ref, ref_id: 7, ann_id: [99] },
      { ...ref, ref_id: 8, ann_id: [20], image_id: 2 },
    ]),
    "instances.json": JSON.stringify({ images, annotations, categories: [] }),
    "images/1.png": png(30, 20, 9),
    "images/2.png": png(30, 20, 8),
  });
  const { items, leftOut } = await suite("grefcoco").open(folder, "val");
  expect(items.map(({ id, masks }) => [id, masks.length])).toEqual([["ref 8/0", 1]]);
  expect(leftOut).toEqual(["1.png: ref 7 names mask 99, which the instances lack or have twice"]);
});

test("RefCOCO: rows are those of the refs of one data set", async () => {
  const box = [[1, 1, 20, 1, 20, 20, 1, 20]];
  const coco = JSON.stringify({
    images: [{ id: 1, file_name: "a.png", height: 24, width: 32 }],
    annotations: [{ id: 5, image_id: 1, category_id: 1, segmentation: box }],
    categories: [{ id: 1, name: "dog" }],
  });
  const refs = (name: string) => ({
    [`${name}/refs.json`]: JSON.stringify([
      { ref_id: 1, ann_id: 5, image_id: 1, split: "val", sentences: [{ sent: `${name} dog` }] },
    ]),
    [`${name}/instances.json`]: coco,
  });
  const others = { "images/a.png": png(32, 24, 9), "coco/instances_val.json": coco };
  const { items, leftOut } = await suite("refcoco").open(memoryFolder({ ...refs("refcoco"), ...others }), "val");
  expect(items.map(({ text }) => text)).toEqual(["refcoco dog"]);
  expect(leftOut).toEqual(["1 rows come from files without referring expressions"]);
  const none = await suite("refcoco").open(memoryFolder(refs("refcoco")), "testA");
  expect(none.leftOut).toEqual(['there is no split "testA", only val; nothing is read']);
  const both = memoryFolder({ ...refs("refcoco"), ...refs("refcoco+"), ...others });
  await expect(suite("refcoco").open(both, "val")).rejects.toThrow(
    "The data have refs files in refcoco+/, refcoco/; name the folder of one data set",
  );
});

test("ReasonSeg: the first text of each picture of a split, pixels to be ignored not counted", async () => {
  const rows = ["target_and_ignore", "small_ignore_inside_target", "cp1252"];
  const files = await Promise.all(rows.map((name) => readFile(join(GOLDEN, `reasonseg/${name}.json`))));
  const folder = memoryFolder({
    "val/a.json": files[0] as Uint8Array,
    "val/a.png": png(50, 40, 1),
    "val/b.json": files[1] as Uint8Array,
    "val/b.png": png(50, 40, 2),
    "test/c.json": files[2] as Uint8Array,
    "test/c.png": png(50, 40, 3),
    "val/damaged.json": "{",
    "val/damaged.png": png(50, 40, 4),
  });
  const { items, leftOut } = await suite("reasonseg").open(folder, undefined);
  expect(leftOut).toEqual([
    "1 rows of other splits",
    expect.stringMatching(/^val\/damaged\.png: val\/damaged\.json is not valid JSON/),
  ]);
  expect(items.map(({ text, kind }) => [text, kind])).toEqual([
    ["the thing one sits on", "sentence"],
    ["what keeps rain away?", "name"],
  ]);
  expect(items.map(({ masks: [mask], ignore }) => [mask, ignore].map((one) => rleArea(one as Rle)))).toEqual([
    [469, 256],
    [1605, 51],
  ]);
  const [question, name] = items.map((item) => suite("reasonseg").task(item, "free"));
  expect(question).toMatchObject({ question: "the thing one sits on Please output segmentation mask." });
  expect(name).toMatchObject({ question: "Please segment what keeps rain away? in this image." });
  // An answer of the whole picture finds all targets, and misses 2,000 pixels less target and ignored ones.
  const whole = rleFromBox([0, 0, 50, 40], 40, 50);
  const found = suiteValues(
    "reasonseg",
    items.map((item) => ({ item, answer: { masks: [whole] } })),
  );
  expect(found.cIoU).toBeCloseTo((469 + 1605) / (2000 - 256 + 2000 - 51), 12);
  const other = (await suite("reasonseg").open(folder, "test")).items;
  expect(other.map(({ text }) => text)).toEqual(["the café’s sign"]);
});

test("ReasonSeg: names with dots are rows of their own", async () => {
  const json = await readFile(join(GOLDEN, "reasonseg/target_and_ignore.json"));
  const { items } = await suite("reasonseg").open(
    memoryFolder({
      "a.1.json": json,
      "a.1.png": png(50, 40, 1),
      "a.2.json": json,
      "a.2.JPG": png(50, 40, 2),
      "b.json": json,
      "b.png": png(50, 40, 3),
      "b.jpg": png(50, 40, 4),
    }),
    undefined,
  );
  expect(items.map(({ id }) => id)).toEqual(["a.1.json", "a.2.json", "b.json"]);
});

test.each([
  ["names", "", 13],
  ["numbers", "numbers/", 22],
])(
  "grounded conversations with ids as %s: AP50, mIoU and recall of the released script, read from its own files",
  async (_, part, count) => {
    const [truth, captions, predictions] = await Promise.all(
      ["mask_gt", "caption_gt", "predictions"].map((name) => golden(`${part}gcg/${name}.json`)),
    );
    const pictures = truth.images.map(
      ({ id, width, height }: { id: string | number; width: number; height: number }, at: number) => [
        `images/${id}.png`,
        png(width, height, at),
      ],
    );
    for (const image of truth.images) image.file_name = `${image.id}.png`;
    const folder = memoryFolder({
      "val_gcg_coco_mask_gt.json": JSON.stringify(truth),
      "val_gcg_coco_caption_gt.json": JSON.stringify(captions),
      ...Object.fromEntries(pictures),
    });
    const { items } = await suite("gcg").open(folder, undefined);
    expect(items.length).toBe(count);
    const rows = items.map((item): AnsweredItem => {
      const { prediction } = predictions.images.find(({ id }: { id: string | number }) => String(id) === item.id);
      const said = prediction.phrases.map((phrase: string) => `<p> ${phrase} </p> [SEG]`).join(" and ");
      return { item, answer: { text: said, masks: prediction.pred_masks.map(parseRle) } };
    });
    const of = (label: string, phrase: string): number => predictions.textSimilarity[`${label}|${phrase}`];
    const found = suiteValues("gcg", rows, { ...NONE, similarity: { name: "table", of } });
    expect(found.AP50).toBeCloseTo(predictions.expected.coco.AP50, 9);
    expect(found.mIoU).toBeCloseTo(predictions.expected.mIoU, 9);
    expect(found["Recall (table)"]).toBeCloseTo(predictions.expected.recall, 9);
    // Without a text test the same order of pairs never finds less.
    expect(found["recall_iou (no text)"]).toBeGreaterThanOrEqual(found["Recall (table)"] as number);
  },
);

test("grounded conversations: the truth of two splits is refused, not one of them taken", async () => {
  const masks = {
    images: [{ id: 1, file_name: "a.png", height: 20, width: 30 }],
    annotations: [{ id: 1, image_id: 1, category_id: 1, segmentation: [[0, 0, 5, 0, 5, 5]] }],
  };
  const captions = { images: [{ id: 1 }], annotations: [{ id: 1, image_id: 1, caption: "a cat", labels: ["a cat"] }] };
  const split = (name: string) => ({
    [`${name}_gcg_coco_mask_gt.json`]: JSON.stringify(masks),
    [`${name}_gcg_coco_caption_gt.json`]: JSON.stringify(captions),
  });
  const open = (...splits: string[]) =>
    suite("gcg").open(memoryFolder(Object.assign({ "a.png": png(30, 20, 9) }, ...splits.map(split))), undefined);
  expect((await open("val")).items.map(({ text }) => text)).toEqual(["a cat"]);
  await expect(open("test", "val")).rejects.toThrow(
    "The data have test_gcg_coco_mask_gt.json and val_gcg_coco_mask_gt.json; the suite needs one of them: leave out the other",
  );
});

test("grounded conversations: a true mask without pixels takes its own label with it, which counts as missed", () => {
  const [empty, mask] = [rleFromBox([0, 0, 0, 0], 20, 30), rleFromBox([0, 0, 5, 5], 20, 30)];
  const item = { id: "1", imageId: "1", size: SIZE, text: "", masks: [empty, mask], labels: ["sky", "cat"] };
  const found = suiteValues("gcg", [{ item, answer: { text: "<p> cat </p> [SEG]", masks: [mask] } }]);
  expect([found["recall_exact (words)"], found["recall_iou (no text)"]]).toEqual([0.5, 0.5]);
});

/** An object of DLC-Bench with one positive and one negative question. */
const DLC = {
  "annotations.json": JSON.stringify({
    images: [{ id: 5, file_name: "x.png", height: 20, width: 30 }],
    annotations: [
      { id: 901, image_id: 5, category_id: 2, segmentation: [[0, 0, 9, 0, 9, 9, 0, 9]], area: 81, bbox: [0, 0, 9, 9] },
    ],
    categories: [{ id: 2, name: "Umbrella" }],
  }),
  "class_names.json": JSON.stringify({ 901: "umbrella" }),
  "qa.json": JSON.stringify({
    901: [
      {
        question: "What colour?",
        type: "positive",
        choices: [
          ["Not mentioned", 0],
          ["Red", 1],
          ["Blue", -1],
        ],
      },
      {
        question: "Is a hat mentioned?",
        type: "negative",
        choices: [
          ["Yes", -1],
          ["No", 1],
        ],
      },
    ],
  }),
  "x.png": png(30, 20, 3),
};

test("DLC-Bench: predicted captions beside the files are no class names", async () => {
  const beside = { ...DLC, "captions.json": JSON.stringify({ 901: "A red thing." }) };
  expect((await suite("dlc").open(memoryFolder(beside), undefined)).items.map(({ text }) => text)).toEqual([
    "umbrella",
  ]);
  const { "class_names.json": names, ...rest } = beside;
  await expect(suite("dlc").open(memoryFolder({ ...rest, "names.json": names }), undefined)).rejects.toThrow(
    "The data have captions.json and names.json; the suite needs one of them: leave out the other",
  );
});

test("DLC-Bench: an object with a question that cannot be scored is left out, not scored by the others", async () => {
  const { 901: questions } = JSON.parse(DLC["qa.json"]) as Record<string, object[]>;
  const wide = {
    ...questions?.[0],
    choices: [
      ["Red", 2],
      ["Blue", 0],
    ],
  };
  const qa = JSON.stringify({ 901: [...(questions ?? []), wide] });
  expect(await suite("dlc").open(memoryFolder({ ...DLC, "qa.json": qa }), undefined)).toMatchObject({
    items: [],
    leftOut: ["x.png: a question about 901 has a choice whose score is not a number from -1 to 1"],
  });
});

test("DLC-Bench: stored replies are read in the order of the questions, and only for the caption they belong to", async () => {
  const { items } = await suite("dlc").open(memoryFolder(DLC), undefined);
  expect(items.map(({ id, text, questions }) => [id, text, questions?.map(({ type }) => type)])).toEqual([
    ["901", "umbrella", ["recognition", "positive", "negative"]],
  ]);
  expect(items[0]?.questions?.[0]?.question).toContain("an umbrella");
  const file = join(place, "replies.jsonl");
  await writeFile(
    file,
    `${JSON.stringify({ rowId: "901", text: "A red umbrella.", replies: ["A. Yes", "B", "No"] })}\n`,
  );
  const parsed = parseArguments(["--replies", file], { replies: { takes: 1 } });
  const judge = await suiteJudge(parsed, items, place, () => undefined);
  const [item] = items as [SuiteItem];
  const asked = (caption: string) => judge?.of([{ item, caption, row: { system: "base" } }], NEVER);
  expect(await asked("A red umbrella.")).toEqual([{ positive: 1, negative: 1 }]);
  await expect(asked("A blue hat.")).rejects.toThrow(`${file} has replies to another caption of row 901`);
});

test("GAR-Bench: the whole answer must be the letter; captions count once a judge has read them", async () => {
  const mask = rleFromBox([0, 0, 5, 5], 20, 30);
  const rows = [
    {
      image: "x.png",
      mask_rles: [mask, mask],
      question: "Is <Prompt0> left of <Prompt1>?",
      choices: ["A. Yes", "B. No"],
      answer: "A",
      type: "relation",
    },
    {
      image: "x.png",
      mask_rles: [mask],
      question: "Which?",
      choices: ["A. Red", "B. Blue"],
      answer: "B",
      type: "color",
    },
    { image: "x.png", mask_rles: [mask], question: "What is <Prompt0>?", answer: "a hat" },
    { image: "x.png", mask_rles: mask, question: "What is <Prompt0>?", answer: "a hat" },
  ];
  const { items, leftOut } = await suite("gar").open(
    memoryFolder({ "gar.json": JSON.stringify(rows), "x.png": DLC["x.png"] }),
    undefined,
  );
  expect(leftOut).toEqual(["x.png: row 3 of gar.json has no list of masks"]);
  expect(items.map(({ kind }) => kind)).toEqual(["vqa relation", "vqa color", "simple"]);
  expect(items[0]?.text).toContain("Is region1 left of region2?\nOptions:\nA. Yes\nB. No");
  const answered = items.map(
    (item, at): AnsweredItem => ({ item, answer: { text: ["a", "B. Blue", "A hat."][at] ?? "" } }),
  );
  expect(suiteValues("gar", answered)).toEqual({ VQA: 0.5, "VQA relation": 1, "VQA color": 0 });
  const judged = answered.map((row) => ({ ...row, judged: { positive: 1, negative: null } }));
  expect(suiteValues("gar", judged)).toMatchObject({ VQA: 0.5, Simple: 1 });
  // The published judge's reply stands alone.
  const [, , simple] = items as [SuiteItem, SuiteItem, SuiteItem];
  expect([repliedVerdict(simple, ["True"]), repliedVerdict(simple, ["true"])]).toEqual([
    { positive: 1, negative: null },
    { positive: 0, negative: null },
  ]);
});

test("GAR-Bench: answers of models beside the rows are no rows", async () => {
  const row = {
    image: "x.png",
    mask_rles: [rleFromBox([0, 0, 5, 5], 20, 30)],
    question: "What is <Prompt0>?",
    answer: "a hat",
  };
  const { items } = await suite("gar").open(
    memoryFolder({
      "annotations/simple.json": JSON.stringify([row]),
      "annotations/x.png": DLC["x.png"],
      "model_outputs/gar_1b_simple.json": JSON.stringify([{ ...row, model_output: "a cap" }]),
    }),
    undefined,
  );
  expect(items.map(({ id }) => id)).toEqual(["annotations/simple.json#0"]);
});

test("a live judge reads the captions of both benches, one question a call, and nothing without its address", async () => {
  const server = await judgeServer();
  try {
    // The description is of a hat: yes to questions about it and about answering.
    server.script((_, { body }) => {
      const question = /Question: (.*)/.exec(body.messages[0]?.content ?? "")?.[1] ?? "";
      return { reply: /hat|answer/.test(question) ? "Yes" : "No" };
    });
    const mask = rleFromBox([0, 0, 5, 5], 20, 30);
    const rows = [
      { image: "x.png", mask_rles: [mask], question: "What is <Prompt0>?", answer: "a hat" },
      { image: "x.png", mask_rles: [mask, mask], subject_name: "umbrella", predicate_name: "over", object_name: "hat" },
    ];
    const garItems = (
      await suite("gar").open(memoryFolder({ "gar.json": JSON.stringify(rows), "x.png": DLC["x.png"] }), undefined)
    ).items;
    const dlcItems = (await suite("dlc").open(memoryFolder(DLC), undefined)).items;
    const items = [...garItems, ...dlcItems];
    const parsed = parseArguments(["--judge", server.url], { replies: { takes: 1 }, ...JUDGE_OPTIONS });
    const judge = await suiteJudge(parsed, items, join(place, "judged"), () => undefined);
    expect(judge?.name).toMatch(/^reader-1, one question a call, without pictures, prompts /);
    const row = { system: "base" } as const;
    const verdicts = await judge?.of(
      items.map((item) => ({ item, row, caption: "A red hat." })),
      NEVER,
    );
    // The hat is described; the umbrella is not, so that its relation does not count; it is what DLC-Bench asks for.
    expect(verdicts?.slice(0, 2)).toEqual([
      { positive: 1, negative: null },
      { positive: 0, negative: null },
    ]);
    expect(verdicts?.[2]?.negative).toBeLessThan(0);
    expect(server.calls.length).toBe(7);
    for (const { text } of server.calls) expect(text).toContain("A red hat.");
    // The same captions with pictures are asked again, the pictures before the text.
    server.forget();
    const [dlcItem] = dlcItems as [SuiteItem];
    const urls = ["data:image/png;base64,AAAA", "data:image/png;base64,BBBB"];
    const sees = await suiteJudge(
      parsed,
      items,
      join(place, "judged"),
      () => undefined,
      async () => urls,
    );
    expect(sees?.name).toMatch(/^reader-1, one question a call, with pictures, prompts /);
    await sees?.of([{ item: dlcItem, row, caption: "A red hat." }], NEVER);
    expect(server.calls.length).toBe(3);
    for (const { body } of server.calls) {
      expect(body.messages[0]?.content).toEqual([
        ...urls.map((url) => ({ type: "image_url", image_url: { url } })),
        { type: "text", text: expect.stringContaining("A red hat.") },
      ]);
    }
    // The reason for missing verdicts is printed once, whatever the number of rows.
    server.script(() => ({ status: 401 }));
    const said: string[] = [];
    const refused = await suiteJudge(parsed, items, join(place, "refused"), (line) => said.push(line));
    const captions = ["A hat.", "A dog."].map((caption) => ({ item: dlcItem, row, caption }));
    expect(await refused?.of(captions, NEVER)).toEqual([undefined, undefined]);
    expect(said).toEqual([expect.stringMatching(/^No verdict: The judge refused the key \(status 401\)/)]);
    await expect(refused?.of(captions, AbortSignal.abort())).rejects.toMatchObject({ code: "cancelled" });
    expect(
      await suiteJudge(parseArguments([], { replies: { takes: 1 }, ...JUDGE_OPTIONS }), items, place, () => undefined),
    ).toBeUndefined();
  } finally {
    await server.close();
  }
});

test("a judge is shown the picture as it is, masks in white, and crops of three box sizes within the picture", () => {
  const [width, height] = [400, 300];
  const data = Uint8Array.from({ length: 3 * width * height }, (_, at) => (at * 7) % 251);
  const bytes = png(width, height, 1) as Uint8Array<ArrayBuffer>;
  const image = { bytes, mime: "image/png", width, height, orientation: 1 } as const;
  const mask = rleFromBox([100, 100, 20, 80], height, width);
  const corner = rleFromBox([390, 0, 10, 10], height, width);
  const decoded = (url: string) => decodePng(Buffer.from(url.replace(/^data:image\/png;base64,/, ""), "base64"));
  const all = judgePictures("masks", image, { width, height, data }, [mask, corner]).map(decoded);
  expect(all.map((one) => [one.width, one.height])).toEqual(Array(3).fill([width, height]));
  expect(Buffer.from(all[0]?.data ?? []).equals(Buffer.from(decodePng(bytes).data))).toBe(true);
  const white = decodeRle(mask);
  expect(all[1]?.data.every((value, at) => value === 255 * (white[Math.floor(at / 3)] ?? 0))).toBe(true);
  const [, near, nearMask, far, farMask] = judgePictures("crops", image, { width, height, data }, [mask, corner]).map(
    decoded,
  );
  // 3 × 56 wide and 3 × 80 high around (110, 140); the other box ends where the picture does.
  expect([near, nearMask, far, farMask].map((one) => [one?.width, one?.height])).toEqual([
    [168, 240],
    [168, 240],
    [89, 89],
    [89, 89],
  ]);
  const at = (x: number, y: number): number => data[3 * (y * width + x)] as number;
  expect([near?.data[0], far?.data[0]]).toEqual([at(26, 20), at(311, 0)]);
  expect(nearMask?.data.filter((value) => value === 255).length).toBe(3 * 20 * 80);
  // A picture that judges do not read is sent as PNG.
  const [tiff] = judgePictures("masks", { ...image, mime: "image/tiff" }, { width, height, data }, []).map(decoded);
  expect(Buffer.from(tiff?.data ?? []).equals(Buffer.from(data))).toBe(true);
});

test("pictures are divided into a part that chooses and one that reports, their rows and pictures with them", async () => {
  const items = Array.from({ length: 60 }, (_, at): SuiteItem => {
    return { id: `r${at}`, imageId: `p${at >> 1}`, size: SIZE, text: "", masks: [] };
  });
  const rows: SuiteRows = { items, leftOut: [], picture: async (index) => ({ index }) as never };
  const [all, selection, report] = SUITE_PARTS.map((part) => suitePart(rows, part)) as [
    SuiteRows,
    SuiteRows,
    SuiteRows,
  ];
  expect([all, selection, report].map((part) => part.items.length)).toEqual([60, 18, 42]);
  const images = new Set(selection.items.map(({ imageId }) => imageId));
  for (const { imageId } of report.items) expect(images.has(imageId)).toBe(false);
  for (const [at, { id }] of report.items.entries()) {
    expect(await report.picture(at)).toEqual({ index: Number(id.slice(1)) });
  }
  expect(suitePart(rows, "report").items).toEqual(report.items);
});

test.each([
  ["a cat by J. According to", "a cat by j according to"],
  ["J. Mr. Smith", "j mr. smith"],
  ["J. </p> a cat", "j </p> a cat"],
  ["J. </p>!", "j. </p>"],
  ["J. Later", "j. later"],
])(
  "captions: a letter keeps its full stop unless a sentence or a tag follows, as PTBTokenizer cuts it: %s",
  (text, tokens) => {
    expect(ptbTokens(text).join(" ")).toBe(tokens);
  },
);

test("captions: CIDEr-D with the document frequencies of the whole set, METEOR beside it", () => {
  const rows = ["a black cat on a desk", "a grey gull in the sky"].map(
    (text, at): AnsweredItem => ({
      item: { id: `r${at}`, imageId: `p${at}`, size: SIZE, text, masks: [] },
      answer: { text: at === 0 ? "A black cat on a desk." : "a red bus" },
    }),
  );
  const found = suiteValues("captions", rows, { meteor: (reference) => (reference.includes("cat") ? 1 : 0) });
  expect(found["CIDEr-D"]).toBeCloseTo(5, 9);
  expect(found["METEOR (NLTK)"]).toBe(0.5);
});
