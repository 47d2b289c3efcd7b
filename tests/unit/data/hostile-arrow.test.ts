/** Arrow files made to take memory or time: each is refused, or its rows are, before either is spent. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Field, Int64, List, Struct, Table, tableToIPC, Utf8, vectorFromArray } from "apache-arrow";
import { expect, it } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { root } from "../../../scripts/lib/ensure.mjs";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { bufferReader } from "../../../src/engine/data/arrow/arrow-buffers.ts";
import { DictionaryHistory } from "../../../src/engine/data/arrow/arrow-cells.ts";
import type { ArrowBody } from "../../../src/engine/data/arrow/arrow-frames.ts";
import { flatReader } from "../../../src/engine/data/arrow/arrow-schema.ts";
import { openArrow } from "../../../src/engine/data/arrow/arrow-table.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { PLUGIN_CODECS } from "../../../src/plugins/codecs.ts";
import { row } from "./make.ts";

const fixture = (name: string): Uint8Array =>
  new Uint8Array(readFileSync(join(root, "tests", "fixtures", "data", "pyarrow", `${name}.arrow`)));

interface Place {
  readonly start: number;
  readonly length: number;
  readonly body: number;
}

/** Places of the record batch headers of a stream: where the metadata begins, and its length. */
function batchesOf(bytes: Uint8Array): Place[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const found: Place[] = [];
  for (let at = 0; at + 8 <= bytes.length && view.getInt32(at + 4, true) > 0; ) {
    const length = view.getInt32(at + 4, true);
    const flat = flatReader(bytes.subarray(at + 8, at + 8 + length));
    if (flat.view.getUint8(flat.field(flat.root(), 1)) === 3)
      found.push({ start: at + 8, length, body: at + 8 + length });
    at += 8 + length + flat.long(flat.root(), 3);
  }
  return found;
}

/** A stream whose first batch states other numbers of rows, in the batch itself and in its columns. */
function stating(bytes: Uint8Array, rows: number): Uint8Array {
  const changed = bytes.slice();
  const [{ start, length }] = batchesOf(changed) as [Place];
  const flat = flatReader(changed.subarray(start, start + length));
  const batch = flat.reference(flat.root(), 2);
  const nodes = flat.vector(batch, 1, 16);
  const places = [flat.field(batch, 0), ...Array.from({ length: nodes.length }, (_, at) => nodes.start + 16 * at)];
  for (const place of places) flat.view.setBigInt64(place, BigInt(rows), true);
  return changed;
}

it.each(["stream-lz4", "stream-zstd", "stream-None"])(
  "%s: a batch of more rows than its buffers hold",
  async (name) => {
    const bytes = fixture(name);
    const { rows } = await openArrow(memorySource("t.arrow", bytes));
    for (const stated of [2 ** 31 - 1, 1e6, rows + 200]) {
      const table = await openArrow(memorySource("t.arrow", stating(bytes, stated)));
      expect(table.rows).toBeLessThan(rows);
      expect(table.problem).toMatch(
        new RegExp(`record batch 1 declares ${stated} rows( in a body of|, but its column)`),
      );
    }
  },
);

it("a compressed shard that states 2^31 - 1 rows costs nothing of the file beside it", async () => {
  const folder = memoryFolder({
    "bad.arrow": stating(fixture("stream-lz4"), 2 ** 31 - 1),
    "good.arrow": writeRegionShard([row()]),
  });
  const set = await openRegionSet(folder);
  expect(set.summaries.map(({ file }) => file)).toEqual(["good.arrow"]);
  expect(set.skipped.map(({ file }) => file)).toContain("bad.arrow");
});

it("a buffer that states more than it can hold is refused without being unpacked", async () => {
  const bytes = fixture("stream-lz4").slice();
  const [{ start, length, body }] = batchesOf(bytes) as [Place];
  const flat = flatReader(bytes.subarray(start, start + length));
  const buffers = flat.vector(flat.reference(flat.root(), 2), 2, 16);
  for (let at = 0; at < buffers.length; at++) {
    const [offset, size] = [0, 8].map((by) => Number(flat.view.getBigInt64(buffers.start + 16 * at + by, true)));
    if ((size as number) >= 8) new DataView(bytes.buffer).setBigInt64(body + (offset as number), 2n ** 30n, true);
  }
  const table = await openArrow(memorySource("t.arrow", bytes));
  for (let column = 0; column < table.columns.length && table.rows > 0; column++) {
    await table.cell(column, 0).catch((thrown: Error) => expect(thrown.message).toMatch(/declares an impossible size/));
  }
  expect(table.problem).toMatch(/record batch 1 declares \d+ rows, but its column \w+ holds fewer/);
});

it("rows that all refer to the same values are left out once the file has unfolded to enough", async () => {
  // Half of the rows hold a list of 30,000 texts each, all the same ones: the offsets go up and down.
  const labels = Array.from({ length: 30_000 }, () => "a");
  const text = new List(new Field("item", new Utf8(), true));
  const count = 2000;
  const bytes = tableToIPC(
    new Table({ labels: vectorFromArray([labels, ...Array.from({ length: count - 1 }, () => [])], text) }),
    "stream",
  ).slice();
  const [{ start, length, body }] = batchesOf(bytes) as [Place];
  const flat = flatReader(bytes.subarray(start, start + length));
  const second = flat.vector(flat.reference(flat.root(), 2), 2, 16).start + 16;
  const offsets = body + Number(flat.view.getBigInt64(second, true));
  const view = new DataView(bytes.buffer);
  for (let at = 0; at <= count; at++) view.setInt32(offsets + 4 * at, at % 2 === 0 ? 0 : labels.length, true);
  const table = await openArrow(memorySource("t.arrow", bytes));
  let spent = 0;
  const pass = {
    take: (cost: number): void => {
      spent += cost;
      if (spent > 5e7) throw new RangeError("enough");
    },
  };
  let read = 0;
  for (let at = 0; at < 100; at++) {
    const list = await table.cell(0, 2 * at, pass).catch(() => null);
    if (list !== null) read++;
  }
  expect(read).toBe(12);
});

