/**
 * Caches the outputs of the frozen towers, which are most of a step's arithmetic and never change. They are computed
 * once per image, kept in host memory (up to a number of bytes; the least recently used are dropped first, except those
 * of the current step) and on disk if there is a disk cache, and uploaded only for the step that needs them. GPU memory
 * therefore returns to its baseline after every step, whatever the number of images.
 */
import { type FrameView, frameOf, framePixels, ONE_PICTURE } from "../data/film-strip.ts";
import { encodeRle } from "../data/mask/rle.ts";
import type { RgbImage } from "../data/sample.ts";
import { LabError } from "../errors.ts";
import { readTogether } from "../gpu/runtime/read-back.ts";
import { inPace } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { RegionPrompt } from "../model/config.ts";
import type { CutPicture } from "../model/families/family.ts";
import { visionFamily } from "../model/families/registry.ts";
import { resizeBicubic } from "../model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../model/preprocess/tiling.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { encodeSam, type SamFeatures } from "../model/sam2/hiera.ts";
import { weightsView } from "../model/weights/weights.ts";
import {
  FEATURE_NAMES,
  type FeatureDiskCache,
  type FeatureStorage,
  type HostFeatures,
  type HostTensor,
  hostFeatures,
  numbersOf,
  type PictureTokens,
  pictureKey,
} from "./feature-store.ts";
import { markedPicture, type RegionMark } from "./region-marks.ts";

/** Frozen features of one image on the GPU; owned by the caller of the cache. */
export interface ImageFeatures extends PictureTokens {
  /** Number of frames of a clip, each with its own maps in `sam`; 1 when absent. */
  readonly frames?: number;
  /** Vision tokens before the trainable projector, [tiles · planes, tokens, C]. */
  readonly vision: Tensor;
  /** The same of the picture with the asked region drawn into it; absent where regions are copied tokens. */
  readonly shown?: Tensor;
  readonly sam: SamFeatures;
  /** How regions are drawn into the picture; absent where they are copied tokens. */
  readonly marks?: RegionMarks;
}

export interface RegionMarks {
  readonly form: RegionMark;
  /** Vision tokens of the picture with another region drawn into it; owned by the caller. @param mask 0/1 per pixel */
  draw(mask: Uint8Array): Promise<Tensor>;
}

export interface FeatureCache {
  /**
   * Features of an image or of the frames of a clip, computed or uploaded; the caller disposes them with
   * `disposeFeatures`. Frames are cached separately, so another choice of frames computes only the new ones.
   * @param region 0/1 per pixel of `rgb`; drawn for `shown` if the cache draws regions
   * @throws LabError("cancelled") when the signal of `calls` is aborted; pictures computed until then stay cached
   */
  get(
    imageId: string,
    rgb: RgbImage,
    view?: FrameView,
    calls?: TowerCalls,
    region?: Uint8Array,
  ): Promise<ImageFeatures>;
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
  const { shown, vision, sam } = features;
  tf.dispose([vision, sam.f16, sam.f8, sam.f4, ...(shown === undefined ? [] : [shown])]);
}

/** A picture's features for each of several regions; the same ones for all where regions are copied tokens. */
export async function shownFeatures(
  features: ImageFeatures,
  masks: readonly Uint8Array[],
): Promise<{ readonly all: readonly ImageFeatures[]; dispose(): void }> {
  const { marks } = features;
  if (marks === undefined) return { all: masks.map(() => features), dispose: () => undefined };
  const drawn: Tensor[] = [];
  try {
    for (const mask of masks) drawn.push(await marks.draw(mask));
  } catch (failure) {
    tf.dispose(drawn);
    throw failure;
  }
  return { all: drawn.map((shown) => ({ ...features, shown })), dispose: () => tf.dispose(drawn) };
}

/** How pictures become features. */
interface PictureSettings {
  /** How regions are shown; a mark is drawn into the picture that the vision tower sees. */
  readonly regionPrompt?: RegionPrompt;
  readonly resizeTwice?: boolean;
}

/**
 * @param maxTiles upper limit of tiles, at most the checkpoint's own
 * @param maxBytes maximum bytes kept in host memory
 * @param storage of features in host memory and on disk; f16 rounds them before their first use as well
 * @param openDiskCache opens the disk cache when it is first needed; without it nothing is stored on disk
 * @param checkDevice throws when the GPU failed to compute the features, which are then not cached
 * @param pictures how pictures become features
 */
