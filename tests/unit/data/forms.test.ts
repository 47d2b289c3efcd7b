import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { strToU8, zipSync } from "fflate";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { rleArea } from "../../../src/engine/data/mask/rle.ts";
import { samplesOf } from "../../../src/engine/data/readers/samples.ts";
import { parsePython } from "../../../src/engine/data/records/records.ts";
import { openRegionSet, type RegionSet } from "../../../src/engine/data/region-set.ts";
import type { RegionSample } from "../../../src/engine/data/sample.ts";
import { whyNoRow } from "../../../src/engine/data/set-info.ts";
import { readPickle } from "../../../src/plugins/pickle/pickle.ts";
import * as forms from "../../support/data-forms.ts";
import { boxMask, counting, jpg, maskPng, png } from "./make.ts";

const PYTHON = process.env.PYTHON || "python3";
const found = spawnSync(PYTHON, ["-c", "import datasets, pyarrow, pycocotools"]).status === 0;
if (!found) console.warn(`Skipped: ${PYTHON} cannot import datasets, pyarrow and pycocotools`);

const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

/** LAB_PHOTOGRAPHS names a folder of other rows, each of one region and category. */
const PHOTOGRAPHS = process.env.LAB_PHOTOGRAPHS || fixture("photographs");
let samples: RegionSample[];

async function samplesIn(set: RegionSet): Promise<RegionSample[]> {
  return Promise.all(set.summaries.map(({ index }) => set.sample(index)));
}

beforeAll(async () => {
  samples = await samplesIn(await openRegionSet(await nodeFolder(PHOTOGRAPHS)));
});

/** What must be the same in every form; most forms have one category. */
function essence({ caption, category: [category], imageId, image, mask }: RegionSample): object {
  return { caption, category, imageId, width: image.width, height: image.height, mime: image.mime, mask };
}

/** In one order: samples of a shard are in the order of their names. */
function sorted(all: readonly RegionSample[]): readonly RegionSample[] {
  return all.toSorted((a, b) => (a.imageId + a.mask.counts < b.imageId + b.mask.counts ? -1 : 1));
}

async function expectSame(set: RegionSet, kind: RegExp, categories = true): Promise<void> {
  expect(set.skipped).toEqual([]);
  expect(set.files.map(({ reason, adapter }) => reason ?? adapter).join()).toMatch(kind);
  const [found, all] = [sorted(await samplesIn(set)), sorted(samples)];
  const wanted = all.map(essence).map((one) => (categories ? one : { ...one, category: undefined }));
  expect(found.map(essence)).toEqual(wanted);
  // Compared as buffers: item by item takes seconds.
  const same = found.map(({ image }, at) => Buffer.from(image.bytes).equals((all[at] as RegionSample).image.bytes));
  expect(same).toEqual(samples.map(() => true));
}

test.skipIf(process.env.LAB_PHOTOGRAPHS !== undefined)("Parquet", async () => {
  await expectSame(await openRegionSet(await nodeFolder(fixture("photographs-parquet"))), /conversations/);
});

const FORMS = [
  ["COCO region captions", forms.cocoForm, /region captions in COCO form/, true],
  ["refs as pickle", (all: readonly RegionSample[]) => forms.refsForm(all), /referring expressions/, true],
  ["describe-anything", forms.damForm, /describe-anything annotations/, true],
  ["WebDataset", forms.webdatasetForm, /files of one name: jpg, json, mask.png/, true],
  ["JSON lines", forms.linesForm, /records with a picture \(file_name\), a mask \(mask\)/, true],
  ["Osprey", forms.ospreyForm, /Osprey regions/, false],
  ["the fine-tune list of Sa2VA", forms.sa2vaForm, /fine-tune rows of Sa2VA/, false],
  ["GranD-f", forms.grandfForm, /GranD-f/, false],
] as const;

