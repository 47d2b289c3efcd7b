/** Forms of a card compute the same bits whether the bounds of their loops are literals or uniforms. */
import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { setAdapterClass, setFormTable } from "../../../src/engine/gpu/forms/active.ts";
import type { ProductName } from "../../../src/engine/gpu/forms/records.ts";
import { attention } from "../../../src/engine/gpu/kernels/attention/attention.ts";
import { packedLinear } from "../../../src/engine/gpu/packed/linear.ts";
import { packMatrix } from "../../../src/engine/gpu/packed/matrix.ts";
import { halfPrograms } from "../../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { forAny, side, tensorSeed } from "../../support/any.ts";
import { checkedGpu } from "../../support/gpu.ts";
import { randomTensor, valuesAndGradients } from "../../support/kernels.ts";
import { expectSameBits } from "../../support/same-bits.ts";

checkedGpu();
afterEach(() => setFormTable(new Map()));

/** Values and gradients of `f` in both spellings. */
async function expectSameInBoth(f: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[]): Promise<void> {
  setAdapterClass("nvidia", undefined, { bounds: "uniform" });
  const uniform = await valuesAndGradients(f, inputs, []);
  setAdapterClass("nvidia");
  const literal = await valuesAndGradients(f, inputs, []);
  for (const [at, array] of literal.entries()) expectSameBits(array, uniform[at] as Float32Array);
  expect(Math.max(...(literal[0] as Float32Array).map(Math.abs))).toBeGreaterThan(0);
}

const PRODUCT = fc
  .record({
    m: side(200),
    n: side(200),
    k: side(200),
    form: fc.constantFrom<ProductName>("tiles-32-32-16-4-4", "tiles-64-64-16-8-4-vectors", "registers"),
    seed: tensorSeed,
  })
  .filter(({ m, n, k }) => m * n * k <= 5e5);

it("products of any shape", async () => {
  await forAny(6, PRODUCT, async ({ m, n, k, form, seed }) => {
    setFormTable({ get: () => form });
    const inputs = [randomTensor([m, k], seed), randomTensor([k, n], seed + 1)];
    await expectSameInBoth((a, b) => tf.matMul(a as tf.Tensor2D, b as tf.Tensor2D), inputs);
    tf.dispose(inputs);
  });
});

const PACKED = fc
  .record({
    storage: fc.constantFrom("f16" as const, "q8" as const, "q4" as const),
    half: fc.boolean(),
    rows: side(120).map((rows) => rows + 8),
    inSize: side(150),
    outSize: side(150),
    seed: tensorSeed,
  })
  .filter(({ rows, inSize, outSize }) => rows * inSize * outSize <= 5e5);

it("products of any shape with packed matrices, in half precision too where the device has it", async () => {
  await forAny(4, PACKED, async ({ storage, half, rows, inSize, outSize, seed }) => {
    setFormTable({ get: () => "tiles-32-32-16-4-4" });
    const values = (await randomTensor([outSize, inSize], seed, 0.2).data()) as Float32Array<ArrayBuffer>;
    const matrix = packMatrix(values, [outSize, inSize], storage);
    const x = randomTensor([rows, inSize], seed + 1);
    const type = half && halfPrograms() ? "f16" : "f32";
    await expectSameInBoth((given) => packedLinear(given as Tensor, matrix, undefined, undefined, type), [x]);
    matrix.dispose();
  });
});

const ATTENTION = fc.record({
  batch: fc.integer({ min: 1, max: 2 }),
  keyHeads: fc.integer({ min: 1, max: 2 }),
  group: fc.integer({ min: 1, max: 2 }),
  queries: side(40),
  more: side(30),
  causal: fc.boolean(),
  seed: tensorSeed,
});

it("attention of any shape", async () => {
  await forAny(4, ATTENTION, async ({ batch, keyHeads, group, queries, more, causal, seed }) => {
    setFormTable({ get: () => "tiles-32-32" });
    const keys = queries + more;
    const inputs = [
      randomTensor([batch, keyHeads * group, queries, 24], seed),
      randomTensor([batch, keyHeads, keys, 24], seed + 1),
      randomTensor([batch, keyHeads, keys, 24], seed + 2),
    ];
    await expectSameInBoth(
      (q, k, v) => attention(q as Tensor, k as Tensor, v as Tensor, 0.2, undefined, causal ? {} : undefined),
      inputs,
    );
    tf.dispose(inputs);
  });
});
