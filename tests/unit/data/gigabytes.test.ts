/** Shards of 3 GB, sparse on the disk: what an index, a row and its picture read of them. */
import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { encode as encodePng } from "fast-png";
import { afterAll, expect, test } from "vitest";
import { writeRegionShard } from "../../../scripts/lib/build/write-shard.ts";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { flatReader } from "../../../src/engine/data/arrow/arrow-schema.ts";
import { decodeRle } from "../../../src/engine/data/mask/rle.ts";
import { openRegionSet } from "../../../src/engine/data/region-set.ts";
import { i32, i64, list, struct as structOf, type Thrift, text } from "../../../src/plugins/exchange/parquet-write.ts";
import { boxMask, counting, row } from "./make.ts";

const struct = (fields: readonly (readonly [id: number, value: Thrift])[]): Thrift =>
  structOf(Object.fromEntries(fields));

const ROWS = 100;
const GROUP = 50;
/** Bytes inside each picture that no reader needs; a multiple of Arrow's padding. */
const GAP = 30 * 2 ** 20;
const [WIDTH, HEIGHT] = [16, 12];

/** Bytes of a file by their place; zeros elsewhere. */
interface Sparse {
  readonly pieces: readonly { readonly at: number; readonly bytes: Uint8Array }[];
  readonly size: number;
}

/** Beginning of a PNG with its number, and its end. */
function picture(number: number): readonly [head: Buffer, tail: Buffer] {
  const header = Buffer.from([73, 72, 68, 82, 0, 0, 0, WIDTH, 0, 0, 0, HEIGHT, 8, 2, 0, 0, 0]);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(header));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13]);
  return [Buffer.concat([signature, header, sum, Buffer.alloc(7, number)]), Buffer.from("IEND")];
}

const caption = (number: number): string => `Picture ${number}.`;

/** A shard whose pictures are split by the gap: offsets, lengths and places follow. */
function largeArrow(): Sparse {
  const rows = Array.from({ length: ROWS }, (_, at) => {
    const mask = boxMask(HEIGHT, WIDTH, 1, 1, 5, 5);
    return row({ image: { bytes: Buffer.concat(picture(at)), path: null }, mask }, caption(at));
  });
  const bytes = writeRegionShard(rows, { batchRows: GROUP });
  const [head] = picture(0);
  const pieces: { at: number; bytes: Uint8Array }[] = [];
  let shift = 0;
  for (let at = 0; at + 8 < bytes.length; ) {
    const length = new DataView(bytes.buffer).getInt32(at + 4, true);
    const message = bytes.slice(at, at + 8 + length);
    const flat = flatReader(message.subarray(8));
    const root = flat.root();
    const [body, start] = [flat.long(root, 3), at + 8 + length];
    if (flat.view.getUint8(flat.field(root, 1)) === 3) {
      const grown = GROUP * GAP;
      flat.view.setBigInt64(flat.field(root, 3), BigInt(body + grown), true);
      const buffers = flat.vector(flat.reference(root, 2), 2, 16);
      for (let at = 0; at < buffers.length; at++) {
        const place = buffers.start + 16 * at;
        const [from, size] = [0, 8].map((by) => Number(flat.view.getBigInt64(place + by, true))) as [number, number];
        const content = bytes.slice(start + from, start + from + size);
        // Offsets of the pictures, the pictures, and what follows them.
        if (at === 2) for (let n = 0; n <= GROUP; n++) addTo(content, 4 * n, n * GAP);
        if (at === 3) flat.view.setBigInt64(place + 8, BigInt(size + grown), true);
        if (at > 3) flat.view.setBigInt64(place, BigInt(from + grown), true);
        const to = start + shift + from + (at > 3 ? grown : 0);
        if (at !== 3) pieces.push({ at: to, bytes: content });
        else {
          const each = size / GROUP;
          for (let n = 0; n < GROUP; n++) {
            const [own, next] = [content.subarray(n * each), n * (each + GAP)];
            pieces.push({ at: to + next, bytes: own.subarray(0, head.length) });
            pieces.push({ at: to + next + head.length + GAP, bytes: own.subarray(head.length, each) });
          }
        }
      }
      pieces.push({ at: at + shift, bytes: message });
      shift += grown;
    } else pieces.push({ at: at + shift, bytes: message });
    at = start + body;
  }
  return { pieces, size: bytes.length + shift };
}

function addTo(bytes: Uint8Array, at: number, value: number): void {
  const view = new DataView(bytes.buffer);
  view.setInt32(at, view.getInt32(at, true) + value, true);
}

