/** Reads the frames of a video in a cell as if they were pictures in cells. */
import type { Input, InputVideoTrack, VideoSample } from "mediabunny";
import { Lru, remember } from "../../engine/bytes/collections.ts";
import { IS_POINTER, isPointer } from "../../engine/bytes/source.ts";
import type { PictureBytes } from "../../engine/data/image/image-header.ts";
import { type PictureProbe, pictureBytes, pictureId } from "../../engine/data/image/picture.ts";
import type { VideoCell } from "../../engine/data/readers/reader.ts";
import type { FindFile } from "../../engine/data/siblings.ts";
import type { BinaryCell } from "../../engine/data/tables/table.ts";
import { badInput, LabError, plainLine, quote } from "../../engine/errors.ts";
import { checkMaskCount, MAX_STRIP } from "./clip-row.ts";

// Frames of an MP4, MOV, WebM or Matroska file, decoded by the browser. Every fault of a file ends in one sentence. The
// demuxer is loaded with the first video.

/** A video that is not yet decoded; its pixels can be decoded once. */
interface OpenVideo {
  /** Coded frames. */
  readonly coded: number;
  /** Number of read frames: every k-th coded frame, starting with the first. */
  readonly frames: number;
  /** Displayed size in pixels. */
  readonly width: number;
  readonly height: number;
  readonly codec: string;
  /**
   * Decodes everything without keeping pixels.
   * @throws LabError("unsupported" | "bad-input") for a video that `read` would refuse
   */
  check(): Promise<void>;
  /** The frames as PNG, in order of time. @throws LabError("unsupported" | "bad-input") */
  read(): Promise<Uint8Array[]>;
}

/** Maximum coded frames; each is decoded, even if it is not used. */
const MOST_CODED = 20_000;

/**
 * Reads the container, not the pixels.
 * @param every distance between two frames that are read
 * @throws LabError("bad-input") for a file that is not a video, a damaged video, or more pixels than a clip may have
 */
export async function openVideo(bytes: PictureBytes, every: number): Promise<OpenVideo> {
  if (isPointer(await bytes.read(0, Math.min(64, bytes.length)))) throw badInput(`the video ${IS_POINTER}`);
  const { ALL_FORMATS, CustomSource, Input } = await import("mediabunny");
  const input = new Input({
    // All reads of the demuxer go through `limited`, because in a damaged file it searches without end.
    source: new CustomSource({ getSize: () => bytes.length, read: limited(bytes), maxCacheSize: 0 }),
    formats: ALL_FORMATS,
  });
  const track = await step("is damaged, cut off, or not MP4, MOV or WebM", () => input.getPrimaryVideoTrack());
  if (track === null) throw badInput("the video has no track of pictures, or is cut off before its first frame");
  const coded = await step(
    "is damaged or cut off",
    async () => (await track.computePacketStats(MOST_CODED + 1)).packetCount,
  );
  if (coded === 0) throw badInput("the video has no frames that can be read: it is empty or cut off");
  const { displayWidth: width, displayHeight: height } = track;
  const frames = Math.ceil(coded / every);
  if (coded > MOST_CODED || frames * width * height > MAX_STRIP) {
    const limit = coded > MOST_CODED ? `${MOST_CODED} frames` : `${MAX_STRIP} pixels together`;
    throw badInput(
      `the video has ${coded} frames of ${width} x ${height}, of which ${frames} would be read; that is more than ${limit}: read every k-th ("every" in data-mapping.json) or cut the video`,
    );
  }
  const video = { coded, frames, width, height, codec: track.codec ?? "unknown" };
  return {
    ...video,
    check: () => decode(input, track, video, async () => {}),
    read: async () => {
      const pngs: Uint8Array[] = [];
      await decode(input, track, video, async (sample, at) => {
        if (at % every === 0) pngs.push(await pngOf(sample));
      });
      return pngs;
    },
  };
}

/** Bytes per read, because the demuxer requests only a few bytes at a time. */
const WINDOW = 2 ** 18;
/** Maximum reads: a fixed number, plus a number per frame. */
const READS = 50_000;
const READS_A_FRAME = 16;

/**
 * Reads in windows.
 * @throws LabError("bad-input") for more reads than an intact file of this length needs
 */
function limited(bytes: PictureBytes): (start: number, end: number) => Promise<Uint8Array> {
  let window = { from: 0, data: new Uint8Array() };
  let left = READS + READS_A_FRAME * MOST_CODED;
  return async (start, end) => {
    if (left-- <= 0) throw badInput("the video is damaged: its parts are not in sequence");
    const { from, data } = window;
    if (start < from || end > from + data.length) {
      const read = await bytes.read(start, Math.min(bytes.length, Math.max(end, start + WINDOW)));
      window = { from: start, data: Uint8Array.from(read) };
    }
    return window.data.slice(start - window.from, end - window.from);
  };
}

/**
 * Decodes all frames in order of time.
 * @param take receives each frame with its number and must not close it
 */
