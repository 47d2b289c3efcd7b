/**
 * Caches the outputs of the frozen towers, which are most of a step's arithmetic and never change. They are computed
 * once per image, kept in host memory (up to a number of bytes; the least recently used are dropped first, except those
 * of the current step) and on disk if there is a disk cache, and uploaded only for the step that needs them. GPU memory
 * therefore returns to its baseline after every step, whatever the number of images.
 */
import { type FrameView, framePixels, ONE_PICTURE } from "../data/clips/film-strip.ts";
import type { RgbImage } from "../data/sample.ts";
import { readTogether } from "../gpu/runtime/read-back.ts";
import { inPace } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { resizeBicubic } from "../model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../model/preprocess/pixels.ts";
import { imageTiles } from "../model/preprocess/tiling.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { encodeSam, type SamFeatures } from "../model/sam2/neck.ts";
import { pixelShuffle, visionTower } from "../model/vision.ts";
import { weightsView } from "../model/weights/weights.ts";
import { type FeatureDiskCache, pictureKey } from "./feature-store.ts";
import { type FeatureStorage, type HostFeatures, type HostTensor, hostFeatures, numbersOf } from "./host-features.ts";

/** Frozen features of one image on the GPU; owned by the caller of the cache. */
export interface ImageFeatures {
  /** Number of tiles, including the thumbnail; in a clip, one per frame. */
  readonly tiles: number;
  /** Number of frames of a clip, each with its own maps in `sam`; 1 when absent. */
  readonly frames?: number;
  /** Pixel-shuffled vision tokens before the trainable projector, [tiles, tokens, 4H]. */
  readonly vision: Tensor;
  readonly sam: SamFeatures;
}

export interface FeatureCache {
  /**
   * Features of an image or of the frames of a clip, computed or uploaded; the caller disposes them with
   * `disposeFeatures`. Frames are cached separately, so another choice of frames computes only the new ones.
   * @throws LabError("cancelled") when the signal of `calls` is aborted; pictures computed until then stay cached
   */
  get(imageId: string, rgb: RgbImage, view?: FrameView, calls?: TowerCalls): Promise<ImageFeatures>;
  /** Runs a step. Pictures that it requests stay cached until its end, even beyond `maxBytes`. */
  duringStep<T>(step: () => Promise<T>): Promise<T>;
  /** Largest `error` of the last step's pictures. */
  readonly stepError: number;
  readonly hits: number;
  readonly misses: number;
  /** Host bytes held. */
  readonly bytes: number;
  clear(): void;
}

export function disposeFeatures(features: ImageFeatures): void {
  tf.dispose([features.vision, features.sam.f16, features.sam.f8, features.sam.f4]);
}

/**
 * @param maxTiles upper limit of tiles, at most the checkpoint's own
 * @param maxBytes maximum bytes kept in host memory
 * @param storage of features in host memory and on disk; f16 rounds them before their first use as well
 * @param openDiskCache opens the disk cache when it is first needed; without it nothing is stored on disk
 * @param checkDevice throws when the GPU failed to compute the features, which are then not cached
 */
