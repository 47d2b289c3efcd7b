/** The cost of an index of many rows, in reads and copies. */
import { expect, it } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { inOrder } from "../../../src/engine/bytes/pace.ts";
import { type ByteFolder, memoryFolder } from "../../../src/engine/bytes/source.ts";
import { handOut, openRegionSet } from "../../../src/engine/data/region-set.ts";
import { boxMask, jpg, row } from "./make.ts";

const ROWS = 4000;

it("thousands of small rows: a read serves many, a receiver of rows copies a few times the whole", async () => {
  const good = row();
  const shard = writeRegionShard(Array<typeof good>(ROWS).fill(good), { batchRows: 100 });
  const folder = memoryFolder({ "a.arrow": shard });
  let reads = 0;
  const counted: ByteFolder = {
    paths: folder.paths,
    get: (path) => {
      const source = folder.get(path);
      if (source === undefined) return undefined;
      const read: typeof source.read = (start, end) => {
        reads++;
        return source.read(start, end);
      };
      return { ...source, read };
    },
  };
  let shown: readonly unknown[] = [];
  let [copied, progress] = [0, 0];
  const firsts: number[] = [];
  const set = await openRegionSet(counted, {
    onRows: (added) => {
      shown = [...shown, ...added];
      copied += shown.length;
      firsts.push(added.length);
    },
    onProgress: () => progress++,
  });
  expect(shown).toEqual(set.summaries);
  expect(shown).toHaveLength(ROWS);
  // One row at once, so that there is something to see; then always more.
  expect(firsts.slice(0, 2)).toEqual([1, 19]);
  expect(copied).toBeLessThan(6 * ROWS);
  expect(progress).toBeLessThanOrEqual(203);
  // Some fifteen reads a batch of 100 rows: its header and its small buffers.
  expect(reads).toBeLessThan(ROWS / 4);
});

it("a picture beside the rows is read once, however many rows name it", async () => {
  const mask = boxMask(12, 16, 1, 1, 3, 3);
  const lines = Array.from({ length: 200 }, (_, at) =>
    JSON.stringify({ file_name: `${at % 2}.jpg`, mask, caption: `thing ${at}` }),
  );
  const folder = memoryFolder({ "rows.jsonl": lines.join("\n"), "0.jpg": jpg(16, 12), "1.jpg": jpg(16, 12, 3) });
  let reads = 0;
  const set = await openRegionSet({
    paths: folder.paths,
    get: (path) => {
      const source = folder.get(path);
      if (source === undefined || !path.endsWith(".jpg")) return source;
      const read: typeof source.read = (start, end) => {
        reads++;
        return source.read(start, end);
      };
      return { ...source, read };
    },
  });
  expect(set.summaries).toHaveLength(200);
  expect(new Set(set.summaries.map(({ imageId }) => imageId)).size).toBe(2);
  expect(reads).toBeLessThan(10);
});

it("a list of 100,000 items is copied fewer than ten times", () => {
  const list: number[] = [];
  let [copied, had] = [0, 0];
  const grown = handOut(list, (added) => {
    had += added.length;
    copied += had;
  });
  for (let at = 0; at < 100_000; at++) {
    list.push(at);
    grown();
  }
  grown(true);
  expect(had).toBe(100_000);
  expect(copied).toBeLessThan(10 * 100_000);
});

it("works run side by side, their results come in order, and none begins once no caller waits", async () => {
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const works = inOrder(10, 3, async (index) => {
    begun.push(index);
    await new Promise<void>((resolve) => ends.push(resolve));
    if (index === 1) throw new Error("one");
    return index;
  });
  const first = works.next();
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  for (const end of [...ends].reverse()) end();
  expect(await first).toEqual({ done: false, value: { value: 0 } });
  expect(await works.next()).toEqual({ done: false, value: { thrown: new Error("one") } });
  await works.return();
  expect(begun.length).toBeLessThanOrEqual(5);
  expect(await works.next()).toEqual({ done: true, value: undefined });
});
