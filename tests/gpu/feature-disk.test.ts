/** Frozen features on disk: the same bits as computed, never a damaged file, never above the limit of space. */
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import { nodeStore } from "../../scripts/lib/node/node-store.ts";
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { openModelFolder } from "../../src/engine/loading/open-model.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import {
  type FeatureDiskCache,
  type FeatureStorage,
  openFeatureDiskCache,
  pictureKey,
} from "../../src/engine/policy/feature-store.ts";
import { createFeatureCache, disposeFeatures, type ImageFeatures } from "../../src/engine/policy/features.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { useGpu } from "../support/gpu.ts";
import { openTestLab, repeatable } from "../support/session.ts";
import { smallModel } from "../support/small-model.ts";

const ORIGIN = {
  model: "hash",
  storage: { language: "f32" },
  features: "f32",
  tiling: { maxTiles: 1 },
  computedBy: { vendor: "test" },
};
const ROOM = 1e9;

let model: Sa2vaModel;
let pictures: RgbImage[];
let directory: string;
beforeAll(async () => {
  await useGpu();
  ({ model } = await openModelFolder(await nodeFolder(smallModel()), "small"));
  const { rows, set } = await openNodeRows();
  const distinct = [...new Map(set.summaries.map((row) => [row.imageId, row.index])).values()].slice(0, 4);
  pictures = await Promise.all(distinct.map(async (index) => (await rows(index)).rgb));
  directory = await mkdtemp(join(tmpdir(), "lab-features-"));
});
afterAll(async () => {
  model.dispose();
  await rm(directory, { recursive: true, force: true });
});

const refuse = (thrown: unknown): never => {
  throw thrown;
};

/** Bits of all four arrays and their shapes. */
async function bitsOf({ tiles, vision, sam }: ImageFeatures): Promise<unknown> {
  const arrays = await Promise.all([vision, sam.f16, sam.f8, sam.f4].map(async (one) => [one.shape, await one.data()]));
  return [tiles, ...arrays];
}

const arraysOf = (bits: unknown): Float32Array[] =>
  (bits as [number, ...[number[], Float32Array][]]).slice(1).map((array) => (array as [number[], Float32Array])[1]);

/** Features of a picture from an empty cache, with or without a diskCache. */
async function features(
  picture: RgbImage,
  diskCache?: FeatureDiskCache,
  storage: FeatureStorage = "f32",
): Promise<unknown> {
  const cache = createFeatureCache(
    model,
    1,
    ROOM,
    storage,
    diskCache === undefined ? undefined : async () => diskCache,
  );
  const found = await cache.get("picture", picture);
  const bits = await bitsOf(found);
  disposeFeatures(found);
  return bits;
}

let used = 0;
const emptyFolder = (): string => join(directory, String(used++));
const diskCacheIn = (path: string, changes: Partial<typeof ORIGIN> = {}, room = ROOM): Promise<FeatureDiskCache> =>
  openFeatureDiskCache(nodeStore(path), { ...ORIGIN, ...changes }, room, refuse);

