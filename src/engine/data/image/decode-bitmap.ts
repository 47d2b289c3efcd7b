/** Decoding with the browser's codecs, in a worker. */

import { Lru } from "../../bytes/collections.ts";
import { viewOf } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { decodeSample } from "../film-strip.ts";
import type { EncodedImage, ImageDecoder, RegionSample, RgbImage } from "../sample.ts";
import { storedPlace } from "./image-header.ts";

/**
 * Decoded pixels as RGB in the sample's orientation, like PIL's convert: alpha is dropped (not blended), grey is repeated,
 * 16 bits are reduced to 8.
 * @param data row-major, `channels` values per pixel: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA
 * @param maximum largest value of a channel: 255, or 65535 for 16 bits, or 2^depth - 1
 * @throws LabError("bad-input") when the decoded size differs from the header
 */
export function toRgb(
  image: Pick<EncodedImage, "width" | "height" | "orientation">,
  decoded: { readonly width: number; readonly height: number; readonly data: ArrayLike<number> },
  channels: number,
  maximum = 255,
): RgbImage {
  const { width, height, orientation } = image;
  const turned = orientation >= 5;
  const [storedWidth, storedHeight] = turned ? [height, width] : [width, height];
  if (decoded.width !== storedWidth || decoded.height !== storedHeight) {
    throw badInput(
      `the picture decodes to ${decoded.width} x ${decoded.height} pixels, its header says ${storedWidth} x ${storedHeight}`,
    );
  }
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [sx, sy] = storedPlace(x, y, storedWidth, storedHeight, orientation);
      const from = (sy * storedWidth + sx) * channels;
      const to = (y * width + x) * 3;
      for (let c = 0; c < 3; c++) {
        const value = decoded.data[from + (channels < 3 ? 0 : c)] as number;
        data[to + c] = maximum === 255 ? value : maximum > 255 ? value >> 8 : Math.round((value * 255) / maximum);
      }
    }
  }
  return { width, height, data };
}

/**
 * RGB of a picture in the sample's orientation, without colour management.
 * @throws LabError("bad-input") when the browser cannot decode it, "unsupported" for TIFF
 */
export const decodeInBrowser: ImageDecoder = async (image) => {
  if (image.mime === "image/tiff") throw new LabError("unsupported", "This browser does not decode TIFF pictures");
  const bitmap = await decode(image);
  try {
    const opaque = image.mime === "image/jpeg" || image.mime === "image/bmp";
    const data = (opaque ? null : readStraight(bitmap)) ?? readCanvas(bitmap);
    return toRgb(image, { width: bitmap.width, height: bitmap.height, data }, 4);
  } finally {
    bitmap.close();
  }
};

/**
 * A decoded picture as a bitmap for display, scaled down to a longer side of at most `maxSide` pixels. The caller
 * closes or transfers it.
 */
export async function displayBitmap(image: RgbImage, maxSide: number): Promise<ImageBitmap> {
  const { width, height, data } = image;
  const rgba = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let pixel = 0; pixel < width * height; pixel++) {
    for (let channel = 0; channel < 3; channel++) rgba[pixel * 4 + channel] = data[pixel * 3 + channel] as number;
  }
  const scale = Math.min(1, Math.max(1, maxSide) / Math.max(width, height));
  const size = {
    resizeWidth: Math.max(1, Math.round(width * scale)),
    resizeHeight: Math.max(1, Math.round(height * scale)),
    resizeQuality: "high",
  } as const;
  return createImageBitmap(new ImageData(rgba, width, height), scale < 1 ? size : {});
}