export function createFeatureCache(
  model: Sa2vaModel,
  maxTiles: number,
  maxBytes: number,
  storage: FeatureStorage = "f32",
  openDiskCache?: () => Promise<FeatureDiskCache | undefined>,
  checkDevice: () => Promise<void> = async () => undefined,
  { regionPrompt = "tokens", resizeTwice = false }: PictureSettings = {},
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
  const one = async (
    imageId: string,
    rgb: RgbImage,
    tiles: number,
    calls: TowerCalls | undefined,
    onlyVision = false,
  ): Promise<Encoded> => {
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
    const suffix = `${tiles === maxTiles ? "" : `-${tiles}`}${onlyVision ? "-vision" : ""}`;
    const picture = diskCache === undefined ? "" : `${await pictureKey(rgb)}${suffix}`;
    const shelved = await diskCache?.read(picture);
    if (shelved !== undefined) {
      remember(imageId, shelved);
      return upload(shelved);
    }
    const features = await encodePicture(model, rgb, tiles, calls, { resizeTwice, onlyVision });
    let host: HostFeatures;
    try {
      host = await download(features, storage);
      await checkDevice();
    } catch (failure) {
      tf.dispose(tensorsOf(features));
      throw failure;
    }
    await diskCache?.write(picture, host);
    remember(imageId, host);
    if (storage === "f32") return features;
    tf.dispose(tensorsOf(features));
    return upload(host);
  };
  /** Vision tokens of a picture or the frames of a clip with a region drawn into them. */
  const marked = async (
    imageId: string,
    rgb: RgbImage,
    { total, frames }: FrameView,
    calls: TowerCalls,
    region: Uint8Array,
    mark: RegionMark,
    keep: boolean,
  ): Promise<Tensor> => {
    const parts: Tensor[] = [];
    try {
      for (const frame of frames) {
        const mask = frameOf(region, total, frame);
        const drawn = markedPicture(framePixels(rgb, total, frame), mask, mark);
        const tiles = total === 1 ? maxTiles : 1;
        const key = `${imageId} frame ${frame} ${mark} ${encodeRle(mask, drawn.height, drawn.width).counts}`;
        const { vision } =
          keep || entries.has(key)
            ? await one(key, drawn, tiles, calls, true)
            : await encodePicture(model, drawn, tiles, calls, { resizeTwice, onlyVision: true });
        parts.push(vision);
      }
      return tf.tidy(() => tf.concat(parts));
    } finally {
      tf.dispose(parts);
    }
  };
  /** Adds the drawn regions to features of a picture or clip, if the cache draws them. */
  const withMarks = async (
    features: ImageFeatures,
    imageId: string,
    rgb: RgbImage,
    view: FrameView,
    calls: TowerCalls,
    region: Uint8Array | undefined,
  ): Promise<ImageFeatures> => {
    if (regionPrompt === "tokens") return features;
    const draw = (mask: Uint8Array, keep: boolean) => marked(imageId, rgb, view, calls, mask, regionPrompt, keep);
    const marks: RegionMarks = { form: regionPrompt, draw: (mask) => draw(mask, false) };
    if (region === undefined) return { ...features, marks };
    try {
      return { ...features, marks, shown: await draw(region, true) };
    } catch (failure) {
      disposeFeatures(features);
      throw failure;
    }
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
    async get(imageId, rgb, view = ONE_PICTURE, calls = {}, region = undefined) {
      if (view.total === 1) {
        const own = withMaps(await one(imageId, rgb, maxTiles, calls));
        return withMarks(own, imageId, rgb, view, calls, region);
      }
      const parts: ImageFeatures[] = [];
      try {
        for (const frame of view.frames) {
          parts.push(withMaps(await one(`${imageId} frame ${frame}`, framePixels(rgb, view.total, frame), 1, calls)));
        }
        return await withMarks(clipFeatures(parts), imageId, rgb, view, calls, region);
      } finally {
        for (const part of parts) disposeFeatures(part);
      }
    },
  };
}

