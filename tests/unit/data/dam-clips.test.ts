/** Videos of describe-anything (SAV): frames in tar shards, a masklet and a caption per region. */
import { expect, test } from "vitest";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { decodeSample, framePixels, visibleFrames } from "../../../src/engine/data/film-strip.ts";
import { decodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet, type RegionSet } from "../../../src/engine/data/region-set.ts";
import { pickle, tar } from "../../support/data-forms.ts";
import { boxMask, png } from "./make.ts";

const FRAMES = 12;
const mask = (x: number): Rle => boxMask(24, 32, x, 3, 10, 8);
/** Frames as far as the number, each with its tint; their order in a shard is that of text. */
const frames = (key: string, count = FRAMES): [string, Uint8Array][] =>
  Array.from({ length: count }, (_, at): [string, Uint8Array] => [`${key}.${at}.jpg`, png(32, 24, 20 * at)]).toSorted();
const region = (caption: string, masks: readonly unknown[], changes: object = {}) => ({
  ...{ video_id: "v", ann_id: 0, category: "box", caption, mask_rle: masks, tar_file: "00000000.tar" },
  ...changes,
});
const masks = (...seen: readonly number[]): (Rle | null)[] =>
  Array.from({ length: FRAMES }, (_, at) => (seen.includes(at) ? mask(at) : null));

async function opened(
  annotations: object,
  shards: Readonly<Record<string, [string, Uint8Array][]>>,
): Promise<RegionSet> {
  const files = Object.entries(shards).map(([name, members]) => [`SAV/images/${name}`, tar(members)]);
  return openRegionSet(
    memoryFolder({ "SAV/annotations.json": JSON.stringify(annotations), ...Object.fromEntries(files) }),
  );
}

test("each region is a clip of its video's frames, in the order of their numbers", async () => {
  const set = await opened(
    { sav_1: [region("A red box.", masks(0, 11)), region("A box.", masks(3))], sav_2: region("Another.", masks(1)) },
    {
      "00000000.tar": [
        ...frames("sav_1"),
        ["sav_1.pickle", pickle([region("A red box.", masks(0, 11))])],
        ...frames("sav_2"),
      ],
    },
  );
  expect(set.skipped).toEqual([]);
  expect(set.summaries.map(({ caption, category, frames: count }) => [caption, category, count])).toEqual([
    ["A red box.", ["box"], FRAMES],
    ["A box.", ["box"], FRAMES],
    ["Another.", ["box"], FRAMES],
  ]);
  expect(visibleFrames(decodeRle(set.summaries[0]?.mask as Rle), FRAMES)).toEqual([0, 11]);
  const strip = await decodeSample(await set.sample(0), decodeImage);
  const of = async (at: number) => {
    const bytes = png(32, 24, 20 * at) as Uint8Array<ArrayBuffer>;
    return decodeImage({ bytes, mime: "image/png", width: 32, height: 24, orientation: 1 });
  };
  for (const at of [0, 2, 10, 11]) expect(framePixels(strip, FRAMES, at)).toEqual(await of(at));
});

test("frames come from the shard that the region names, else from one, never from two", async () => {
  const shards = { "0.tar": frames("0007", 3), "1.tar": frames("7", FRAMES) };
  const set = await opened(
    {
      "7": region("By its key.", masks(1), { tar_file: "none.tar" }),
      "07": region("By its shard.", [null, mask(2), null], { tar_file: "0.tar" }),
    },
    shards,
  );
  expect(set.skipped).toEqual([]);
  expect(set.summaries.map(({ caption, frames: count }) => [caption, count])).toEqual([
    ["By its key.", FRAMES],
    ["By its shard.", 3],
  ]);
});

test("a video without frames or with another number of masks is one row that is left out", async () => {
  const set = await opened(
    { a: region("No frames.", masks(1)), b: region("Two masks.", [mask(1), mask(2)]), c: region("Whole.", masks(2)) },
    { "00000000.tar": [...frames("b"), ...frames("c")] },
  );
  expect(set.summaries.map(({ caption }) => caption)).toEqual(["Whole."]);
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    'no frame "a.0.jpg" exists',
    "the clip has 12 frames and 2 masks",
  ]);
});

test("shards without their annotations are one sentence, however many videos they have", async () => {
  const videos = ["a", "b", "c"].flatMap((key): [string, Uint8Array][] => [
    ...frames(key, 2),
    [`${key}.pickle`, pickle([region("A box.", [mask(1), mask(2)])])],
  ]);
  const whole = await opened({ a: region("A box.", [mask(1), mask(2)]) }, { "0.tar": videos });
  expect([whole.skipped, whole.summaries.length]).toEqual([[], 1]);
  const files = { "SAV/images/0.tar": tar(videos) };
  const { summaries, skipped } = await openRegionSet(memoryFolder(files));
  expect(summaries).toEqual([]);
  expect(skipped).toMatchObject([{ reason: "its masks are in annotations.json, which is missing" }]);
});
