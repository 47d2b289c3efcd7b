import { readFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import { expect, test } from "vitest";
import { brotliWords, decodeBrotli } from "../../../src/plugins/codecs/brotli.ts";

const words = brotliWords();
const pack = (bytes: Uint8Array, quality: number, window: number): Uint8Array =>
  brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_LGWIN]: window },
  });

const README = new Uint8Array(readFileSync(new URL("../../../README.md", import.meta.url)));
const CONTENTS: readonly (readonly [string, Uint8Array])[] = [
  ["nothing", new Uint8Array(0)],
  [
    "words of the format, with capitals",
    new TextEncoder().encode("The time of the people, THE CHANGED world. Été à Zürich."),
  ],
  ["text", README],
  ["one value", new Uint8Array(100_000)],
  ["noise", Uint8Array.from({ length: 70_000 }, (_, at) => (Math.imul(at, 2_654_435_761) >>> 13) & 255)],
];

test.each(CONTENTS)("what the library packs is read again: %s", (_, content) => {
  for (const quality of [0, 1, 5, 9, 11]) {
    for (const window of [10, 16, 24]) {
      const found = decodeBrotli(pack(content, quality, window), content.length, words);
      expect(Buffer.compare(found, content), `quality ${quality}, window ${window}`).toBe(0);
    }
  }
});

test("a stream that is cut off, states another size or is damaged is an error, and never another value beyond its size", () => {
  const packed = pack(README, 9, 16);
  for (let end = 0; end < packed.length; end += 61) {
    expect(() => decodeBrotli(packed.subarray(0, end), README.length, words), `${end} bytes`).toThrow(RangeError);
  }
  expect(() => decodeBrotli(packed, README.length - 1, words)).toThrow("it holds more bytes than it states");
  expect(() => decodeBrotli(packed, README.length + 1, words)).toThrow("bytes where");
  let refused = 0;
  for (let at = 0; at < 400; at++) {
    const damaged = packed.slice();
    damaged[at] = (damaged[at] as number) ^ (1 << (at & 7));
    try {
      expect(decodeBrotli(damaged, README.length, words).length).toBe(README.length);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(RangeError);
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(100);
});
