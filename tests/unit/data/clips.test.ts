/** Data sets of clips in their published layouts, and damaged ones. */
import { deflateSync } from "node:zlib";
import { encode } from "fast-png";
import { zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { crc32 } from "../../../src/engine/bytes/hash.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { decodeRle, encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { recogniseRecords } from "../../../src/engine/data/readers/all.ts";
import { signOf } from "../../../src/engine/data/readers/reader.ts";
import { openRecords } from "../../../src/engine/data/records/records.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { openClips } from "../../../src/plugins/data-sets/clip-set.ts";
import { framePicture } from "../../../src/plugins/data-sets/frame-picture.ts";
import { testWith } from "../../support/plugins.ts";
import { png } from "./make.ts";

const rle = (...pixels: number[]): Rle => encodeRle(pixels, 2, 2);
const pixels = (masks: readonly Rle[]): number[][] => masks.map((mask) => [...decodeRle(mask)]);

/** A 2 x 2 PNG with a palette of three entries. */
function palettePng(...indices: readonly [number, number, number, number]): Uint8Array {
  const chunk = (type: string, data: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body) >>> 0);
    return Buffer.concat([length, body, sum]);
  };
  const [a, b, c, d] = indices;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", Uint8Array.of(0, 0, 0, 2, 0, 0, 0, 2, 8, 3, 0, 0, 0)),
    chunk("PLTE", Uint8Array.of(0, 0, 0, 128, 0, 0, 0, 128, 0)),
    chunk("IDAT", deflateSync(Uint8Array.of(0, a, b, 0, c, d))),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** 4000 x 4000 pixels: two of them are as many as a row may have. */
const wall = encode({ width: 4000, height: 4000, data: new Uint8Array(16_000_000), channels: 1, depth: 8 });
const JPEG = Uint8Array.of(0xff, 0xd8, 0xff);
const meta = (videos: unknown): string => JSON.stringify({ videos });

