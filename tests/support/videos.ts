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

export interface CodedFrames {
  readonly width: number;
  readonly height: number;
  /** In the order of time; the first is a key frame. */
  readonly chunks: readonly Uint8Array[];
}

/** Frames of VP9 that no decoder would take: only the container counts. */
export function junkFrames(frames: number, width = 64, height = 48): CodedFrames {
  return { width, height, chunks: Array.from({ length: frames }, (_, at) => new Uint8Array(32).fill(at)) };
}

/** Grey frames of VP9, each of one value. */
export async function greyFrames(
  page: Page,
  width: number,
  height: number,
  greys: readonly number[],
): Promise<CodedFrames> {
  const chunks = await page.evaluate(
    async (given) => {
      const found: number[][] = [];
      const encoder = new VideoEncoder({
        output: (chunk) => {
          const bytes = new Uint8Array(chunk.byteLength);
          chunk.copyTo(bytes);
          found.push([...bytes]);
        },
        error: (cause) => console.error(cause),
      });
      encoder.configure({ codec: "vp09.00.10.08", width: given.width, height: given.height });
      for (const [at, grey] of given.greys.entries()) {
        const data = new Uint8Array(given.width * given.height * 4).fill(grey);
        const { width: codedWidth, height: codedHeight } = given;
        const frame = new VideoFrame(data, { format: "RGBX", codedWidth, codedHeight, timestamp: at * 40_000 });
        encoder.encode(frame, { keyFrame: at === 0 });
        frame.close();
      }
      await encoder.flush();
      return found;
    },
    { width, height, greys },
  );
  return { width, height, chunks: chunks.map((bytes) => Uint8Array.from(bytes)) };
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
  for (const { width: codedWidth, height: codedHeight, chunks } of parts) {
    for (const [index, chunk] of chunks.entries()) {
      const packet = new EncodedPacket(chunk, index === 0 ? "key" : "delta", at / 25, 1 / 25);
      await source.add(packet, { decoderConfig: { codec: "vp09.00.10.08", codedWidth, codedHeight } });
      at++;
    }
  }
  await output.finalize();
  return new Uint8Array(target.buffer as ArrayBuffer);
}
