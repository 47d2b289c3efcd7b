import { crc32 } from "node:zlib";
import { encode as encodePng } from "fast-png";
import { expect, test } from "vitest";
import { decodeImage } from "../../../scripts/lib/node/node-images.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { toRgb } from "../../../src/engine/data/image/decode-bitmap.ts";
import { type ImageHeader, readImageHeader } from "../../../src/engine/data/image/image-header.ts";
import { probePicture } from "../../../src/engine/data/image/picture.ts";
import { decodePng } from "../../../src/engine/data/image/png-decode.ts";
import { unpacked } from "../../../src/engine/data/mask/mask-picture.ts";
import { inOwnFolder, siblingsOf } from "../../../src/engine/data/siblings.ts";
import { jpg, png } from "./make.ts";

const header = (bytes: Uint8Array, length = bytes.length): Promise<ImageHeader> =>
  readImageHeader({ length, read: async (start, end) => bytes.subarray(start, end) });

const chunk = (kind: string, ...rest: number[]): Uint8Array => {
  const text = [...`RIFF\0\0\0\0WEBP${kind}`].map((char) => char.charCodeAt(0));
  return Uint8Array.from([...text, ...rest, ...Array(20).fill(0)]);
};

/** A PNG of nothing but its header, checksum included. */
function pngHead(width: number, height: number, depth = 8, colour = 2): Uint8Array {
  const bytes = Buffer.from([...png(20, 20).slice(0, 33)]);
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  bytes.set([depth, colour], 24);
  bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29);
  return new Uint8Array(bytes);
}

/** Where the frame header of a JPEG begins. */
const frameOf = (bytes: Uint8Array): number => bytes.findIndex((byte, at) => byte === 0xff && bytes[at + 1] === 0xc0);

function withByte(bytes: Uint8Array, at: number, value: number): Uint8Array {
  return bytes.map((byte, place) => (place === at ? value : byte));
}

test("format and size come from the content", async () => {
  expect(await header(png(31, 17))).toEqual({ mime: "image/png", width: 31, height: 17, orientation: 1 });
  expect(await header(jpg(31, 17))).toEqual({ mime: "image/jpeg", width: 31, height: 17, orientation: 1 });
  expect(await header(jpg(31, 17, 8))).toEqual({ mime: "image/jpeg", width: 31, height: 17, orientation: 8 });
  const gif = Uint8Array.from([0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 44, 1, 20, 0]);
  expect(await header(gif)).toMatchObject({ mime: "image/gif", width: 300, height: 20 });
  const bmp = new Uint8Array(30);
  bmp.set([0x42, 0x4d]);
  new DataView(bmp.buffer).setUint32(14, 40, true);
  new DataView(bmp.buffer).setInt32(18, 33, true);
  new DataView(bmp.buffer).setInt32(22, -44, true);
  new DataView(bmp.buffer).setUint16(28, 24, true);
  expect(await header(bmp)).toMatchObject({ mime: "image/bmp", width: 33, height: 44 });
  // 400 x 300 in the three kinds of WebP.
  const lossy = chunk("VP8 ", 0, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 0x90, 0x01, 0x2c, 0x01);
  expect(await header(lossy)).toMatchObject({ mime: "image/webp", width: 400, height: 300 });
  const bits = (400 - 1) | ((300 - 1) << 14);
  const lossless = chunk("VP8L", 0, 0, 0, 0, 0x2f, bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, bits >>> 24);
  expect(await header(lossless)).toMatchObject({ width: 400, height: 300 });
  const extended = chunk("VP8X", 10, 0, 0, 0, 0, 0, 0, 0, 0x8f, 0x01, 0, 0x2b, 0x01, 0);
  expect(await header(extended)).toMatchObject({ width: 400, height: 300 });
});