it("a value larger than 128 MiB is refused before it is made", async () => {
  const numbers = new List(new Field("item", new Int64(), true));
  const bytes = tableToIPC(new Table({ a: vectorFromArray([[1n, 2n]], new List(new Field("item", numbers, true))) }));
  expect(bytes.length).toBeGreaterThan(0);
  const struct = new Struct([]);
  const empty = vectorFromArray([[{}, {}, {}]], new List(new Field("item", struct, true)));
  const shard = tableToIPC(new Table({ list: empty }), "stream").slice();
  // Structs without fields take no bytes: a list may state any number of them.
  const [{ start, length, body }] = batchesOf(shard) as [Place];
  const flat = flatReader(shard.subarray(start, start + length));
  const batch = flat.reference(flat.root(), 2);
  flat.view.setBigInt64(flat.vector(batch, 1, 16).start + 16, 2n ** 31n - 1n, true);
  const offsets = body + Number(flat.view.getBigInt64(flat.vector(batch, 2, 16).start + 16, true));
  new DataView(shard.buffer).setInt32(offsets + 4, 2 ** 31 - 1, true);
  const table = await openArrow(memorySource("t.arrow", shard));
  await expect(table.cell(0, 0)).rejects.toThrow("a value is larger than 128 MiB");
});

it("a footer that lists one batch many times gives its rows once", async () => {
  const bytes = fixture("file-None").slice();
  const view = new DataView(bytes.buffer);
  const length = view.getInt32(bytes.length - 10, true);
  const start = bytes.length - 10 - length;
  const flat = flatReader(bytes.subarray(start, start + length));
  const blocks = flat.vector(flat.root(), 3, 24);
  expect(blocks.length).toBeGreaterThan(1);
  for (let at = 1; at < blocks.length; at++) {
    bytes.copyWithin(start + blocks.start + 24 * at, start + blocks.start, start + blocks.start + 24);
  }
  const table = await openArrow(memorySource("t.arrow", bytes));
  expect(table.batches).toBe(1);
  expect(table.problem).toMatch(/record batch 2 overlaps the previous one; 1 complete batch/);
});

it("dictionaries as they stand at every batch, at the same cost for each message", () => {
  const history = new DictionaryHistory();
  const body = (rows: number) => ({ rows }) as ArrowBody;
  const at = (batch: number, id = 7) =>
    history
      .at(batch)
      .get(id)
      ?.map(({ rows }) => rows);
  history.add(7, body(1), false, 0);
  history.add(7, body(2), true, 0);
  history.add(7, body(3), true, 1);
  history.add(8, body(9), false, 1);
  history.add(7, body(4), false, 2);
  history.add(7, body(5), true, 2);
  expect([at(0), at(1), at(2), at(9)]).toEqual([
    [1, 2],
    [1, 2, 3],
    [4, 5],
    [4, 5],
  ]);
  expect([at(0, 8), at(1, 8)]).toEqual([undefined, [9]]);
});

it("refuses a packed buffer of more than half a gigabyte before it reads it", async () => {
  const length = 600 * 2 ** 20;
  let bytes = 0;
  const read = async (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> => {
    bytes += end - start;
    return new Uint8Array(end - start);
  };
  const body = {
    rows: 1,
    start: 0,
    bytes: length,
    nodes: [],
    variadicCounts: [],
    codec: PLUGIN_CODECS.find(({ name }) => name === "ZSTD"),
  };
  const reader = bufferReader(
    { name: "large.arrow", size: length, read },
    { ...body, buffers: [{ offset: 0, length }] },
  );
  await expect(reader.read(0, 0, 8)).rejects.toThrow(/^large\.arrow: a batch unpacks to more than .* smaller batches$/);
  expect(bytes).toBe(0);
});

it("says so where a stream ends before its bytes do", async () => {
  const shard = writeRegionShard([row(), row()]);
  const twice = new Uint8Array([...shard, ...shard]);
  const set = await openRegionSet(memoryFolder({ "two.arrow": twice }));
  expect(set.summaries).toHaveLength(2);
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "two.arrow: bytes follow the end of the stream; 1 complete batch with 2 rows before it kept",
  ]);
  // Room that a writer left is none of that.
  const padded = await openRegionSet(memoryFolder({ "room.arrow": new Uint8Array([...shard, ...new Uint8Array(99)]) }));
  expect([padded.summaries.length, padded.skipped]).toEqual([2, []]);
});

it("says so where the footer lists a batch that is zeros", async () => {
  const bytes = fixture("file-None");
  const { index } = await openArrow(memorySource("file-None.arrow", bytes));
  const at = (index.batches.at(-1) as ArrowBody).start;
  // Its header goes, from the length on.
  const length = new DataView(bytes.buffer);
  let start = at;
  while (length.getInt32(start, true) !== -1) start -= 4;
  bytes.fill(0, start + 4, at);
  const table = await openArrow(memorySource("file-None.arrow", bytes));
  expect(table.problem).toMatch(/^file-None\.arrow: record batch \d+ has no header; /);
});
