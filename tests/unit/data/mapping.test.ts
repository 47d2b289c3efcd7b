/** Corrections beside the files: columns and splits that a person names. */
import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { rleFromBox } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { describeSet } from "../../../src/engine/data/set-info.ts";
import { mappingText } from "../../../src/engine/data/tables/mapping.ts";
import { jpg } from "./make.ts";

const LINES = ["a cat", "a dog"].map((caption, at) => ({
  file_name: "a.jpg",
  mask: rleFromBox([0, 0, 4 + at, 4], 12, 16),
  caption,
  title: `title of ${caption}`,
}));
const FILES = {
  "a/rows.jsonl": LINES.map((line) => JSON.stringify(line)).join("\n"),
  "a/a.jpg": jpg(16, 12),
};
const captions = async (files: Record<string, Uint8Array | string>) =>
  (await openRegionSet(memoryFolder(files))).summaries.map(({ caption }) => caption);

test("a mapping file beside the data names the columns, and the file is told as what it is", async () => {
  expect(await captions(FILES)).toEqual(["a cat", "a dog"]);
  const mapped = { ...FILES, "a/data-mapping.json": mappingText({ "rows.jsonl": { text: "title" } }) };
  expect(await captions(mapped)).toEqual(["title of a cat", "title of a dog"]);
  const set = await openRegionSet(memoryFolder(mapped));
  expect(set.ignored).toContainEqual({ name: "a/data-mapping.json", reason: "names the columns of the files" });
  const [file] = describeSet(set, "a", []).files;
  expect(file?.becomes).toContain("text: title");
  expect(file?.parts).toContain("caption");
});

test("what a person says in the page stands above the file, and `*` is for files without an entry", async () => {
  const mapped = memoryFolder({ ...FILES, "data-mapping.json": mappingText({ "*": { text: "title" } }) });
  const set = await openRegionSet(mapped);
  expect(set.summaries[0]?.caption).toBe("title of a cat");
  const other = await openRegionSet(mapped, { mapping: { "a/rows.jsonl": { text: "caption" } } });
  expect(other.summaries[0]?.caption).toBe("a cat");
});

test("a column that only the user knows is named for JSON as for tables", async () => {
  const lines = LINES.map(({ caption, title, ...line }) => JSON.stringify({ ...line, phrase: title }));
  const folder = memoryFolder({ ...FILES, "a/rows.jsonl": lines.join("\n") });
  const set = await openRegionSet(folder);
  expect(set.skipped[0]?.reason).toMatch(/^a\/rows\.jsonl has no column for a text .*phrase: utf8$/);
  expect(set.files[0]?.parts).toContain("phrase");
  const named = await openRegionSet(folder, { columns: { text: "phrase" } });
  expect(named.summaries.map(({ caption }) => caption)).toEqual(["title of a cat", "title of a dog"]);
});

test("each of several mappings is for the files beside and below it", async () => {
  const under = (name: string): Record<string, Uint8Array | string> =>
    Object.fromEntries(Object.entries(FILES).map(([path, file]) => [`${name}/${path}`, file]));
  const file = "data-mapping.json";
  const files = { ...under("one"), ...under("two"), ...under("three") };
  expect(
    await captions({
      ...files,
      [`one/${file}`]: mappingText({ "*": { text: "title" } }),
      [`two/a/${file}`]: mappingText({ "*": { text: "file_name" }, "rows.jsonl": { text: "caption" } }),
    }),
  ).toEqual(["title of a cat", "title of a dog", "a cat", "a dog", "a cat", "a dog"]);
});

test.each([
  ["[1]", "data-mapping.json has no object of files; it is not used"],
  ['{"files": {"*": {"text": 3}}}', "data-mapping.json names no column for the text of *; it is not used"],
])("a mapping of another form is a sentence and the rows stay: %s", async (text, reason) => {
  const set = await openRegionSet(memoryFolder({ ...FILES, "data-mapping.json": text }));
  expect(set.skipped.map((one) => one.reason)).toEqual([reason]);
  expect(set.summaries).toHaveLength(2);
});

test("a column that is not there is named with those that are", async () => {
  const set = await openRegionSet(memoryFolder(FILES), { mapping: { "*": { mask: "outline" } } });
  expect(set.skipped[0]?.reason).toMatch(/no column outline; columns found: .*caption/);
});
