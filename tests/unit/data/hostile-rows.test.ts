/** Rows made to break a reader: each is left out with its reason, and costs nothing of the rows and files beside it. */
import { Binary, Field, Int64, List, Struct, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { expect, it } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { captionsOf } from "../../../src/engine/data/captions.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { importRollouts } from "../../../src/plugins/reward-bench/import-rollouts.ts";
import { boxMask, png, row } from "./make.ts";

/** Fields of a struct, as Arrow types. */
const struct = (fields: Record<string, Utf8 | Binary | List | Struct>): Struct =>
  new Struct(Object.entries(fields).map(([name, type]) => new Field(name, type, true)));

it("texts with 200,000 tags, or of a million characters, cost only their own rows", async () => {
  const captions = ["<Prompt0>".repeat(200_000), `${"<Prompt0>".repeat(40_000)} a cup`, "x".repeat(1_000_000)];
  const rows = captions.flatMap((caption) => [row({}, caption), row()]);
  const other = writeRegionShard([row(), row()]);
  const set = await openRegionSet(memoryFolder({ "a.arrow": writeRegionShard(rows), "b.arrow": other }));
  expect(set.skipped).toEqual([
    { file: "a.arrow", row: 0, column: "conversations", reason: expect.stringContaining("1800035 characters") },
    { file: "a.arrow", row: 4, column: "conversations", reason: expect.stringContaining("1000035 characters") },
  ]);
  expect(set.summaries.map(({ file, row: at }) => [file, at])).toEqual([
    ["a.arrow", 1],
    ["a.arrow", 2],
    ["a.arrow", 3],
    ["a.arrow", 5],
    ["b.arrow", 0],
    ["b.arrow", 1],
  ]);
});

it.each([
  ["captions", Array.from({ length: 100_000 }, () => "")],
  ["conversations", Array.from({ length: 100_000 }, () => ({ from: "gpt", value: "" }))],
  ["messages", { role: [], content: Array.from({ length: 100_000 }, () => "") }],
])("a row of 100,000 texts is refused before they are read: %s", async (column, texts) => {
  const mask = boxMask(24, 32, 4, 4, 8, 8);
  const rows = [
    { image: "a.png", mask, [column]: texts },
    { image: "a.png", mask, [column]: ["a box"] },
  ];
  const files = { "a.png": png(32, 24), "rows.json": JSON.stringify(rows) };
  const { skipped } = await openRegionSet(memoryFolder(files));
  expect(skipped.map(({ row, reason }) => [row, reason]).slice(0, 1)).toEqual([
    [0, "the row has 100000 texts, more than the 8192 allowed"],
  ]);
});

it("a text is not repeated without end for the masks it speaks of", () => {
  const masks = 5000;
  const all = Array.from({ length: masks }, (_, at) => `<Prompt${at}>`).join(" ");
  expect(captionsOf([{ role: "gpt", value: all }], masks).fatal).toMatch(/too many masks: its captions exceed/);
  expect(captionsOf([{ role: "gpt", value: `${"<Prompt1> ".repeat(5000)}. <Prompt0>` }], 2).captions[0]).toMatch(
    /^The other region the other region .*\. This region$/,
  );
});

it.each(["toString", "__proto__", "constructor", "then"])(
  "a speaker that is a struct with a field %s",
  async (field) => {
    const speaker = struct({ [field]: new Utf8() });
    const turn = new Struct([new Field("from", speaker, true), new Field("value", new Utf8(), true)]);
    const mask = boxMask(24, 32, 4, 3, 10, 8);
    const shard = tableToIPC(
      new Table({
        image: vectorFromArray([{ bytes: png(32, 24) }], struct({ bytes: new Binary() })),
        mask_rle: vectorFromArray(
          [{ counts: mask.counts, size: mask.size.map(BigInt) }],
          struct({ counts: new Utf8(), size: new List(new Field("item", new Int64(), true)) }),
        ),
        conversations: vectorFromArray(
          [[{ from: { [field]: "x" }, value: "A red box." }]],
          new List(new Field("item", turn, true)),
        ),
      }),
      "stream",
    );
    const good = writeRegionShard([row()]);
    const set = await openRegionSet(memoryFolder({ "bad.arrow": shard, "good.arrow": good }));
    expect(set.skipped.map(({ file, row: at }) => [file, at])).toEqual([["bad.arrow", 0]]);
    expect(set.summaries.map(({ file }) => file)).toEqual(["good.arrow"]);
  },
);

it("a row of more labels than any set has keeps its region, without the labels", async () => {
  const rows = [row({ category: Array<string>(2000).fill("box") }), row({ category: ["x".repeat(5000)] }), row()];
  const set = await openRegionSet(memoryFolder({ "a.arrow": writeRegionShard(rows) }));
  expect(set.summaries.map(({ category }) => category)).toEqual([[], [], ["box"]]);
  expect(set.skipped.map(({ row: at, column }) => [at, column])).toEqual([
    [0, "catagory"],
    [1, "catagory"],
  ]);
});

it("texts of imported rollouts lose invisible characters", async () => {
  const line = JSON.stringify({
    caption: "a \u202ered\u001b[0m car",
    reference: "the\u200b car",
    completion: "\u0007car",
  });
  const [group] = await importRollouts(new TextEncoder().encode(line), "x.jsonl");
  expect(group?.rollouts[0]).toMatchObject({
    completion: "car",
    caption: "a red[0m car",
    referenceCaption: "the car",
  });
});
