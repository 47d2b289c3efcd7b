import { crc32 } from "node:zlib";
import { encode } from "fast-png";
import { zlibSync } from "fflate";
import { describe, expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { splitLabels } from "../../../src/engine/data/mask/label-map.ts";
import { splitMasks } from "../../../src/engine/data/mask/mask-picture.ts";
import { readMask } from "../../../src/engine/data/mask/mask-read.ts";
import { decodeRle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { maskOf } from "../../../src/engine/data/readers/coco.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { checkRegionSet } from "../../../src/engine/data/set-info.ts";
import { siblingsOf } from "../../../src/engine/data/siblings.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { boxMask, maskPng, png, row } from "./make.ts";

const SIZE = { height: 12, width: 16, find: () => undefined };

/** A box of 5 x 4 pixels as rows. */
const rows = (on: unknown, off: unknown): unknown[][] =>
  Array.from({ length: 12 }, (_, y) =>
    Array.from({ length: 16 }, (_cell, x) => (x >= 3 && x < 8 && y >= 2 && y < 6 ? on : off)),
  );

describe("bitmaps", () => {
  test.each([
    ["0 and 1", rows(1, 0)],
    ["big integers", rows(1n, 0n)],
    ["booleans", rows(true, false)],
    ["0 and 255", rows(255, 0)],
    ["labels of things", rows(7, 0)],
    ["probabilities", rows(0.75, 0.25)],
    ["missing values as background", rows(1, null)],
    ["flat", rows(1, 0).flat()],
    ["flat booleans", rows(true, false).flat()],
    ["one channel", rows(1, 0).map((line) => line.map((pixel) => [pixel]))],
  ])("%s", async (_name, mask) => {
    expect(splitMasks(mask, SIZE)).toEqual([mask]);
    const rle = await readMask(mask, SIZE);
    expect([rle.size, rleArea(rle)]).toEqual([[12, 16], 20]);
    expect([...decodeRle(rle)]).toEqual([...decodeRle(boxMask(12, 16, 3, 2, 5, 4))]);
  });

  test("a list of flat bitmaps, or of bitmaps, is one mask each", () => {
    expect(splitMasks([rows(1, 0).flat(), rows(0, 1).flat()], SIZE)?.length).toBe(2);
    expect(splitMasks([rows(1, 0), rows(0, 1)], SIZE)?.length).toBe(2);
  });

  test("rows of 0 and 1 of another size than the picture are a bitmap of that size, not polygons", async () => {
    const small = rows(1, 0).map((line) => line.slice(0, 8));
    expect((await readMask(small, SIZE)).size).toEqual([12, 8]);
    const wide = Array.from({ length: 9 }, () => Array<number>(16).fill(3));
    expect((await readMask(wide, SIZE)).size).toEqual([9, 16]);
  });
});

describe("label maps", () => {
  const map = (labels: readonly number[]): Uint8Array =>
    encode({ width: 4, height: 1, data: Uint8Array.from(labels), channels: 1, depth: 8 });
  const split = async (item: unknown, texts: number): Promise<unknown> => {
    const found = await splitLabels(item, texts, { height: 1, width: 4, find: () => undefined });
    return typeof found === "string"
      ? found
      : found?.map((mask) => (mask instanceof LabError ? null : [...decodeRle(mask)]));
  };
  test.each([
    [
      "labels are the numbers of the texts",
      [0, 1, 2, 2],
      2,
      [
        [0, 1, 0, 0],
        [0, 0, 1, 1],
      ],
    ],
    ["a number that is missing has no mask", [0, 3, 1, 1], 3, [[0, 0, 1, 1], null, [0, 1, 0, 0]]],
    [
      "other labels in order, as many as texts",
      [9, 0, 200, 9],
      2,
      [
        [1, 0, 0, 1],
        [0, 0, 1, 0],
      ],
    ],
    ["one label is a mask of one region", [0, 1, 1, 0], 2, undefined],
    ["one label that is the number of a text", [0, 2, 2, 0], 2, [null, [0, 1, 1, 0]]],
    ["one label that is no number of a text", [0, 255, 255, 0], 2, undefined],
    ["more labels than texts", [7, 8, 9, 0], 2, "the label map has 3 labels (7, 8, 9), but the row has 2 texts"],
    [
      "more labels than texts, one the number of a text",
      [1, 2, 3, 0],
      2,
      "the label map has 3 labels (1, 2, 3), but the row has 2 texts",
    ],
    [
      "void beside the numbers of the texts",
      [2, 255, 1, 255],
      2,
      [
        [0, 0, 1, 0],
        [1, 0, 0, 0],
      ],
    ],
    [
      "void beside other labels",
      [5, 255, 0, 9],
      2,
      [
        [1, 0, 0, 0],
        [0, 0, 0, 1],
      ],
    ],
    ["void is no label for a text", [5, 255, 255, 9], 3, "the label map has 2 labels (5, 9), but the row has 3 texts"],
    ["shades at the edge of a white object", [0, 200, 255, 255], 2, undefined],
  ] as const)("%s", async (_, labels, texts, expected) => {
    expect(await split({ bytes: cellOf(map(labels)), path: null }, texts)).toEqual(expected);
    expect(await split([[...labels]], texts)).toEqual(expected);
  });
});

test("a label map of one label gives its own text, not the first", async () => {
  const data = new Uint8Array(32 * 24).fill(2, 64, 128);
  const row = { image: "a.png", mask: "maps/0.png", captions: ["a cat", "a dog"] };
  const files = { "rows.json": JSON.stringify([row]), "a.png": png(32, 24) };
  const map = encode({ width: 32, height: 24, data, channels: 1, depth: 8 });
  const set = await openRegionSet(memoryFolder({ ...files, "maps/0.png": map }));
  expect(set.summaries.map(({ region, caption }) => [region, caption])).toEqual([[1, "a dog"]]);
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "the label map has no label 1, only 2; the row has 2 texts",
  ]);
});