describe("a data set of clips", () => {
  it("has objects by palette entry in Ref-YouTube-VOS and Ref-DAVIS17", async () => {
    const expressions = { "10": { exp: "the left one", obj_id: "2" }, "2": { exp: "both", obj_id: ["1", "2"] } };
    const set = await openClips(
      memoryFolder({
        "meta_expressions/valid/meta_expressions.json": meta({ v1: { expressions, frames: ["00005", "00000"] } }),
        "meta_expressions/train/notes.txt": "",
        "train/JPEGImages/v1/00000.jpg": JPEG,
        "valid/JPEGImages/v1/00000.jpg": JPEG,
        "valid/JPEGImages/v1/00005.jpg": JPEG,
        "valid/Annotations/v1/00000.png": palettePng(0, 1, 2, 2),
        "valid/Annotations/v1/00005.png": palettePng(0, 0, 0, 2),
      }),
    );
    const [clip] = set.clips;
    expect(clip?.names).toEqual(["00000", "00005"]);
    expect(clip?.frames.map(({ name }) => name)).toEqual(["00000", "00005"].map((n) => `valid/JPEGImages/v1/${n}.jpg`));
    const both = clip?.expressions.find(({ id }) => id === "2");
    expect(pixels((await both?.truth?.()) ?? [])).toEqual([
      [0, 1, 1, 1],
      [0, 0, 0, 1],
    ]);
    const one = clip?.expressions.find(({ id }) => id === "10");
    expect(pixels((await one?.truth?.()) ?? [])[0]).toEqual([0, 0, 1, 1]);
  });

  it("has no masks for an object that is in no frame", async () => {
    const expressions = { "0": { exp: "the third one", obj_id: "3" } };
    const set = await openClips(
      memoryFolder({
        "meta_expressions.json": meta({ v1: { expressions, frames: ["0"] } }),
        "JPEGImages/v1/0.jpg": JPEG,
        "Annotations/v1/0.png": palettePng(0, 1, 2, 2),
      }),
    );
    await expect(set.clips[0]?.expressions[0]?.truth?.()).rejects.toThrow(
      'Annotations/v1 has object 3 of clip "v1", expression "0" in no frame',
    );
  });

  it("has unions of annotations in MeViS, and one split of several", async () => {
    const videos = {
      v: { expressions: { "0": { exp: "the birds", obj_id: [0, 1], anno_id: [3, 4] } }, frames: ["a", "b"] },
    };
    const masks = { "3": [rle(1, 0, 0, 0), null], "4": [rle(0, 0, 0, 1), rle(0, 1, 0, 0)] };
    const files = {
      "valid_u/meta_expressions.json": meta(videos),
      "valid_u/mask_dict.json": JSON.stringify(masks),
      "valid_u/JPEGImages/v/a.jpg": JPEG,
      "valid_u/JPEGImages/v/b.jpg": JPEG,
      "train/meta_expressions.json": meta({}),
      "train/mask_dict.json": "{}",
    };
    const { clips } = await openClips(memoryFolder(files), "valid_u");
    expect(pixels((await clips[0]?.expressions[0]?.truth?.()) ?? [])).toEqual([
      [1, 0, 0, 1],
      [0, 1, 0, 0],
    ]);
    await expect(openClips(memoryFolder(files))).rejects.toThrow(/valid_u, train|train, valid_u/);
    // Numbers of annotations begin anew in every split, so another one's masks are not these.
    const { "valid_u/mask_dict.json": own, ...rest } = files;
    const lost = await openClips(memoryFolder({ ...rest, "train/mask_dict.json": own }), "valid_u");
    expect(lost.clips[0]?.expressions[0]?.truth).toBeUndefined();
  });

  it("may be the folder of a split itself, and test is the split of MeViS that names its file otherwise", async () => {
    const videos = { v: { expressions: { "0": { exp: "the birds" } }, frames: ["0"] } };
    const own = memoryFolder({ "meta_expressions.json": meta(videos), "JPEGImages/v/0.jpg": JPEG });
    expect((await openClips(own, "valid_u")).clips.map(({ id }) => id)).toEqual(["v"]);
    const both = memoryFolder({
      "test/meta_expressions_release.json": meta(videos),
      "test/JPEGImages/v/0.jpg": JPEG,
      "train/meta_expressions.json": meta({}),
    });
    expect((await openClips(both, "test")).clips.map(({ id }) => id)).toEqual(["v"]);
    await expect(openClips(both, "valid_u")).rejects.toThrow(
      'The folder has expressions of test, train, none of "valid_u"; name one split',
    );
  });

  it("may lie in archives, one a split or one a folder", async () => {
    const videos = { v: { expressions: { "0": { exp: "the bird", obj_id: "1" } }, frames: ["0"] } };
    const zip = (files: Readonly<Record<string, Uint8Array>>): Uint8Array => zipSync(files);
    const [picture, palette] = [{ "v/0.jpg": JPEG }, { "v/0.png": palettePng(0, 1, 0, 0) }];
    const dictionary = new TextEncoder().encode(JSON.stringify({ 3: [rle(1, 1, 0, 0)] }));
    const named = { v: { expressions: { "0": { exp: "the bird", anno_id: 3 } }, frames: ["0"] } };
    const expressions = new TextEncoder().encode(meta(named));
    const split = { "meta_expressions.json": expressions, "mask_dict.json": dictionary, "JPEGImages/v/0.jpg": JPEG };
    const forms = [
      {
        "meta_expressions/valid/meta_expressions.json": meta(videos),
        "valid/JPEGImages.zip": zip(picture),
        "valid/Annotations.zip": zip(palette),
      },
      { "valid.zip": zip(split), "train.zip": zip(split) },
    ];
    const truths = await Promise.all(
      forms.map(async (files) => {
        const [clip] = (await openClips(memoryFolder(files), "valid")).clips;
        expect(clip?.frames[0]?.name).toMatch(/^valid\b.*v\/0\.jpg$/);
        return pixels((await clip?.expressions[0]?.truth?.()) ?? []);
      }),
    );
    expect(truths).toEqual([[[0, 1, 0, 0]], [[1, 1, 0, 0]]]);
    const torn = await openClips(memoryFolder({ ...forms[0], "train.zip": new Uint8Array(40) }), "valid");
    expect(torn.leftOut).toEqual(["train.zip is neither a tar nor a zip archive, despite its name"]);
  });

  it("has kinds in ReVOS, and frames beside JPEGImages", async () => {
    const expressions = {
      "0": { exp: "a dog", anno_id: [1], type_id: 0 },
      "1": { exp: "a ghost", anno_id: [], type_id: 2 },
    };
    const { clips } = await openClips(
      memoryFolder({
        "meta_expressions_valid_.json": meta({ "set/v": { expressions, frames: ["0"] } }),
        "mask_dict.json": JSON.stringify({ "1": [encodeRle([1, 1], 1, 2)] }),
        "set/v/0.jpg": png(2, 2),
      }),
    );
    expect(clips[0]?.expressions.map(({ type }) => type)).toEqual([0, 2]);
    expect(pixels((await clips[0]?.expressions[1]?.truth?.()) ?? [])).toEqual([[0, 0, 0, 0]]);
  });

  it("keeps masks with their frames where numbers have no leading zeros", async () => {
    const frames = [...Array(12).keys()].map(String);
    const masks = frames.map((_, at) => rle(...Array.from({ length: 4 }, (_, bit) => (at >> bit) & 1)));
    const { clips } = await openClips(
      memoryFolder({
        "meta_expressions.json": meta({ v: { expressions: { "0": { exp: "a", anno_id: ["1"] } }, frames } }),
        "mask_dict.json": JSON.stringify({ "1": masks }),
        ...Object.fromEntries(frames.map((name) => [`v/${name}.jpg`, JPEG])),
      }),
    );
    expect(clips[0]?.names).toEqual(frames);
    expect(await clips[0]?.expressions[0]?.truth?.()).toEqual(masks);
  });

  it("has long and short texts in the evaluation files of Ref-SAV", async () => {
    const expressions = {
      "0": { exp: "The long one.", obj_id: [0], anno_id: ["7"], type_id: 0 },
      "1": { exp: "short", obj_id: [0], anno_id: ["7"], type_id: 1 },
    };
    const { clips, leftOut } = await openClips(
      memoryFolder({
        "eval/meta_expressions_valid.json": meta({
          sav_1: { height: 2, width: 2, expressions, frames: ["00000", "00004"] },
        }),
        "eval/mask_dict.json": JSON.stringify({ "7": [rle(1, 0, 0, 0), null] }),
        "eval/JPEGImages/sav_1/00000.jpg": JPEG,
        "eval/JPEGImages/sav_1/00004.jpg": JPEG,
      }),
      "valid",
    );
    expect([leftOut, clips[0]?.expressions.map(({ type }) => type)]).toEqual([[], [0, 1]]);
    expect(pixels((await clips[0]?.expressions[1]?.truth?.()) ?? [])).toEqual([
      [1, 0, 0, 0],
      [0, 0, 0, 0],
    ]);
  });

  it("may be folders of pictures alone", async () => {
    const { clips } = await openClips(
      memoryFolder({
        "JPEGImages/walk/1.jpg": JPEG,
        "JPEGImages/walk/2.jpg": JPEG,
        "Annotations/walk/1.png": palettePng(0, 2, 0, 0),
      }),
    );
    expect(clips.map(({ id, names }) => [id, names])).toEqual([["walk", ["1", "2"]]]);
    const numbered = [...Array(12).keys()].map(String);
    const files = Object.fromEntries(numbered.toReversed().map((name) => [`run/${name}.jpg`, JPEG]));
    expect((await openClips(memoryFolder(files))).clips[0]?.names).toEqual(numbered);
    expect(clips[0]?.expressions.map(({ id }) => id)).toEqual(["2"]);
    const davis = await openClips(
      memoryFolder({
        "Annotations_unsupervised/480p/bear/0.png": palettePng(0, 2, 0, 0),
        "JPEGImages/480p/bear/0.jpg": JPEG,
        "JPEGImages/Full-Resolution/bear/0.jpg": JPEG,
        "JPEGImages/480p/dog/0.jpg": JPEG,
      }),
    );
    const names = ["JPEGImages/480p/bear", "JPEGImages/Full-Resolution/bear", "dog"];
    expect(davis.clips.map(({ id }) => id).sort()).toEqual(names);
    await expect(clips[0]?.expressions[0]?.truth?.()).rejects.toThrow(/no mask for frame "2"/);
  });

  it.each([
    ["no frames", { frames: [], expressions: {} }, /"v" has no frames/],
    ["a frame that is not there", { frames: ["0", "1"], expressions: {} }, /lists frame "1", which is not there/],
    ["frames that are no list", { frames: 3, expressions: {} }, /no frames or no expressions/],
    ["an expression without text", { frames: ["0"], expressions: { a: { obj_id: 1 } } }, /expression "a" without text/],
    ["too many frames", { frames: new Array(100_001).fill("0"), expressions: {} }, /100001 frames, more than/],
  ])("with %s says so in one sentence", async (_, video, sentence) => {
    const folder = memoryFolder({ "x/meta_expressions.json": meta({ v: video }), "x/JPEGImages/v/0.jpg": JPEG });
    await expect(openClips(folder)).rejects.toThrow(sentence);
  });

  it("says which masks do not fit, and reads no pickle", async () => {
    const expressions = {
      long: { exp: "x", anno_id: 1 },
      absent: { exp: "x", anno_id: 7 },
      torn: { exp: "x", anno_id: 2 },
      text: { exp: "x", anno_id: 3 },
      sizes: { exp: "x", anno_id: [4, 5] },
    };
    const masks = {
      1: [rle(1, 0, 0, 0), null],
      2: [{ size: [2, 2], counts: "z" }],
      3: "none",
      4: [rle(1, 0, 0, 0)],
      5: [encodeRle([1, 0], 1, 2)],
    };
    const { clips, leftOut } = await openClips(
      memoryFolder({
        "x/meta_expressions.json": meta({ v: { frames: ["0"], expressions }, w: {} }),
        "x/mask_dict.json": JSON.stringify(masks),
        "x/mask_dict.pkl": "cos\nsystem\n",
        "x/JPEGImages/v/0.jpg": JPEG,
      }),
    );
    expect(leftOut).toEqual([
      expect.stringContaining("mask_dict.pkl was not read"),
      expect.stringContaining('Clip "w"'),
    ]);
    const [long, absent, torn, text, sizes] = clips[0]?.expressions ?? [];
    await expect(long?.truth?.()).rejects.toThrow(/has 2 masks for 1 frames/);
    await expect(absent?.truth?.()).rejects.toThrow(/no annotation "7"/);
    const of = (name: string): string => `of clip "v", expression "${name}"`;
    await expect(torn?.truth?.()).rejects.toThrow(
      `x/mask_dict.json: annotation "2" ${of("torn")} is damaged at frame 0: mask text`,
    );
    await expect(text?.truth?.()).rejects.toThrow(
      `x/mask_dict.json: annotation "3" ${of("text")} is not a list of masks`,
    );
    await expect(sizes?.truth?.()).rejects.toThrow(
      'x/mask_dict.json: clip "v", expression "sizes" has masks of 2 x 2 and of 2 x 1 pixels',
    );
    const colours = encode({ width: 1, height: 1, data: new Uint8Array(3), channels: 3, depth: 8 });
    const plain = memoryFolder({ "JPEGImages/v/0.jpg": JPEG, "Annotations/v/0.png": colours });
    await expect(openClips(plain)).rejects.toThrow(/contains colours instead of object numbers/);
    await expect(openClips(memoryFolder({ "a.txt": "" }))).rejects.toThrow(/no clip/);
    await expect(openClips(plain, "val")).rejects.toThrow(/has no split "val"/);
    const source = plain.get("JPEGImages/v/0.jpg");
    await expect(framePicture(source as NonNullable<typeof source>)).rejects.toThrow(/^JPEGImages\/v\/0\.jpg: /);
  });

  testWith("clips")("is rows for training, one an expression, every k-th frame of long clips", async () => {
    const found = encodeRle(new Uint8Array(144).fill(1, 20, 40), 12, 12);
    const expressions = {
      "0": { exp: "a bird", anno_id: [1] },
      "1": { exp: "a ghost", anno_id: [] },
      "2": { exp: "hidden" },
    };
    const large = encodeRle(new Uint8Array(4000 * 4000).fill(1, 0, 99), 4000, 4000);
    const many = ["0", "1", "2", "3", "4", "5"];
    const set = await openRegionSet(
      memoryFolder({
        "train/meta_expressions.json": meta({
          a: { expressions, frames: ["0", "1"] },
          long: { expressions: { "0": { exp: "a wall", anno_id: [2] } }, frames: many },
        }),
        "train/mask_dict.json": JSON.stringify({ "1": [found, null], "2": many.map(() => large) }),
        "train/JPEGImages/a/0.png": png(12, 12),
        "train/JPEGImages/a/1.png": png(12, 12, 9),
        ...Object.fromEntries(many.map((frame) => [`train/JPEGImages/long/${frame}.png`, wall])),
      }),
    );
    expect(set.summaries.map(({ caption, frames }) => [caption, frames])).toEqual([
      ["a bird", 2],
      ["a wall", 2],
    ]);
    expect([...decodeRle(set.summaries[0]?.mask as Rle)].slice(0, 144)).toEqual([...decodeRle(found)]);
    const reasons = [...set.skipped, ...set.ignored].map(({ reason }) => reason);
    expect(reasons).toContain("the masklet is empty on all 2 frames");
    expect(reasons).toContain("1 expressions were left out: their masks are not public");
  });

  it("is recognised by its files", async () => {
    const labelOf = async (text: string): Promise<string | undefined> => {
      const source = memoryFolder({ "a.json": text }).get("a.json");
      const records = await openRecords(source as NonNullable<typeof source>);
      return recogniseRecords(await signOf(records as NonNullable<typeof records>))?.reader.label;
    };
    expect(await labelOf(meta({ v: { frames: ["0"], expressions: {} } }))).toBe("clip-expressions");
    expect(await labelOf(JSON.stringify({ "1": [null, rle(1, 0, 0, 0)], "2": [rle(0, 0, 0, 0)] }))).toBe("clip-masks");
  });
});
