/** Exports a clip with its masklets as a video, drawn as on the page. The muxer is loaded with the first video. */

import { drawFigure } from "../../app/components/mask/draw.ts";
import type { MaskLayer } from "../../app/components/mask/layers.ts";
import { useOverlay } from "../../app/components/mask/overlay-store.ts";
import { WHOLE } from "../../app/components/mask/use-gestures.ts";
import { loadPicture, pictureSide } from "../../app/stores/picture-cache.ts";
import { LabError } from "../../engine/errors.ts";

export interface FilmedClip {
  readonly rowId: string;
  readonly imageId: string | null;
  readonly frames: number;
  readonly layers: readonly MaskLayer[];
}

/** Frames per second of a video: slow enough to view each frame. */
const RATE = 5;
/** Minimum length of a video's shorter side in pixels, so that outlines stay visible. */
const LEAST_SIDE = 480;
/** Bits per second. */
const BITRATE = 2e6;
/** In the order in which they are tried. */
const CODECS = ["vp9", "vp8", "av1"] as const;
/** Encoded on the processor, because these videos are small and a run may need the GPU. */
const HARDWARE = "prefer-software";

interface FilmWork {
  readonly onFrames: (done: number) => void;
  readonly signal: AbortSignal;
}

/**
 * WebM of the frames with their masks.
 * @throws LabError("unsupported") where the browser encodes no video, LabError("cancelled") when the signal aborts
 */
export async function film(
  { rowId, imageId, frames, layers }: FilmedClip,
  { onFrames, signal }: FilmWork,
): Promise<Blob> {
  const { BufferTarget, canEncodeVideo, Output, VideoSample, VideoSampleSource, WebMOutputFormat } = await import(
    "mediabunny"
  );
  const [height, width] = (layers[0] as MaskLayer).mask.size;
  const side = Math.min(width, height / frames);
  const scale = Math.max(1, Math.ceil(LEAST_SIDE / side));
  const canvas = document.createElement("canvas");
  // Codecs need even sides.
  canvas.width = 2 * Math.ceil((width * scale) / 2);
  canvas.height = 2 * Math.ceil(((height / frames) * scale) / 2);
  const encodes = { width: canvas.width, height: canvas.height, hardwareAcceleration: HARDWARE } as const;
  let codec: (typeof CODECS)[number] | undefined;
  for (const candidate of CODECS) {
    if (await canEncodeVideo(candidate, encodes)) {
      codec = candidate;
      break;
    }
  }
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (context === null)
    throw new LabError("internal", "The browser provided no canvas for the video; nothing was saved");
  if (codec === undefined) {
    throw new LabError(
      "unsupported",
      "This browser cannot encode VP9, VP8 or AV1, so no video was made; export JSON or PNG",
    );
  }
  const { mode, opacity } = useOverlay.getState();
  const output = new Output({ format: new WebMOutputFormat(), target: new BufferTarget() });
  const source = new VideoSampleSource({ codec, bitrate: BITRATE, hardwareAcceleration: HARDWARE });
  output.addVideoTrack(source, { frameRate: RATE });
  await output.start();
  for (let at = 0; at < frames; at++) {
    if (signal.aborted) {
      await output.cancel();
      throw new LabError("cancelled", "The video was stopped; nothing was saved");
    }
    onFrames(at);
    drawFigure(context, {
      picture: await loadPicture(rowId, imageId, pictureSide(Math.max(width, height / frames)), at),
      oneFrame: true,
      width,
      height,
      frame: { at, of: frames },
      layers,
      difference: null,
      mode: mode === "off" ? "contour" : mode,
      opacity: mode === "fill" ? opacity : 0,
      view: WHOLE,
      fit: "contain",
      ratio: 1,
    });
    // Pixels, not the canvas: without a graphics card an encoder may wait for a canvas forever.
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const size = { codedWidth: canvas.width, codedHeight: canvas.height };
    const frame = new VideoSample(data, { format: "RGBX", ...size, timestamp: at / RATE, duration: 1 / RATE });
    await source.add(frame);
    frame.close();
  }
  await output.finalize();
  const { buffer } = output.target;
  if (buffer === null) throw new LabError("internal", "The video is empty; nothing was saved");
  return new Blob([buffer], { type: "video/webm" });
}