describe("polygons", () => {
  test("of COCO files are polygons, even with as many numbers as the picture is wide", async () => {
    // Two boxes of eight points on a picture of 16 x 12.
    const box = (x: number) => [x, 0, x + 2, 0, x + 4, 0, x + 4, 2, x + 4, 4, x + 2, 4, x, 4, x, 2];
    const segmentation = maskOf([box(0), box(8)], { height: 12, width: 16 });
    const rle = await readMask(segmentation, SIZE);
    expect([rle.size, rleArea(rle)]).toEqual([[12, 16], 32]);
  });

  test.each([
    ["flat", [[3, 2, 8, 2, 8, 6, 3, 6]]],
    ["one flat list", [3, 2, 8, 2, 8, 6, 3, 6]],
    [
      "points",
      [
        [3, 2],
        [8, 2],
        [8, 6],
        [3, 6],
      ],
    ],
    [
      "polygons of points",
      [
        [
          [3, 2],
          [8, 2],
          [8, 6],
          [3, 6],
        ],
      ],
    ],
    ["as wide as the picture", [[3, 2, 5, 2, 6, 2, 7, 2, 8, 2, 8, 6, 5, 6, 3, 6]]],
  ])("%s", async (_name, mask) => {
    expect(rleArea(await readMask(mask, SIZE))).toBe(20);
  });

  test("between 0 and 1 are fractions of the picture only where the data set says so", async () => {
    const mask = [[3 / 16, 2 / 12, 8 / 16, 2 / 12, 8 / 16, 6 / 12, 3 / 16, 6 / 12]];
    expect(rleArea(await readMask(mask, { ...SIZE, fractions: async () => true }))).toBe(20);
    expect(rleArea(await readMask(mask, { ...SIZE, fractions: async () => false }))).toBe(1);
    expect(rleArea(await readMask(mask, SIZE))).toBe(1);
  });
});

test("what is no mask is one sentence", async () => {
  const cases: [unknown, string][] = [
    [null, "the mask is null"],
    [[], "the mask is an empty list"],
    [[1, 2, 3, 4], "the mask is a list of 4 numbers, not one for each of 16 x 12 pixels"],
    [{ area: 3 }, "the mask is a struct with neither counts nor bytes"],
    [["a"], "the mask is neither run lengths, a bitmap, polygons nor a picture"],
    ["masks/1.png", 'the mask is not in the shard, only its path "masks/1.png", and that file does not exist'],
    [
      { bytes: cellOf(new Uint8Array(40).fill(255)) },
      "the mask is a picture that is neither PNG nor TIFF; only these store a mask without loss",
    ],
    [
      cellOf(new Uint8Array(7)),
      "the mask is 7 bytes, neither an encoded picture nor a byte for each of 16 x 12 pixels",
    ],
  ];
  for (const [mask, sentence] of cases) await expect(readMask(mask, SIZE)).rejects.toThrow(sentence);
});