/** The files of a diskCache's folder, by path. */
async function filesIn(path: string): Promise<string[]> {
  const found = await readdir(path, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

describe("frozen features on disk", () => {
  it("have the bits of computed ones, and leave nothing on the GPU", async () => {
    const before = memorySnapshot();
    const path = emptyFolder();
    for (const picture of pictures.slice(0, 2)) {
      const computed = await features(picture);
      const first = await diskCacheIn(path);
      expect(await features(picture, first)).toEqual(computed);
      expect(first.counts).toEqual({ read: 0, written: 1, damaged: 0 });
      const second = await diskCacheIn(path);
      expect(await features(picture, second)).toEqual(computed);
      expect(second.counts).toEqual({ read: 1, written: 0, damaged: 0 });
    }
    expect(await filesIn(path)).toHaveLength(2);
    expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
    expect(memorySnapshot().tensors).toBe(before.tensors);
  });

  it("in half precision take half the room, are used as they are stored, and tell their error", async () => {
    const path = emptyFolder();
    const [picture] = pictures as [RgbImage];
    const computed = arraysOf(await features(picture));
    const cache = createFeatureCache(model, 1, ROOM, "f16");
    const ask = async (): Promise<[ImageFeatures, ImageFeatures]> => [
      await cache.get("picture", picture),
      await cache.get("picture", picture),
    ];
    const [fresh, again] = await cache.duringStep(ask);
    const stored = await bitsOf(fresh);
    const bits = arraysOf(stored);
    expect(await bitsOf(again)).toEqual(stored);
    expect(cache.bytes).toBe(computed.reduce((sum, values) => sum + 2 * values.length, 0));
    const size = (values: Float32Array): number => Math.hypot(...values);
    const error = Math.max(
      ...bits.map((found, at) => {
        const wanted = computed[at] as Float32Array;
        return size(found.map((value, i) => value - (wanted[i] as number))) / size(wanted);
      }),
    );
    expect(cache.stepError).toBeCloseTo(error, 8);
    expect(error).toBeGreaterThan(0);
    expect(error).toBeLessThan(5e-4);
    disposeFeatures(fresh);
    disposeFeatures(again);
    for (const written of [1, 0]) {
      const disk = await diskCacheIn(path, { features: "f16" });
      expect(await features(picture, disk, "f16")).toEqual(stored);
      expect(disk.counts).toEqual({ read: 1 - written, written, damaged: 0 });
    }
  });

  it("of a step's pictures stay until the next step, whatever the room", async () => {
    const cache = createFeatureCache(model, 1, 1);
    const ask = async (at: number): Promise<void> =>
      disposeFeatures(await cache.get(String(at), pictures[at] as RgbImage));
    await ask(3);
    const one = cache.bytes;
    await cache.duringStep(async () => {
      for (let turn = 0; turn < 3; turn++) for (const at of [0, 1, 2]) await ask(at);
      expect(cache.bytes).toBe(3 * one);
    });
    expect([cache.hits, cache.misses]).toEqual([6, 4]);
    expect(cache.bytes).toBe(one);
  });

  it("are those of this picture, checkpoint, storage, tiling and device only", async () => {
    const path = emptyFolder();
    const [picture, other] = pictures as [RgbImage, RgbImage];
    await features(picture, await diskCacheIn(path));
    for (const change of [
      { model: "another" },
      { storage: { language: "q8" } },
      { features: "f16" },
      { tiling: { maxTiles: 2 } },
      { computedBy: { vendor: "another" } },
    ]) {
      expect(await (await diskCacheIn(path, change)).read(await pictureKey(picture))).toBeUndefined();
    }
    expect(await (await diskCacheIn(path)).read(await pictureKey(other))).toBeUndefined();
    // The same bytes read as a landscape and as a portrait picture.
    const lying = { width: 6, height: 4, data: picture.data.slice(0, 72) };
    expect(await pictureKey({ ...lying, width: 4, height: 6 })).not.toBe(await pictureKey(lying));
    expect(await pictureKey({ ...lying })).toBe(await pictureKey(lying));
    const changed = { ...picture, data: picture.data.slice() };
    changed.data[changed.data.length - 1] = (changed.data.at(-1) as number) ^ 1;
    expect(await pictureKey(changed)).not.toBe(await pictureKey(picture));
    expect(await (await diskCacheIn(path)).read(await pictureKey(picture))).toBeDefined();
  });

  it("that are cut off or changed anywhere are computed again and replaced, never used", async () => {
    const path = emptyFolder();
    const [picture] = pictures as [RgbImage];
    const computed = await features(picture);
    await features(picture, await diskCacheIn(path));
    const [file] = (await filesIn(path)) as [string];
    const good = await readFile(file);
    const flip = (at: number): Buffer => {
      const bad = Buffer.from(good);
      bad[at] = (bad[at] as number) ^ 0x10;
      return bad;
    };
    const faults: (() => Promise<void>)[] = [
      () => truncate(file, 0),
      () => truncate(file, 10),
      () => truncate(file, good.length - 1),
      () => truncate(file, Math.floor(good.length / 2)),
      ...[0, 60, good.indexOf(10) + 1, Math.floor(good.length / 2), good.length - 1].map(
        (at) => () => writeFile(file, flip(at)),
      ),
      () => writeFile(file, Buffer.concat([good, Buffer.alloc(4)])),
    ];
    for (const spoil of faults) {
      await spoil();
      const diskCache = await diskCacheIn(path);
      expect(await features(picture, diskCache)).toEqual(computed);
      expect(diskCache.counts).toEqual({ read: 0, written: 1, damaged: 1 });
      expect((await readFile(file)).equals(good)).toBe(true);
    }
  });

  it("take no more room than they are given: others give way, those in use do not", async () => {
    const path = emptyFolder();
    await features(pictures[0] as RgbImage, await diskCacheIn(path));
    const [first] = (await filesIn(path)) as [string];
    const size = (await readFile(first)).length;
    const room = 2 * size + 200;
    // Files of another model are deleted first.
    const other = await diskCacheIn(path, { model: "another" }, room);
    for (const picture of pictures) await features(picture, other);
    expect(other.counts.written).toBe(2);
    expect(await filesIn(path)).toHaveLength(2);
    expect(await filesIn(path)).not.toContain(first);
    const back = await diskCacheIn(path, {}, room);
    for (const picture of pictures) await features(picture, back);
    expect(back.counts).toEqual({ read: 0, written: 2, damaged: 0 });
    const again = await diskCacheIn(path, {}, room);
    for (const picture of pictures) await features(picture, again);
    // The first two are still there although four were requested.
    expect(again.counts).toEqual({ read: 2, written: 0, damaged: 0 });
    const bytes = (await Promise.all((await filesIn(path)).map(async (file) => (await readFile(file)).length))).reduce(
      (sum, one) => sum + one,
      0,
    );
    expect(bytes).toBeLessThanOrEqual(room);
    const tiny = await diskCacheIn(path, {}, size - 1);
    await features(pictures[3] as RgbImage, tiny);
    expect(tiny.counts.written).toBe(0);
  });

  it("on a full disk are told once and training continues", async () => {
    const told: unknown[] = [];
    const diskCache = await openFeatureDiskCache(memoryStore({ quota: 100 }), ORIGIN, ROOM, (thrown) =>
      told.push(thrown),
    );
    for (const picture of pictures) expect(await features(picture, diskCache)).toEqual(await features(picture));
    expect(told).toHaveLength(1);
    expect(String(told[0])).toMatch(/needs \d+ bytes and 100 bytes are free/);
  });
});

describe("a run", () => {
  it("with features on disk has the metrics of one without, also the second time", async () => {
    const diskCache = memoryStore();
    // When switched off, nothing is read or written.
    const off = await openTestLab({ features: { ...diskCache, read: refuse, write: refuse, list: refuse } });
    const expected = (await off.train({ featureDisk: 0 })).map(repeatable);
    off.session.dispose();
    for (const files of [0, 1]) {
      const lab = await openTestLab({ features: diskCache });
      expect((await diskCache.list("")).length > 0).toBe(files === 1);
      expect((await lab.train({ featureDisk: 1 })).map(repeatable)).toEqual(expected);
      lab.session.dispose();
    }
    const kept = await diskCache.list("");
    expect(kept.length).toBeGreaterThan(0);
  });
});