test.each(FORMS)("%s", async (_, form, kind, categories) => {
  await expectSame(await openRegionSet(memoryFolder(form(samples))), kind, categories);
});

test.each(FORMS)("%s in a zip archive", async (_, form, kind, categories) => {
  await expectSame(await openRegionSet(memoryFolder(forms.zipped(form(samples)))), kind, categories);
});

describe.skipIf(!found)("files that Python writes", () => {
  const [given, out] = ["given-", "forms-"].map((name) => mkdtempSync(join(tmpdir(), name))) as [string, string];
  const refs = "refcoco/refs(unc).p";
  let differ: Readonly<Record<string, number>>;
  afterAll(() => {
    for (const place of [given, out]) rmSync(place, { recursive: true });
  });
  beforeAll(() => {
    const files = forms.refsForm(samples);
    const put = (name: string, content: string | Uint8Array): void => writeFileSync(join(given, name), content);
    put("refs.json", JSON.stringify(readPickle(files[refs] as Uint8Array, refs)));
    put("instances.json", files["refcoco/instances.json"] as string);
    put("truth.json", JSON.stringify(Object.fromEntries(samples.map(({ mask }, at) => [100 + at, mask]))));
    mkdirSync(join(given, "members"));
    for (const [name, bytes] of forms.webdatasetMembers(samples)) put(join("members", name), bytes);
    const script = fileURLToPath(new URL("../../oracle/make_forms.py", import.meta.url));
    const words = [script, PHOTOGRAPHS, given, out];
    differ = JSON.parse(execFileSync(PYTHON, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }));
  });
  const bytesOf = (name: string): Uint8Array => new Uint8Array(readFileSync(join(out, name)));

  test("polygons of the instances are the masks to pycocotools too", () => {
    expect(Object.keys(differ)).toHaveLength(samples.length);
    expect(new Set(Object.values(differ))).toEqual(new Set([0]));
  });

  test.each([0, 1, 2, 3, 4, 5])("refs in protocol %i of pickle", async (protocol) => {
    const files = { ...forms.refsForm(samples), [refs]: bytesOf(`refs.${protocol}.p`) };
    await expectSame(await openRegionSet(memoryFolder(files)), /referring expressions/);
  });

  test.each(["ustar", "gnu", "pax"])("a WebDataset shard in the form %s of tarfile", async (form) => {
    const files = { "shards/000000.tar": bytesOf(`shard.${form}.tar`) };
    await expectSame(await openRegionSet(memoryFolder(files)), /files of one name/);
  });

  test.each([
    ...["none", "snappy", "gzip", "zstd", "lz4", "brotli", "pages-v2"].map((name) => `${name}.parquet`),
    ...["uncompressed", "lz4", "zstd"].map((name) => `${name}.feather`),
  ])("a table of pyarrow: %s", async (name) => {
    await expectSame(await openRegionSet(memoryFolder({ [name]: bytesOf(name) })), /conversations/);
  });

  test("a folder of save_to_disk", async () => {
    await expectSame(await openRegionSet(await nodeFolder(join(out, "saved"))), /conversations/);
  });
});

test("one line of JSON lines is a row", async () => {
  const { "metadata.jsonl": lines, ...files } = forms.linesForm(samples);
  const [line] = String(lines).split("\n");
  const set = await openRegionSet(memoryFolder({ ...files, "metadata.jsonl": line as string }));
  expect(set.summaries.map(({ caption }) => caption)).toEqual([samples[0]?.caption]);
});

test.each([
  { caption: null },
  { mask: null },
  { caption: undefined },
  { mask: undefined, conversations: [{ from: "human", value: "what?" }] },
])("a file whose first row lacks a part is read from the next row on: %o", async (lacking) => {
  const turns = [{ from: "gpt", value: "a" }];
  const text = "conversations" in lacking ? { conversations: turns } : { caption: "a" };
  const row = { image: "0.png", mask: boxMask(24, 32, 4, 3, 10, 8), ...text };
  const lines = [{ ...row, ...lacking }, row].map((one) => JSON.stringify(one)).join("\n");
  const set = await openRegionSet(memoryFolder({ "rows.jsonl": lines, "0.png": png(32, 24) }));
  expect([set.summaries.map(({ id }) => id), set.skipped.length]).toEqual([["rows.jsonl#1"], 1]);
});

