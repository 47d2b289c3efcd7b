/** Reads the frames of a video in a cell as if they were pictures in cells. */
import { Lru, remember } from "../../bytes/lru.ts";
import { checkMaskCount } from "../clips/clip-row.ts";
import { type PictureProbe, pictureId } from "../image/picture.ts";
import { pictureBytes } from "../image/picture-bytes.ts";
import type { FindFile } from "../siblings.ts";
import type { BinaryCell } from "../tables/table.ts";
import { openVideo } from "./video-frames.ts";

/** Location of a video, and distance between two frames that are read. */
export interface VideoCell {
  readonly cell: unknown;
  readonly every: number;
  readonly find: FindFile;
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
