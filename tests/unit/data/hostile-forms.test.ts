import { gzipSync, zipSync } from "fflate";
import { expect, test } from "vitest";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { openParquet } from "../../../src/engine/data/parquet/table.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { adaptRow } from "../../../src/engine/data/row.ts";
import { listTables } from "../../../src/engine/data/tables/list-tables.ts";
import { type Adapter, chooseAdapter } from "../../../src/engine/data/tables/schema.ts";
import type { ReadMeter, Table } from "../../../src/engine/data/tables/table.ts";
import { badInput } from "../../../src/engine/errors.ts";
import { readZip } from "../../../src/plugins/archives/mount.ts";
import { readTar } from "../../../src/plugins/archives/tar.ts";
import {
  i32,
  i64,
  list,
  struct as structOf,
  type Thrift,
  text as thriftText,
  varint,
} from "../../../src/plugins/exchange/parquet-write.ts";
import { readPickle } from "../../../src/plugins/pickle/pickle.ts";
import { pickle, tar } from "../../support/data-forms.ts";
import { png } from "./make.ts";

const struct = (fields: readonly (readonly [id: number, value: Thrift])[]): Thrift =>
  structOf(Object.fromEntries(fields));

const text = (value: string): Uint8Array => new TextEncoder().encode(value);

test("a pickle that calls code is refused by name and nothing runs", async () => {
  // os.system("echo ran"): GLOBAL, text, TUPLE1, REDUCE.
  const calls = text("cos\nsystem\n(S'echo ran'\ntR.");
  expect(() => readPickle(calls, "a.p")).toThrow("it asks for GLOBAL, which names or calls code");
  for (const [byte, name] of [
    [0x93, "STACK_GLOBAL"],
    [0x52, "REDUCE"],
    [0x62, "BUILD"],
    [0x69, "INST"],
    [0x6f, "OBJ"],
    [0x81, "NEWOBJ"],
    [0x92, "NEWOBJ_EX"],
    [0x51, "BINPERSID"],
    [0x84, "EXT4"],
  ] as const) {
    expect(() => readPickle(Uint8Array.of(0x80, 4, 0x5d, byte), "a.p")).toThrow(`it asks for ${name},`);
  }
  const set = await openRegionSet(memoryFolder({ "refs(unc).p": calls }));
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "refs(unc).p cannot be read as a pickle: it asks for GLOBAL, which names or calls code; only plain data is read and nothing was run",
  ]);
});

test("a pickle's keys are data, its lengths are checked, and every cut has a sentence", () => {
  const read = readPickle(pickle({ __proto__x: 1 }), "a.p");
  expect(read).toEqual({ __proto__x: 1 });
  const polluting = Uint8Array.of(
    0x80,
    2,
    0x7d,
    0x55,
    9,
    ...text("__proto__"),
    0x7d,
    0x55,
    1,
    0x61,
    0x4b,
    1,
    0x73,
    0x73,
    0x2e,
  );
  const dict = readPickle(polluting, "a.p") as object;
  expect(Object.keys(dict)).toEqual(["__proto__"]);
  expect((dict as { a?: unknown }).a).toBeUndefined();
  expect(() => readPickle(Uint8Array.of(0x80, 2, 0x58, 255, 255, 255, 127, 0x61), "a.p")).toThrow(
    "cut off after 8 bytes",
  );
  const whole = pickle([{ ref_id: 1, sentences: ["a cat"] }]);
  for (let end = 0; end < whole.length; end++) {
    expect(() => readPickle(whole.subarray(0, end), "a.p")).toThrow(/^a\.p cannot be read as a pickle: /);
  }
});

/** A list of items by their opcodes. */
const listOf = (...items: readonly (readonly number[])[]): number[] => [0x5d, 0x28, ...items.flat(), 0x65];

/** The opcodes of lists of ten times the list before: 10^20 items when they are walked. */
const SHARING = [0x5d, 0x71, 0, 0x30];
for (let level = 1; level <= 20; level++) {
  const ten = Array.from({ length: 10 }, () => [0x68, level - 1]);
  // Each is remembered and taken off the stack.
  SHARING.push(...listOf(...ten), 0x71, level, 0x30);
}
SHARING.push(0x68, 20);

/** A pickle of a record of plain fields, and a mask by its opcodes. */
function withMask(fields: object, mask: readonly number[]): Uint8Array {
  const plain = pickle(fields).slice(2, -1);
  return Uint8Array.of(0x80, 2, ...plain, 0x55, 4, ...text("mask"), ...mask, 0x73, 0x2e);
}