test.each([
  ["an object of rows", (rows: object[]) => Object.fromEntries(rows.map((row, at) => [`k${at}`, row]))],
  ["a list of rows in an object", (rows: object[]) => ({ version: "1", info: { year: 2026 }, data: rows })],
])("%s is read", async (_, form) => {
  const mask = Array.from({ length: 24 }, (_, y) => Array.from({ length: 32 }, (_, x) => Number(x > 2 && y > 2)));
  const rows = ["a box", "a frame"].map((caption) => ({ image: "0.png", mask, caption }));
  const set = await openRegionSet(memoryFolder({ "rows.json": JSON.stringify(form(rows)), "0.png": png(32, 24) }));
  expect(set.summaries.map(({ id, caption }) => [id, caption])).toEqual([
    ["rows.json#0", "a box"],
    ["rows.json#1", "a frame"],
  ]);
  expect(set.skipped).toEqual([]);
});

test("of several texts of one mask the first that is not blank is used, and the others are named", async () => {
  const row = { image: "0.png", mask: boxMask(24, 32, 4, 3, 10, 8) };
  const rows = [
    ["a", "b", "c"],
    [" ", "b"],
    [null, "c", ""],
    ["", null],
  ].map((captions) => ({ ...row, captions }));
  const set = await openRegionSet(memoryFolder({ "rows.json": JSON.stringify(rows), "0.png": png(32, 24) }));
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["a", "b", "c"]);
  expect(set.skipped.map(({ row, reason }) => [row, reason])).toEqual([
    [0, "the row has 1 mask and 3 texts; the first is its caption, the others are not used"],
    [3, "the caption is empty"],
  ]);
});

test("rows of regions behind a hundred of whole pictures are read", async () => {
  const plain = { image: "0.png", conversations: [{ from: "gpt", value: "a" }] };
  const region = { ...plain, mask: boxMask(24, 32, 4, 3, 10, 8) };
  const rows = [...Array<object>(100).fill(plain), ...Array<object>(9).fill(region)];
  const set = await openRegionSet(memoryFolder({ "rows.json": JSON.stringify(rows), "0.png": png(32, 24) }));
  expect([set.summaries.length, set.skipped.length]).toEqual([9, 100]);
});

test("texts of samples are read in UTF-8, UTF-16 and Windows-1252", async () => {
  const utf16 = Buffer.from("\ufeffcafé 2", "utf16le");
  const texts = [Buffer.from("café 0"), Buffer.from("café 1", "latin1"), utf16, Buffer.from(utf16).swap16()];
  const files = texts.flatMap((text, at) => [
    [`${at}.jpg`, jpg(32, 24)] as const,
    [`${at}.png`, maskPng(32, 24)] as const,
    [`${at}.txt`, Uint8Array.from(text)] as const,
  ]);
  const set = await openRegionSet(memoryFolder(Object.fromEntries(files)));
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["café 0", "café 1", "café 2", "café 2"]);
});

