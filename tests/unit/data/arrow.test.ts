import { readFile } from "node:fs/promises";
import * as arrow from "apache-arrow";
import { expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { openArrow } from "../../../src/engine/data/arrow/arrow-table.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { type Cell, isBinaryCell, typeName } from "../../../src/engine/data/tables/table.ts";
import { testWith } from "../../support/plugins.ts";
import { counting, png, row } from "./make.ts";

async function plain(cell: Cell): Promise<unknown> {
  if (isBinaryCell(cell)) return [...(await cell.read())];
  if (Array.isArray(cell)) return Promise.all(cell.map(plain));
  if (typeof cell !== "object" || cell === null) return cell;
  const entries = await Promise.all(
    Object.entries(cell).map(async ([key, value]) => [key, await plain(value)] as const),
  );
  return Object.fromEntries(entries);
}

async function read(bytes: Uint8Array): Promise<{ types: string[]; columns: unknown[][] }> {
  const table = await openArrow(memorySource("t.arrow", bytes));
  expect(table.index.problem).toBeUndefined();
  const columns = await Promise.all(
    table.columns.map((_, at) =>
      Promise.all(Array.from({ length: table.rows }, async (__, r) => plain(await table.cell(at, r)))),
    ),
  );
  return { types: table.columns.map((column) => typeName(column.type)), columns };
}

const list = (type: arrow.DataType) => new arrow.Field("item", type, true);

const VARIANTS: [string, arrow.DataType, unknown[]][] = [
  ["int8", new arrow.Int8(), [-1, null, 127]],
  ["uint16", new arrow.Uint16(), [65535, 0, null]],
  ["int32", new arrow.Int32(), [-5, null, 7]],
  ["int64", new arrow.Int64(), [-5n, null, 2n ** 60n]],
  ["float16", new arrow.Float16(), [1.5, null, -0.25]],
  ["float32", new arrow.Float32(), [1.5, null, -0.25]],
  ["float64", new arrow.Float64(), [Math.PI, null, -0]],
  ["bool", new arrow.Bool(), [true, null, false]],
  ["utf8", new arrow.Utf8(), ["a", null, "矢 µ"]],
  ["large_utf8", new arrow.LargeUtf8(), ["a", null, "矢 µ"]],
  ["utf8_view", new arrow.Utf8View(), ["short", null, "longer than the twelve bytes in a view"]],
  ["binary", new arrow.Binary(), [Uint8Array.of(1, 2), null, new Uint8Array(0)]],
  ["large_binary", new arrow.LargeBinary(), [Uint8Array.of(1, 2), null, new Uint8Array(0)]],
  ["binary_view", new arrow.BinaryView(), [Uint8Array.of(1), null, new Uint8Array(40).fill(9)]],
  ["fixed_size_binary[2]", new arrow.FixedSizeBinary(2), [Uint8Array.of(1, 2), null, Uint8Array.of(3, 4)]],
  ["list<int64>", new arrow.List(list(new arrow.Int64())), [[1n, 2n], null, []]],
  ["large_list<utf8>", new arrow.LargeList(list(new arrow.Utf8())), [["a", null], null, []]],
  ["fixed_size_list<int32>[2]", new arrow.FixedSizeList(2, list(new arrow.Int32())), [[1, 2], null, [3, 4]]],
  [
    "struct<a: utf8, b: int32>",
    new arrow.Struct([new arrow.Field("a", new arrow.Utf8(), true), new arrow.Field("b", new arrow.Int32(), true)]),
    [{ a: "x", b: 1 }, null, { a: null, b: null }],
  ],
  ["dictionary<utf8>", new arrow.Dictionary(new arrow.Utf8(), new arrow.Int8()), ["a", null, "b"]],
  ["null", new arrow.Null(), [null, null, null]],
];

test.each(["stream", "file"] as const)("all types in use read from a %s, nulls included", async (format) => {
  for (const [name, type, values] of VARIANTS) {
    const table = new arrow.Table({
      c: arrow.vectorFromArray(values, type),
      end: arrow.vectorFromArray([1, 2, 3], new arrow.Int32()),
    });
    const { types, columns } = await read(arrow.tableToIPC(table, format));
    const expected = values.map((value) => (value instanceof Uint8Array ? [...value] : value));
    expect([types[0], columns[0]]).toEqual([name, expected]);
    // The column after it: its buffers are found only when those before are counted right.
    expect(columns[1]).toEqual([1, 2, 3]);
  }
});

test("batches, empty batches and random rows; only the buffers of a row's batch are read", async () => {
  const type = new arrow.Utf8();
  const part = (from: number, n: number) =>
    new arrow.Table({
      t: arrow.vectorFromArray(
        Array.from({ length: n }, (_, i) => `row ${from + i}`),
        type,
      ),
    });
  const table = part(0, 3).concat(part(3, 0)).concat(part(3, 5));
  const opened = await openArrow(memorySource("t.arrow", arrow.tableToIPC(table, "stream")));
  for (const at of [7, 0, 3, 2, 5]) expect(await opened.cell(0, at)).toBe(`row ${at}`);
  await expect(opened.cell(0, 8)).rejects.toThrow("t.arrow has no row 8, only 8 rows");
  await expect(opened.cell(0, -1)).rejects.toThrow("no row -1");
});

testWith("codecs")(
  "the file format keeps its complete batches without a footer, and says what is missing",
  async () => {
    const bytes = await readFile(new URL("../../golden/arrow/lz4.file.arrow", import.meta.url));
    const whole = await openArrow(memorySource("t.arrow", bytes));
    expect([whole.rows, whole.index.batches.length, whole.index.problem]).toEqual([60, 2, undefined]);
    const noFooter = await openArrow(memorySource("t.arrow", bytes.subarray(0, bytes.length - 20)));
    expect(noFooter.rows).toBe(60);
    expect(noFooter.index.problem).toBe(
      "t.arrow: the footer is missing; 2 complete batches with 60 rows before it kept",
    );
    const second = whole.index.batches[1]!;
    const cut = await openArrow(memorySource("t.arrow", bytes.subarray(0, second.start + 5)));
    expect(cut.rows).toBe(30);
    expect(cut.index.problem).toMatch(
      /^t\.arrow: record batch 2 is cut off at byte \d+: it needs \d+ bytes; 1 complete batch with 30 rows before it kept$/,
    );
    expect(await cut.cell(1, 0)).toBe("foo");
  },
);

test("a big-endian file is refused by name", async () => {
  // A schema message by hand: the library writes only the usual order, which is the default and not stored.
  const message = Uint8Array.from([
    ...[16, 0, 0, 0], // the Message table is at 16
    ...[12, 0, 12, 0, 4, 0, 6, 0, 8, 0, 0, 0], // its vtable: version at 4, header type at 6, header at 8
    ...[12, 0, 0, 0, 4, 0, 1, 0, 12, 0, 0, 0], // Message: version V5, header type Schema, header at 24 + 12
    ...[6, 0, 8, 0, 4, 0, 0, 0], // vtable of Schema at 28: byte order at 4
    ...[8, 0, 0, 0, 1, 0, 0, 0], // Schema at 36: big-endian, no fields
    ...[0, 0, 0, 0],
  ]);
  const stream = (order: number): Uint8Array => {
    const bytes = new Uint8Array(8 + message.length);
    bytes.set([255, 255, 255, 255, message.length, 0, 0, 0]);
    bytes.set(message, 8);
    bytes[8 + 40] = order;
    return bytes;
  };
  expect((await openArrow(memorySource("little.arrow", stream(0)))).columns).toEqual([]);
  await expect(openArrow(memorySource("big.arrow", stream(1)))).rejects.toThrow("big.arrow is a big-endian Arrow file");
});

test("shards in other physical types give the same regions: large, views, dictionary, int32 sizes, struct of lists", async () => {
  const good = row();
  const bytes = png(32, 24);
  const { counts } = good.mask as { counts: string };
  const make = (
    text: arrow.DataType,
    binary: arrow.DataType,
    size: arrow.DataType,
    number: (n: number) => unknown,
    countsType: arrow.DataType,
    countsValue: unknown,
  ) => {
    const field = (name: string, type: arrow.DataType) => new arrow.Field(name, type, true);
    const image = new arrow.Struct([field("path", text), field("bytes", binary)]);
    const mask = new arrow.Struct([field("counts", countsType), field("size", size)]);
    const conversations = new arrow.Struct([
      field("from", new arrow.List(list(text))),
      field("value", new arrow.List(list(text))),
    ]);
    return arrow.tableToIPC(
      new arrow.Table({
        category: arrow.vectorFromArray(["box"], text),
        conversations: arrow.vectorFromArray([{ from: ["human", "gpt"], value: ["?", "A red box."] }], conversations),
        segmentation: arrow.vectorFromArray([{ counts: countsValue, size: [24, 32].map(number) }], mask),
        jpg: arrow.vectorFromArray([{ path: null, bytes }], image),
      }),
      "stream",
    );
  };
  const utf8 = new arrow.Utf8();
  const runs = new arrow.List(list(new arrow.Int64()));
  const folder = memoryFolder({
    "a.arrow": make(
      new arrow.LargeUtf8(),
      new arrow.LargeBinary(),
      new arrow.LargeList(list(new arrow.Int32())),
      (n) => n,
      new arrow.LargeUtf8(),
      counts,
    ),
    "b.arrow": make(
      new arrow.Utf8View(),
      new arrow.BinaryView(),
      new arrow.FixedSizeList(2, list(new arrow.Float64())),
      (n) => n,
      new arrow.Binary(),
      new TextEncoder().encode(counts),
    ),
    "c.arrow": make(
      utf8,
      new arrow.Binary(),
      new arrow.List(list(new arrow.Int64())),
      BigInt,
      runs,
      [768n].map((n) => n - 1n).concat(1n),
    ),
  });
  const set = await openRegionSet(folder);
  expect(set.skipped).toEqual([]);
  expect(set.summaries.map((summary) => [summary.caption, summary.category, summary.mask.size])).toEqual(
    Array(3).fill(["A red box.", ["box"], [24, 32]]),
  );
  expect(set.summaries.map((summary) => summary.mask.counts === counts)).toEqual([true, true, false]);
  expect((await set.sample(1)).image.bytes).toEqual(bytes);
});

test("plain caption shards: binary picture, JSON mask text, polygons, base64 picture, null category", async () => {
  const bytes = png(32, 24);
  const polygon = new arrow.List(list(new arrow.List(list(new arrow.Float64()))));
  const folder = memoryFolder({
    "json.arrow": arrow.tableToIPC(
      new arrow.Table({
        image: arrow.vectorFromArray([bytes, bytes], new arrow.Binary()),
        mask: arrow.vectorFromArray([JSON.stringify(row().mask), "not json"], new arrow.Utf8()),
        caption: arrow.vectorFromArray(["One.", "Two."], new arrow.Utf8()),
        category: arrow.vectorFromArray([null, null], new arrow.Null()),
      }),
      "stream",
    ),
    "polygon.arrow": arrow.tableToIPC(
      new arrow.Table({
        image: arrow.vectorFromArray(
          [`data:base64,${Buffer.from(bytes).toString("base64")}`, "images/1.jpg"],
          new arrow.Utf8(),
        ),
        segmentation: arrow.vectorFromArray([[[2, 2, 12, 2, 12, 9, 2, 9]], [[2, 2, 12, 2, 12, 9]]], polygon),
        text: arrow.vectorFromArray(["Box.", "Box."], new arrow.Utf8()),
      }),
      "file",
    ),
  });
  const set = await openRegionSet(folder);
  expect(set.files.map((file) => file.adapter)).toEqual(["captions, one mask per row", "captions, one mask per row"]);
  expect(set.summaries.map((summary) => [summary.file, summary.caption, summary.maskShare])).toEqual([
    ["json.arrow", "One.", 80 / 768],
    ["polygon.arrow", "Box.", 70 / 768],
  ]);
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    'the mask is not in the shard, only its path "not json", and that file does not exist',
    'the picture is not in the shard, only its path "images/1.jpg", and that file does not exist',
  ]);
  expect((await set.sample(1)).image.bytes).toEqual(bytes);
});

