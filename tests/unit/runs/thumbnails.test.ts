/** Small pictures of a run's rows: bounded, stored once, and drawn below masks of their shape. */
import { expect, it } from "vitest";
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import type { TrainingRow } from "../../../src/engine/data/training-row.ts";
import { maskTiles } from "../../../src/engine/runs/rollouts/rollout-picture.ts";
import { Thumbnails, withThumbnails } from "../../../src/engine/runs/rollouts/thumbnails.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";

function picture(width: number, height: number, colour: readonly number[]): RgbImage {
  const data = Uint8Array.from({ length: width * height * 3 }, (_, at) => colour[at % 3] as number);
  return { width, height, data };
}
const row = (imageId: string, rgb: RgbImage, frames?: number) =>
  ({ summary: { imageId, ...(frames === undefined ? {} : { frames }) }, rgb }) as unknown as TrainingRow;

it("are at most 160 pixels wide and 256 in number, and a clip has none", async () => {
  const store = memoryStore();
  const pictures = new Thumbnails(store, "run");
  await pictures.take(row("large", picture(640, 320, [200, 100, 50])));
  await pictures.take(row("clip", picture(10, 30, [1, 2, 3]), 3));
  for (let at = 0; at < 300; at++) await pictures.take(row(`p${at}`, picture(4, 4, [at % 250, 0, 0])));
  expect(await store.list("run")).toEqual([]);
  await pictures.store();
  expect(await store.names("run/pictures")).toHaveLength(256);
  const read = withThumbnails(store, "run", null);
  const large = await read("row", "large");
  expect([large?.width, large?.height, ...(large?.data.slice(0, 3) ?? [])]).toEqual([160, 80, 200, 100, 50]);
  expect(await read("row", "clip")).toBeNull();
  // A resumed run adds to what is stored, and the open rows have the whole picture.
  await new Thumbnails(store, "run").take(row("more", picture(4, 4, [0, 0, 0])));
  expect(await store.names("run/pictures")).toHaveLength(256);
  const whole = picture(640, 320, [9, 9, 9]);
  expect(await withThumbnails(store, "run", async () => whole)("row", "large")).toBe(whole);
});

it("lie below masks of their shape only, at any size", () => {
  const mask = { size: [4, 6] as const, counts: "5220007" };
  expect(maskTiles(mask, [], picture(60, 40, [10, 200, 30])).png).toEqual(
    maskTiles(mask, [], picture(6, 4, [10, 200, 30])).png,
  );
  expect(maskTiles(mask, [], picture(40, 60, [10, 200, 30])).png).toEqual(maskTiles(mask, [], null).png);
});
