/** Rows whose mask column is a list of polygons: parts of one object, as in COCO, or an object for each text. */
import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { jpg } from "./make.ts";

/** A box of 36 and one of 100 pixels. */
const FLAT = [
  [1, 1, 7, 1, 7, 7, 1, 7],
  [20, 5, 30, 5, 30, 15, 20, 15],
];
const POINTS = FLAT.map((one) => [0, 2, 4, 6].map((at) => one.slice(at, at + 2)));
const forms = { FLAT, POINTS, TEXT: JSON.stringify(FLAT) };

/** Captions with the pixels of their masks, and what was said about the row. */
async function read(polygons: unknown, captions: unknown): Promise<[string, number][]> {
  const rows = JSON.stringify({ image: "a.jpg", polygons, captions });
  const set = await openRegionSet(memoryFolder({ "a.jpg": jpg(40, 30), "rows.jsonl": rows }));
  return set.summaries.map(({ caption, maskShare }) => [caption, Math.round(maskShare * 1200)]);
}

test.each(Object.entries(forms))("%s: one text has all polygons, as many texts have one each", async (_, form) => {
  expect(await read(form, "both")).toEqual([["both", 136]]);
  expect(await read(form, ["both"])).toEqual([["both", 136]]);
  expect(await read(form, ["small", "large"])).toEqual([
    ["small", 36],
    ["large", 100],
  ]);
});

test("a conversation of one answer has all polygons; tags and several answers say which", async () => {
  const turns = (...answers: string[]): object[] =>
    answers.flatMap((value) => [
      { from: "human", value: "What is this?" },
      { from: "gpt", value },
    ]);
  expect(await read(POINTS, turns("both"))).toEqual([["both", 136]]);
  expect(await read(POINTS, turns("<Prompt1> is large"))).toEqual([["This region is large", 100]]);
  expect(await read(POINTS, turns("small", "large"))).toHaveLength(2);
});

test("polygons inside a list of objects are parts of one object, whatever the texts", async () => {
  expect(await read([FLAT], ["both", "the two"])).toEqual([["both", 136]]);
  expect(await read(JSON.stringify([FLAT]), ["both", "the two"])).toEqual([["both", 136]]);
  expect(await read([FLAT, [[0, 20, 4, 20, 4, 24, 0, 24]]], ["both", "third"])).toEqual([
    ["both", 136],
    ["third", 16],
  ]);
});