test("a PNG mask that unpacks to more than its pixels is refused before it is unpacked", async () => {
  const chunk = (kind: string, body: Uint8Array): number[] => {
    const word = (value: number): number[] => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);
    const checked = Uint8Array.from([...new TextEncoder().encode(kind), ...body]);
    return [...word(body.length), ...checked, ...word(crc32(checked))];
  };
  const header = Uint8Array.from([0, 0, 0, 16, 0, 0, 0, 12, 8, 0, 0, 0, 0]);
  const bomb = (bytes: number): Uint8Array =>
    Uint8Array.from([
      ...[0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10],
      ...chunk("IHDR", header),
      ...chunk("IDAT", zlibSync(new Uint8Array(bytes))),
      ...chunk("IEND", new Uint8Array(0)),
    ]);
  await expect(readMask(cellOf(bomb(2 ** 24)), SIZE)).rejects.toThrow(
    "the mask's PNG holds more than its 16 x 12 pixels",
  );
  expect((await readMask(cellOf(bomb(17 * 12)), SIZE)).size).toEqual([12, 16]);
  await expect(readMask(cellOf(bomb(17 * 12).subarray(0, 45)), SIZE)).rejects.toThrow("the mask's PNG is cut off");
});

test("a TIFF mask that is cut off, compressed or in tiles is refused; large numbers are foreground", async () => {
  const entry = (tag: number, value: number): number[] => [tag & 255, tag >> 8, 4, 0, 1, 0, 0, 0, value, 0, 0, 0];
  const tiff = (packing: number, place = 273, bits = 8): Uint8Array => {
    const tags = [entry(256, 16), entry(257, 12), entry(258, bits), entry(259, packing), entry(place, 70)];
    return Uint8Array.from([
      0x49,
      0x49,
      42,
      0,
      8,
      0,
      0,
      0,
      tags.length,
      0,
      ...tags.flat(),
      ...rows(bits === 8 ? 1 : 255, 0)
        .flat()
        .flatMap((value) => Array<number>(bits / 8).fill(Number(value))),
    ]);
  };
  expect(rleArea(await readMask(cellOf(tiff(1)), SIZE))).toBe(20);
  expect(rleArea(await readMask(cellOf(tiff(1, 273, 32)), SIZE))).toBe(20);
  await expect(readMask(cellOf(tiff(5)), SIZE)).rejects.toThrow("the mask's TIFF is compressed");
  await expect(readMask(cellOf(tiff(1, 324)), SIZE)).rejects.toThrow("stored in tiles");
  await expect(readMask(cellOf(tiff(1).subarray(0, 200)), SIZE)).rejects.toThrow("the mask's TIFF is damaged");
});

test("many labels in a PNG mask are objects, shades around white are edges", async () => {
  const grey = (value: (at: number) => number): unknown =>
    cellOf(
      encode({ width: 16, height: 12, channels: 1, data: Uint8Array.from({ length: 192 }, (_, at) => value(at)) }),
    );
  expect(
    rleArea(
      await readMask(
        grey((at) => (at < 92 ? 0 : at)),
        SIZE,
      ),
    ),
  ).toBe(100);
  expect(
    rleArea(
      await readMask(
        grey((at) => (at < 40 ? 2 * at : 255)),
        SIZE,
      ),
    ),
  ).toBe(152);
});

test("files beside a shard are found by their path, by a shorter one, and never by guessing", () => {
  const folder = memoryFolder({
    "train/images/1.png": "a",
    "train/images/2.png": "b",
    "test/images/2.png": "c",
    "train/data.arrow": "d",
    // As macOS writes it.
    [`train/images/${"é".normalize("NFD")}.png`]: "e",
  });
  const find = siblingsOf(folder)("train/data.arrow");
  const path = (text: string): string | undefined => find(text)?.name;
  expect(path("images/1.png")).toBe("train/images/1.png");
  expect(path("./images/2.png")).toBe("train/images/2.png");
  expect(path("/srv/someone/train/images/2.png")).toBe("train/images/2.png");
  expect(path("C:\\set\\test\\images\\2.png")).toBe("test/images/2.png");
  expect(path("1.png")).toBe("train/images/1.png");
  const several = /"2.png" matches 2 files, such as test\/images\/2.png and train\/images\/2.png/;
  expect(() => path("2.png")).toThrow(several);
  expect(path(`images/${"é".normalize("NFC")}.png`)).toBe(`train/images/${"é".normalize("NFD")}.png`);
  expect(path("../train/images/1.png")).toBe("train/images/1.png");
  expect(path("images/none/../1.png")).toBe("train/images/1.png");
  // Never a file beside the shard, where the path leads up.
  expect(path("../test/images/2.png")).toBe("test/images/2.png");
  expect(() => path("../images/2.png")).toThrow(/matches 2 files/);
  expect(siblingsOf(folder)("annotations/rows.json")("../../set/train/images/2.png")?.name).toBe("train/images/2.png");
  expect(path("")).toBeUndefined();
});

