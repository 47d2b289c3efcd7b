/** Updates over arenas and masks as bits, of any shapes. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { maskBits, maskBitsByOps, pixelsOf } from "../../../src/engine/gpu/kernels/mask-bits.ts";
import { setAdapterKind } from "../../../src/engine/gpu/runtime/custom-kernels.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { forAny, scale, shape, side, tensorSeed } from "../../support/any.ts";
import { checkedGpu } from "../../support/gpu.ts";
import { distance, randomTensor } from "../../support/kernels.ts";
import { expectLikeStockUpdates } from "../../support/updates.ts";

checkedGpu();

const SET = fc
  .array(shape([0, 3], 700, 40_000), { minLength: 2, maxLength: 12 })
  .map((shapes) => Object.fromEntries(shapes.map((sides, at) => [`t${at}`, sides])))
  .chain((shapes) => {
    const names = fc.subarray(Object.keys(shapes), { minLength: 1 });
    return fc.record({
      shapes: fc.constant(shapes),
      groups: fc.array(names, { minLength: 1, maxLength: 4 }),
      scale: scale(-12, 0, 12),
      // One tensor at most stands still, so that there is a distance to compare.
      skipped: fc.subarray(Object.keys(shapes).slice(1), { maxLength: 1 }),
      slow: fc.subarray(Object.keys(shapes)),
    });
  })
  .filter(({ groups, skipped }) => groups.flat().some((name) => !skipped.includes(name)));

it("updates of any tensors move what stock ops move", async () => {
  await forAny(12, SET, expectLikeStockUpdates);
});

const MASKS = fc
  .record({ masks: side(12), height: side(140), width: side(140), size: scale(-30, 0, 30), seed: tensorSeed })
  .filter(({ masks, height, width }) => masks * height * width <= 60_000);

it("masks of any size are the same bits and sums as by stock ops", async () => {
  await forAny(40, MASKS, async ({ masks, height, width, size, seed }) => {
    const logits = randomTensor([masks, height, width], seed, size);
    const read = async (made: { words: Tensor; sums: Tensor }): Promise<[number[], Float32Array]> => {
      const values: [number[], Float32Array] = [
        Array.from(await made.words.data()),
        Float32Array.from(await made.sums.data()),
      ];
      tf.dispose([made.words, made.sums]);
      return values;
    };
    const [words, sums] = await read(maskBitsByOps(logits));
    for (const software of [true, false]) {
      setAdapterKind(software);
      const [own, counted] = await read(maskBits(logits));
      expect(own).toEqual(words);
      expect(distance(counted, sums, 1)).toBeLessThan(1e-5);
    }
    const area = height * width;
    const bits = pixelsOf(words.slice(0, Math.ceil(area / 16)), area);
    const values = await logits.data();
    expect(bits.every((bit, at) => (bit === 1) === (values[at] as number) > 0)).toBe(true);
    logits.dispose();
  });
});