test("records in Windows-1252 are read, those in UTF-16 are refused by name", async () => {
  const row = (caption: string): object => ({ image: "0.png", mask: boxMask(24, 32, 4, 3, 10, 8), caption });
  const list = JSON.stringify([row("naïve café"), row("plain")]);
  const coco = JSON.stringify({
    images: [{ id: 1, file_name: "0.png", height: 24, width: 32, caption: "café" }],
    annotations: [{ id: 1, image_id: 1, segmentation: [[1, 1, 20, 1, 20, 20]] }],
  });
  const set = await openRegionSet(
    memoryFolder({
      "0.png": png(32, 24),
      "a.json": Uint8Array.from(Buffer.from(list, "latin1")),
      "b.json": Uint8Array.from(Buffer.from(coco, "latin1")),
      "c.json": Uint8Array.from([0xff, 0xfe, ...Buffer.from(list, "utf16le")]),
    }),
  );
  expect(set.summaries.map(({ caption }) => caption).sort()).toEqual(["café", "naïve café", "plain"]);
  expect(set.skipped.map(({ reason }) => reason)).toEqual(["c.json is text in UTF-16; save it in UTF-8"]);
});

test.each(["rows.jsonl", "rows.json"])("a byte order mark before JSON lines is skipped: %s", async (name) => {
  const { "metadata.jsonl": lines, ...files } = forms.linesForm(samples);
  const set = await openRegionSet(memoryFolder({ ...files, [name]: `\u{feff}${lines}` }));
  expect([set.skipped, set.summaries.length]).toEqual([[], samples.length]);
});

/** Files of one region drawn by a polygon, with a picture of the stated size. */
const POLYGON_FORMS = {
  "COCO region captions": (segmentation: unknown, height: number, width: number): forms.Files => ({
    "regions.json": JSON.stringify({
      images: [{ id: 1, file_name: "a.jpg", height, width }],
      annotations: [{ id: 7, image_id: 1, segmentation, caption: "a box" }],
    }),
  }),
  refs: (segmentation: unknown, height: number, width: number): forms.Files => ({
    "refs.json": JSON.stringify([{ ref_id: 1, ann_id: 7, image_id: 1, split: "train", sentences: ["a box"] }]),
    "instances.json": JSON.stringify({
      images: [{ id: 1, file_name: "a.jpg", height, width }],
      annotations: [{ id: 7, image_id: 1, segmentation }],
    }),
  }),
  Osprey: (segmentation: unknown, height: number, width: number): forms.Files => ({
    "osprey.json": JSON.stringify([
      { file_name: "a.jpg", height, width, annotation: [{ segmentation }], description: ["a box"] },
    ]),
  }),
} as const;

describe.each(Object.entries(POLYGON_FORMS))("polygons of %s", (_, form) => {
  const box = [[0, 0, 32, 0, 32, 24, 0, 24]];
  const open = (files: forms.Files, picture: Uint8Array) => openRegionSet(memoryFolder({ ...files, "a.jpg": picture }));

  test("are drawn at the size that the file states, and a copy of another size is refused", async () => {
    const same = await open(form(box, 48, 64), jpg(64, 48));
    expect(same.summaries.map(({ mask }) => [mask.size, rleArea(mask)])).toEqual([[[48, 64], 768]]);
    const copy = await open(form(box, 48, 64), jpg(32, 24));
    expect(copy.summaries).toEqual([]);
    expect(copy.skipped.map(({ reason }) => reason)).toEqual([
      "the mask is 64 x 48 pixels, the picture 32 x 24 (width x height)",
    ]);
  });

  test("turn the picture as EXIF says where the file states the turned size", async () => {
    const set = await open(form([[0, 0, 24, 0, 24, 32, 0, 32]], 64, 48), jpg(64, 48, 6));
    expect(set.skipped).toEqual([]);
    expect(set.summaries.map(({ mask, width, height }) => [mask.size, rleArea(mask), width, height])).toEqual([
      [[64, 48], 768, 48, 64],
    ]);
    expect((await set.sample(0)).image.orientation).toBe(6);
  });

  test("are in pixels inside the first pixel, too", async () => {
    const set = await open(form([[0.2, 0.2, 0.9, 0.2, 0.9, 0.9, 0.2, 0.9]], 24, 32), jpg(32, 24));
    expect(set.summaries.map(({ mask }) => [mask.size, rleArea(mask)])).toEqual([[[24, 32], 1]]);
  });

  test("fit a picture of any size where the file states no size", async () => {
    const unstated = await open(form([[0, 0, 16, 0, 16, 24, 0, 24]], 0, 0), jpg(32, 24));
    expect(unstated.summaries.map(({ mask }) => [mask.size, rleArea(mask)])).toEqual([[[24, 32], 384]]);
  });
});