/** Joins the features of several frames to those of one clip. Frees each map of the frames once it is joined. */
function clipFeatures(parts: readonly ImageFeatures[]): ImageFeatures {
  const joined = (of: (part: ImageFeatures) => Tensor): Tensor => {
    const maps = parts.map(of);
    const whole = tf.concat(maps);
    tf.dispose(maps);
    return whole;
  };
  const vision = joined((part) => part.vision);
  const [f16, f8, f4] = [joined(({ sam }) => sam.f16), joined(({ sam }) => sam.f8), joined(({ sam }) => sam.f4)];
  const { grid } = parts[0] as ImageFeatures;
  return { tiles: parts.length, grid, frames: parts.length, vision, sam: { f16, f8, f4 } };
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
 * Tokens of tiles or frames for the projector, one pass of the vision tower each, [tiles · planes, tokens, C]; owned by
 * the caller.
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function tileTokens(
  { frozen, config }: Sa2vaModel,
  tiles: CutPicture["tiles"],
  { signal, onPart }: TowerCalls = {},
): Promise<Tensor> {
  const made: Tensor[] = [];
  try {
    for (const [at, tile] of tiles.entries()) {
      onPart?.({ tower: "vision", tile: at + 1, tiles: tiles.length });
      made.push(await inPace(visionFamily(config).encode(weightsView(frozen, {}, 0), config, tile), signal));
    }
    return tf.tidy(() => tf.concat(made));
  } finally {
    tf.dispose(made);
  }
}

/** Features with or without SAM2's maps. */
type Encoded = Omit<ImageFeatures, "sam"> & { readonly sam?: SamFeatures };

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
  return withMaps(await encodePicture(model, rgb, maxTiles, calls, {}));
}

/** @param onlyVision whether to leave out SAM2's maps, for a picture with a drawn region */
async function encodePicture(
  model: Sa2vaModel,
  rgb: RgbImage,
  maxTiles: number,
  calls: TowerCalls = {},
  { resizeTwice = false, onlyVision = false }: { readonly resizeTwice?: boolean; readonly onlyVision?: boolean },
): Promise<Encoded> {
  const { sam2 } = model.config;
  const weights = weightsView(model.frozen, {}, 0);
  const { tiles, grid } = visionFamily(model.config).cut(model.config, rgb, {
    maxTiles,
    tiling: model.tiling,
    resizeTwice,
  });
  const count = tiles.length;
  const vision = await tileTokens(model, tiles, calls);
  if (onlyVision) return { tiles: count, grid, vision };
  try {
    calls.onPart?.({ tower: "SAM2", tile: count, tiles: count });
    const squashed = resizeBicubic(rgb, sam2.imageSize, sam2.imageSize);
    const pixels = tf.tensor4d(normalisePixels(squashed.data), [1, sam2.imageSize, sam2.imageSize, 3]);
    const sam = await inPace(encodeSam(weights, sam2, pixels), calls.signal).finally(() => pixels.dispose());
    return { tiles: count, grid, vision, sam };
  } catch (thrown) {
    vision.dispose();
    throw thrown;
  }
}

/** Features up to this size are copied together on the GPU and read back in one piece. */
const TOGETHER_BYTES = 8 * 2 ** 20;

/** @throws LabError("internal") for features of a picture with a drawn region, which have no maps */
function withMaps(features: Encoded): ImageFeatures {
  const { sam } = features;
  if (sam === undefined) throw new LabError("internal", "These features were computed without SAM2's maps");
  return { ...features, sam };
}

/** Tensors in the order of `FEATURE_NAMES`. */
function tensorsOf({ vision, sam }: Encoded): Tensor[] {
  return sam === undefined ? [vision] : [vision, sam.f16, sam.f8, sam.f4];
}

async function download(features: Encoded, storage: FeatureStorage): Promise<HostFeatures> {
  const tensors = tensorsOf(features);
  const size = tensors.reduce((sum, tensor) => sum + 4 * tensor.size, 0);
  const arrays =
    size <= TOGETHER_BYTES
      ? await readTogether(tensors)
      : ((await Promise.all(tensors.map((tensor) => tensor.data()))) as Float32Array[]);
  const read = tensors.map(({ shape }, at) => ({ shape, values: arrays[at] as Float32Array<ArrayBuffer> }));
  return hostFeatures(features, read, storage);
}

function upload(host: HostFeatures): Encoded {
  const put = (tensor: HostTensor): Tensor => tf.tensor(numbersOf(tensor), [...tensor.shape]);
  const { tiles, grid } = host;
  const [vision, f16, f8, f4] = FEATURE_NAMES.map((name) => {
    const own = host[name];
    return own === undefined ? undefined : put(own);
  });
  const maps = f16 === undefined || f8 === undefined || f4 === undefined ? {} : { sam: { f16, f8, f4 } };
  return { tiles, grid, vision: vision as Tensor, ...maps };
}
