import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { captionsOf, readTurns, type Turn } from "../../../src/engine/data/captions.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { png } from "./make.ts";

const human = (value: string): Turn => ({ role: "human", value });
const gpt = (value: string): Turn => ({ role: "gpt", value });

test("turns come from lists of structs and structs of lists, under all names of the speakers", () => {
  const expected = [human("Q"), gpt("A")];
  expect(
    readTurns([
      { from: "human", value: "Q" },
      { from: "gpt", value: "A" },
    ]),
  ).toEqual(expected);
  expect(
    readTurns([
      { role: "user", content: "Q" },
      { role: "assistant", content: "A" },
    ]),
  ).toEqual(expected);
  expect(readTurns({ from: ["human", "gpt"], value: ["Q", "A"] })).toEqual(expected);
  expect(
    readTurns([{ from: "system", value: "S" }, null, { from: "gpt", value: null }, { from: "gpt", value: "A" }]),
  ).toEqual([gpt("A")]);
  expect(readTurns("text")).toBeUndefined();
  expect(readTurns(null)).toBeUndefined();
});

test("a single mask takes the first answer", () => {
  const turns = [human("Q"), gpt("First."), human("Q"), gpt("Second.")];
  expect(captionsOf(turns, 1).captions).toEqual(["First."]);
});

test("tags out of order, masks never spoken of, articles and sentence starts", () => {
  const turns = [
    human("<image>\nCompare <Prompt2> and <Prompt0>."),
    gpt("The <Prompt2> is left of the <Prompt0>. <Prompt0> is red."),
  ];
  expect(captionsOf(turns, 4).captions).toEqual([
    "Region 3 is left of this region. This region is red.",
    undefined,
    "This region is left of region 1. Region 1 is red.",
    undefined,
  ]);
});

test("an answer without tags belongs to the one mask its question speaks of", () => {
  const turns = [human("What is <Prompt1>?"), gpt("A dog."), human("And <Prompt0>?"), gpt("A cat.")];
  expect(captionsOf(turns, 2).captions).toEqual(["A cat.", "A dog."]);
});

test("a tag beyond the list makes the row unusable", () => {
  expect(captionsOf([human("<Prompt5>?"), gpt("A.")], 3)).toEqual({
    captions: [],
    fatal: "the text refers to <Prompt5>, but the row has 3 masks",
  });
});

test("Osprey: answers before the first question are no captions", async () => {
  const conversations = [gpt("Hello."), human("What is it?"), gpt("A box.")].map(({ role: from, value }) => ({
    from,
    value,
  }));
  const annotation = [{ segmentation: [[1, 1, 20, 1, 20, 20, 1, 20]] }];
  const rows = JSON.stringify([{ file_name: "a.png", height: 24, width: 32, annotation, conversations }]);
  const set = await openRegionSet(memoryFolder({ "osprey.json": rows, "a.png": png(32, 24) }));
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["A box."]);
});
