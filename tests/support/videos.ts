/** Small videos for tests: containers whose frames no decoder would take. */
import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  WebMOutputFormat,
} from "mediabunny";

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
