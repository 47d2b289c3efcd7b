import { join } from "node:path";
import { expect, test } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { checkRegionSet } from "../../../src/engine/data/set-info.ts";
import { identify, type Layout, layoutOf } from "../../../src/engine/data/tables/identify.ts";
import { chooseAdapter } from "../../../src/engine/data/tables/schema.ts";
import type { Column, ColumnType } from "../../../src/engine/data/tables/table.ts";

const text: ColumnType = { kind: "text", layout: "small" };
const column = (name: string, type: ColumnType = text): Column => ({ name, type, nullable: true });
const struct = (...names: string[]): ColumnType => ({ kind: "struct", fields: names.map((name) => column(name)) });
const list = (type: ColumnType): ColumnType => ({ kind: "list", item: column("item", type), layout: "small" });

const image = column("image", struct("bytes", "path"));
const rle = struct("counts", "size");
const turns = column("conversations", list(struct("from", "value")));
const GAR = layoutOf([image, column("mask_rle", rle), turns]);
const DAM = layoutOf([image, column("mask_rle", rle), column("caption")]);

test("the columns decide what rows are, with the sign that tells it", () => {
  expect(GAR).toEqual({
    family: "gar",
    label: "gar-fine-grained",
    what: "Grasp-Any-Region Fine-Grained (conversations beside mask_rle, a struct)",
  });
  expect(layoutOf([image, column("mask_rle", list(rle)), turns]).what).toContain("Relation");
  const numbers = list({ kind: "int", bits: 64, signed: true });
  const pair: ColumnType = { kind: "struct", fields: [column("counts", list(text)), column("size", list(numbers))] };
  expect(layoutOf([image, column("mask_rle", pair), turns]).label).toBe("gar-relation");
  expect(chooseAdapter([image, column("mask_rle", pair), turns])).toMatchObject({
    name: "conversations, several masks per row",
  });
  const one: ColumnType = { kind: "struct", fields: [column("counts", numbers), column("size", numbers)] };
  expect(layoutOf([image, column("mask_rle", one), turns]).label).toBe("gar-fine-grained");
  expect(DAM.what).toBe("describe-anything (a caption beside mask_rle)");
  expect(layoutOf([column("jpg"), column("pickle"), column("__key__")])).toMatchObject({ family: "dam" });
  expect(layoutOf([image, column("mask", rle), turns]).family).toBe("other");
  expect(layoutOf([]).family).toBe("other");
});

test.each<[readonly Layout[], string, boolean]>([
  [[GAR], "nvidia/describe-anything-dataset", true],
  [[GAR], "GAR/Fine-Grained-Dataset-Part1", false],
  [[GAR], "GAR/describe-anything", false],
  [[GAR], "my regions", false],
  [[GAR], "madam", false],
  [[DAM], "describe_anything", false],
  [[DAM], "Grasp-Any-Region-Dataset", true],
  [[GAR, DAM], "describe-anything", false],
  [[{ family: "other", label: "", what: "x" }], "DAM", true],
  [[], "describe-anything", false],
])("%j under the name %s", (layouts, name, conflict) => {
  expect(identify(layouts, [name]).conflict !== undefined).toBe(conflict);
});

test("the demo shards go by what they say of themselves, not by a data set whose columns they share", async () => {
  const set = await openRegionSet(await nodeFolder(join(root, "public", "pocket", "shards")));
  expect(new Set(set.files.map(({ adapter }) => adapter))).toEqual(new Set(["conversations, one mask per row"]));
  const checks = await checkRegionSet(set, decodeImage, () => 0, ["pocket shards"]);
  const named = checks.find(({ name }) => name === "data set named");
  expect(named?.ok).toBe(true);
  expect(named?.detail).toContain(
    'described as "Scenes of drawings with region captions from vague to discriminating."',
  );
});

test("a person names the columns in place of those that are found", () => {
  const columns = [image, column("mask_rle", rle), column("caption"), column("alt_text")];
  const found = chooseAdapter(columns);
  expect(typeof found === "string" ? found : found.text.name).toBe("caption");
  expect(chooseAdapter(["image_path", "mask_path", "caption"].map((name) => column(name)))).toMatchObject({
    mask: { name: "mask_path" },
  });
  for (const image of ["file_name", "image_file_name"]) {
    expect(chooseAdapter([image, "mask_file_name", "caption"].map((name) => column(name)))).toMatchObject({
      image: { name: image },
      mask: { name: "mask_file_name" },
    });
  }
  const both = chooseAdapter([column("image_file_name"), column("mask_file_name"), ...columns]);
  expect(both).toMatchObject({ image: { name: image.name }, mask: { name: "mask_rle" } });
  const corrected = chooseAdapter(columns, { text: "alt_text" });
  expect(typeof corrected === "string" ? corrected : corrected.text.name).toBe("alt_text");
  expect(chooseAdapter(columns, { text: "words" })).toMatch(/^no column words; columns found: image/);
});

test("what is missing is said with the loops that need it", () => {
  expect(chooseAdapter([image, column("caption")])).toContain("loop 1 has no region, loop 2 no mask to score");
  expect(chooseAdapter([image, column("mask_rle", rle)])).toContain("loop 2 has no phrase");
});