async function decode(
  input: Input,
  track: InputVideoTrack,
  { coded, codec, width, height }: Pick<OpenVideo, "coded" | "codec" | "width" | "height">,
  take: (sample: VideoSample, at: number) => Promise<void>,
): Promise<void> {
  if (typeof VideoDecoder === "undefined") {
    throw new LabError(
      "unsupported",
      "only the page decodes videos; for command-line tools, store the frames as pictures",
    );
  }
  if (!(await track.canDecode())) {
    throw new LabError("unsupported", `this browser does not decode ${quote(codec)}; convert the video to VP9 or AV1`);
  }
  const { VideoSampleSink } = await import("mediabunny");
  let at = 0;
  const all = step(`is damaged or cut off: not all of its ${coded} frames can be decoded`, async () => {
    for await (const sample of new VideoSampleSink(track).samples()) {
      try {
        const { displayWidth, displayHeight } = sample;
        if (displayWidth !== width || displayHeight !== height) {
          throw badInput(
            `frame ${at} of the video is ${displayWidth} x ${displayHeight} pixels, the others ${width} x ${height}`,
          );
        }
        await take(sample, at++);
      } finally {
        sample.close();
      }
    }
  });
  await all.finally(() => input.dispose());
  if (at < coded) throw badInput(`the video is cut off: ${at} of its ${coded} frames can be decoded`);
}

/** A frame at its display size, rotated by the track's setting, without alpha. */
async function pngOf(sample: VideoSample): Promise<Uint8Array> {
  const canvas = new OffscreenCanvas(sample.displayWidth, sample.displayHeight);
  const context = canvas.getContext("2d", { alpha: false, willReadFrequently: true });
  if (context === null) throw new LabError("internal", "the browser gave no canvas for a frame");
  sample.draw(context, 0, 0);
  return new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
}

/** Runs a step of the demuxer or decoder and adds the video to its errors. */
async function step<T>(what: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    const why = thrown instanceof Error ? plainLine(thrown.message) : "";
    throw badInput(`the video ${what}${why === "" ? "" : ` (${why})`}`, undefined, thrown);
  }
}

/** Number of cached videos next to a shard, because rows often share one: their headers, and their frames. */
const MOST_PROBED = 1024;
const MOST_DECODED = 4;

interface Probed {
  readonly frames: number;
  /** Decodes all frames, once. */
  probes(): Promise<readonly PictureProbe[]>;
}

interface Remembered {
  readonly probed: Lru<string, Promise<Probed>>;
  readonly cells: Lru<string, Promise<readonly BinaryCell[]>>;
}
const remembered = new WeakMap<FindFile, Remembered>();

function beside({ cell, every, find }: VideoCell): { readonly key: string; readonly kept: Remembered } | undefined {
  if (typeof cell !== "string") return undefined;
  const kept = remembered.get(find) ?? { probed: new Lru(MOST_PROBED), cells: new Lru(MOST_DECODED) };
  remembered.set(find, kept);
  return { key: `${every} ${cell}`, kept };
}

async function probed({ cell, every, find }: VideoCell): Promise<Probed> {
  const bytes = pictureBytes(cell, find, "video");
  const { frames, width, height, check } = await openVideo(bytes, every);
  let found: Promise<readonly PictureProbe[]> | undefined;
  const decoded = async (): Promise<readonly PictureProbe[]> => {
    await check();
    const id = await pictureId(bytes);
    const header = { mime: "image/png", width, height, orientation: 1 } as const;
    return Array.from({ length: frames }, (_, frame) => ({ ...header, imageId: `${id}/${every}/${frame}` }));
  };
  return {
    frames,
    probes: () => {
      found ??= decoded();
      return found;
    },
  };
}

/**
 * Decodes a video to check that every frame exists and has the same size, without keeping pixels.
 * @param masks number of masks of the row, one for each read frame
 * @throws LabError("bad-input" | "unsupported") for a video that cannot be used, or another number of masks
 */
export async function videoProbes(video: VideoCell, masks: number): Promise<readonly PictureProbe[]> {
  const known = beside(video);
  const found = await (known === undefined
    ? probed(video)
    : remember(known.kept.probed, known.key, () => probed(video)));
  // Checked before decoding, which may take minutes.
  checkMaskCount(found.frames, masks);
  return await found.probes();
}

/** The frames as PNG. @throws LabError("bad-input" | "unsupported") when the video can no longer be decoded */
export async function videoCells(video: VideoCell): Promise<readonly BinaryCell[]> {
  const read = async (): Promise<readonly BinaryCell[]> => {
    const { read } = await openVideo(pictureBytes(video.cell, video.find, "video"), video.every);
    return (await read()).map((png) => ({
      length: png.length,
      read: async (start = 0, end = png.length) => png.slice(start, end),
    }));
  };
  const known = beside(video);
  return await (known === undefined ? read() : remember(known.kept.cells, known.key, read));
}
