/** Videos in rows: what their containers tell, and one sentence for each that cannot be used. */
import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from "mediabunny";
import { expect, test } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/memory.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { openVideo } from "../../../src/engine/data/video/video-frames.ts";
import type { LabError } from "../../../src/engine/errors.ts";
import { boxMask } from "./make.ts";

/** A file with frames that no decoder would take: only the container counts here. */
async function video(
  frames: number,
  format = new WebMOutputFormat() as WebMOutputFormat | Mp4OutputFormat,
  width = 64,
  height = 48,
) {
  const target = new BufferTarget();
  const output = new Output({ format, target });
  const source = new EncodedVideoPacketSource("vp9");
  output.addVideoTrack(source, { frameRate: 24 });
  await output.start();
  const config = { codec: "vp09.00.10.08", codedWidth: width, codedHeight: height };
  for (let at = 0; at < frames; at++) {
    const packet = new EncodedPacket(new Uint8Array(32).fill(at), at === 0 ? "key" : "delta", at / 24, 1 / 24);
    await source.add(packet, { decoderConfig: config });
  }
  await output.finalize();
  return new Uint8Array(target.buffer as ArrayBuffer);
}

const opened = (bytes: Uint8Array, every = 1) =>
  openVideo({ length: bytes.length, read: async (start, end) => bytes.slice(start, end) }, every);
const refused = (bytes: Uint8Array, every?: number): Promise<string> =>
  opened(bytes, every).then(
    () => "",
    (thrown: unknown) => (thrown as LabError).message,
  );

test("the container tells size and frames, and every k-th of them is counted", async () => {
  for (const bytes of [await video(12), await video(12, new Mp4OutputFormat())]) {
    expect(await opened(bytes)).toMatchObject({ coded: 12, frames: 12, width: 64, height: 48, codec: "vp9" });
    expect((await opened(bytes, 5)).frames).toBe(3);
  }
});

test("a video without frames, cut off, too long or of another kind is refused in one sentence", async () => {
  const long = await video(10_000, undefined, 640, 360);
  expect(await refused(long)).toBe(
    "the video has 10000 frames of 640 x 360; every 1 of them are 10000, more than 67108864 pixels or 20000 frames; read fewer or cut it",
  );
  expect((await opened(long, 50)).frames).toBe(200);
  expect(await refused(await video(0))).toMatch(/^the video has no (frames|track of pictures)$/);
  const whole = await video(40, new Mp4OutputFormat({ fastStart: "in-memory" }));
  expect(await refused(whole.slice(0, 200))).toMatch(
    /^the video (is damaged or cut off|is damaged, cut off or of another kind)/,
  );
  expect(await refused(new TextEncoder().encode("no video at all"))).toMatch(
    /^the video is damaged, cut off or of another kind than MP4/,
  );
});

test("rows with a video are one masklet; without a decoder, or without the file, each is left out with its reason", async () => {
  const masks = [boxMask(48, 64, 1, 3, 10, 8), null];
  const rows = ["a.webm", "b.webm"].map((name) => ({ video: name, masks, caption: "a thing" }));
  const set = await openRegionSet(
    memoryFolder({ "rows.json": new TextEncoder().encode(JSON.stringify(rows)), "a.webm": await video(2) }),
  );
  expect(set.files[0]?.adapter).toBe("captions, one masklet of a video a row");
  expect(set.skipped.map(({ reason }) => reason)).toEqual([
    "videos are decoded by the page only; store the frames as pictures for tools",
    'the video is not in the shard, only its path "b.webm", and that file does not exist',
  ]);
  const mapped = await openRegionSet(memoryFolder({ "rows.json": new TextEncoder().encode(JSON.stringify(rows)) }), {
    mapping: { "*": { every: "0" } },
  });
  expect(mapped.skipped[0]?.reason).toBe('"every" is "0", it must be a whole number from 1 to 1000');
});
