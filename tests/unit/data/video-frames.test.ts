/** Videos in rows: what their containers tell, and one sentence for each that cannot be used. */
import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import type { LabError } from "../../../src/engine/errors.ts";
import { openVideo } from "../../../src/plugins/clips/video-cells.ts";
import { testWith } from "../../support/plugins.ts";
import { junkFrames, videoFile } from "../../support/videos.ts";
import { boxMask } from "./make.ts";

const video = (frames: number, kind: "webm" | "mp4" = "webm", ...size: number[]): Promise<Uint8Array> =>
  videoFile(kind, junkFrames(frames, ...size));
const opened = (bytes: Uint8Array, every = 1) =>
  openVideo({ length: bytes.length, read: async (start, end) => bytes.slice(start, end) }, every);
const refused = (bytes: Uint8Array, every?: number): Promise<string> =>
  opened(bytes, every).then(
    () => "",
    (thrown: unknown) => (thrown as LabError).message,
  );

test("the container tells size and frames, and every k-th of them is counted", async () => {
  for (const bytes of [await video(12), await video(12, "mp4")]) {
    expect(await opened(bytes)).toMatchObject({ coded: 12, frames: 12, width: 64, height: 48, codec: "vp9" });
    expect((await opened(bytes, 5)).frames).toBe(3);
  }
});

test("a video without frames, cut off, too long or of another kind is refused in one sentence", async () => {
  const long = await video(10_000, "webm", 640, 360);
  expect(await refused(long)).toBe(
    'the video has 10000 frames of 640 x 360, of which 10000 would be read; that is more than 33554432 pixels together: read every k-th ("every" in data-mapping.json) or cut the video',
  );
  expect((await opened(long, 100)).frames).toBe(100);
  const whole = await video(40, "mp4");
  for (const bytes of [await video(0), await video(0, "mp4"), whole.slice(0, 200)]) {
    expect(await refused(bytes)).toBe("the video has no track of pictures, or is cut off before its first frame");
  }
  // The demuxer would search these for the next part without end.
  const astray = (await video(40)).fill(7, 55);
  expect(await refused(astray)).toBe("the video is damaged: its parts are not in sequence");
  expect(await refused(new TextEncoder().encode("no video at all"))).toMatch(
    /^the video is damaged, cut off, or not MP4/,
  );
});

test("rows with a video are one masklet; without a decoder, or without the file, each is left out with its reason", async () => {
  const masks = [boxMask(48, 64, 1, 3, 10, 8), null];
  const row = { video: "a.webm", masks, caption: "a thing" };
  const more = (masks: number) => ({ ...row, masks: Array.from({ length: masks }, () => row.masks[0]) });
  const rows = [row, { ...row, video: "b.webm" }, more(3), more(4097)];
  const set = await openRegionSet(
    memoryFolder({ "rows.json": new TextEncoder().encode(JSON.stringify(rows)), "a.webm": await video(2) }),
  );
  expect(set.files[0]?.adapter).toBe("captions, one masklet of a video per row");
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "only the page decodes videos; for command-line tools, store the frames as pictures",
    'the video is not in the shard, only its path "b.webm", and that file does not exist',
    "the clip has 2 frames and 3 masks",
    "the row has 4097 masks, more than the 4096 allowed",
  ]);
  const mapped = await openRegionSet(memoryFolder({ "rows.json": new TextEncoder().encode(JSON.stringify(rows)) }), {
    mapping: { "*": { every: "0" } },
  });
  expect(mapped.skipped[0]?.reason).toBe('"every" is "0", it must be a whole number from 1 to 1000');
});

testWith("data-sets")(
  "Ref-SAV as published: texts for objects of videos with masks for every fourth frame",
  async () => {
    const sav = (frames: number, list = "masklet") =>
      JSON.stringify({ [list]: Array.from({ length: frames }, () => [null, boxMask(48, 64, 1, 3, 10, 8)]) });
    const entry = (name: string) => ({
      video_path: `videos/${name}.mp4`,
      anno_path: `annotations/${name}_manual.json`,
      objects: { "1": { formated: "The thing on the left." } },
    });
    const files = {
      "Ref-SAV.json": JSON.stringify({
        a: entry("a"),
        b: entry("b"),
        c: entry("c"),
        d: { ...entry("d"), objects: {} },
      }),
      "videos/a.mp4": await video(7, "mp4"),
      "videos/b.mp4": await video(9, "mp4"),
      "videos/c.mp4": await video(9, "mp4"),
      "annotations/a_manual.json": sav(2),
      "annotations/b_manual.json": sav(2),
      "annotations/c_manual.json": sav(2, "masks"),
    };
    const bytes = (file: string | Uint8Array) => (typeof file === "string" ? new TextEncoder().encode(file) : file);
    const folder = memoryFolder(Object.fromEntries(Object.entries(files).map(([path, file]) => [path, bytes(file)])));
    const { files: opened, skipped } = await openRegionSet(folder);
    const table = opened.find(({ name }) => name === "Ref-SAV.json");
    expect(table).toMatchObject({ rows: 3, adapter: "captions, one masklet of a video per row" });
    expect(skipped.filter(({ file }) => file === table?.name).map(({ reason }) => reason)).toEqual([
      "only the page decodes videos; for command-line tools, store the frames as pictures",
      "the clip has 3 frames and 2 masks",
      'annotations/c_manual.json has no list "masklet"',
    ]);
  },
);