test("a long EXIF block before the frame is stepped over with a few reads", async () => {
  const plain = jpg(50, 40);
  const filler = Array.from({ length: 4 }, () => [0xff, 0xe2, 0xea, 0x62, ...new Uint8Array(60_000)]).flat();
  const bytes = Uint8Array.from([0xff, 0xd8, ...filler, ...plain.subarray(2)]);
  let read = 0;
  const found = await readImageHeader({
    length: bytes.length,
    read: async (start, end) => {
      read += end - start;
      return bytes.subarray(start, end);
    },
  });
  expect([found.width, found.height]).toEqual([50, 40]);
  expect(read).toBeLessThan(30_000);
});

test.each([
  [new Uint8Array(0), "0 bytes"],
  [new TextEncoder().encode("II*\0aaaaaaaa"), "TIFF"],
  [new TextEncoder().encode("hello world, no picture"), "begins with the bytes 68 65 6c 6c"],
  [jpg(20, 20).slice(0, 60), "cut off after 60 bytes"],
  [Uint8Array.from([0xff, 0xd8, 0xff, 0xd9]), "no frame header"],
  [pngHead(0, 9), "impossible size of 0 x 9"],
  [pngHead(11_500, 11_500, 16, 6), "11500 x 11500 = 132250000 pixels, more than the 67108864 allowed; scale it down"],
  [pngHead(20, 20, 4, 2), "declares 4 bits of colour type 2, which PNG does not allow"],
  [pngHead(20, 20, 8, 2).fill(7, 17, 18), "its checksum does not match"],
  [withByte(jpg(20, 20), frameOf(jpg(20, 20)) + 4, 12), "browsers do not decode this kind of JPEG"],
  [withByte(jpg(20, 20), frameOf(jpg(20, 20)) + 9, 200), "the frame header of the JPEG is damaged"],
])("no picture, one sentence (%#)", async (bytes, cause) => {
  await expect(header(bytes)).rejects.toThrow(cause);
});

test("equal bytes have one name, different bytes another, wherever they differ within the samples", async () => {
  const name = async (bytes: Uint8Array): Promise<string> =>
    (await probePicture({ length: bytes.length, read: async (start, end) => bytes.slice(start, end) })).imageId;
  const plain = png(32, 24, 1);
  expect(await name(plain)).toBe(await name(png(32, 24, 1)));
  expect(await name(plain)).not.toBe(await name(png(32, 24, 2)));
  const noise = Uint8Array.from({ length: 300 * 300 * 3 }, (_, at) => (at * at * 31) >> 7);
  const large = encodePng({ width: 300, height: 300, data: noise, channels: 3 });
  expect(large.length).toBeGreaterThan(3 * 4096);
  const changed = large.slice();
  changed[large.length >> 1] = (changed[large.length >> 1] as number) ^ 1;
  expect(await name(changed)).not.toBe(await name(large));
});

test("a JPEG is whole with a film behind its end, and cut off where only its preview has an end", async () => {
  const probe = (...parts: Uint8Array[]) => {
    const bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
    return probePicture({ length: bytes.length, read: async (start, end) => bytes.slice(start, end) });
  };
  const [preview, whole, film] = [jpg(16, 12), jpg(200, 100), new Uint8Array(20_000)];
  const length = preview.length + 2;
  const start = [Uint8Array.of(0xff, 0xd8, 0xff, 0xe2, length >> 8, length & 255), preview, whole.subarray(2)];
  expect(await probe(...start, film)).toMatchObject({ width: 200, height: 100 });
  const cut = start.map((part, at) => (at === 2 ? part.subarray(0, -2) : part));
  await expect(probe(...cut, film)).rejects.toThrow("the image/jpeg picture has no end marker");
});