test("pictures of a tar shard are read by range", async () => {
  const folder = counting(memoryFolder(forms.damForm(samples)));
  const total = folder.paths.reduce((sum, path) => sum + (folder.get(path)?.size ?? 0), 0);
  const set = await openRegionSet(folder);
  expect(set.summaries.length).toBe(samples.length);
  // Headers of the shard come in a window; pictures add their heads, middles and ends.
  expect(folder.bytes).toBeLessThan(2 * total);
  const before = folder.bytes;
  await set.sample(1);
  const { length } = (samples[1] as RegionSample).image.bytes;
  expect(folder.bytes - before).toBe(length);
});

test("a picture of describe-anything with the key as its name goes before one with other leading zeros", async () => {
  const [one, other] = [png(32, 24, 1), png(32, 24, 2)];
  const region = { caption: "a box", mask_rle: boxMask(24, 32, 4, 3, 10, 8) };
  const annotations = { "12": region, "0013": [{ ...region, tar_file: "1.tar" }] };
  const names = { "00012.png": one, "12.png": other, "11.tar/0013.png": one, "1.tar/0013.png": other };
  const set = await openRegionSet(memoryFolder({ "annotations.json": JSON.stringify(annotations), ...names }));
  const found = await samplesIn(set);
  expect(found.map(({ image }) => Buffer.from(image.bytes).equals(other))).toEqual([true, true]);
});

test("instances of LVIS name their pictures by address, and numbers that are none are left out", async () => {
  const images = [{ id: 1, coco_url: "http://images.cocodataset.org/val2017/1.png", height: 24, width: 32 }];
  const annotations = [{ id: 1, image_id: 1, category_id: 1, segmentation: [[1, 1, 20, 1, 20, 20]], area: 0.5 }];
  // Python's writer emits NaN and Infinity.
  const lvis = JSON.stringify({ images, annotations, categories: [{ id: 1, name: "NaN" }] }).replace("0.5", "NaN");
  const set = await openRegionSet(memoryFolder({ "lvis.json": lvis, "val2017/1.png": png(32, 24) }));
  expect([set.summaries.map(({ caption }) => caption), set.skipped]).toEqual([["NaN"], []]);
});

test("ids beyond 2^53 that differ in their last digits are different ids, and texts of digits stay", async () => {
  const ids = ["1527695203849203940", "1527695203849203941"];
  const caption = '"1527695203849203940, \\\\"';
  const list = (items: readonly string[]): string => `[${items.join(",")}]`;
  const images = ids.map((id, at) => `{"id": ${id}, "file_name": "${at}.png", "height": ${24 + at}, "width": 32}`);
  const annotations = ids.map(
    (id, at) =>
      `{"id": ${at}, "image_id": ${id}, "caption": ${caption}, "segmentation": [[1, 1, 20, 1, 20, 20.1234567890123456]]}`,
  );
  const coco = `{"images": ${list(images)}, "annotations": ${list(annotations)}}`;
  const set = await openRegionSet(memoryFolder({ "a.json": coco, "0.png": png(32, 24), "1.png": png(32, 25) }));
  expect([set.summaries.map((row) => [row.height, row.caption]), set.skipped]).toEqual([
    [
      [24, JSON.parse(caption)],
      [25, JSON.parse(caption)],
    ],
    [],
  ]);
});