test("a wrong schema is one sentence with the columns found", async () => {
  const table = new arrow.Table({
    input: arrow.vectorFromArray(["a"], new arrow.Utf8()),
    n: arrow.vectorFromArray([1], new arrow.Int32()),
  });
  const set = await openRegionSet(
    memoryFolder({ "q.arrow": arrow.tableToIPC(table, "stream"), "a.arrow": writeRegionShard([row()]) }),
  );
  expect(set.skipped.length).toBe(1);
  expect(set.skipped[0]).toMatchObject({ file: "q.arrow", row: -1 });
  expect(set.skipped[0]?.reason).toMatch(
    /^q\.arrow has no column for a picture .*; columns found: input: utf8, n: int32$/,
  );
  expect(set.summaries.length).toBe(1);
});

test("damage anywhere in a shard ends in sentences, never in a crash or an endless read", async () => {
  const shard = writeRegionShard([row(), row(), row(), row(), row(), row()], { batchRows: 2 });
  let state = 1;
  const next = (below: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let kept = 0;
  for (let n = 0; n < 300; n++) {
    const broken = shard.slice(0, n % 3 === 0 ? next(shard.length) : shard.length);
    for (let hits = next(4) + (n % 3 === 0 ? 0 : 1); hits > 0; hits--) broken[next(broken.length)] = next(256);
    const folder = counting(memoryFolder({ "d.arrow": broken }));
    const set = await openRegionSet(folder);
    kept += set.summaries.length;
    expect(set.skipped.every(({ reason }) => reason.length > 10)).toBe(true);
    expect(folder.bytes).toBeLessThan(40 * shard.length);
    for (const { index } of set.summaries) await set.sample(index);
  }
  // Most hits fall into one row or none: the rest of the rows is usable.
  expect(kept).toBeGreaterThan(300);
});
