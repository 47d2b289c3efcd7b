/** LZ4 and Zstandard frames by another program, whole, damaged, and made to stall a decoder. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { root } from "../../../scripts/lib/ensure.mjs";
import { decodeLz4Frame, xxHash32 } from "../../../src/plugins/codecs/lz4.ts";
import { decodeZstd } from "../../../src/plugins/codecs/zstd.ts";
import { BYTE_DAMAGE } from "../../fuzz/bytes.ts";
import { forAny } from "../../support/any.ts";

const FRAMES = join(root, "tests", "fixtures", "data", "frames");

/** The contents of tests/oracle/make_frames.py. */
function contents(): Record<string, Buffer> {
  let state = 1;
  const draw = (below: number): number => {
    state = (state * 48271) % 0x7fffffff;
    return (state >> 8) % below;
  };
  const made = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  const words = "a the red green box ball on left of under person holding 42 .".split(" ");
  return {
    empty: Buffer.alloc(0),
    one: Buffer.from("a"),
    zeros: Buffer.alloc(200_000),
    noise: Buffer.from(made(3000, () => draw(256))),
    words: Buffer.from(made(3000, () => words[draw(words.length)]).join(" ")),
    skewed: Buffer.from(made(4000, () => Math.min(draw(64), draw(64), draw(64)))),
    runs: Buffer.concat(
      made(500, () => {
        const value = draw(5);
        return Buffer.alloc(1 + draw(400), value);
      }),
    ),
  };
}

const decoder = (file: string) => (file.endsWith(".lz4") ? decodeLz4Frame : decodeZstd);
const frame = (file: string): Uint8Array => new Uint8Array(readFileSync(join(FRAMES, file)));
const CONTENTS = contents();
const FILES = readdirSync(FRAMES).map((file) => [file, CONTENTS[file.slice(0, file.indexOf("."))] as Buffer] as const);

it.each(FILES)("%s", (file, content) => {
  expect(Buffer.compare(decoder(file)(frame(file), content.length), content)).toBe(0);
  expect(() => decoder(file)(frame(file), content.length + 1)).toThrow(RangeError);
  if (content.length > 0) expect(() => decoder(file)(frame(file), content.length - 1)).toThrow(RangeError);
});

it.each(FILES)("%s damaged: refused with a sentence part, or of the stated size", async (file, content) => {
  const whole = new Uint8Array(frame(file));
  await forAny(300, fc.array(BYTE_DAMAGE, { minLength: 1, maxLength: 4 }), async (damages) => {
    try {
      const bytes = damages.reduce((now, damage) => damage.apply(now), whole);
      expect(decoder(file)(bytes, content.length)).toHaveLength(content.length);
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
    }
  });
});

it("a small frame that states much is refused before anything is allocated", () => {
  const tiny = frame("words.lz4").slice(0, 100);
  expect(() => decodeLz4Frame(tiny, 2 ** 31)).toThrow("100 packed bytes cannot hold 2147483648 bytes");
  expect(() => decodeZstd(frame("words.9.zst").slice(0, 100), 2 ** 31)).toThrow(
    "100 packed bytes cannot hold 2147483648 bytes",
  );
});

it("a Zstandard block with the most sequences, each as long as can be, ends at the output's end", () => {
  // Literals none; 98,047 sequences, all three codes of one symbol: literals 0, offset 0, the longest match.
  const block = [0, 0xff, 0xff, 0xff, 0b01010100, 0, 0, 52, ...Array<number>(64).fill(0xff)];
  const header = (block.length << 3) | (2 << 1) | 1;
  const start = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 255, header & 255, header >> 8, 0];
  expect(() => decodeZstd(Uint8Array.from([...start, ...block]), 255)).toThrow(RangeError);
});

it("checksums of an LZ4 frame are compared", () => {
  expect(xxHash32(new Uint8Array(0))).toBe(0x02cc5d05);
  expect(xxHash32(Buffer.from("abcdefghijklmnopqrstuvwxyz0123456789"))).toBe(0x42ae804d);
  const { skewed } = CONTENTS as { skewed: Buffer };
  const bytes = frame("skewed.checked.lz4");
  // Near the end of a block lie literals: another value is seen by the checksums alone.
  bytes[bytes.length - 20] = (bytes[bytes.length - 20] as number) ^ 1;
  expect(() => decodeLz4Frame(bytes, skewed.length)).toThrow("a checksum does not match");
});
