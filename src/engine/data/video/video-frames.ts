/**
 * Frames of an MP4, MOV, WebM or Matroska file, decoded by the browser. Whatever a file does wrong ends in one sentence.
 * The demuxer is loaded with the first video.
 */
import { encode } from "fast-png";
import type { Input, InputVideoTrack, VideoSample } from "mediabunny";
import { LabError, plainLine, quote } from "../../errors.ts";
import { MAX_STRIP } from "../clips/film-strip.ts";
import type { PictureBytes } from "../image/image-header.ts";

/** A video before its pixels are decoded. */
export interface OpenVideo {
  /** Coded frames. */
  readonly coded: number;
  /** Frames that are read: every so many of the coded ones, the first included. */
  readonly frames: number;
  readonly width: number;
  readonly height: number;
  readonly codec: string;
  /** The frames as PNG, in the order of time. @throws LabError("unsupported" | "bad-input") */
  read(): Promise<Uint8Array[]>;
}

/** Most coded frames: each is decoded, whether it is used or not. */
const MOST_CODED = 20_000;

/**
 * Reads the container, not the pixels.
 * @param every frames from one that is read to the next
 * @throws LabError("bad-input") for no video, a damaged one, or more pixels than a clip may have
 */
export async function openVideo(bytes: PictureBytes, every: number): Promise<OpenVideo> {
  const { ALL_FORMATS, CustomSource, Input } = await import("mediabunny");
  const source = new CustomSource({
    getSize: () => bytes.length,
    read: async (start, end) => Uint8Array.from(await bytes.read(start, end)),
  });
  const input = new Input({ source, formats: ALL_FORMATS });
  const track = await step("is damaged, cut off or of another kind than MP4, MOV and WebM", () =>
    input.getPrimaryVideoTrack(),
  );
  if (track === null) throw new LabError("bad-input", "the video has no track of pictures");
  const coded = await step("is damaged or cut off", () => countPackets(track));
  if (coded === 0) throw new LabError("bad-input", "the video has no frames");
  const { displayWidth: width, displayHeight: height } = track;
  const frames = Math.ceil(coded / every);
  if (coded > MOST_CODED || frames * width * height > MAX_STRIP) {
    throw new LabError(
      "bad-input",
      `the video has ${coded} frames of ${width} x ${height}; every ${every} of them are ${frames}, more than ${MAX_STRIP} pixels or ${MOST_CODED} frames; read fewer or cut it`,
    );
  }
  const codec = track.codec ?? "unknown";
  return { coded, frames, width, height, codec, read: () => decode(input, track, { coded, every, codec }) };
}

async function countPackets(track: InputVideoTrack): Promise<number> {
  const { packetCount } = await track.computePacketStats(MOST_CODED + 1);
  return packetCount;
}

async function decode(
  input: Input,
  track: InputVideoTrack,
  { coded, every, codec }: { readonly coded: number; readonly every: number; readonly codec: string },
): Promise<Uint8Array[]> {
  if (typeof VideoDecoder === "undefined") {
    throw new LabError("unsupported", "videos are decoded by the page only; store the frames as pictures for tools");
  }
  if (!(await track.canDecode())) {
    throw new LabError("unsupported", `this browser does not decode ${quote(codec)}; convert the video to VP9 or AV1`);
  }
  const { VideoSampleSink } = await import("mediabunny");
  const frames: Uint8Array[] = [];
  let at = 0;
  await step(`is damaged or cut off, ${coded} frames were announced`, async () => {
    for await (const sample of new VideoSampleSink(track).samples()) {
      try {
        if (at++ % every === 0) frames.push(pngOf(sample));
      } finally {
        sample.close();
      }
    }
  });
  input.dispose();
  if (at < coded) {
    throw new LabError("bad-input", `the video is cut off: ${at} of its ${coded} frames can be decoded`);
  }
  return frames;
}

/** A frame at its display size, turned as the track says, without its alpha. */
function pngOf(sample: VideoSample): Uint8Array {
  const { displayWidth: width, displayHeight: height } = sample;
  const context = new OffscreenCanvas(width, height).getContext("2d", { alpha: false, willReadFrequently: true });
  if (context === null) throw new LabError("internal", "the browser gave no canvas for a frame");
  sample.draw(context, 0, 0);
  const { data: rgba } = context.getImageData(0, 0, width, height);
  const data = new Uint8Array(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel++) {
    data.set(rgba.subarray(4 * pixel, 4 * pixel + 3), 3 * pixel);
  }
  return encode({ width, height, data, channels: 3, depth: 8 });
}

/** Runs a step of the demuxer or decoder, whose errors name no video. */
async function step<T>(what: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    const why = thrown instanceof Error ? plainLine(thrown.message) : "";
    throw new LabError("bad-input", `the video ${what}${why === "" ? "" : ` (${why})`}`, { cause: thrown });
  }
}