test("Python's numbers beside a text of millions of escapes are read, and those in texts stay", () => {
  const escapes = "\\\\n".repeat(6_000_000);
  const long = "12345678901234567890";
  const text = `{"a": "${escapes}${long}", "b\\\\": ${long}, "c": [-Infinity, "NaN", -${long}]}`;
  expect(parsePython(text, "x.json")).toEqual({
    a: `${"\\n".repeat(6_000_000)}${long}`,
    "b\\": long,
    c: [null, "NaN", `-${long}`],
  });
  expect(() => parsePython(`["unfinished ${long}`, "x.json")).toThrow(/^x\.json is not valid JSON/);
});

test("instances without refs take their categories for captions and say so", async () => {
  const { "refcoco/refs(unc).p": _, ...files } = forms.refsForm(samples);
  const set = await openRegionSet(memoryFolder(files));
  expect(set.summaries.map(({ caption }) => caption)).toEqual(samples.map(({ category }) => category[0]));
  expect(set.ignored.map(({ reason }) => reason).join()).toContain("so category names replace them");
});

test("the true masks of grounded conversations are not rows", async () => {
  const { "refcoco/refs(unc).p": _, "refcoco/instances.json": truth, ...pictures } = forms.refsForm(samples);
  const set = await openRegionSet(memoryFolder({ ...pictures, "val_test/val_gcg_coco_mask_gt.json": truth as string }));
  expect(set.summaries).toEqual([]);
  expect(set.ignored.map(({ reason }) => reason).join()).toContain("grounded conversations: it is for evaluation only");
});

test("rows of ReasonSeg are read with the picture of their name, every text a region", async () => {
  const { image } = samples[0] as RegionSample;
  const shapes = [
    {
      label: "target",
      points: [
        [2, 3],
        [40.9, 3],
        [40, 30],
        [2, 30.5],
      ],
    },
    {
      label: "ignore",
      points: [
        [5, 5],
        [10, 5],
        [10, 10],
        [5, 10],
      ],
    },
  ];
  const json = JSON.stringify({ text: ["what is it?", "a box"], is_sentence: true, shapes });
  const set = await openRegionSet(memoryFolder({ "train/a.jpg": image.bytes, "train/a.json": json }));
  expect(set.skipped).toEqual([]);
  expect(set.files.map(({ reason }) => reason)).toEqual([
    "ReasonSeg texts with painted shapes: files of one name: jpg, json",
  ]);
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["what is it?", "a box"]);
  expect(set.summaries.map(({ mask }) => rleArea(mask))).toEqual([39 * 28 - 36, 39 * 28 - 36]);
  // Names with dots only.
  const dotted = await openRegionSet(memoryFolder({ "t/a.1.jpg": image.bytes, "t/a.1.json": json }));
  expect(dotted.summaries.map(({ caption }) => caption)).toEqual(["what is it?", "a box"]);
  const alone = await openRegionSet(memoryFolder({ "b.jpg": image.bytes, "train/a.json": json }));
  expect(alone.ignored.map(({ reason }) => reason).join()).toContain("there is no picture of the same name next to it");
});

test("samples whose names contain dots keep their own texts and masks", () => {
  const fields = (...paths: string[]) => samplesOf(paths).map((sample) => [...sample.fields.keys()].join());
  expect(fields("d/a.1.jpg", "d/a.2.jpg", "d/a.1.txt", "d/a.2.txt", "d/a.2.mask.png")).toEqual([
    "jpg,txt",
    "jpg,txt,mask.png",
  ]);
  // One sample of WebDataset, whose fields contain dots.
  expect(fields("a.jpg", "a.json", "a.mask.png", "a.mask.json", "a.left.jpg")).toEqual([
    "jpg,json,mask.png,mask.json,left.jpg",
  ]);
  expect(fields("a.jpg", "a.txt", "a.b.jpg", "a.b.txt")).toEqual(["jpg,txt", "jpg,txt"]);
});

