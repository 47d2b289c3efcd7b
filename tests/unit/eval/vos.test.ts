/** The suite of clips: rows from a data set, scores from masklets. */
import { expect, it } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { suiteOf } from "../../../src/plugins/suites/all.ts";
import { suiteReport } from "../../../src/plugins/suites/report.ts";
import { answerKey, type SuiteRow, type System } from "../../../src/plugins/suites/run-suite.ts";
import type { Suite, SuiteRows } from "../../../src/plugins/suites/suite.ts";
import { png } from "../data/make.ts";

const mask = (...pixels: number[]): Rle => encodeRle(pixels, 2, 2);
const FRAME = png(2, 2);
const mevis = suiteOf("mevis") as Suite;

/** Two clips of one frame; an expression of each is true in its own corner. */
async function rowsOf(types: readonly (number | undefined)[]): Promise<SuiteRows> {
  const expressions = Object.fromEntries(
    types.map((type, at) => [
      String(at),
      { exp: `thing ${at}`, anno_id: at, ...(type === undefined ? {} : { type_id: type }) },
    ]),
  );
  const videos = {
    a: { frames: ["0"], expressions },
    b: { frames: ["0"], expressions: { "9": { exp: "hidden" } } },
  };
  const masks = Object.fromEntries(types.map((_, at) => [at, [mask(1, 1, 0, 0)]]));
  return await mevis.open(
    memoryFolder({
      "valid_u/meta_expressions.json": JSON.stringify({ videos }),
      "valid_u/mask_dict.json": JSON.stringify(masks),
      "valid_u/JPEGImages/a/0.png": FRAME,
      "valid_u/JPEGImages/b/0.png": FRAME,
    }),
    "valid_u",
  );
}

function scores(opened: SuiteRows, answers: readonly (readonly Rle[])[]): Record<string, number> {
  const { items, leftOut } = opened;
  const row = (system: System, at: number): SuiteRow => ({
    system,
    rowId: items[at]?.id ?? "",
    masks: answers[at] ?? [],
  });
  const kept = new Map(items.map(({ id }, at) => [answerKey("base", id), row("base", at)]));
  const facts = {
    suite: mevis,
    split: "valid_u",
    part: "all",
    looks: 1,
    mode: "forced",
    systems: ["base"],
    judge: null,
  } as const;
  const report = suiteReport({ ...facts, items, leftOut: leftOut.length }, kept, { meteor: () => 0 });
  expect(report.published[0]).toMatchObject({ model: "Sa2VA-1B", metric: "J&F", value: 53.4 });
  return Object.fromEntries((report.systems.base ?? []).map(({ metric, value }) => [metric, value]));
}

it("takes a mask a frame, and none as an empty one", async () => {
  const opened = await rowsOf([undefined, undefined]);
  expect(opened.items.map(({ id, imageId, text }) => [id, imageId, text])).toEqual([
    ["a#0", "a", "thing 0"],
    ["a#1", "a", "thing 1"],
  ]);
  expect(opened.leftOut).toEqual(["b, 9: its masks are not public"]);
  expect(opened.clip?.(1).id).toBe("a");
  await expect(opened.picture(0)).rejects.toThrow(/npm run eval/);
  expect(mevis.task(opened.items[0] as (typeof opened.items)[0], "free")).toEqual({
    kind: "follow",
    phrase: "thing 0",
    answers: "free",
  });
  expect(scores(opened, [[mask(1, 1, 0, 0)]])).toEqual({ J: 0.5, F: 0.5, "J&F": 0.5 });
});

