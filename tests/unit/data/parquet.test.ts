/** Parquet and Arrow: values of every type and nesting in many settings, reads by ranges, and what is refused. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { nodeFolder, nodeSource } from "../../../scripts/lib/node/node-files.ts";
import { toHex } from "../../../src/engine/bytes/hash.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { openTable } from "../../../src/engine/data/tables/open-table.ts";
import { type Cell, isBinaryCell } from "../../../src/engine/data/tables/table.ts";
import { testWith } from "../../support/plugins.ts";
import { counting } from "./make.ts";

const STORED = fileURLToPath(new URL("../../fixtures/data/parquet/", import.meta.url));
const ORACLE = fileURLToPath(new URL("../../oracle/", import.meta.url));
const PYTHON = process.env.PYTHON || "python3";

const found = spawnSync(PYTHON, ["-c", "import numpy, pyarrow.parquet"]).status === 0;
if (!found) console.warn(`Skipped: ${PYTHON} cannot import numpy and pyarrow`);

/** A cell in the notation of expected.json. */
async function plain(cell: Cell): Promise<unknown> {
  if (typeof cell === "bigint") return cell.toString();
  if (isBinaryCell(cell)) return toHex(await cell.read());
  if (Array.isArray(cell)) return Promise.all(cell.map((item: Cell) => plain(item)));
  if (typeof cell !== "object" || cell === null) return cell;
  const entries = Object.entries(cell as Record<string, Cell>);
  return Object.fromEntries(await Promise.all(entries.map(async ([key, value]) => [key, await plain(value)] as const)));
}

async function compare(directory: string, backwards: boolean): Promise<void> {
  const expected = JSON.parse(readFileSync(join(directory, "expected.json"), "utf8")) as Record<string, object[]>;
  for (const [name, rows] of Object.entries(expected)) {
    const table = await openTable(await nodeSource(join(directory, name), name));
    expect([name, table.rows]).toEqual([name, rows.length]);
    const order = [...rows.keys()];
    for (const row of backwards ? order.reverse() : order) {
      const cells = await Promise.all(
        table.columns.map((column, at) =>
          table
            .cell(at, row)
            .then(plain)
            .then((cell) => [column.name, cell]),
        ),
      );
      expect([name, row, Object.fromEntries(cells)]).toEqual([name, row, rows[row]]);
    }
  }
}

test("stored tables read to the values that pyarrow wrote, rows in any order", async () => {
  await compare(STORED, false);
  await compare(STORED, true);
});

describe.skipIf(!found)("fresh tables", () => {
  const directory = mkdtempSync(join(tmpdir(), "parquet-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  const python = (...words: string[]): void => {
    execFileSync(PYTHON, words, { stdio: ["ignore", "ignore", "pipe"] });
  };

  test("every setting of pyarrow's writers", async () => {
    python(join(ORACLE, "make_tables.py"), join(directory, "tables"), "--seed", process.env.LAB_SEED ?? "11");
    await compare(join(directory, "tables"), false);
    await compare(join(directory, "tables"), true);
  });

  test("pictures of a large row group are read one by one", async () => {
    const write = `
import sys, os, zlib, pyarrow as pa, pyarrow.parquet as pq
chunk = bytes([73, 72, 68, 82, 0, 0, 0, 16, 0, 0, 0, 12, 8, 0, 0, 0, 0])
head = bytes([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 0, 0, 13]) + chunk + zlib.crc32(chunk).to_bytes(4, "big")
picture = lambda n: head + bytes([n]) * 4 + os.urandom(300_000) + b"IEND"
table = pa.table({
    "image": [{"bytes": picture(n), "path": None} for n in range(100)],
    "mask": [{"counts": "0P6", "size": [12, 16]}] * 100,
    "caption": [f"Picture {n}." for n in range(100)],
})
pq.write_table(table, sys.argv[1], compression={"image.bytes": "none"}, use_dictionary=False, write_batch_size=1024)
`;
    python("-c", write, join(directory, "large.parquet"));
    const folder = counting(await nodeFolder(directory));
    const set = await openRegionSet({ ...folder, paths: ["large.parquet"] });
    expect([set.summaries.length, set.skipped]).toEqual([100, []]);
    // Header, middle and end of each picture, lengths, the other columns: not the 30 MB of the file.
    expect(folder.bytes).toBeLessThan(3_000_000);
    const before = folder.bytes;
    const { image } = await set.sample(57);
    expect([image.bytes.length, image.bytes[34]]).toEqual([300_041, 57]);
    expect(folder.bytes - before).toBeLessThan(310_000);
  });
});

testWith("codecs")("what cannot be read is one sentence, the shard beside it stays", async () => {
  const good = new Uint8Array(readFileSync(join(STORED, "regions.parquet")));
  const text = new TextEncoder();
  const cut = good.slice(0, good.length - 20);
  const footer = good.slice();
  const footerAt = good.length - 8 - new DataView(good.buffer).getUint32(good.length - 8, true);
  footer.fill(0xff, footerAt, footerAt + 20);
  const set = await openRegionSet(
    memoryFolder({
      "good.parquet": good,
      "cut.parquet": cut,
      "footer.parquet": footer,
      "tiny.parquet": text.encode("PAR1"),
      "locked.parquet": Uint8Array.from([...text.encode("PARE"), ...good.slice(4, -4), ...text.encode("PARE")]),
    }),
  );
  const reasons = Object.fromEntries(set.skipped.map(({ file, reason }) => [file, reason]));
  expect(reasons["cut.parquet"]).toBe(
    "cut.parquet is a truncated Parquet file: its end, which holds the schema, is missing",
  );
  expect(reasons["footer.parquet"]).toMatch(/^footer\.parquet has a damaged footer \(/);
  expect(reasons["tiny.parquet"]).toBe("tiny.parquet has only 4 bytes, too few for a Parquet file");
  expect(reasons["locked.parquet"]).toBe("locked.parquet is an encrypted Parquet file");
  expect(new Set(set.summaries.map(({ file }) => file))).toEqual(new Set(["good.parquet"]));
  await expect(openTable(memorySource("x.parquet", good)).then((table) => table.cell(0, 99))).rejects.toThrow(
    "x.parquet has no row 99",
  );
});

test("a damaged page whose levels contradict each other is refused where they do, as no row can be right", async () => {
  const table = await openTable(await nodeSource(join(STORED, "levels.parquet"), "levels.parquet"));
  const column = table.columns.findIndex(({ name }) => name === "c");
  expect(await table.cell(column, 30)).toEqual([]);
  await expect(table.cell(column, 31)).rejects.toThrow("its levels contradict each other); the file is damaged");
});
