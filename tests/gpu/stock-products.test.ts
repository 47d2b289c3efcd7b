/** On cards the stock products run; only their splitting of the inner dimension is prevented. */
import { afterEach, beforeAll, expect, it } from "vitest";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { splitsInner } from "../../src/engine/gpu/tfjs/determinism.ts";
import { useGpu } from "../support/gpu.ts";
import { randomTensor } from "../support/kernels.ts";

beforeAll(useGpu);
afterEach(() => setAdapterKind(true));

/** The stock programs compiled so far, by their keys. */
const programs = (): string[] =>
  Object.keys((tf.backend() as unknown as { pipelineCache: Record<string, unknown> }).pipelineCache);

/** Keys of the stock products that a product of these sizes compiles. */
async function programsOf(m: number, k: number, n: number): Promise<string[]> {
  const before = new Set(programs());
  const [a, b] = [randomTensor([m, k], 1), randomTensor([k, n], 2)];
  setAdapterKind(false);
  const results = [tf.matMul(a as tf.Tensor2D, b as tf.Tensor2D), tf.matMul(a as tf.Tensor2D, b as tf.Tensor2D)];
  const [one, two] = await Promise.all(results.map((result) => result.data()));
  setAdapterKind(true);
  expect(one).toEqual(two);
  tf.dispose([a, b, ...results]);
  return programs().filter((key) => !before.has(key) && /^matMul/i.test(key));
}

it.each([
  ["the MLP of 1B", 3456, 4864, 896, false],
  ["its gradient", 896, 3456, 4096, false],
  ["the projector", 3328, 4096, 896, false],
  ["few results", 64, 4000, 64, true],
  ["few rows", 8, 4864, 512, true],
  ["a few hundred results of a short sum", 64, 1999, 64, false],
  ["so few results that one program reduces them", 8, 4864, 16, false],
] as const)("stock would split K: %s [%i, %i] · [., %i]", (_, m, k, n, splits) => {
  expect(splitsInner({ batch: 1, m, n, k }, 8)).toBe(splits);
  expect(splitsInner({ batch: 2, m, n, k }, 8)).toBe(false);
});

it("takes the packed program for large results of long sums, and no split anywhere", async () => {
  // From 32 rows and columns on, tiles of the lab are the choice.
  const large = await programsOf(24, 2048, 512);
  expect(large.some((key) => key.startsWith("matMulPacked"))).toBe(true);
  const small = await programsOf(31, 2048, 31);
  expect([...large, ...small].filter((key) => /splitk/i.test(key))).toEqual([]);
});
