import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { encode as encodePng } from "fast-png";
import { expect, test } from "vitest";
import { datasetInfoJson, stateJson, writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { rleArea } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import type { RegionSample, RegionSummary } from "../../../src/engine/data/sample.ts";
import { checkRegionSet } from "../../../src/engine/data/set-info.ts";
import { badInput } from "../../../src/engine/errors.ts";
import { expectSameBits } from "../../support/same-bits.ts";
import { boxMask, counting, jpg, png, row } from "./make.ts";

const NAME = "data-00000-of-00001.arrow";

test("every broken row is left out with one sentence, the good rows around it stay", async () => {
  const cases: [Parameters<typeof row>[0], string, string, string?][] = [
    [
      { mask: boxMask(32, 24, 1, 1, 4, 4) },
      "mask_rle",
      "the mask is 24 x 32 pixels, the picture 32 x 24 (width x height)",
    ],
    [{ mask: boxMask(24, 32, 0, 0, 0, 0) }, "mask_rle", "the mask is empty (0 of 768 pixels)"],
    [{ mask: { size: [24, 32], counts: "704" } }, "mask_rle", "mask runs add up to 11, not 24 x 32 = 768"],
    [{ mask: null }, "mask_rle", "the row has no mask (its caption describes the whole picture)"],
    [{}, "conversations", "the caption is empty", "  \n"],
    [{ conversations: null }, "conversations", "the row has no text"],
    [{ conversations: [{ from: "human", value: "?" }] }, "conversations", "the row has no answer"],
    [{}, "conversations", "the text refers to <Prompt4>, but the row has 1 mask", "<Prompt4> is red."],
    [{ image: null }, "image", "the picture is null"],
    [
      { image: { bytes: null, path: "b.jpg" } },
      "image",
      'the picture is not in the shard, only its path "b.jpg", and that file does not exist',
    ],
    [{ image: { bytes: null, path: null } }, "image", "the picture has neither bytes nor a path"],
    [{ image: { bytes: new Uint8Array(0), path: null } }, "image", "the picture has 0 bytes"],
    [
      { image: { bytes: new TextEncoder().encode("<html>"), path: null } },
      "image",
      "the picture is not a JPEG, PNG, WebP, BMP or GIF; it begins with the bytes 3c 68 74 6d",
    ],
    [
      { image: { bytes: jpg(32, 24).slice(0, -40), path: null } },
      "image",
      `the image/jpeg picture has no end marker; it is cut off after ${jpg(32, 24).length - 40} bytes`,
    ],
    [{ image: { bytes: png(32, 9), path: null } }, "image", "the picture is only 32 x 9 pixels, under 10"],
  ];
  const rows = cases.flatMap(([changes, , , caption]) => [row(changes, caption), row()]);
  const folder = memoryFolder({ [NAME]: writeRegionShard(rows, { batchRows: 7 }) });
  const set = await openRegionSet(folder);
  expect(set.skipped).toEqual(cases.map(([, column, reason], at) => ({ file: NAME, row: 2 * at, column, reason })));
  expect(set.summaries.map((summary) => summary.row)).toEqual(cases.map((_, at) => 2 * at + 1));
  const checks = await checkRegionSet(set, decodeImage, () => 0);
  expect(checks.map((check) => [check.name, check.ok])).toEqual([
    ["data set loaded", true],
    ["data set named", true],
    ["pictures decode", true],
    ["masks decode", true],
    ["captions found", true],
    ["batch built", true],
    ["ready for training", true],
  ]);
  expect(checks[4]?.detail).toBe("86.7 % of 30 rows have a caption");
});

test("a sample carries the picture's own bytes, and its sniffed format", async () => {
  const bytes = jpg(40, 30);
  const shard = writeRegionShard([row(), row({ image: { bytes, path: "x.png" }, mask: boxMask(30, 40, 0, 0, 8, 5) })]);
  const set = await openRegionSet(memoryFolder({ [NAME]: shard }));
  const sample = await set.sample(1);
  expect(sample.image).toEqual({ bytes, mime: "image/jpeg", width: 40, height: 30, orientation: 1 });
  expect(sample.id).toBe(`${NAME}#1`);
  expect(sample.caption).toBe("A red box.");
  expect(rleArea(sample.mask)).toBe(40);
  expect(set.summaries[1]?.maskShare).toBe(40 / 1200);
  expect(sample.imageId).toMatch(/^[0-9a-f]{16}$/);
  expect(sample.imageId).not.toBe(set.summaries[0]?.imageId);
  await expect(set.sample(2)).rejects.toThrow("there is no sample 2");
});

test("the mask decides about EXIF orientation: stored where it fits, turned where only that fits", async () => {
  const bytes = jpg(40, 30, 6);
  const image = { bytes, path: null };
  const rows = [row({ image, mask: boxMask(30, 40, 0, 0, 8, 5) }), row({ image, mask: boxMask(40, 30, 0, 0, 8, 5) })];
  const set = await openRegionSet(memoryFolder({ [NAME]: writeRegionShard(rows) }));
  expect(set.skipped).toEqual([]);
  const [stored, turned] = [await set.sample(0), await set.sample(1)];
  expect([stored.image.width, stored.image.height, stored.image.orientation]).toEqual([40, 30, 1]);
  expect([turned.image.width, turned.image.height, turned.image.orientation]).toEqual([30, 40, 6]);
  const [a, b] = [await decodeImage(stored.image), await decodeImage(turned.image)];
  // Orientation 6: the first stored column becomes the top row, from right to left.
  expect([...b.data.subarray(29 * 3, 30 * 3)]).toEqual([...a.data.subarray(0, 3)]);
  expect([...b.data.subarray(0, 3)]).toEqual([...a.data.subarray(29 * 40 * 3, 29 * 40 * 3 + 3)]);
});

test("a list of masks gives one sample per mask: by answer without tags, by what is spoken of with tags", async () => {
  const masks = [boxMask(24, 32, 0, 0, 4, 4), boxMask(24, 32, 9, 9, 5, 5)];
  const human = { from: "human", value: "<image>\nWhat is the relation between <Prompt1> and <Prompt0>?" };
  const turns = (...values: string[]) => values.map((value) => ({ from: "gpt", value }));
  const rows = [
    row({ mask: masks, conversations: turns("A dog.", "A cat.") }),
    row({ mask: masks, conversations: [human, ...turns("<Prompt1> sits on <Prompt0>.")] }),
    row({ mask: masks, conversations: turns("Only one.") }),
    row({ mask: masks, conversations: [human, ...turns("Unclear.")] }),
    row({ mask: [masks[0]!, boxMask(24, 32, 0, 0, 0, 0)], conversations: turns("Good.", "Empty mask.") }),
  ];
  const set = await openRegionSet(memoryFolder({ [NAME]: writeRegionShard(rows, { layout: "relation" }) }));
  expect(set.files[0]?.adapter).toBe("conversations, several masks per row");
  expect(set.summaries.map(({ id, caption }) => [id.slice(NAME.length), caption])).toEqual([
    ["#0/0", "A dog."],
    ["#0/1", "A cat."],
    ["#1/0", "The other region sits on this region."],
    ["#1/1", "This region sits on the other region."],
    ["#3/0", "What is the relation between the other region and this region? Unclear."],
    ["#3/1", "What is the relation between this region and the other region? Unclear."],
    ["#4/0", "Good."],
  ]);
  expect(set.skipped.map(({ row: at, reason }) => [at, reason])).toEqual([
    [2, "the row has 2 masks and 1 text, and no text names its mask"],
    [4, "the mask of region 1 is empty (0 of 768 pixels)"],
  ]);
});

test("state.json decides which shards count; leftovers, damage and other files are named", async () => {
  const shard = writeRegionShard([row()]);
  const set = await openRegionSet(
    memoryFolder({
      "Part10/data-00000-of-00001.arrow": shard,
      "Part2/state.json": stateJson(["b.arrow", "a.arrow", "gone.arrow"], "0123456789abcdef"),
      "Part2/dataset_info.json": datasetInfoJson(),
      "Part2/a.arrow": shard,
      "Part2/b.arrow": shard,
      "Part2/cache-0123456789abcdef.arrow": shard,
      "Part10/cache-0123456789abcdef.arrow": shard,
      "Part10/indices.arrow": shard,
      "Part10/notes.txt": "hello",
      "Part3/state.json": "{",
      "Part3/c.arrow": shard,
      "split/dataset_dict.json": '{"splits": ["train", "test"]}',
      "split/test/t.arrow": shard,
    }),
  );
  expect(set.files.map(({ name, split }) => [name, split])).toEqual([
    ["Part2/b.arrow", undefined],
    ["Part2/a.arrow", undefined],
    ["Part3/c.arrow", undefined],
    ["Part10/data-00000-of-00001.arrow", undefined],
    ["split/test/t.arrow", "test"],
  ]);
  expect(set.summaries.length).toBe(5);
  expect(new Set(set.summaries.map((summary) => summary.imageId)).size).toBe(1);
  expect(Object.fromEntries(set.ignored.map(({ name, reason }) => [name, reason]))).toEqual({
    "Part2/state.json": "describes the shards",
    "Part2/dataset_info.json": "describes the shards",
    "Part2/cache-0123456789abcdef.arrow": "not listed in state.json",
    "Part3/state.json": "describes the shards",
    "Part10/cache-0123456789abcdef.arrow": "a leftover of map or shuffle, not part of the data",
    "Part10/indices.arrow": "a leftover of map or shuffle, not part of the data",
    "Part10/notes.txt": "not of a kind that holds rows",
    "split/dataset_dict.json": "describes the shards",
  });
  expect(set.skipped.map(({ file }) => file)).toEqual(["Part2/state.json", "Part3/state.json"]);
  expect(set.skipped[0]?.reason).toBe("1 of the 3 shards named in state.json are not here (first: Part2/gone.arrow)");
  expect(set.skipped[1]?.reason).toContain("Part3/state.json is not valid JSON");
  const none = await openRegionSet(memoryFolder({ "a.csv": "a,b" }));
  // Archives are shards where a plug-in opens them.
  expect(none.skipped[0]?.reason).toMatch(
    /^there is no file of rows \(Arrow, Parquet.* shards\): 1 file of another kind \(\.csv\)$/,
  );
});

test("broken files beside a good one: one sentence each, the good rows stay", async () => {
  const good = writeRegionShard([row(), row(), row(), row()], { batchRows: 1 });
  const set = await openRegionSet(
    memoryFolder({
      "good.arrow": good,
      "cut.arrow": good.slice(0, good.length - 900),
      "text.arrow": "image,mask\n1,2\n",
      "parquet.arrow": `PAR1${"\u0000".repeat(100)}`,
      "lfs.arrow": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n",
      "zip.arrow": `PK\u0003\u0004${"\u0000".repeat(30)}`,
      "tar.arrow": `a${"\u0000".repeat(256)}ustar${"\u0000".repeat(250)}`,
      "empty.arrow": "",
      "zeros.arrow": new Uint8Array(600),
      "noise.arrow": Uint8Array.from({ length: 5000 }, (_, at) => (at * 7919) % 256),
    }),
  );
  const reasons = Object.fromEntries(set.skipped.map(({ file, reason }) => [file, reason]));
  expect(Object.keys(reasons).length).toBe(9);
  expect(set.skipped.every((entry) => entry.row === -1)).toBe(true);
  expect(reasons["cut.arrow"]).toMatch(
    /^cut\.arrow: record batch 4 is cut off at byte \d+: it needs \d+ bytes; 3 complete batches with 3 rows before it kept$/,
  );
  expect(reasons["text.arrow"]).toBe('text.arrow is text, not Arrow; it begins with "image,mask 1,2"');
  expect(reasons["parquet.arrow"]).toContain("is a truncated Parquet file");
  expect(reasons["lfs.arrow"]).toContain("is a Git LFS pointer");
  expect(reasons["zip.arrow"]).toBe("zip.arrow is a ZIP archive; give it the ending .zip");
  expect(reasons["tar.arrow"]).toBe("tar.arrow is a tar archive; give it the ending .tar");
  expect(reasons["empty.arrow"]).toBe("empty.arrow is empty (0 bytes)");
  expect(reasons["zeros.arrow"]).toContain("no schema");
  expect(reasons["noise.arrow"]).toContain("is not an Arrow IPC stream or file");
  expect(set.summaries.map((summary) => summary.file)).toEqual([
    ...Array(3).fill("cut.arrow"),
    ...Array(4).fill("good.arrow"),
  ]);
  for (const { index } of set.summaries) expect((await set.sample(index)).image.bytes).toEqual(png(32, 24));
});

test("a shard that breaks off before its first row is not counted, and a check names it", async () => {
  const whole = writeRegionShard([row(), row()]);
  const folder = memoryFolder({ "a.arrow": whole.slice(0, whole.length - 900), "b.arrow": whole });
  const checks = await checkRegionSet(await openRegionSet(folder), decodeImage, () => 0);
  expect(checks[0]).toMatchObject({ ok: true, detail: "2 samples from 2 of 2 rows in 1 of 2 shards" });
  expect(checks[1]).toMatchObject({ name: "shards read", ok: false, blocks: false });
  expect(checks[1]?.detail).toMatch(
    /^1 of 2 shards is not read to its end: a\.arrow: record batch 1 is cut off at byte \d+: .*; the file has no complete row$/,
  );
  expect(checks.at(-1)).toMatchObject({ ok: true, detail: "the rows can be used; not passed: shards read" });
});

test("a directory of save_to_disk: listed shards, six picture formats under one ending, leftovers aside", async () => {
  const set = await openRegionSet(
    await nodeFolder(fileURLToPath(new URL("../../fixtures/data/save-to-disk/", import.meta.url))),
  );
  expect(set.skipped).toEqual([]);
  expect(set.files.map(({ rows, adapter }) => [rows, adapter])).toEqual([
    [3, "conversations, one mask per row"],
    [3, "conversations, one mask per row"],
  ]);
  expect(set.ignored.map(({ reason }) => reason)).toContain("not listed in state.json");
  const samples = await Promise.all(set.summaries.map(({ index }) => set.sample(index)));
  expect(samples.map(({ image }) => image.mime)).toEqual(
    ["jpeg", "png", "webp", "bmp", "gif", "png"].map((kind) => `image/${kind}`),
  );
  expect(samples.map(({ image, caption }) => [image.width, image.height, caption])).toEqual(
    samples.map((_, at) => [16, 12, `caption ${at}`]),
  );
  expect(rleArea((samples[0] as RegionSample).mask)).toBe(12);
  // The last picture is one Node decodes, the middle one is not: that is no fault of the data, damage is.
  const checks = await checkRegionSet(set, decodeImage, () => 0);
  expect(checks.at(-1)).toMatchObject({ name: "ready for training", ok: true });
  const broken = await checkRegionSet(
    set,
    () => Promise.reject(badInput("cannot be decoded")),
    () => 0,
  );
  expect(broken.filter((check) => !check.ok).map((check) => check.name)).toEqual([
    "pictures decode",
    "batch built",
    "ready for training",
  ]);
});

test("rows appear while the index grows, and it can be cancelled", async () => {
  const folder = memoryFolder({ [NAME]: writeRegionShard(Array.from({ length: 40 }, () => row())) });
  const arrived: number[] = [];
  const progress: number[] = [];
  await openRegionSet(folder, {
    onRows: (added: readonly RegionSummary[], set) => {
      arrived.push(added.length);
      expect(set.summaries.at(-1)).toBe(added.at(-1));
    },
    onProgress: ({ rows, totalRows }) => progress.push(rows / totalRows),
  });
  expect(arrived).toEqual([1, 15, 16, 8]);
  expect(progress.at(-1)).toBe(1);
  const stop = new AbortController();
  await expect(openRegionSet(folder, { signal: stop.signal, onRows: () => stop.abort() })).rejects.toMatchObject({
    code: "cancelled",
  });
});

test("an index over a 50 MB shard reads a few MB, whatever the batch size", async () => {
  const small = jpg(64, 48);
  const rows = Array.from({ length: 100 }, (_, at) => {
    // Entropy-coded data of any length: the header in front and the end marker behind are what an index looks at.
    const bytes = new Uint8Array(500_000).fill(at + 1);
    bytes.set(small.subarray(0, -2));
    bytes.set([0xff, 0xd9], bytes.length - 2);
    return row({ image: { bytes, path: null }, mask: boxMask(48, 64, at % 50, 3, 9, 9) }, `Region ${at}.`);
  });
  const directory = await mkdtemp(join(tmpdir(), "shard-"));
  try {
    for (const [name, batchRows] of [
      ["one.arrow", 1000],
      ["ten.arrow", 10],
    ] as const) {
      await writeFile(join(directory, name), writeRegionShard(rows, { batchRows }));
    }
    const folder = counting(await nodeFolder(directory));
    const set = await openRegionSet(folder);
    expect(set.summaries.length).toBe(200);
    expect(set.files.map((file) => file.batches)).toEqual([1, 10]);
    expect(set.files[0]?.bytes).toBeGreaterThan(50e6);
    expect(folder.bytes).toBeLessThan(4e6);
    const before = folder.bytes;
    expectSameBits((await set.sample(57)).image.bytes, rows[57]?.image?.bytes as Uint8Array);
    expect(folder.bytes - before).toBeLessThan(600_000);
  } finally {
    await rm(directory, { recursive: true });
  }
});

test("samples of one name: every kind of picture of the set is read, and a mask without a picture is named", async () => {
  const mask = encodePng({ width: 32, height: 24, channels: 1, data: new Uint8Array(32 * 24).fill(255, 0, 100) });
  const parts = (name: string) => ({ [`${name}.txt`]: `thing ${name}`, [`${name}.mask.png`]: mask });
  const files: Record<string, Uint8Array | string> = {};
  for (let at = 0; at < 40; at++) {
    const name = String(at).padStart(2, "0");
    Object.assign(files, parts(name), at < 35 ? { [`${name}.jpg`]: jpg(32, 24) } : { [`${name}.png`]: png(32, 24) });
  }
  const set = await openRegionSet(memoryFolder({ ...files, ...parts("40") }));
  expect(set.summaries.map(({ caption }) => caption.slice(-2))).toEqual(
    Array.from({ length: 40 }, (_, at) => String(at).padStart(2, "0")),
  );
  expect(set.skipped.map(({ row, reason }) => [row, reason])).toEqual([[40, "the picture is null"]]);
});
