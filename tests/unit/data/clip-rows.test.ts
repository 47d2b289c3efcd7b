/** Arrow rows with a list of frames and a list of masks: one masklet with one caption a row. */
import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { type ShardRow, writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { openNodeRows } from "../../../scripts/lib/node/node-rows.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import {
  decodeSample,
  frameOf,
  framePixels,
  stacked,
  unviewed,
  viewed,
  visibleFrames,
} from "../../../src/engine/data/film-strip.ts";
import { decodeRle, encodeRle, type Rle, rleArea } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { withFrames } from "../../../src/engine/data/training-row.ts";
import type { LabError } from "../../../src/engine/errors.ts";
import { frameScores } from "../../../src/plugins/clips/boundary.ts";
import { checkFrames } from "../../../src/plugins/clips/clip-row.ts";
import { frameMasks, maskletsJson, maskletsZip, stripOfMasks } from "../../../src/plugins/clips/export-masklets.ts";
import { openClips } from "../../../src/plugins/data-sets/clip-set.ts";
import { boxMask, jpg, png, row } from "./make.ts";

const NAME = "data-00000-of-00001.arrow";
const frame = (tint: number, width = 32, height = 24) => ({ bytes: png(width, height, tint), path: `${tint}.png` });
const mask = (x: number): Rle => boxMask(24, 32, x, 3, 10, 8);

function clip(changes: Partial<ShardRow> = {}): ShardRow {
  return {
    ...row({ image: null, mask: [mask(1), null, mask(9)] }),
    frames: [frame(0), frame(90), frame(180)],
    ...changes,
  };
}

async function opened(rows: readonly ShardRow[]) {
  return await openRegionSet(memoryFolder({ [NAME]: writeRegionShard(rows, { layout: "clip" }) }));
}

test("a clip is a strip of its frames, with the masklet as one mask", async () => {
  const set = await opened([clip()]);
  expect([set.skipped, set.files[0]?.adapter]).toEqual([[], "conversations, one masklet per row"]);
  const [summary] = set.summaries;
  expect(summary).toMatchObject({ width: 32, height: 72, frames: 3, caption: "A red box." });
  const pixels = decodeRle(summary?.mask as Rle);
  expect(visibleFrames(pixels, 3)).toEqual([0, 2]);
  expect(frameOf(pixels, 3, 2)).toEqual(decodeRle(mask(9)));
  const strip = await decodeSample(await set.sample(0), decodeImage);
  expect([strip.width, strip.height]).toEqual([32, 72]);
  const alone = await decodeImage({
    bytes: png(32, 24, 90) as Uint8Array<ArrayBuffer>,
    mime: "image/png",
    width: 32,
    height: 24,
    orientation: 1,
  });
  expect(framePixels(strip, 3, 1)).toEqual(alone);
});

test("frames of one clip may be PNG and JPEG", async () => {
  const frames = [frame(0), { bytes: jpg(32, 24), path: "1.jpg" }, frame(180)];
  const set = await opened([clip({ frames })]);
  const sample = await set.sample(0);
  expect(sample.frames?.map(({ mime }) => mime)).toEqual(["image/png", "image/jpeg", "image/png"]);
  expect((await decodeSample(sample, decodeImage)).height).toBe(72);
});

test("frames of a clip that is not there are not those of another clip", async () => {
  const line = (name: string): string =>
    JSON.stringify({ frames: [0, 1].map((at) => `${name}/${at}.png`), masks: [mask(1), mask(2)], caption: name });
  const files = { "rows.jsonl": ["a", "b"].map(line).join("\n"), "b/0.png": png(32, 24), "b/1.png": png(32, 24) };
  for (const root of ["", "clips/"]) {
    const moved = Object.entries(files).map(([path, file]) => [path.replace("b/", `${root}b/`), file] as const);
    const set = await openRegionSet(memoryFolder(Object.fromEntries(moved)));
    expect(set.summaries.map(({ caption }) => caption)).toEqual(["b"]);
    expect(set.skipped.map(({ reason }) => reason)).toEqual([expect.stringContaining('only its path "a/0.png"')]);
  }
});

test("a view keeps its frames and clears the masks of the others", async () => {
  const { rows } = await openNodeRows([new URL("../../../public/pocket/clips", import.meta.url).pathname]);
  const whole = await rows(0);
  const row = withFrames(whole, [1, 4]);
  expect(row.view).toEqual({ total: 6, frames: [1, 4] });
  expect(visibleFrames(row.mask, 6)).toEqual([1, 4]);
  expect(rleArea(row.summary.mask)).toBe(row.mask.reduce((sum, pixel) => sum + pixel, 0));
  expect(viewed(row.mask, { total: 6, frames: [4] })).toEqual(frameOf(whole.mask, 6, 4));
  expect(unviewed(Uint8Array.of(1, 2), { total: 3, frames: [0, 2] })).toEqual(Uint8Array.of(1, 0, 2));
});

