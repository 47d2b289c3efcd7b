/** Folders, names and pictures made to keep a reader busy, to overwrite one another, or to act on a terminal. */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { nodeFolder, nodeFolders } from "../../../scripts/lib/node/node-files.ts";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { distinctFiles } from "../../../src/app/components/upload/distinct-files.ts";
import { memoryFolder, memorySource } from "../../../src/engine/bytes/source.ts";
import { distinctNames } from "../../../src/engine/bytes/text.ts";
import { mergeFolders, pickedFolder } from "../../../src/engine/data/blob-source.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { foldersWithRows } from "../../../src/engine/data/set-info.ts";
import { markUnseen } from "../../../src/engine/errors.ts";
import { readTar } from "../../../src/plugins/archives/tar.ts";
import { tar } from "../../support/data-forms.ts";
import { tool } from "../../support/tools.ts";
import { png, row } from "./make.ts";

const shard = writeRegionShard([row(), row()]);
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "hostile-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

it("links that lead in circles, to what is there already or to nothing: every file is taken once", async () => {
  const [set, beside] = [join(directory, "set"), join(directory, "beside")];
  await mkdir(join(set, "inner"), { recursive: true });
  await mkdir(join(beside, "deep"), { recursive: true });
  for (const path of ["set/a.arrow", "set/inner/b.arrow", "beside/c.arrow", "beside/deep/d.arrow"]) {
    await writeFile(join(directory, path), shard);
  }
  const links = { here: ".", up: "..", again: "inner", "inner/back": "..", "a-too.arrow": "a.arrow", gone: "nowhere" };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(set, name));
  await symlink(beside, join(set, "other"));
  await symlink(join(beside, "deep"), join(set, "last"));
  await symlink(set, join(beside, "deep", "home"));
  expect((await nodeFolder(set)).paths).toEqual(["a.arrow", "inner/b.arrow", "other/c.arrow", "last/d.arrow"].sort());
  expect((await nodeFolder(join(set, "here"))).paths).toHaveLength(4);
});

it("files that hold no rows are told from those that rows are read from, whether they are records, texts or pictures", async () => {
  const folders = {
    rows: memoryFolder({ "a.arrow": shard }),
    "notes.txt": memoryFolder({ "notes.txt": "none" }),
    "results.json": memoryFolder({
      "results.json": '[{"image_id": 1, "category_id": 1, "segmentation": {}, "score": 1}]',
    }),
    pictures: memoryFolder({ "1.png": png(32, 24) }),
    "coco.json": memoryFolder({
      "coco.json": JSON.stringify({
        images: [{ id: 1, file_name: "1.png", width: 32, height: 24 }],
        annotations: [{ id: 1, image_id: 1, segmentation: [[4, 4, 20, 4, 20, 20]], caption: "A box." }],
      }),
    }),
  };
  const alone = async (...names: readonly (keyof typeof folders)[]) => {
    const set = await openRegionSet(mergeFolders(names.map((name) => ({ name, folder: folders[name] }))));
    return [set.summaries.length, foldersWithRows(set, names)] as const;
  };
  expect(await alone("notes.txt", "rows", "results.json")).toEqual([
    2,
    {
      folders: [1],
      others: [
        {
          name: "results.json",
          reason: expect.stringMatching(/^COCO results \(records with image_id, segmentation and/),
        },
        { name: "notes.txt", reason: "not of a kind that holds rows" },
      ],
    },
  ]);
  expect(await alone("coco.json", "pictures")).toEqual([1, undefined]);
  expect(await alone("pictures", "notes.txt", "coco.json")).toMatchObject([1, { folders: [0, 2] }]);
  expect(await alone("rows", "coco.json", "pictures")).toEqual([3, undefined]);
  expect(await alone("notes.txt", "results.json")).toEqual([0, undefined]);
});

it("files and folders of one name are all kept, under names that tell them apart", async () => {
  const file = new Blob([shard]);
  const folder = pickedFolder([
    { path: "a.arrow", file },
    { path: "a.arrow", file },
    { path: "a-2.arrow", file },
    { path: "train/x", file },
    { path: "train/x", file },
  ]);
  expect(folder.paths).toEqual(["a-2-2.arrow", "a-2.arrow", "a.arrow", "train/x", "train/x-2"]);
  expect((await openRegionSet(folder)).summaries).toHaveLength(6);
  const one = pickedFolder([{ path: "a.arrow", file }]);
  expect(mergeFolders([1, 2, 3].map(() => ({ name: "train", folder: one }))).paths).toEqual([
    "train-2/a.arrow",
    "train-3/a.arrow",
    "train/a.arrow",
  ]);
  const given = distinctFiles([
    [{ path: "train/a.arrow", file }],
    [{ path: "a.arrow", file }],
    [],
    [
      { path: "train/a.arrow", file },
      { path: "train/deep/b.arrow", file },
    ],
    [{ path: "a.arrow", file }],
  ]);
  expect(given.map(({ path }) => path)).toEqual([
    "train/a.arrow",
    "a.arrow",
    "train-2/a.arrow",
    "train-2/deep/b.arrow",
    "a-2.arrow",
  ]);
  await mkdir(join(directory, "one", "train"), { recursive: true });
  await mkdir(join(directory, "two", "train"), { recursive: true });
  for (const part of ["one", "two"]) await writeFile(join(directory, part, "train", "a.arrow"), shard);
  const both = await nodeFolders(["one", "two"].map((part) => join(directory, part, "train")));
  expect(both.paths).toEqual(["train-2/a.arrow", "train/a.arrow"]);
});

const ODD = "red\u001b[31m\u202egnp.\u0007\u009b2J.arrow";

it("control characters and marks in names are shown as numbers, in captions they are left out", async () => {
  const name = distinctNames();
  expect(name(ODD)).toBe("red\\u001b[31m\\u202egnp.\\u0007\\u009b2J.arrow");
  expect(JSON.parse(`"${markUnseen("\u202e\u0007é\u{1f600}")}"`)).toBe("\u202e\u0007é\u{1f600}");
  const bytes = writeRegionShard([row({ category: ["b\u202eox"] }, "A \u202ered\u001b[31m box.\nTwo lines.")]);
  const set = await openRegionSet(pickedFolder([{ path: ODD, file: new Blob([bytes]) }]));
  expect(set.summaries[0]).toMatchObject({ caption: "A red[31m box.\nTwo lines.", category: ["box"] });
  expect(set.summaries[0]?.id).toBe(`${markUnseen(ODD)}#0`);
});

it("nothing of a file's name or content reaches the terminal as it is", async () => {
  const odd = join(directory, "odd");
  await mkdir(odd);
  await writeFile(join(odd, ODD), shard);
  await writeFile(join(odd, `no${ODD}`), "no shard \u001b[2J");
  for (const args of [[odd], [odd, "--json"], [join(odd, `missing${ODD}`)]]) {
    const { out, err } = await tool("check-data", args);
    expect(`${out}${err}`).toMatch(/gnp/);
    expect(`${out}${err}`).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e]/u);
  }
});