async function decode(image: EncodedImage): Promise<ImageBitmap> {
  const blob = new Blob([hideOrientation(image.bytes, image.mime)], { type: image.mime });
  try {
    return await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch (thrown) {
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw badInput(`the ${image.mime} picture cannot be decoded: ${cause}`, undefined, thrown);
  }
}

/** Longest side of pictures that share one canvas, of 4 MB. A new canvas waits for the page's main thread, up to 40 ms while the page opens. */
const KEPT_SIDE = 1024;
let kept: OffscreenCanvasRenderingContext2D | undefined;

/** Pixels through a 2D canvas: exact for opaque pictures. */
function readCanvas(bitmap: ImageBitmap): Uint8ClampedArray {
  const { width, height } = bitmap;
  kept ??= newCanvas(KEPT_SIDE, KEPT_SIDE);
  const context = Math.max(width, height) > KEPT_SIDE ? newCanvas(width, height) : kept;
  context.drawImage(bitmap, 0, 0);
  return context.getImageData(0, 0, width, height).data;
}

function newCanvas(width: number, height: number): OffscreenCanvasRenderingContext2D {
  const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  if (context === null)
    throw new LabError("unsupported", "This browser offers no canvas in workers, so pictures cannot be decoded");
  // A picture replaces the one before it where it is transparent, too.
  context.globalCompositeOperation = "copy";
  return context;
}

let shared: WebGL2RenderingContext | null | undefined;

/**
 * Pixels through a texture: a 2D canvas premultiplies colours by alpha, which loses precision at small alpha, while PIL
 * only drops alpha. Null without WebGL or if the picture exceeds the texture limits.
 */
function readStraight(bitmap: ImageBitmap): Uint8Array | null {
  if (shared === undefined || shared?.isContextLost()) shared = new OffscreenCanvas(1, 1).getContext("webgl2");
  const gl = shared;
  if (gl === null || Math.max(bitmap.width, bitmap.height) > gl.getParameter(gl.MAX_TEXTURE_SIZE)) return null;
  const texture = gl.createTexture();
  const frame = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, bitmap);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const pixels = new Uint8Array(bitmap.width * bitmap.height * 4);
  const complete = gl.checkFramebufferStatus(gl.FRAMEBUFFER) === gl.FRAMEBUFFER_COMPLETE;
  if (complete) gl.readPixels(0, 0, bitmap.width, bitmap.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  const failed = !complete || gl.getError() !== gl.NO_ERROR;
  gl.deleteFramebuffer(frame);
  gl.deleteTexture(texture);
  return failed ? null : pixels;
}

/** A copy without recognisable EXIF data; pixels and length are unchanged. Returns the input if it has none. */
export function hideOrientation(bytes: Uint8Array<ArrayBuffer>, mime: EncodedImage["mime"]): Uint8Array<ArrayBuffer> {
  const chunks = mime === "image/png" || mime === "image/webp" ? chunkExif(bytes, mime === "image/png") : [];
  const places = mime === "image/jpeg" ? jpegExif(bytes) : chunks;
  if (places.length === 0) return bytes;
  const copy = bytes.slice();
  for (const { at, value } of places) copy[at] = value;
  return copy;
}

interface Change {
  readonly at: number;
  readonly value: number;
}

/** EXIF segments (APP1) become APP15 segments, which decoders ignore. */
function jpegExif(bytes: Uint8Array): Change[] {
  const changes: Change[] = [];
  let at = 2;
  while (at + 4 <= bytes.length && bytes[at] === 0xff) {
    const code = bytes[at + 1] as number;
    if (code === 0xff || code === 0x01 || (code >= 0xd0 && code <= 0xd7)) {
      at += code === 0xff ? 1 : 2;
      continue;
    }
    if (code === 0xd9 || code === 0xda) break;
    if (code === 0xe1 && ascii(bytes, at + 4) === "Exif") changes.push({ at: at + 1, value: 0xef });
    at += 2 + Math.max(2, (bytes[at + 2] as number) * 256 + (bytes[at + 3] as number));
  }
  return changes;
}

/** Renames the EXIF chunk of a PNG or WebP; decoders skip unknown chunks. */
function chunkExif(bytes: Uint8Array, png: boolean): Change[] {
  const view = viewOf(bytes);
  const changes: Change[] = [];
  for (let at = png ? 8 : 12; at + (png ? 12 : 8) <= bytes.length; ) {
    const kind = at + (png ? 4 : 0);
    // A lower-case first letter lets PNG decoders skip the chunk, and WebP decoders skip unknown names.
    if (ascii(bytes, kind) === (png ? "eXIf" : "EXIF")) changes.push({ at: kind + (png ? 1 : 0), value: 0x78 });
    const length = view.getUint32(at + (png ? 0 : 4), !png);
    at += 8 + length + (png ? 4 : length % 2);
  }
  return changes;
}

function ascii(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

/**
 * LRU cache of decoded pictures. Rows with the same picture share one entry; concurrent requests decode it once.
 * @param maxBytes maximum bytes of pixels; a larger picture is returned but not cached
 */
export function pictureCache(
  decoder: ImageDecoder,
  maxBytes: number,
): (sample: Pick<RegionSample, "imageId" | "image" | "frames">) => Promise<RgbImage> {
  const entries = new Lru<string, { readonly picture: Promise<RgbImage>; readonly bytes: number }>(
    maxBytes,
    ({ bytes }) => bytes,
  );
  return async ({ imageId, image, frames = [image] }) => {
    const key = `${imageId} ${image.width}x${image.height} ${image.orientation}`;
    const entry = entries.get(key, () => ({
      picture: decodeSample({ image, frames }, decoder),
      bytes: frames.length * image.width * image.height * 3,
    }));
    try {
      return await entry.picture;
    } catch (thrown) {
      if (entries.peek(key) === entry) entries.delete(key);
      throw thrown;
    }
  };
}
