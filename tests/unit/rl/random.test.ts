import { describe, expect, it } from "vitest";
import {
  normal,
  philox,
  type RandomKey,
  randomWords,
  STREAM,
  uniform,
  wordToUniform,
} from "../../../src/engine/gpu/random.ts";

const KEY: RandomKey = { seed: 7, step: 3, loop: 1, row: 2, rollout: 5, position: 11, stream: STREAM.token };
const PARTS = ["seed", "step", "loop", "row", "rollout", "position", "stream"] as const;

describe("philox", () => {
  it("gives the published known answers", () => {
    const hex = (words: readonly number[]) => words.map((word) => word.toString(16).padStart(8, "0")).join(" ");
    const ones = 0xffffffff;
    expect(hex(philox([0, 0, 0, 0], [0, 0]))).toBe("6627e8d5 e169c58d bc57ac4c 9b00dbd8");
    expect(hex(philox([ones, ones, ones, ones], [ones, ones]))).toBe("408f276d 41c83b0e a20bc7c6 6d5451fd");
    expect(hex(philox([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]))).toBe(
      "d16cfe09 94fdcceb 5001e420 24126ea1",
    );
  });
});

describe("uniform", () => {
  it("excludes both ends, in float32 too", () => {
    expect(wordToUniform(0)).toBeGreaterThan(0);
    expect(Math.fround(wordToUniform(0xffffffff))).toBeLessThan(1);
    expect(Math.fround(wordToUniform(0xffffffff))).toBe(wordToUniform(0xffffffff));
    expect(Number.isFinite(-Math.log(-Math.log(Math.fround(wordToUniform(0xffffffff)))))).toBe(true);
  });

  it("is uniform along every part of the key (chi squared, 64 cells)", () => {
    const count = 16_384;
    for (const part of PARTS) {
      const cells = new Array<number>(64).fill(0);
      for (let i = 0; i < count; i++) {
        const cell = Math.floor(
          uniform({
            ...KEY,
            [part]: part === "loop" ? i % 256 : i,
            row: part === "loop" ? i >> 8 : part === "row" ? i : KEY.row,
          }) * 64,
        );
        cells[cell] = (cells[cell] ?? 0) + 1;
      }
      const expected = count / 64;
      const chi = cells.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
      // 63 degrees of freedom: mean 63, deviation 11.2; five deviations on either side.
      expect(chi, part).toBeGreaterThan(63 - 45);
      expect(chi, part).toBeLessThan(63 + 56);
    }
  });

  it("is uncorrelated between neighbours of every part", () => {
    const count = 8192;
    for (const part of PARTS) {
      let sum = 0;
      for (let i = 0; i < count; i++) {
        const at = { ...KEY, position: i * 3 };
        const next = { ...at, [part]: at[part] + 1 };
        sum += (uniform(at) - 0.5) * (uniform(next) - 0.5);
      }
      expect(Math.abs(sum / count) * 12, part).toBeLessThan(5 / Math.sqrt(count));
    }
  });

  it("changes about half of the bits when one part changes by one", () => {
    for (const part of PARTS) {
      let bits = 0;
      for (let i = 0; i < 512; i++) {
        const at = { ...KEY, position: i * 5 };
        let different = (randomWords(at)[0] ^ randomWords({ ...at, [part]: at[part] + 1 })[0]) >>> 0;
        for (; different !== 0; different &= different - 1) bits++;
      }
      expect(bits / 512, part).toBeGreaterThan(15);
      expect(bits / 512, part).toBeLessThan(17);
    }
  });
});

describe("normal draws", () => {
  it("has mean 0, variance 1 and kurtosis 3", () => {
    const draws = Array.from({ length: 40_000 }, (_, i) => normal({ ...KEY, position: KEY.position + i }));
    const mean = draws.reduce((sum, x) => sum + x, 0) / draws.length;
    const moment = (power: number) => draws.reduce((sum, x) => sum + (x - mean) ** power, 0) / draws.length;
    expect(Math.abs(mean)).toBeLessThan(0.02);
    expect(Math.abs(moment(2) - 1)).toBeLessThan(0.03);
    expect(Math.abs(moment(4) / moment(2) ** 2 - 3)).toBeLessThan(0.15);
  });
});