/** A PNG of other pixel bytes than its header states. */
function pngOf(width: number, height: number, content: Uint8Array, depth = 8, colour = 2): Uint8Array<ArrayBuffer> {
  const chunk = (kind: string, data: Uint8Array): Buffer => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const all = Buffer.alloc(body.length + 8);
    all.writeUInt32BE(data.length, 0);
    all.set(body, 4);
    all.writeUInt32BE(crc32(body), body.length + 4);
    return all;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(content)), chunk("IEND", new Uint8Array(0))];
  return new Uint8Array(Buffer.concat([signature, ...parts]));
}

it("a PNG is decoded only as far as its header goes", async () => {
  const decode = (bytes: Uint8Array<ArrayBuffer>, width: number, height: number) =>
    decodeImage({ bytes, mime: "image/png", width, height, orientation: 1 });
  const exact = new Uint8Array(20 * 61);
  expect((await decode(pngOf(20, 20, exact), 20, 20)).data).toHaveLength(1200);
  const bomb = pngOf(20, 20, new Uint8Array(2 ** 27));
  expect(bomb.length).toBeLessThan(2 ** 18);
  await expect(decode(bomb, 20, 20)).rejects.toThrow("the picture's PNG holds more than its 20 x 20 pixels");
  await expect(decode(pngOf(20, 20, exact.subarray(1)), 20, 20)).rejects.toThrow("holds fewer than its 20 x 20 pixels");
  const deep = pngOf(5000, 5000, exact, 16, 6);
  await expect(decode(deep, 5000, 5000)).rejects.toThrow("unpacks to 200005000 bytes, more than the 134217728 allowed");
});

it("a tar keeps names of another encoding apart, and says what else than files it holds", async () => {
  const archive = tar([
    ["caf1.txt", Uint8Array.of(1)],
    ["caf2.txt", Uint8Array.of(2)],
    ["link.txt", new Uint8Array()],
    ["good.txt", Uint8Array.of(3)],
  ]);
  const change = (at: number, place: number, value: number): void => {
    const header = archive.subarray(at, at + 512);
    header[place] = value;
    header.fill(32, 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.set(new TextEncoder().encode(`${sum.toString(8).padStart(6, "0")}\0 `), 148);
  };
  // é and è of Latin-1, and a symbolic link.
  change(0, 3, 0xe9);
  change(1024, 3, 0xe8);
  change(2048, 156, "2".charCodeAt(0));
  const { members, problems } = await readTar(memorySource("a.tar", archive));
  expect(members.map(({ name }) => name)).toEqual(["café.txt", "cafè.txt", "good.txt"]);
  expect(problems).toEqual(["a.tar has 1 link, device or sparse file; it is left out"]);
});

it("names of fields, columns and files of any length stay inside a sentence", async () => {
  const long = (letter: string) => letter.repeat(400);
  const objects = JSON.stringify(Object.fromEntries([..."abcdefgh"].map((letter) => [long(letter), { x: 1 }])));
  const lists = JSON.stringify([{ image: 1, [`${long("m")}_mask`]: 1, [`${long("c")} caption`]: 1 }]);
  const folders = [
    { [`${long("n")}/a.json`]: objects },
    { [`${long("n")}/a.json`]: objects, "b.json": lists },
    { [`${long("n")}.arrow`]: "no shard", [`${long("e")}.${long("e")}`]: "" },
  ];
  for (const files of folders) {
    const { skipped, ignored } = await openRegionSet(memoryFolder(files));
    const told = [...skipped, ...ignored].map(({ reason }) => reason);
    expect(told).not.toEqual([]);
    expect(told.filter((reason) => reason.length > 300)).toEqual([]);
  }
  const { skipped } = await openRegionSet(memoryFolder({ "a.json": objects }));
  expect(skipped[0]?.reason).toMatch(/their fields are a{10,}…?.*b{3,}/);
});