test("pixels decode to RGB: grey repeated, 16 bits cut, alpha dropped and not blended", async () => {
  const decode = async (image: Parameters<typeof encodePng>[0]) => {
    const bytes = encodePng(image) as Uint8Array<ArrayBuffer>;
    return [...(await decodeImage({ bytes, mime: "image/png", width: 2, height: 1, orientation: 1 })).data];
  };
  const base = { width: 2, height: 1 };
  expect(await decode({ ...base, channels: 1, data: Uint8Array.of(7, 200) })).toEqual([7, 7, 7, 200, 200, 200]);
  expect(await decode({ ...base, channels: 4, data: Uint8Array.of(9, 8, 7, 0, 1, 2, 3, 128) })).toEqual([
    9, 8, 7, 1, 2, 3,
  ]);
  const deep = Uint16Array.of(0x1234, 0, 0xffff, 1, 2, 0x8000);
  expect(await decode({ ...base, channels: 3, depth: 16, data: deep })).toEqual([0x12, 0, 255, 0, 0, 0x80]);
  const bytes = jpg(20, 10) as Uint8Array<ArrayBuffer>;
  await expect(decodeImage({ bytes, mime: "image/jpeg", width: 10, height: 20, orientation: 1 })).rejects.toThrow(
    "decodes to 20 x 10 pixels, its header says 10 x 20",
  );
  await expect(
    decodeImage({ bytes: bytes.slice(0, 300), mime: "image/jpeg", width: 20, height: 10, orientation: 1 }),
  ).rejects.toMatchObject({ code: "bad-input" });
});

test("a JPEG of red, green and blue keeps its colours", async () => {
  // 16 x 16 pixels of (255, 0, 0), as Pillow writes with keep_rgb.
  const red =
    "/9j/7gAOQWRvYmUAZAAAAAAA/9sAQwAQCwwODAoQDg0OEhEQExgoGhgWFhgxIyUdKDozPTw5Mzg3QEhcTkBEV0U3OFBtUVdfYmdoZz5NcXlw" +
    "ZHhcZWdj/8AAEQgAEAAQA1IRAEcRAEIRAP/EABUAAQEAAAAAAAAAAAAAAAAAAAAH/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAwDUgBHAEIA" +
    "AD8AoCfp+AAA/9k=";
  const bytes = new Uint8Array(Buffer.from(red, "base64"));
  const { data } = await decodeImage({ bytes, mime: "image/jpeg", width: 16, height: 16, orientation: 1 });
  expect([...data.subarray(0, 3)]).toEqual([255, 0, 0]);
});

test("bytes after the end of a PNG do not belong to it", async () => {
  const bytes = Uint8Array.from([...png(32, 24), ...new Uint8Array(64).fill(0x6a)]);
  const { data } = await decodeImage({ bytes, mime: "image/png", width: 32, height: 24, orientation: 1 });
  expect([...data.subarray(0, 6)]).toEqual([0, 0, 0, 1, 0, 0]);
});

