/** Splits that file names give: a folder with a training split is trained on that alone. */
import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { chooseSplits, namedSplit } from "../../../src/engine/data/file-splits.ts";
import { rleFromBox } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet, type RegionSetOptions } from "../../../src/engine/data/region-set.ts";
import { checkRegionSet } from "../../../src/engine/data/set-info.ts";
import { mappingText } from "../../../src/engine/data/tables/mapping.ts";
import { regionRows } from "../../../src/plugins/suites/rows.ts";
import { jpg } from "./make.ts";

test.each([
  ["data/train-00000-of-00002.parquet", "train"],
  ["rows-validation.jsonl", "validation"],
  ["annotations/instances_val2017.json", "validation"],
  ["ReasonSeg/test/1.jpg", "test"],
  ["test/rows_train.arrow", "train"],
  ["meta_expressions_valid_u.json", "validation"],
  ["refcoco/data/testA-00000-of-00001.parquet", "testA"],
  ["trained/rows.jsonl", undefined],
  ["evaluations.jsonl", undefined],
  ["constraint.parquet", undefined],
])("%s names %s", (path, split) => {
  expect(namedSplit(path)).toBe(split);
});

const others = (paths: readonly string[], wanted?: string): ReadonlyMap<string, string> =>
  chooseSplits(
    paths.map((path) => ({ path })),
    () => wanted,
  ).others;

test("a split is left out only where its directory has files of the wanted one", () => {
  const paths = ["a/train.parquet", "a/test.parquet", "a/more.parquet", "b/test.parquet", "c/dev.parquet"];
  expect([...others(paths)]).toEqual([["a/test.parquet", "test"]]);
  const refcoco = ["train", "validation", "test", "testA", "testB"].map((name) => `data/${name}-0.parquet`);
  expect([...others(refcoco).keys()]).toEqual(refcoco.slice(1));
  expect([...others(refcoco, "testB").keys()]).toEqual(refcoco.slice(0, 4));
  expect([...others(refcoco, "test").keys()]).toEqual(refcoco.slice(0, 2));
  const nested = ["d/train.zip/train", "d/val.zip/val", "train/train-0.arrow", "test/test-0.arrow"];
  expect([...others(nested).keys()]).toEqual(["d/val.zip/val", "test/test-0.arrow"]);
});

test("of a split that the user names, no file of another one is read", () => {
  const paths = ["a/train.parquet", "a/test.parquet", "b/train.parquet", "b/more.parquet"];
  expect([...others(paths, "evaluation").keys()]).toEqual(["a/train.parquet", "b/train.parquet"]);
  expect([...others(["meta_expressions_valid_u.json", "train.jsonl"], "valid_u").keys()]).toEqual(["train.jsonl"]);
});

test("the splits of a dataset_dict.json may have any name", () => {
  const files = ["train", "fold3"].map((split) => ({ path: `set/${split}/data-0.arrow`, split }));
  expect([...chooseSplits(files).others.keys()]).toEqual(["set/fold3/data-0.arrow"]);
  expect([...chooseSplits(files, () => "fold3").others.keys()]).toEqual(["set/train/data-0.arrow"]);
});

const row = (caption: string): string =>
  JSON.stringify({ file_name: "a.jpg", mask: rleFromBox([0, 0, 4, 4], 12, 16), caption });
const FILES = {
  "rows-train.jsonl": `${row("a cat")}\n${row("a dog")}`,
  "rows-val.jsonl": row("a bird"),
  "more.jsonl": row("a fish"),
  "a.jpg": jpg(16, 12),
};
const open = (files: Record<string, Uint8Array | string> = FILES, options: RegionSetOptions = {}) =>
  openRegionSet(memoryFolder(files), options);
const captions = async (...args: Parameters<typeof open>) =>
  (await open(...args)).summaries.map(({ caption }) => caption);

test("a folder with a training split is read without its other splits, and says so", async () => {
  const set = await open();
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["a fish", "a cat", "a dog"]);
  expect(set.ignored[0]).toEqual({
    name: "rows-val.jsonl",
    reason: "of the split validation",
    split: "validation",
  });
  expect(set.files.map(({ split }) => split)).toEqual([undefined, "train"]);
  const [loaded] = await checkRegionSet(
    set,
    () => Promise.reject(new Error("not decoded here")),
    () => 0,
  );
  expect(loaded?.detail).toContain("; left out: 1 file of the split validation (to use it, open it alone)");
  const { leftOut } = await regionRows(memoryFolder(FILES), undefined, undefined, false);
  expect(leftOut).toEqual(["rows-val.jsonl: of the split validation"]);
});

test("another split is read if it is alone, or named by an argument or in a correction", async () => {
  const { "rows-train.jsonl": _, ...alone } = FILES;
  expect(await captions(alone)).toEqual(["a fish", "a bird"]);
  expect(await captions(FILES, { split: "val" })).toEqual(["a fish", "a bird"]);
  expect(await captions(FILES, { mapping: { "rows-train.jsonl": { split: "validation" } } })).toEqual([
    "a fish",
    "a bird",
  ]);
  const file = { "data-mapping.json": mappingText({ "*": { split: "dev" } }) };
  expect(await captions({ ...FILES, ...file })).toEqual(["a fish", "a bird"]);
});

test("a split that no file has is refused with the splits that exist, whoever names it", async () => {
  const reason = 'there is no split "fold3", only train, validation; nothing is read';
  const set = await open(FILES, { split: "fold3" });
  expect(set.summaries).toEqual([]);
  expect(set.files.map(({ name }) => name)).toEqual(["more.jsonl", "rows-train.jsonl", "rows-val.jsonl"]);
  expect(set.skipped).toEqual([{ file: "", row: -1, column: "", reason }]);
  const corrected = await open(FILES, { mapping: { "rows-train.jsonl": { split: "fold3" } } });
  expect(corrected.summaries.map(({ caption }) => caption)).toEqual(["a fish", "a bird"]);
  expect(corrected.skipped).toEqual([{ file: "rows-train.jsonl", row: -1, column: "", reason }]);
  const { leftOut } = await regionRows(memoryFolder(FILES), "fold3", undefined, false);
  expect(leftOut).toEqual([reason]);
});

test("a split of files without splits reads all of them, and says so", async () => {
  const { "more.jsonl": more, "a.jpg": picture } = FILES;
  const set = await open({ "more.jsonl": more, "a.jpg": picture }, { split: "val" });
  expect(set.summaries).toHaveLength(1);
  expect(set.skipped[0]?.reason).toBe('no file has splits, so the rows of all files are read, not only those of "val"');
});