test("the columns of a pickle that shares its parts without end are found anyway", async () => {
  const record = withMask({ image: "a.png", caption: "a box" }, SHARING);
  const rows = Uint8Array.of(0x80, 2, ...listOf([...record.slice(2, -1)]), 0x2e);
  const set = await openRegionSet(memoryFolder({ "rows.p": rows, "a.png": png(32, 24) }));
  expect(set.summaries).toEqual([]);
  expect(set.skipped[0]?.reason).toMatch(/^rows\.p has no column for a mask .*image: utf8, caption: utf8, mask: list</);
});

test.each(["rows.p", "a.pickle"])("a value of %s that shares its parts without end is refused", async (name) => {
  // Behind the items that are inspected for the columns.
  const polygon = [...pickle([1, 1, 20, 1, 20, 20]).slice(2, -1)];
  const record = withMask({ image: "a.png", caption: "a box" }, listOf(...Array(8).fill(polygon), SHARING));
  const bytes = name === "rows.p" ? Uint8Array.of(0x80, 2, ...listOf([...record.slice(2, -1)]), 0x2e) : record;
  const set = await openRegionSet(memoryFolder({ [name]: bytes, "a.png": png(32, 24) }));
  expect(set.summaries).toEqual([]);
  expect(set.skipped.map(({ reason }) => reason)).toEqual(["a value is larger than 128 MiB"]);
});

test("a pickle that shares its parts without end costs no more than its file may", async () => {
  const ref = pickle({ ref_id: 1, ann_id: 1, image_id: 1, split: "train" }).slice(2, -1);
  const sentences = Uint8Array.of(
    0x80,
    2,
    0x5d,
    0x28,
    ...ref,
    0x55,
    9,
    ...text("sentences"),
    ...SHARING,
    0x73,
    0x65,
    0x2e,
  );
  const instances = JSON.stringify({
    images: [{ id: 1, file_name: "a.png", height: 24, width: 32 }],
    annotations: [{ id: 1, image_id: 1, segmentation: [[1, 1, 20, 1, 20, 20]] }],
  });
  const set = await openRegionSet(memoryFolder({ "refs.p": sentences, "instances.json": instances }));
  expect(set.summaries).toEqual([]);
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "sentences that are not text are left out: 10",
    'the picture is not in the shard, only its path "a.png", and that file does not exist',
  ]);
});

test("names that lead out of an archive are left out", async () => {
  const names = ["../../evil.json", "/etc/evil.json", "a/../../evil.json", "C:\\evil.json", "good.txt"];
  // As `tar -cf a.tar .` writes it, the first member is the directory itself.
  const archive = tar(["./", ...names].map((name) => [name, text(name === "./" ? "" : "x")]));
  const found = await readTar(memorySource("a.tar", archive));
  expect(found.members.map(({ name }) => name)).toEqual(["good.txt"]);
  expect(found.problems).toEqual(["a.tar has 4 names that lead out of the archive; they are left out"]);
  const zip = zipSync(Object.fromEntries(names.map((name) => [name, text("x")])));
  const zipped = await readZip(memorySource("a.zip", zip));
  expect(zipped.members.map(({ name }) => name)).toEqual(["good.txt"]);
  expect(zipped.problems).toEqual(["a.zip has 4 names that lead out of the archive; they are left out"]);
});

test("names of a zip are those of zipfile: from the archive's own directory, in UTF-8 or code page 437", async () => {
  const zip = zipSync({ "./a.txt": text("x"), "./.hidden": text("x"), "caf1.txt": text("1"), "caf2.txt": text("2") });
  // é and è of code page 437 in the place of the digits, in both headers.
  for (let at = 0; at < zip.length - 3; at++) {
    if (String.fromCharCode(...zip.subarray(at, at + 3)) !== "caf") continue;
    zip[at + 3] = zip[at + 3] === 0x31 ? 0x82 : 0x8a;
  }
  const { members, problems } = await readZip(memorySource("a.zip", zip));
  expect(members.map(({ name }) => name)).toEqual(["a.txt", "café.txt", "cafè.txt"]);
  expect(problems).toEqual([]);
});

test("a tar that lies about a length keeps what is before it", async () => {
  const archive = tar([
    ["a.txt", text("one")],
    ["b.txt", text("two")],
  ]);
  const second = 1024;
  archive.set(text("77777777777\0"), second + 124);
  archive.set(text("        "), second + 148);
  const sum = archive.subarray(second, second + 512).reduce((total, byte) => total + byte, 0);
  archive.set(text(`${sum.toString(8).padStart(6, "0")}\0 `), second + 148);
  const { members, problems } = await readTar(memorySource("a.tar", archive));
  expect(members.map(({ name }) => name)).toEqual(["a.txt"]);
  expect(problems).toEqual([
    "a.tar is a damaged tar archive: the member at byte 1024 states 8589934591 bytes, but only 1536 follow; the file before it is kept",
  ]);
});