test("a file that is missing in its folder, or with its folder, is not found in another one", () => {
  const finder = (...paths: string[]) => {
    const find = siblingsOf(memoryFolder(Object.fromEntries(paths.map((path) => [path, path]))))("rows.json");
    return (text: string): string | undefined => find(text)?.name;
  };
  const clips = finder("clips/a/00.jpg", "clips/b/00.jpg", "clips/b/01.jpg");
  expect(clips("clips/a/01.jpg")).toBeUndefined();
  expect(clips("/srv/set/clips/a/01.jpg")).toBeUndefined();
  expect(clips("/srv/set/clips/b/01.jpg")).toBe("clips/b/01.jpg");
  // A folder that is not there, beside others that are.
  expect(clips("clips/c/01.jpg")).toBeUndefined();
  expect(finder("set/clips/b/00.jpg")("/srv/clips/c/00.jpg")).toBeUndefined();
  // Other names than those of frames identify a file in a folder that was renamed.
  expect(finder("coco/images/000000000139.jpg")("coco/train2017/000000000139.jpg")).toBe(
    "coco/images/000000000139.jpg",
  );
  // An archive is the folder that it was made from.
  const packed = finder("set/train.zip/1.png", "set/test.tar/2.png");
  expect(packed("set/test/2.png")).toBe("set/test.tar/2.png");
  expect(packed("set/train/2.png")).toBeUndefined();
  const splits = finder("train/images/1.png", "test/images/2.png");
  expect(splits("train/images/2.png")).toBeUndefined();
  // Another name of the folder above, and of the folder itself.
  expect(splits("/srv/validation/images/2.png")).toBe("test/images/2.png");
  expect(splits("pictures/2.png")).toBe("test/images/2.png");
});

test("a missing file of a mask or picture is not replaced by the other of its base name", async () => {
  const rows = JSON.stringify(
    [0, 1].map((at) => ({ image: `images/${at}.png`, mask: `masks/${at}.png`, caption: "a" })),
  );
  const open = async (files: readonly string[]): Promise<readonly [unknown, unknown]> => {
    const folder = memoryFolder({
      "rows.json": rows,
      ...Object.fromEntries(files.map((path) => [path, path.startsWith("masks") ? maskPng(32, 24) : png(32, 24)])),
    });
    const { summaries, skipped } = await openRegionSet(folder);
    return [summaries.map(({ row }) => row), skipped.map(({ row, reason }) => [row, reason])];
  };
  expect(await open(["images/0.png", "images/1.png", "masks/1.png"])).toEqual([
    [1],
    [[0, 'the mask is not in the shard, only its path "masks/0.png", and that file does not exist']],
  ]);
  expect(await open(["images/1.png", "masks/0.png", "masks/1.png"])).toEqual([
    [1],
    [[0, 'the picture is not in the shard, only its path "images/0.png", and that file does not exist']],
  ]);
  const other = JSON.stringify([{ image: "images/0.jpg", mask: "masks/0.png", caption: "a" }]);
  // A folder that is missing may have another name.
  expect((await open(["masks/0.png"]))[1]).toContainEqual([
    0,
    'the mask "masks/0.png" and the picture are the same file, so one of the two files is missing',
  ]);
  const renamed = memoryFolder({ "rows.json": other, "photos/0.jpg": png(32, 24), "segments/0.png": maskPng(32, 24) });
  expect((await openRegionSet(renamed)).summaries.length).toBe(1);
});

test("a set whose masks are almost empty is not ready for training", async () => {
  const set = async (...areas: number[]) =>
    checkRegionSet(
      await openRegionSet(
        memoryFolder({ "a.arrow": writeRegionShard(areas.map((n) => row({ mask: boxMask(24, 32, 2, 2, n, 1) }))) }),
      ),
      decodeImage,
      () => 0,
    );
  const bad = await set(1, 3, 20);
  expect(bad.find(({ name }) => name === "masks decode")).toMatchObject({ ok: false });
  expect(bad.find(({ name }) => name === "masks decode")?.detail).toMatch(/^2 of 3 masks are almost empty/);
  expect(bad.at(-1)).toMatchObject({ name: "ready for training", ok: false });
  expect((await set(1, 20, 20)).at(-1)).toMatchObject({ ok: true });
});

function cellOf(bytes: Uint8Array): unknown {
  const source = memorySource("cell", bytes);
  return { length: bytes.length, read: (start = 0, end = bytes.length) => source.read(start, end) };
}

test("a picture named by path is read from beside the shard", async () => {
  const bytes = png(32, 24);
  const shard = writeRegionShard([row({ image: { bytes: null, path: "pictures/a.png" } })]);
  const set = await openRegionSet(memoryFolder({ "s/a.arrow": shard, "s/pictures/a.png": bytes }));
  expect(set.skipped).toEqual([]);
  expect((await set.sample(0)).image.bytes).toEqual(bytes);
  expect(set.ignored.map(({ reason }) => reason)).toEqual(["a picture, read if a row names it"]);
});
