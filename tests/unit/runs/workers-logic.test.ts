/** What the data worker is made of, without a worker: folders, orientation, the picture cache, raw rows. */
import { expect, test } from "vitest";
import type { ByteSource } from "../../../src/engine/bytes/source.ts";
import { fetchedFolder, mergeFolders, pickedFolder, urlSource } from "../../../src/engine/data/blob-source.ts";
import { hideOrientation, pictureCache } from "../../../src/engine/data/image/decode-bitmap.ts";
import { rawRow } from "../../../src/engine/data/open-rows.ts";
import type { EncodedImage, RgbImage } from "../../../src/engine/data/sample.ts";
import { openTable } from "../../../src/engine/data/tables/open-table.ts";
import { groupsToArrow } from "../../../src/engine/runs/rollouts/rollouts-arrow.ts";
import { group } from "./sample-run.ts";

/** A server with files in memory; counts what was asked for. */
function server(files: Record<string, Uint8Array<ArrayBuffer>>, ranges: boolean) {
  const asked: string[] = [];
  const fetcher = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const url = String(input);
    const range = new Headers(init?.headers).get("Range");
    asked.push(range === null ? url : `${url} ${range}`);
    const bytes = files[url];
    if (bytes === undefined) return new Response("none", { status: 404 });
    const [, start, end] = /bytes=(\d+)-(\d+)/.exec(range ?? "") ?? [];
    if (!ranges || start === undefined) return new Response(bytes);
    return new Response(bytes.slice(Number(start), Number(end) + 1), { status: 206 });
  };
  return { asked, fetcher: fetcher as typeof fetch };
}

test("small files are fetched once and whole, large ones by range", async () => {
  const small = Uint8Array.of(1, 2, 3, 4);
  const large = new Uint8Array(9 * 2 ** 20).fill(5);
  const list = new TextEncoder().encode(
    JSON.stringify([
      { path: "a b.arrow", size: 4 },
      { path: "large.bin", size: large.length },
    ]),
  );
  const files = { "http://x/d/files.json": list, "http://x/d/a%20b.arrow": small, "http://x/d/large.bin": large };
  const { asked, fetcher } = server(files, true);
  const folder = await fetchedFolder("http://x/d", fetcher);
  expect(folder.paths).toEqual(["a b.arrow", "large.bin"]);
  const reads = [folder.get("a b.arrow")?.read(0, 2), folder.get("a b.arrow")?.read(2, 4)];
  expect((await Promise.all(reads)).map((bytes) => [...(bytes ?? [])])).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect((await folder.get("large.bin")?.read(10, 13))?.length).toBe(3);
  expect(asked).toEqual(["http://x/d/files.json", "http://x/d/a%20b.arrow", "http://x/d/large.bin bytes=10-12"]);
});

test("a server without ranges is asked once; wrong sizes and missing files are named", async () => {
  const large = new Uint8Array(9 * 2 ** 20).fill(5);
  const { asked, fetcher } = server({ "http://x/l": large }, false);
  const source = urlSource("l", "http://x/l", large.length, fetcher);
  expect([...(await source.read(0, 2))]).toEqual([5, 5]);
  expect([...(await source.read(7, 8))]).toEqual([5]);
  expect(asked.length).toBe(1);
  await expect(urlSource("l", "http://x/l", 3, fetcher).read(0, 1)).rejects.toThrow(/l has 9437184 bytes instead of 3/);
  await expect(fetchedFolder("http://x/none/", fetcher)).rejects.toThrow(/none\/files\.json could not be fetched.*404/);
  await expect(urlSource("l", "http://x/l", 3, fetcher).read(0, 9)).rejects.toMatchObject({ code: "bad-input" });
});

