/** The frames of a video in a cell as pictures in cells. */
import { Lru } from "../../bytes/lru.ts";
import { pictureBytes } from "../image/picture-bytes.ts";
import type { FindFile } from "../siblings.ts";
import type { BinaryCell } from "../table.ts";
import { openVideo } from "./video-frames.ts";

/** Videos beside a shard whose frames are kept: neighbouring rows often share one. */
const KEPT = 4;
const kept = new WeakMap<FindFile, Lru<string, Promise<readonly BinaryCell[]>>>();

/**
 * @param every frames from one that is read to the next
 * @throws LabError("bad-input" | "unsupported") as `openVideo` and its reading do
 */
export async function videoCells(cell: unknown, every: number, find: FindFile): Promise<readonly BinaryCell[]> {
  const read = async (): Promise<readonly BinaryCell[]> => {
    const video = await openVideo(pictureBytes(cell, find, "video"), every);
    return (await video.read()).map((png) => ({
      length: png.length,
      read: async (start = 0, end = png.length) => png.slice(start, end),
    }));
  };
  if (typeof cell !== "string") return await read();
  const known = kept.get(find) ?? new Lru<string, Promise<readonly BinaryCell[]>>(KEPT);
  kept.set(find, known);
  const key = `${every} ${cell}`;
  const frames = known.get(key, read);
  // What could not be read may be there the next time.
  frames.catch(() => known.delete(key));
  return await frames;
}
