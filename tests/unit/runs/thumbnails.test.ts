/** Small pictures of a run's rows: bounded, stored once, and drawn in exports without the data. */
import { expect, it } from "vitest";
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import type { TrainingRow } from "../../../src/engine/data/training-row.ts";
import { exportFiles } from "../../../src/engine/export/formats.ts";
import { maskTiles } from "../../../src/engine/runs/rollouts/rollout-picture.ts";
import { Thumbnails, withThumbnails } from "../../../src/engine/runs/rollouts/thumbnails.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { collectFiles } from "../../support/collected-files.ts";
import { group, manifest } from "./sample-run.ts";

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

it("lie below the masks of a report that is written without the data", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  await run.appendStep(1, { loss: 1 });
  await run.appendGroups(1, [group(1, 1, 0)]);
  const html = async () =>
    new TextDecoder().decode((await collectFiles(await exportFiles(run, "report")))["report.html"]);
  const bare = await html();
  const pictures = new Thumbnails(store, run.id);
  await pictures.take(row("f00", picture(600, 400, [10, 200, 30])));
  await pictures.store();
  const drawn = await html();
  expect(drawn).not.toBe(bare);
  // Masks are drawn on a picture of their shape only, at any size.
  const mask = { size: [4, 6] as const, counts: "5220007" };
  expect(maskTiles(mask, [], picture(60, 40, [10, 200, 30])).png).toEqual(
    maskTiles(mask, [], picture(6, 4, [10, 200, 30])).png,
  );
  expect(maskTiles(mask, [], picture(40, 60, [10, 200, 30])).png).toEqual(maskTiles(mask, [], null).png);
});