it("takes the mean of both kinds where there are kinds", async () => {
  const opened = await rowsOf([0, 1, 1, 2]);
  const right = [mask(1, 1, 0, 0)];
  const found = scores(opened, [right, right, [], []]);
  expect(found).toMatchObject({ "J referring": 1, "J reasoning": 0.5, J: 0.75, "J&F": 0.75 });
  // J is a third and F is 1: both are rounded, their mean is not.
  const third = scores(opened, [[mask(1, 0, 0, 1)], right, [], []]);
  expect(third["J referring"]).toBe(0.3333);
  expect(third["J&F referring"]).toBeCloseTo(0.66665, 9);
  expect(third["J&F"]).toBeCloseTo((0.66665 + 0.5) / 2, 9);
});

it("names a clip without expressions", async () => {
  const opened = await mevis.open(memoryFolder({ "a/0.png": FRAME, "a/1.png": FRAME }), undefined);
  expect(opened.leftOut).toEqual(["a: it has neither expressions nor annotated frames"]);
});

it("says that foreground masks are damaged, and scores all but robustness", async () => {
  const videos = { a: { frames: ["0"], expressions: { 0: { exp: "x", anno_id: 1, type_id: 0 } } } };
  const files = {
    "meta_expressions_valid_.json": JSON.stringify({ videos }),
    "mask_dict.json": JSON.stringify({ 1: [mask(1, 0, 0, 0)] }),
    "JPEGImages/a/0.png": FRAME,
  };
  const opened = (text: string) => mevis.open(memoryFolder({ ...files, "mask_dict_foreground.json": text }), undefined);
  const open = (list: unknown) => opened(JSON.stringify({ a: { masks_rle: list } }));
  const { items, leftOut } = await open([[mask(1, 1, 0, 0), mask(1, 0, 0, 0)]]);
  expect([items[0]?.foreground, leftOut]).toEqual([[3], []]);
  const damaged = await open([3]);
  expect(damaged.items.map(({ foreground }) => foreground)).toEqual([undefined]);
  expect(damaged.leftOut).toEqual([
    expect.stringMatching(/^mask_dict_foreground\.json: clip "a" is damaged at frame 0: /),
  ]);
  expect((await open([])).leftOut).toEqual(['mask_dict_foreground.json: clip "a" has no list of 1 masks']);
  const broken = await opened('{"a": {"masks_rle": [}');
  expect([broken.items.length, broken.leftOut.length]).toEqual([1, 1]);
});

it("leaves out what cannot be scored, with a sentence for each", async () => {
  const expressions = {
    good: { exp: "good", anno_id: 1 },
    large: { exp: "large", anno_id: 2 },
    long: { exp: "long", anno_id: 3 },
  };
  const videos = {
    a: { frames: ["0", "1"], expressions },
    sizes: { frames: ["0", "1"], expressions: { 0: { exp: "x", anno_id: 1 } } },
    torn: { frames: ["0", "1"], expressions: { 0: { exp: "x", anno_id: 1 } } },
  };
  const one = mask(1, 0, 0, 0);
  const masks = { 1: [one, null], 2: [encodeRle(new Uint8Array(12), 3, 4), null], 3: [one, null, one] };
  const { items, leftOut } = await mevis.open(
    memoryFolder({
      "meta_expressions.json": JSON.stringify({ videos }),
      "mask_dict.json": JSON.stringify(masks),
      "JPEGImages/a/0.png": FRAME,
      "JPEGImages/a/1.png": FRAME,
      "JPEGImages/sizes/0.png": FRAME,
      "JPEGImages/sizes/1.png": png(4, 2),
      "JPEGImages/torn/0.png": FRAME,
      "JPEGImages/torn/1.png": FRAME.slice(0, 12),
    }),
    undefined,
  );
  expect(items.map(({ id }) => id)).toEqual(["a#good"]);
  expect(leftOut).toEqual([
    "a, large: a mask is 4 x 3, the frames are 2 x 2",
    'mask_dict.json: annotation "3" of clip "a", expression "long" has 3 masks for 2 frames',
    "JPEGImages/sizes/1.png: the frame is 4 x 2, the clip began with 2 x 2",
    expect.stringMatching(/^JPEGImages\/torn\/1\.png: /),
  ]);
});