export function createFeatureCache(
  model: Sa2vaModel,
  maxTiles: number,
  maxBytes: number,
  storage: FeatureStorage = "f32",
  openDiskCache?: () => Promise<FeatureDiskCache | undefined>,
  checkDevice: () => Promise<void> = async () => undefined,
): FeatureCache {
  const entries = new Map<string, HostFeatures>();
  const pinned = new Set<string>();
  let pinning = false;
  let stepError = 0;
  let bytes = 0;
  let hits = 0;
  let misses = 0;
  let opened: Promise<FeatureDiskCache | undefined> | undefined;
  const remember = (imageId: string, host: HostFeatures): void => {
    entries.set(imageId, host);
    bytes += host.bytes;
    shrink();
  };
  const shrink = (): void => {
    for (const [oldest, entry] of entries) {
      if (bytes <= maxBytes || entries.size === 1) break;
      if (pinned.has(oldest)) continue;
      entries.delete(oldest);
      bytes -= entry.bytes;
    }
  };
  const one = async (imageId: string, rgb: RgbImage, tiles: number, calls?: TowerCalls): Promise<ImageFeatures> => {
    if (pinning) pinned.add(imageId);
    const known = entries.get(imageId);
    if (known !== undefined) {
      hits++;
      entries.delete(imageId);
      entries.set(imageId, known);
      return upload(known);
    }
    misses++;
    opened ??= openDiskCache?.();
    const diskCache = await opened;
    const picture = diskCache === undefined ? "" : `${await pictureKey(rgb)}${tiles === maxTiles ? "" : `-${tiles}`}`;
    const shelved = await diskCache?.read(picture);
    if (shelved !== undefined) {
      remember(imageId, shelved);
      return upload(shelved);
    }
    const features = await encodeImage(model, rgb, tiles, calls);
    let host: HostFeatures;
    try {
      host = await download(features, storage);
      await checkDevice();
    } catch (failure) {
      disposeFeatures(features);
      throw failure;
    }
    await diskCache?.write(picture, host);
    remember(imageId, host);
    if (storage === "f32") return features;
    disposeFeatures(features);
    return upload(host);
  };
  return {
    get hits() {
      return hits;
    },
    get misses() {
      return misses;
    },
    get bytes() {
      return bytes;
    },
    get stepError() {
      return stepError;
    },
    async duringStep(step) {
      pinning = true;
      try {
        return await step();
      } finally {
        stepError = Math.max(0, ...[...pinned].map((imageId) => entries.get(imageId)?.error ?? 0));
        pinning = false;
        pinned.clear();
        shrink();
      }
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
    async get(imageId, rgb, view = ONE_PICTURE, calls = {}) {
      if (view.total === 1) return one(imageId, rgb, maxTiles, calls);
      const parts: ImageFeatures[] = [];
      try {
        for (const frame of view.frames) {
          parts.push(await one(`${imageId} frame ${frame}`, framePixels(rgb, view.total, frame), 1, calls));
        }
        return clipFeatures(parts);
      } finally {
        for (const part of parts) disposeFeatures(part);
      }
    },
  };
}

/** Joins the features of several frames to those of one clip; the caller still owns the parts. */
function clipFeatures(parts: readonly ImageFeatures[]): ImageFeatures {
  const joined = (of: (part: ImageFeatures) => Tensor): Tensor => tf.concat(parts.map(of));
  const vision = joined((part) => part.vision);
  const [f16, f8, f4] = [joined(({ sam }) => sam.f16), joined(({ sam }) => sam.f8), joined(({ sam }) => sam.f4)];
  return { tiles: parts.length, frames: parts.length, vision, sam: { f16, f8, f4 } };
}

/** A part of a pass over a picture. */
export interface TowerPart {
  readonly tower: "vision" | "SAM2";
  /** Number of the tile, from 1, and of all tiles. */
  readonly tile: number;
  readonly tiles: number;
}

export interface TowerCalls {
  /** Aborts the pass at the next wait for the GPU. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each tile of the vision tower, and before SAM2's encoder. */
  readonly onPart?: ((part: TowerPart) => void) | undefined;
}

/**
 * Tokens of tiles or frames for the projector, one pass of the vision tower each, [n, tokens, 4H]; owned by the caller.
 * @param tiles RGB of each
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function tileTokens(
  { frozen, config }: Sa2vaModel,
  tiles: readonly Uint8Array[],
  { signal, onPart }: TowerCalls = {},
): Promise<Tensor> {
  const made: Tensor[] = [];
  try {
    for (const [at, bytes] of tiles.entries()) {
      onPart?.({ tower: "vision", tile: at + 1, tiles: tiles.length });
      const side = Math.sqrt(bytes.length / 3);
      const pixels = tf.tensor4d(normalisePixels(bytes), [1, side, side, 3]);
      const tower = visionTower(weightsView(frozen, {}, 0), config.vision, pixels);
      const tokens = await inPace(tower, signal).finally(() => pixels.dispose());
      made.push(pixelShuffle(config, tokens));
      tokens.dispose();
    }
    return tf.tidy(() => tf.concat(made));
  } finally {
    tf.dispose(made);
  }
}

/**
 * Runs both frozen towers on a picture; the caller frees the result with `disposeFeatures`.
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function encodeImage(
  model: Sa2vaModel,
  rgb: RgbImage,
  maxTiles: number,
  calls: TowerCalls = {},
): Promise<ImageFeatures> {
  const { sam2 } = model.config;
  const weights = weightsView(model.frozen, {}, 0);
  const most = Math.min(maxTiles, model.tiling.maxTiles);
  const cut = imageTiles(rgb, { ...model.tiling, minTiles: Math.min(model.tiling.minTiles, most), maxTiles: most });
  const each = cut.tiles.length / cut.count;
  const tiles = Array.from({ length: cut.count }, (_, at) => cut.tiles.subarray(at * each, (at + 1) * each));
  const vision = await tileTokens(model, tiles, calls);
  try {
    calls.onPart?.({ tower: "SAM2", tile: cut.count, tiles: cut.count });
    const squashed = resizeBicubic(rgb, sam2.imageSize, sam2.imageSize);
    const pixels = tf.tensor4d(normalisePixels(squashed.data), [1, sam2.imageSize, sam2.imageSize, 3]);
    const sam = await inPace(encodeSam(weights, sam2, pixels), calls.signal).finally(() => pixels.dispose());
    return { tiles: cut.count, vision, sam };
  } catch (thrown) {
    vision.dispose();
    throw thrown;
  }
}

/** Features up to this size are copied together on the GPU and read back in one piece. */
const TOGETHER_BYTES = 8 * 2 ** 20;

async function download(features: ImageFeatures, storage: FeatureStorage): Promise<HostFeatures> {
  const tensors = [features.vision, features.sam.f16, features.sam.f8, features.sam.f4];
  const size = tensors.reduce((sum, tensor) => sum + 4 * tensor.size, 0);
  const arrays =
    size <= TOGETHER_BYTES
      ? await readTogether(tensors)
      : ((await Promise.all(tensors.map((tensor) => tensor.data()))) as Float32Array[]);
  const read = tensors.map(({ shape }, at) => ({ shape, values: arrays[at] as Float32Array<ArrayBuffer> }));
  return hostFeatures(features.tiles, read, storage);
}

function upload(host: HostFeatures): ImageFeatures {
  const put = (tensor: HostTensor): Tensor => tf.tensor(numbersOf(tensor), [...tensor.shape]);
  return {
    tiles: host.tiles,
    vision: put(host.vision),
    sam: { f16: put(host.f16), f8: put(host.f8), f4: put(host.f4) },
  };
}