test("masklets are compared frame by frame, and frames that show neither have no score", () => {
  const strip = (...parts: readonly (Rle | null)[]): Rle =>
    encodeRle(stacked(parts.map((part) => (part === null ? new Uint8Array(24 * 32) : decodeRle(part)))), 72, 32);
  const moved = boxMask(24, 32, 6, 3, 10, 8);
  expect(frameScores(strip(mask(1), null, mask(9)), strip(moved, null, null), 3)).toEqual([40 / 120, null, 0]);
  expect(JSON.parse(maskletsJson([{ name: "a", mask: strip(mask(1), null, mask(9)) }], 3))).toEqual({
    size: [24, 32],
    frames: ["00000", "00001", "00002"],
    names: ["a"],
    objects: [[mask(1), encodeRle(new Uint8Array(24 * 32), 24, 32), mask(9)]],
  });
});

test("masks of frames become the mask of their strip, and a masklet of any name a folder", () => {
  // Runs that touch the upper and lower edge, a full frame, one without an answer, and noise.
  const noise = Uint8Array.from({ length: 24 * 32 }, (_, at) => ((at * at) % 7 < 3 ? 1 : 0));
  const full = encodeRle(new Uint8Array(24 * 32).fill(1), 24, 32);
  const masks = [boxMask(24, 32, 2, 0, 5, 24), full, undefined, encodeRle(noise, 24, 32), full];
  const parts = masks.map((own) => (own === undefined ? new Uint8Array(24 * 32) : decodeRle(own)));
  const strip = stripOfMasks(masks, [24, 32]);
  expect(strip).toEqual(encodeRle(stacked(parts), 5 * 24, 32));
  expect(frameMasks(strip, 5).map((own) => decodeRle(own))).toEqual(parts);
  expect(stripOfMasks([undefined, undefined], [24, 32])).toEqual(encodeRle(new Uint8Array(48 * 32), 48, 32));
  const named = ["2 ../up? é", "given", "given", ""].map((name) => ({ name, mask: strip }));
  const paths = Object.keys(unzipSync(maskletsZip(named, 5)));
  expect(paths.filter((path) => path.endsWith("/00004.png"))).toEqual(
    ["2-up-é", "given", "given-2", "masklet"].map((folder) => `${folder}/00004.png`),
  );
});

test("every broken clip is left out with one sentence, the good one behind it stays", async () => {
  const cases: [Partial<ShardRow>, string][] = [
    [{ frames: [] }, "the row has no picture"],
    [{ mask: [mask(1), mask(2)] }, "the clip has 3 frames and 2 masks"],
    [{ mask: [null, null, null] }, "the masklet is empty on all 3 frames"],
    [{ frames: [frame(0), frame(1, 16, 24), frame(2)] }, "frame 1 is 16 x 24 pixels, the clip began with 32 x 24"],
    [{ frames: [frame(0), { bytes: new Uint8Array(0), path: null }, frame(2)] }, "frame 1: the picture has 0 bytes"],
    [
      { mask: [mask(1), boxMask(12, 32, 0, 0, 4, 4), null] },
      "the mask of frame 1 is 32 x 12 pixels, the frame 32 x 24 (width x height)",
    ],
    [{ conversations: [{ from: "gpt", value: " " }] }, "the caption is empty"],
    [{ mask: [] }, "the row has no mask (its caption describes the whole picture)"],
  ];
  const set = await opened([...cases.map(([changes]) => clip(changes)), clip()]);
  expect(set.skipped.map(({ row, reason }) => [row, reason])).toEqual(cases.map(([, reason], at) => [at, reason]));
  expect(set.summaries.map(({ row }) => row)).toEqual([cases.length]);
  expect(() => checkFrames(Array.from({ length: 10_000 }, () => ({ width: 640, height: 360 })))).toThrow(
    "the clip has 10000 frames of 640 x 360, more than 33554432 pixels; store every k-th frame",
  );
});

test("a clip set whose frames or objects have no names, or one name twice, is refused in one sentence", async () => {
  const odd = { toString: 1, valueOf: 2 };
  const refused = async (frames: readonly unknown[], obj_id: unknown) => {
    const videos = { a: { frames, expressions: { "0": { exp: "a thing", obj_id } } } };
    const meta = new TextEncoder().encode(JSON.stringify({ videos }));
    const pictures = { "JPEGImages/a/0.png": png(16, 12), "Annotations/a/0.png": png(16, 12) };
    return await openClips(memoryFolder({ ...pictures, "meta_expressions.json": meta })).then(
      () => "",
      (thrown: unknown) => (thrown as LabError).message,
    );
  };
  expect(await refused([odd], 1)).toContain('Clip "a" has frames whose names are not text; it was left out');
  expect(await refused(["0", "0"], 1)).toContain('Clip "a" lists frame "0" twice; it was left out');
  expect(await refused(["0"], [odd])).toContain("names objects that are neither text nor numbers");
  for (const [object, named] of [
    ["dog", '"dog"'],
    [0, '"0"'],
  ] as const) {
    expect(await refused(["0"], [1, object])).toContain(
      `clip "a", expression "0" names object ${named}, but objects are numbered from 1; its clip was left out`,
    );
  }
});
