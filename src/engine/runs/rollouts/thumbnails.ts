/**
 * Small pictures of the rows that a run read: `pictures/<picture id>.png`. With them the run is shown and exported
 * without its data. They are bounded, so rows read after the bound have none; clips have none.
 */
import { decodePng } from "../../data/image/png-decode.ts";
import type { RgbImage } from "../../data/sample.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import type { RunStore } from "../../storage/store.ts";
import { encodePng, type PictureOf } from "./rollout-picture.ts";

/** Longest side, in pixels. */
const SIDE = 160;
/** Maximum pictures of a run. */
const MOST = 256;

const pathOf = (runId: string, imageId: string): string => `${runId}/pictures/${imageId}.png`;

/** Collects the pictures of a run's rows until they are stored. */
export class Thumbnails {
  readonly #store: RunStore;
  readonly #runId: string;
  readonly #waiting = new Map<string, Uint8Array<ArrayBuffer>>();
  #known: Set<string> | null = null;

  constructor(store: RunStore, runId: string) {
    this.#store = store;
    this.#runId = runId;
  }

  /** Takes the picture of a row, unless the run has it or has enough. */
  async take({ summary, rgb }: Pick<TrainingRow, "summary" | "rgb">): Promise<void> {
    this.#known ??= await this.#stored();
    const name = `${summary.imageId}.png`;
    if (summary.frames !== undefined || this.#known.has(name) || this.#known.size >= MOST) return;
    this.#known.add(name);
    this.#waiting.set(summary.imageId, encodePng(reduced(rgb)));
  }

  /** Names of the stored pictures. Asking for a size also completes a write that was interrupted. */
  async #stored(): Promise<Set<string>> {
    const folder = `${this.#runId}/pictures`;
    const names = await this.#store.names(folder);
    for (const name of names) await this.#store.size(`${folder}/${name}`);
    return new Set(names);
  }

  /** Stores what was taken. @throws StorageFull if there is no room; the rest is stored by the next call */
  async store(): Promise<void> {
    for (const [imageId, png] of this.#waiting) {
      await this.#store.write(pathOf(this.#runId, imageId), png);
      this.#waiting.delete(imageId);
    }
  }
}

/** The bytes of a run's small picture; null without one. */
export async function thumbnailPng(
  store: RunStore,
  runId: string,
  imageId: string,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const path = pathOf(runId, imageId);
  return (await store.size(path)) === null ? null : store.read(path);
}

/** Pictures of open rows, else the run's small ones. @param open pictures of open rows; null for none */
export function withThumbnails(store: RunStore, runId: string, open: PictureOf | null): PictureOf {
  return async (rowId, imageId) => {
    const whole = await open?.(rowId, imageId);
    if (whole !== null && whole !== undefined) return whole;
    const png = await thumbnailPng(store, runId, imageId);
    if (png === null) return null;
    const { width, height, data, channels } = decodePng(png, "picture's");
    // A run from elsewhere may hold other files.
    return channels === 3 && data instanceof Uint8Array ? { width, height, data } : null;
  };
}

/** The picture with its longer side at most `SIDE`: each pixel is the mean of those that it covers. */
function reduced(rgb: RgbImage): RgbImage {
  const scale = Math.min(1, SIDE / Math.max(rgb.width, rgb.height));
  if (scale === 1) return rgb;
  const [width, height] = [Math.max(1, Math.round(rgb.width * scale)), Math.max(1, Math.round(rgb.height * scale))];
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    const [top, bottom] = [Math.floor((y * rgb.height) / height), Math.ceil(((y + 1) * rgb.height) / height)];
    for (let x = 0; x < width; x++) {
      const [left, right] = [Math.floor((x * rgb.width) / width), Math.ceil(((x + 1) * rgb.width) / width)];
      let [red, green, blue] = [0, 0, 0];
      for (let row = top; row < bottom; row++) {
        for (let at = (row * rgb.width + left) * 3; at < (row * rgb.width + right) * 3; at += 3) {
          red += rgb.data[at] as number;
          green += rgb.data[at + 1] as number;
          blue += rgb.data[at + 2] as number;
        }
      }
      const count = (bottom - top) * (right - left);
      data.set([Math.round(red / count), Math.round(green / count), Math.round(blue / count)], (y * width + x) * 3);
    }
  }
  return { width, height, data };
}