test("refs without instances say what is missing", async () => {
  const { "refcoco/instances.json": _, ...files } = forms.refsForm(samples);
  const set = await openRegionSet(memoryFolder(files));
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    `refcoco/refs(unc).p has ${samples.length} refs, but their masks are not here: add instances.json`,
  ]);
});

test("refs that two files divide into splits are read from the one whose splits share no picture", async () => {
  const ref = (id: number, image_id: number, split: string) => ({
    ...{ ref_id: id, ann_id: id, image_id, split },
    sentences: [`box ${id}`],
  });
  const box = [[1, 1, 20, 1, 20, 20, 1, 20]];
  const instances = JSON.stringify({
    images: [1, 2].map((id) => ({ id, file_name: `${id}.png`, height: 24, width: 32 })),
    annotations: [1, 2, 3, 4].map((id) => ({ id, image_id: Math.ceil(id / 2), segmentation: box })),
  });
  const open = (files: forms.Files) =>
    openRegionSet(memoryFolder({ ...files, "instances.json": instances, "1.png": png(32, 24), "2.png": png(32, 24) }));
  const clean = forms.pickle([ref(1, 1, "train"), ref(2, 1, "train"), ref(3, 2, "val"), ref(4, 2, "val")]);
  const mixed = forms.pickle([ref(1, 1, "train"), ref(2, 1, "val"), ref(3, 2, "train"), ref(4, 2, "val")]);
  for (const [good, other] of [
    ["refs(unc).p", "refs(google).p"],
    ["refs(a).p", "refs(b).p"],
  ] as const) {
    const set = await open({ [good]: clean, [other]: mixed });
    expect(set.skipped).toEqual([]);
    expect(set.summaries.map(({ file, caption }) => [file, caption])).toEqual([
      [good, "box 1"],
      [good, "box 2"],
    ]);
    expect(set.ignored.filter(({ name }) => name !== "1.png" && name !== "2.png")).toEqual([
      { name: other, reason: `holds the refs of ${good} in another partition` },
      { name: "instances.json", reason: `read with ${good}` },
      { name: good, reason: "split train is read: 2 refs; 2 of val are left out" },
    ]);
  }
  const apart = await open({
    "refs_train.json": JSON.stringify([ref(1, 1, "train"), ref(2, 1, "train")]),
    "refs_val.json": JSON.stringify([ref(3, 2, "val"), ref(4, 2, "val")]),
  });
  expect(apart.summaries.map(({ caption }) => caption)).toEqual(["box 1", "box 2", "box 3", "box 4"]);
});

test("pictures and counts that a pickle holds as bytes", async () => {
  const rows = samples.map(({ image, mask, caption }) => {
    return { image: image.bytes, mask: { ...mask, counts: new TextEncoder().encode(mask.counts) }, caption };
  });
  const set = await openRegionSet(memoryFolder({ "rows.pkl": forms.pickle(rows) }));
  expect(set.skipped).toEqual([]);
  const found = await samplesIn(set);
  expect(found.map(({ image, mask }) => [image.bytes, mask])).toEqual(
    samples.map(({ image, mask }) => [image.bytes, mask]),
  );
});

test("a hundred thousand rows of JSON are listed without reading the file twice", async () => {
  const item = (at: number): string =>
    JSON.stringify({ image: "a.jpg", mask: [[[1, 1, 9, 1, 9, 9]]], text: [`thing ${at}`] });
  const text = `[${Array.from({ length: 100_000 }, (_, at) => item(at)).join(",")}]`;
  const folder = counting(memoryFolder({ "rows.json": text }));
  const stop = new AbortController();
  const seen: number[] = [];
  const opening = openRegionSet(folder, {
    signal: stop.signal,
    onProgress: ({ totalRows }) => {
      seen.push(totalRows);
      stop.abort();
    },
  });
  await expect(opening).rejects.toMatchObject({ code: "cancelled" });
  expect(seen[0]).toBe(100_000);
  expect(folder.bytes).toBeLessThan(2.5 * text.length);
});

