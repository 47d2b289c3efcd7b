/** Small videos for tests: pictures of one colour encoded by a browser, and containers with or without decodable frames. */
import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from "mediabunny";
import type { Page } from "playwright-core";

const CODEC = "vp09.00.10.08";

export interface CodedFrames {
  readonly config: VideoDecoderConfig;
  /** In the order of time; the first is a key frame. */
  readonly chunks: readonly Uint8Array[];
}

/** Frames of VP9 that no decoder would take: only the container counts. */
export function junkFrames(frames: number, width = 64, height = 48): CodedFrames {
  const config = { codec: CODEC, codedWidth: width, codedHeight: height };
  return { config, chunks: Array.from({ length: frames }, (_, at) => new Uint8Array(32).fill(at)) };
}

/** Grey frames of VP9, each of one value. */
export async function greyFrames(
  page: Page,
  width: number,
  height: number,
  greys: readonly number[],
): Promise<CodedFrames> {
  const { config, chunks } = await page.evaluate(
    async (given) => {
      const chunks: number[][] = [];
      let config: VideoDecoderConfig | undefined;
      const encoder = new VideoEncoder({
        output: (chunk, about) => {
          const bytes = new Uint8Array(chunk.byteLength);
          chunk.copyTo(bytes);
          chunks.push([...bytes]);
          const { codec, colorSpace } = about?.decoderConfig ?? { codec: "" };
          config ??= { codec, ...(colorSpace === undefined ? {} : { colorSpace: { ...colorSpace } }) };
        },
        error: (cause) => console.error(cause),
      });
      const { width, height } = given;
      encoder.configure({ codec: given.codec, width, height });
      for (const [at, grey] of given.greys.entries()) {
        const data = new Uint8Array(width * height * 4).fill(grey);
        const timestamp = at * 40_000;
        const frame = new VideoFrame(data, { format: "RGBX", codedWidth: width, codedHeight: height, timestamp });
        encoder.encode(frame, { keyFrame: at === 0 });
        frame.close();
      }
      await encoder.flush();
      return { config: config as VideoDecoderConfig, chunks };
    },
    { width, height, greys, codec: CODEC },
  );
  return {
    config: { ...config, codedWidth: width, codedHeight: height },
    chunks: chunks.map((bytes) => Uint8Array.from(bytes)),
  };
}

/** A file with the frames of all parts one after the other; the header has the size of the first part. */
export async function videoFile(kind: "webm" | "mp4", ...parts: readonly CodedFrames[]): Promise<Uint8Array> {
  const target = new BufferTarget();
  // The index in front of the frames, so that a file that is cut off still has it.
  const format = kind === "webm" ? new WebMOutputFormat() : new Mp4OutputFormat({ fastStart: "in-memory" });
  const output = new Output({ format, target });
  const source = new EncodedVideoPacketSource("vp9");
  output.addVideoTrack(source, { frameRate: 25 });
  await output.start();
  let at = 0;
  for (const { config: decoderConfig, chunks } of parts) {
    for (const [index, chunk] of chunks.entries()) {
      const packet = new EncodedPacket(chunk, index === 0 ? "key" : "delta", at / 25, 1 / 25);
      await source.add(packet, { decoderConfig });
      at++;
    }
  }
  await output.finalize();
  return new Uint8Array(target.buffer as ArrayBuffer);
}