test("a damaged line or file is one row that is left out, the first ones too", async () => {
  const line = JSON.stringify({ image: "a.png", segmentation: [[1, 1, 20, 1, 20, 20]], caption: "a box" });
  const damaged = ['{"score": NaN}', "{cut", '{"caption": "un"closed"}', `${line.slice(0, 25)}${line}`, "\0", "[1, 2"];
  const lines = ["{NaN}", line, ...damaged.flatMap((one) => [one, line])];
  const picture = png(32, 24);
  const set = await openRegionSet(memoryFolder({ "rows.jsonl": lines.join("\r\n"), "a.png": picture }));
  expect(set.summaries.map(({ row }) => row)).toEqual([1, 3, 5, 7, 9, 11, 13]);
  expect(set.skipped.map(({ row }) => row)).toEqual([0, 2, 4, 6, 8, 10, 12]);
  const files = { "s/0.png": picture, "s/0.json": "{", "s/1.png": picture, "s/1.json": line };
  const samples = await openRegionSet(memoryFolder(files));
  expect(samples.summaries.map(({ row }) => row)).toEqual([1]);
  expect(samples.skipped.map(({ row, reason }) => [row, reason])).toEqual([
    [0, expect.stringMatching(/^s\/0\.json is not valid JSON/)],
  ]);
});

test("a zip member unpacks to no more than it states", async () => {
  const zip = zipSync({ "a.json": text(JSON.stringify(Array(5000).fill(0))) });
  const view = new DataView(zip.buffer, zip.byteOffset, zip.byteLength);
  const directory = view.getUint32(zip.length - 6, true);
  view.setUint32(directory + 24, 100, true);
  const { members } = await readZip(memorySource("a.zip", zip));
  const source = members[0]?.source;
  expect(source?.size).toBe(100);
  await expect(source?.read(0, 100)).rejects.toThrow(
    "a.json in a.zip cannot be read: it unpacks to more than the 100 bytes it states",
  );
});

test.each([0, 6] as const)("a zip member with a changed byte is refused, packed at level %i", async (level) => {
  const zip = zipSync({ "a.txt": [text("reward 0.125, reward 0.25"), { level }], "b.txt": text("whole") });
  // Behind the header of 30 bytes and the name.
  const at = 30 + "a.txt".length + 8;
  zip[at] = (zip[at] as number) ^ 1;
  const { members } = await readZip(memorySource("a.zip", zip));
  const [damaged, whole] = await Promise.allSettled(members.map(({ source }) => source.read(0, source.size)));
  expect(String(damaged?.status === "rejected" && damaged.reason)).toMatch(/a\.txt in a\.zip cannot be read: /);
  expect(whole?.status).toBe("fulfilled");
});

/** A page of a Parquet file with its header, which states what it likes. */
function page(kind: "data" | "dictionary", encoding: number, content: Uint8Array, stated: number, values: number) {
  const own = (kind === "data" ? [values, encoding, 3, 3] : [values, encoding]).map(
    (value, field) => [field + 1, i32(value)] as const,
  );
  const header = struct([
    [1, i32(kind === "data" ? 0 : 2)],
    [2, i32(stated)],
    [3, i32(content.length)],
    [kind === "data" ? 5 : 7, struct(own)],
  ]);
  return Buffer.concat([Uint8Array.from(header.bytes), content]);
}

/** A Parquet file of one column of texts in one gzip page, which states what it likes. */
function gzipParquet(packed: Uint8Array, stated: number, values: number): Uint8Array {
  return parquetOf(page("data", 0, packed, stated, values), { values, rows: values, codec: 2, repetition: 0 });
}

/** A Parquet file of one column of texts with these pages. */
function parquetOf(
  pages: Uint8Array,
  {
    values,
    rows,
    codec,
    repetition,
  }: { readonly values: number; readonly rows: number; readonly codec: number; readonly repetition: number },
): Uint8Array {
  const size = i64(pages.length);
  const facts = [i32(6), list([i32(0)]), list([thriftText("a")]), i32(codec), i64(values), size, size, i64(4)];
  const column = struct(facts.map((value, at) => [[1, 2, 3, 4, 5, 6, 7, 9][at] as number, value] as const));
  const chunk = struct([
    [2, i64(4)],
    [3, column],
  ]);
  const group = struct([list([chunk]), size, i64(rows)].map((value, at) => [at + 1, value] as const));
  const root = struct([
    [4, thriftText("table")],
    [5, i32(1)],
  ]);
  const leaf = struct([
    [1, i32(6)],
    [3, i32(repetition)],
    [4, thriftText("a")],
    [6, i32(0)],
  ]);
  const footer = struct([i32(1), list([root, leaf]), i64(rows), list([group])].map((v, at) => [at + 1, v] as const));
  const length = new Uint8Array(new Uint32Array([footer.bytes.length]).buffer);
  return new Uint8Array(Buffer.concat([text("PAR1"), pages, Uint8Array.from(footer.bytes), length, text("PAR1")]));
}