test.each(["JSON lines", "WebDataset", "JSON, rows of numbers", "COCO panoptic"] as const)(
  "label maps of two regions a picture: %s",
  async (form) => {
    const files = form === "COCO panoptic" ? forms.panopticForm(samples) : forms.labelMapForm(samples, form);
    const set = await openRegionSet(memoryFolder(files));
    expect(set.skipped).toEqual([]);
    const found = await samplesIn(set);
    const captions = samples.flatMap(({ caption }) => [caption, `not ${caption}`]);
    expect(found.map(({ caption }) => caption)).toEqual(captions);
    for (const [at, { mask, image }] of samples.entries()) {
      const [own, other] = found.slice(2 * at, 2 * at + 2) as [RegionSample, RegionSample];
      expect(own.mask).toEqual(mask);
      expect(rleArea(other.mask)).toBe(image.height * image.width - rleArea(mask));
    }
  },
);

test("panoptic segments and pictures of the same name are read apart, and segments never replace a picture", async () => {
  const named = Object.entries(forms.panopticForm(samples)).map(([path, content]) => {
    const inside = typeof content === "string" ? content.replaceAll(".jpg", ".png") : content;
    return [path.replace(".jpg", ".png"), inside] as const;
  });
  const set = await openRegionSet(memoryFolder(Object.fromEntries(named)));
  expect(set.skipped).toEqual([]);
  const found = await samplesIn(set);
  expect(found.map(({ image }) => image.bytes)).toEqual(samples.flatMap(({ image }) => [image.bytes, image.bytes]));
  const without = named.filter(([path]) => !path.startsWith("val/"));
  const { summaries, skipped } = await openRegionSet(memoryFolder(Object.fromEntries(without)));
  expect(summaries).toEqual([]);
  for (const { reason } of skipped) expect(reason).toMatch(/^the picture ".*png" does not exist$/);
});

test("rows in an arrangement that is not read are ignored with what to write instead", async () => {
  const columns = JSON.stringify({ image: ["a.jpg"], mask: [[1, 1, 9, 1, 9, 9]], caption: ["a box"] });
  const { ignored } = await openRegionSet(memoryFolder({ "rows.json": columns, "metadata.csv": "file_name,caption" }));
  expect(ignored).toEqual([
    {
      name: "rows.json",
      reason:
        "records of an unknown kind; their fields are image, mask, caption; write one object per row, in a list or on lines",
    },
    { name: "metadata.csv", reason: "a table as text; write its rows as Parquet or JSON lines" },
  ]);
});

test("exports of this lab that hold no rows are named with the place that opens them", async () => {
  const text = new TextEncoder().encode("of no importance");
  const completions = await openRegionSet(memoryFolder({ "run/completions/completions_00001.parquet": text }));
  expect(whyNoRow(completions.skipped, ["run"])).toMatch(
    /^No usable row in run: .*completions_00001\.parquet has completions of a run.* Runs → Open completions…$/,
  );
  const config = JSON.stringify({ peft_type: "LORA", r: 8, lora_alpha: 16, target_modules: ["wqkv"] });
  const adapter = await openRegionSet(
    memoryFolder({ "peft.zip/run/adapter_config.json": config, "peft.zip/run/README.md": "" }),
  );
  expect(whyNoRow(adapter.skipped, ["peft.zip"])).toMatch(
    /^No usable row in peft\.zip: .*adapter, not rows\. Unpack the archive and drop/,
  );
});

test("an opened archive is not counted among the files without rows", async () => {
  const zip = zipSync({ "a.txt": strToU8("a"), "b.csv": strToU8("b") });
  const { skipped } = await openRegionSet(memoryFolder({ "set.zip": zip }));
  expect(whyNoRow(skipped, ["set.zip"])).toMatch(/: 2 files of other kinds \(\.txt, \.csv\)$/);
});
