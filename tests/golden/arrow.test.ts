import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../src/engine/bytes/source.ts";
import { arrowParity } from "../../tools/parity/arrow.ts";
import { testWith } from "../support/plugins.ts";

const FOLDER = fileURLToPath(new URL("./arrow/", import.meta.url));

testWith("codecs")("files of other writers read with the stored fields, batches and values", async () => {
  const folder = await nodeFolder(FOLDER);
  const rows = [];
  for await (const row of arrowParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  // Four files with five comparisons each, and the pointer that is no Arrow file.
  expect(rows.length).toBe(21);
  expect(rows.find((row) => row.case.startsWith("git-lfs"))?.note).toContain("Git LFS pointer");
});

testWith("codecs")("pyarrow's files read in every layout, compression and framing", async () => {
  const folder = await nodeFolder(fileURLToPath(new URL("../fixtures/data/pyarrow/", import.meta.url)));
  const rows = [];
  for await (const row of arrowParity(folder)) rows.push(row);
  expect(rows.filter((row) => !row.pass)).toEqual([]);
  expect(new Set(rows.map((row) => row.case)).size).toBe(10);
});

test("a wrong value, a missing expectation and an unreadable file fail", async () => {
  const folder = await nodeFolder(FOLDER);
  const bytes = await readAll(folder, "dictionary.stream.arrow");
  const expected = JSON.parse(new TextDecoder().decode(await readAll(folder, "dictionary.stream.arrow.expected.json")));
  expected.rows[0].dict0 = "other";
  const broken = memoryFolder({
    "a.arrow": bytes,
    "a.arrow.expected.json": JSON.stringify(expected),
    "b.arrow": bytes,
    "c.arrow": bytes.slice(0, 100),
    "c.arrow.expected.json": "{}",
  });
  const failed = [];
  for await (const row of arrowParity(broken)) if (!row.pass) failed.push([row.case, row.what]);
  expect(failed).toEqual([
    ["a.arrow", "51 values of 17 rows"],
    ["b.arrow", "expectations"],
    ["c.arrow", "recognised as not being a shard"],
  ]);
});

async function readAll(folder: Awaited<ReturnType<typeof nodeFolder>>, path: string): Promise<Uint8Array> {
  const source = folder.get(path);
  if (source === undefined) throw new Error(`no ${path}`);
  return source.read(0, source.size);
}
