/** The suite of clips: rows from a data set, scores from masklets. */
import { expect, it } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/memory.ts";
import { encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { suiteReport } from "../../../src/engine/eval/suites/report.ts";
import { answerKey, type SuiteRow, type System } from "../../../src/engine/eval/suites/run-suite.ts";
import type { SuiteRows } from "../../../src/engine/eval/suites/suite.ts";
import { vos } from "../../../src/engine/eval/suites/vos.ts";

const mask = (...pixels: number[]): Rle => encodeRle(pixels, 2, 2);
const FRAME = Uint8Array.of(0xff, 0xd8, 0xff);

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
  return await vos.open(
    memoryFolder({
      "valid_u/meta_expressions.json": JSON.stringify({ videos }),
      "valid_u/mask_dict.json": JSON.stringify(masks),
      "valid_u/JPEGImages/a/0.jpg": FRAME,
      "valid_u/JPEGImages/b/0.jpg": FRAME,
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
    suite: vos,
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
  expect(vos.task(opened.items[0] as (typeof opened.items)[0], "free")).toEqual({
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
});