/** Pictures, masks as PNG and captions as plain pages, without compression. */
function largeParquet(): Sparse {
  const BYTE_ARRAY = 6;
  const pieces: { at: number; bytes: Uint8Array }[] = [{ at: 0, bytes: Buffer.from("PAR1") }];
  let at = 4;
  const put = (bytes: Uint8Array, gap = 0): void => {
    pieces.push({ at, bytes });
    at += bytes.length + gap;
  };
  const length = (size: number): Buffer => Buffer.from(new Uint32Array([size]).buffer);
  const box = decodeRle(boxMask(HEIGHT, WIDTH, 1, 1, 5, 5)).map((bit) => 255 * bit);
  const mask = Buffer.from(encodePng({ width: WIDTH, height: HEIGHT, data: box, channels: 1 }));
  const columns: readonly [string, (n: number) => readonly [Uint8Array, number, Uint8Array]][] = [
    ["image", (n) => [picture(n)[0], GAP, picture(n)[1]]],
    ["mask", () => [mask, 0, Buffer.alloc(0)]],
    ["caption", (n) => [Buffer.from(caption(n)), 0, Buffer.alloc(0)]],
  ];
  const groups = [0, GROUP].map((first) => {
    const chunks = columns.map(([name, of]) => {
      const values = Array.from({ length: GROUP }, (_, n) => of(first + n));
      const size = values.reduce((sum, [head, gap, tail]) => sum + 4 + head.length + gap + tail.length, 0);
      const page = [GROUP, 0, 3, 3].map((value, field) => [field + 1, i32(value)] as const);
      const header = struct([[1, i32(0)], [2, i32(size)], [3, i32(size)], [5, struct(page)]]); // biome-ignore format: one line
      const start = at;
      put(Uint8Array.from(header.bytes));
      for (const [head, gap, tail] of values) {
        put(length(head.length + gap + tail.length));
        put(head, gap);
        put(tail);
      }
      const total = i64(at - start);
      const facts = [1, 2, 3, 4, 5, 6, 7, 9].map((id, field) => {
        const value = [
          i32(BYTE_ARRAY),
          list([i32(0)]),
          list([text(name)]),
          i32(0),
          i64(GROUP),
          total,
          total,
          i64(start),
        ];
        return [id, value[field] as (typeof value)[number]] as const;
      });
      return struct([[2, i64(start)], [3, struct(facts)]]); // biome-ignore format: one line
    });
    return struct([[1, list(chunks)], [2, i64(GROUP * GAP)], [3, i64(GROUP)]]); // biome-ignore format: one line
  });
  const schema = columns.map(([name]) =>
    struct([[1, i32(BYTE_ARRAY)], [3, i32(0)], [4, text(name)], ...(name === "caption" ? [[6, i32(0)] as const] : [])]),
  );
  const root = struct([[4, text("table")], [5, i32(columns.length)]]); // biome-ignore format: one line
  const fields = [i32(1), list([root, ...schema]), i64(ROWS), list(groups)];
  const footer = struct(fields.map((value, field) => [field + 1, value] as const)).bytes;
  put(Uint8Array.from(footer));
  put(length(footer.length));
  put(Buffer.from("PAR1"));
  return { pieces, size: at };
}

const place = mkdtempSync(join(tmpdir(), "gigabytes-"));
afterAll(() => rmSync(place, { recursive: true }));

test.each([
  ["a.arrow", largeArrow],
  ["a.parquet", largeParquet],
])("%s of 3 GB: an index reads some megabytes, a picture itself", async (name, make) => {
  const { pieces, size } = make();
  const file = openSync(join(place, name), "w");
  for (const { at, bytes } of pieces) writeSync(file, bytes, 0, bytes.length, at);
  ftruncateSync(file, size);
  closeSync(file);
  expect(size).toBeGreaterThan(3e9);
  const all = counting(await nodeFolder(place));
  const folder = { paths: [name], get: all.get };
  const set = await openRegionSet(folder);
  expect([set.skipped, set.summaries.map((one) => one.caption)]).toEqual([
    [],
    Array.from({ length: ROWS }, (_, at) => caption(at)),
  ]);
  expect(new Set(set.summaries.map(({ imageId }) => imageId)).size).toBe(ROWS);
  // Head, middle and end of each picture, the other columns.
  expect(all.bytes).toBeLessThan(1.5e6);
  const before = all.bytes;
  const { image } = await set.sample(57);
  expect([image.width, image.height, image.bytes[36]]).toEqual([WIDTH, HEIGHT, 57]);
  expect(all.bytes - before).toBeLessThan(GAP + 1e5);
});