test("picked folders leave hidden files out and keep apart what has the same name", async () => {
  const file = (text: string): Blob => new Blob([text]);
  const one = pickedFolder([
    { path: "data/x.arrow", file: file("one") },
    { path: "data/.DS_Store", file: file("") },
    { path: ".git/x.arrow", file: file("") },
  ]);
  const two = pickedFolder([{ path: "data/x.arrow", file: file("two") }]);
  const both = mergeFolders([
    { name: "d", folder: one },
    { name: "d", folder: two },
  ]);
  expect(both.paths).toEqual(["d-2/data/x.arrow", "d/data/x.arrow"]);
  expect(new TextDecoder().decode(await both.get("d-2/data/x.arrow")?.read(0, 3))).toBe("two");
  expect(mergeFolders([{ name: "d", folder: one }]).paths).toEqual(["data/x.arrow"]);
});

test("EXIF is hidden and nothing else is touched", () => {
  const exif = [0xff, 0xe1, 0, 10, 0x45, 0x78, 0x69, 0x66, 0, 0, 1, 2];
  const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 4, 9, 9, ...exif, 0xff, 0xda, 0, 2, 0xff, 0xe1, 0, 4);
  const hidden = hideOrientation(jpeg, "image/jpeg");
  expect([...hidden.entries()].filter(([at, byte]) => byte !== jpeg[at])).toEqual([[9, 0xef]]);
  expect(jpeg[9]).toBe(0xe1);
  const plain = Uint8Array.of(0xff, 0xd8, 0xff, 0xda, 0, 2, 1, 2);
  expect(hideOrientation(plain, "image/jpeg")).toBe(plain);
  const chunk = (name: string, size: number): number[] => [
    0,
    0,
    0,
    size,
    ...new TextEncoder().encode(name),
    ...Array(size + 4).fill(7),
  ];
  const png = Uint8Array.of(...Array(8).fill(1), ...chunk("IHDR", 13), ...chunk("eXIf", 4), ...chunk("IDAT", 2));
  const quiet = hideOrientation(png, "image/png");
  expect(new TextDecoder("latin1").decode(quiet)).not.toContain("eXIf");
  expect([...quiet.entries()].filter(([at, byte]) => byte !== png[at]).length).toBe(1);
});

test("pictures are decoded once while they fit and again after they were given up", async () => {
  const decoded: string[] = [];
  const encoded = (name: string): EncodedImage => ({
    bytes: new TextEncoder().encode(name),
    mime: "image/png",
    width: 10,
    height: 10,
    orientation: 1,
  });
  const cache = pictureCache(async (image): Promise<RgbImage> => {
    const name = new TextDecoder().decode(image.bytes);
    decoded.push(name);
    if (name === "bad") throw new Error("no picture");
    return { width: 10, height: 10, data: new Uint8Array(300) };
  }, 650);
  const get = (imageId: string, image = encoded(imageId)) => cache({ imageId, image });
  const [a, again] = await Promise.all([get("a"), get("a")]);
  expect(a).toBe(again);
  await get("b");
  await get("a");
  await get("c");
  await get("a");
  expect(decoded).toEqual(["a", "b", "c"]);
  await get("b");
  expect(decoded).toEqual(["a", "b", "c", "b"]);
  await get("a", { ...encoded("a"), orientation: 6 });
  expect(decoded.length).toBe(5);
  await expect(get("bad")).rejects.toThrow("no picture");
  await expect(get("bad")).rejects.toThrow("no picture");
  expect(decoded.filter((name) => name === "bad").length).toBe(2);
});

test("a raw row shows every column as stored", async () => {
  const folder = pickedFolder([{ path: "r.arrow", file: new Blob([groupsToArrow([group(1, 1, 0)]).slice()]) }]);
  const table = await openTable(folder.get("r.arrow") as ByteSource);
  const set = { table: (file: string) => (file === "r.arrow" ? table : undefined) };
  const row = JSON.parse(await rawRow(set, "r.arrow", 1)) as Record<string, unknown>;
  expect(row).toMatchObject({
    step: 1,
    caption: group(1, 1, 0).rollouts[1]?.caption,
    greedy_mask: null,
    reward: "NaN",
  });
  await expect(rawRow(set, "r.arrow", 3)).rejects.toThrow(/r\.arrow has 3 rows, there is no row 3/);
  await expect(rawRow(set, "s.arrow", 0)).rejects.toMatchObject({ code: "bad-input" });
});