test("a Parquet page that states or holds more than it may is refused before it takes the memory", async () => {
  const cell = async (packed: Uint8Array, stated: number, values = 1): Promise<unknown> =>
    (await openParquet(memorySource("a.parquet", gzipParquet(packed, stated, values)))).cell(0, 0);
  const plain = Uint8Array.of(3, 0, 0, 0, ...text("abc"));
  expect(await cell(gzipSync(plain), plain.length)).toBe("abc");
  const bomb = gzipSync(new Uint8Array(2 ** 24));
  expect(bomb.length).toBeLessThan(2 ** 15);
  const damaged = "a.parquet: column a has a damaged page";
  await expect(cell(bomb, 100)).rejects.toThrow(`${damaged} (it holds more bytes than it states)`);
  await expect(cell(bomb, 2 ** 30)).rejects.toThrow(
    `${damaged} (${bomb.length} packed bytes cannot hold 1073741824 bytes)`,
  );
  await expect(cell(gzipSync(plain), plain.length, 2 ** 28)).rejects.toThrow(/^a\.parquet/);
});

test("a Parquet list that repeats one text of its dictionary is refused before it takes the memory", async () => {
  const word = (value: number): number[] => [...new Uint8Array(new Uint32Array([value]).buffer)];
  const open = (length: number, items: number) => {
    const entry = Uint8Array.from([...word(length), ...text("x".repeat(length))]);
    // The first item begins the row; the numbers of the dictionary take no bits.
    const rep = [2, 0, ...varint(2 * (items - 1)), 1];
    const def = [...varint(2 * items), 1];
    const body = Uint8Array.from([...word(rep.length), ...rep, ...word(def.length), ...def, 0]);
    const pages = [page("dictionary", 0, entry, entry.length, 1), page("data", 8, body, body.length, items)];
    const file = parquetOf(Buffer.concat(pages), { values: items, rows: 1, codec: 0, repetition: 2 });
    return openParquet(memorySource("a.parquet", file));
  };
  expect(await (await open(3, 5)).cell(0, 0)).toEqual(Array(5).fill("xxx"));
  for (const [length, items] of [
    [3, 2 ** 21],
    [2 ** 20, 200],
  ] as const) {
    await expect((await open(length, items)).cell(0, 0)).rejects.toThrow("a value is larger than 128 MiB");
  }
  let taken = 0;
  const pass: ReadMeter = {
    take: (cost) => {
      taken += cost;
    },
  };
  await (await open(100, 50)).cell(0, 0, pass);
  expect(taken).toBe(50 * (128 + 200));
});

test("a JSON file that is cut off keeps its whole rows", async () => {
  const item = { image: "a.png", mask: [[[1, 1, 20, 1, 20, 20, 1, 20]]], text: ["a box"] };
  const whole = JSON.stringify([item, item, item]);
  const set = await openRegionSet(memoryFolder({ "rows.json": whole.slice(0, -20), "a.png": png(32, 24) }));
  expect(set.summaries.length).toBe(2);
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    `rows.json is cut off after ${whole.length - 20} bytes; the 2 values before the cut are kept`,
  ]);
});

test("polygons cost no more than the pass over their file may", async () => {
  const item = { image: "wide.png", mask: [[[0, 0, 400, 0, 400, 10, 0, 10]]], text: ["a stripe"] };
  const folder = memoryFolder({ "rows.json": JSON.stringify([item, item, item]), "wide.png": png(400, 20) });
  const { tables } = await listTables({ folder, archives: new Set() });
  const table = tables[0]?.table as Table;
  const adapter = chooseAdapter(table.columns) as Adapter;
  // Two edges of 400 columns at 16 bytes a crossing: the third row is one too many.
  let left = 3 * 800 * 16 - 1;
  const pass: ReadMeter = {
    take: (cost) => {
      left -= cost;
      if (left < 0) throw badInput("the pass has no budget left");
    },
  };
  const found = [];
  for (const row of [0, 1, 2])
    found.push(await adaptRow(table, adapter, row, { find: (path) => folder.get(path), pass }));
  expect(found.map(({ regions }) => regions.length)).toEqual([1, 1, 0]);
  expect(found[2]?.skipped.map(({ reason }) => reason)).toEqual(["the pass has no budget left"]);
});
