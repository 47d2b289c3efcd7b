/** Masks as bits, against stock operations and against the logits themselves. */
import { beforeAll, describe, expect, it } from "vitest";
import { maskBits, maskBitsByOps, pixelsOf } from "../../src/engine/gpu/kernels/mask-bits.ts";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { imageLogits, readMasks } from "../../src/engine/model/sam2/postprocess.ts";
import { useGpu } from "../support/gpu.ts";
import { randomTensor } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
});

const SHAPES: readonly (readonly [number, number, number])[] = [
  [1, 1, 1],
  [3, 1, 15],
  [2, 4, 4],
  [5, 17, 31],
  [2, 64, 64],
  [1, 33, 257],
];

const packed = (logits: Float32Array): Uint8Array => Uint8Array.from(logits, (logit) => Number(logit > 0));

async function numbers({ words, sums }: { words: Tensor; sums: Tensor }): Promise<[number[], number[]]> {
  const read: [number[], number[]] = [Array.from(await words.data()), Array.from(await sums.data())];
  tf.dispose([words, sums]);
  return read;
}

describe("masks as bits", () => {
  it.each(SHAPES)("of %i masks of %i x %i hold every pixel and the sums", async (masks, height, width) => {
    const before = tf.memory().numTensors;
    for (const scale of [1, 1e-30, 1e30]) {
      const logits = randomTensor([masks, height, width], 3, scale);
      const values = (await logits.data()) as Float32Array;
      for (const own of [true, false]) {
        switchCustomKernels(own);
        for (const software of own ? [true, false] : [true]) {
          setAdapterKind(software);
          const [words, sums] = await numbers(maskBits(logits));
          const each = Math.ceil((height * width) / 16);
          for (let n = 0; n < masks; n++) {
            const area = height * width;
            const expected = packed(values.subarray(n * area, (n + 1) * area));
            expect(pixelsOf(words.slice(n * each, (n + 1) * each), area)).toEqual(expected);
            const hits = Array.from(expected.keys()).filter((at) => expected[at] === 1);
            const sure = hits.reduce((sum, at) => sum + 1 / (1 + Math.exp(-(values[n * area + at] as number))), 0);
            expect(sums[2 * n]).toBe(hits.length);
            expect(sums[2 * n + 1]).toBeCloseTo(sure, 2);
            expect(Math.abs((sums[2 * n + 1] as number) - sure)).toBeLessThan(2e-6 * Math.max(1, sure));
          }
        }
      }
      switchCustomKernels(true);
      setAdapterKind(true);
      const [own, stock] = [await numbers(maskBits(logits)), await numbers(maskBitsByOps(logits))];
      expect(own[0]).toEqual(stock[0]);
      logits.dispose();
    }
    expect(tf.memory().numTensors).toBe(before);
  });

  it("leave out NaN, and take infinity as sure", async () => {
    const logits = tf.tensor3d([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0], [1, 2, 2]);
    const [words, sums] = await numbers(maskBits(logits));
    expect(words).toEqual([2]);
    expect(sums).toEqual([1, 1]);
    logits.dispose();
  });

  it("come back at the sizes of their pictures", async () => {
    const [a, b] = [randomTensor([2, 8, 8], 5), randomTensor([1, 8, 8], 6)];
    const before = tf.memory().numTensors;
    const found = await readMasks(
      [
        { lowRes: a, height: 37, width: 50 },
        { lowRes: b, height: 20, width: 3 },
      ],
      32,
    );
    expect(tf.memory().numTensors).toBe(before);
    expect(found.map((own) => own.length)).toEqual([2, 1]);
    const whole = tf.tidy(() => imageLogits(a, 32, 37, 50));
    const values = (await whole.data()) as Float32Array;
    expect(found[0]?.[1]?.mask).toEqual(packed(values.subarray(37 * 50)));
    expect(found[1]?.[0]?.mask).toHaveLength(60);
    const sure = values.subarray(37 * 50).filter((logit) => logit > 0);
    const mean = sure.reduce((sum, logit) => sum + 1 / (1 + Math.exp(-logit)), 0) / sure.length;
    expect(found[0]?.[1]?.confidence).toBeCloseTo(mean, 5);
    const none = tf.fill([1, 8, 8], -1);
    const [empty] = await readMasks([{ lowRes: none, height: 4, width: 4 }], 32);
    expect(empty?.[0]).toEqual({ mask: new Uint8Array(16), confidence: null });
    tf.dispose([a, b, whole, none]);
  });
});