test("the eight EXIF orientations turn a 3 x 2 picture as the standard draws them", () => {
  // Stored rows: 1 2 3 / 4 5 6.
  const decoded = { width: 3, height: 2, data: [1, 2, 3, 4, 5, 6] };
  const shown = (orientation: number): number[] => {
    const [width, height] = orientation >= 5 ? [2, 3] : [3, 2];
    return [...toRgb({ width, height, orientation }, decoded, 1).data].filter((_, at) => at % 3 === 0);
  };
  expect(shown(1)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(shown(2)).toEqual([3, 2, 1, 6, 5, 4]);
  expect(shown(3)).toEqual([6, 5, 4, 3, 2, 1]);
  expect(shown(4)).toEqual([4, 5, 6, 1, 2, 3]);
  expect(shown(5)).toEqual([1, 4, 2, 5, 3, 6]);
  expect(shown(6)).toEqual([4, 1, 5, 2, 6, 3]);
  expect(shown(7)).toEqual([6, 3, 5, 2, 4, 1]);
  expect(shown(8)).toEqual([3, 6, 2, 5, 1, 4]);
});

test("PNG and WebP have the orientation that Pillow reads in their EXIF chunk", async () => {
  const tiff = [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0];
  const name = (text: string): number[] => [...text].map((char) => char.charCodeAt(0));
  const plain = png(31, 17);
  const block = [0, 0, 0, tiff.length, ...name("eXIf"), ...tiff, 0, 0, 0, 0];
  const turned = Uint8Array.from([...plain.subarray(0, 33), ...block, ...plain.subarray(33)]);
  expect(await header(turned)).toEqual({ mime: "image/png", width: 31, height: 17, orientation: 6 });
  const size = [0, 0, 0, 0, 0x8f, 0x01, 0, 0x2b, 0x01, 0];
  for (const body of [tiff, [...name("Exif\0\0"), ...tiff]]) {
    const chunks = [...name("VP8X"), 10, 0, 0, 0, ...size, ...name("ICCP"), 3, 0, 0, 0, 1, 2, 3, 0];
    const exif = [...name("EXIF"), body.length, 0, 0, 0, ...body];
    const webp = Uint8Array.from([...name("RIFF\0\0\0\0WEBP"), ...chunks, ...exif]);
    expect(await header(webp)).toEqual({ mime: "image/webp", width: 400, height: 300, orientation: 6 });
  }
});

test.each([
  [
    1,
    "iVBORw0KGgoAAAANSUhEUgAAAA0AAAALAQAAAAH7zgpaAAAALUlEQVR42h2HAQoAIAjEZucX+07vCd8olclgbI4xCm/UJ0hLLXL8ikNszVt2eJigCjvGNUORAAAAAElFTkSuQmCC",
  ],
  [
    2,
    "iVBORw0KGgoAAAANSUhEUgAAAA0AAAALAgAAAAG8bnCKAAAASElEQVR42mNgYGIAARYGlhXMISwMTB0djB0MDB0dTHcvMM1awLxIi2XWT5a0z4zlPxn8/PwcmKZNm9bAksXA8InhyZMnB8BiAD3oFTzv1UrhAAAAAElFTkSuQmCC",
  ],
  [
    4,
    "iVBORw0KGgoAAAANSUhEUgAAAA0AAAALBAMAAAEhmyrEAAAAMFBMVEUA/wAQ7wEg3wIwzwNAvwRQrwVgnwZwjweAfwiQbwmgXwqwTwvAPwzQLw3gHw7wDw/7euv+AAAAbElEQVR42mPkYGhgPsLgw+jQwZJUx7BMgcVlF/MCmU9nGJ/sObOFQePJggRmy5vmLLNW7WFaNWsWg/jl+Ywbz+xhjN6zhyFin0jVBbMJjJ/S0sLSwhIY5nwCi7DMYpiVtirsG/PWBo6Kho5KAGLWKL1qleEJAAAAAElFTkSuQmCC",
  ],
])("an interlaced PNG of %i bits per pixel is read, whatever filters its passes have", (depth, text) => {
  const read = decodePng(new Uint8Array(Buffer.from(text, "base64")), "mask's");
  const pixels = Array.from({ length: 11 * 13 }, (_, at) => ((at % 13) * 3 + Math.floor(at / 13) * 5) % 2 ** depth);
  expect([read.height, read.width, read.palette?.length]).toEqual([11, 13, depth === 4 ? 16 : undefined]);
  expect([...(unpacked(read) as Uint8Array)]).toEqual(pixels);
});

test("a path with the escapes of an address finds the file, and one with a real % sign its own", () => {
  const names = ["img/my cat.jpg", "img/50%.jpg", "img/100%25.jpg", "clip a/0.jpg"];
  const find = siblingsOf(memoryFolder(Object.fromEntries(names.map((name) => [name, name]))))("rows.json");
  const found = (path: string): string | undefined => find(path)?.name;
  expect(found("img/my%20cat.jpg")).toBe("img/my cat.jpg");
  expect(found("https://host.test/img/my%20cat.jpg")).toBe("img/my cat.jpg");
  expect(found("img/50%.jpg")).toBe("img/50%.jpg");
  expect(found("img/100%25.jpg")).toBe("img/100%25.jpg");
  expect(found("img/my%2520cat.jpg")).toBeUndefined();
  expect(inOwnFolder(find)("clip%20a/0.jpg")?.name).toBe("clip a/0.jpg");
  expect(inOwnFolder(find)("clip%20b/0.jpg")).toBeUndefined();
});
