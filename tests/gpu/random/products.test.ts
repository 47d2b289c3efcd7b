/** Products, linear layers and packed matrices of any shape. */
import fc from "fast-check";
import { afterEach, expect, it } from "vitest";
import { formLimits, setAdapterClass, setFormTable } from "../../../src/engine/gpu/forms/active.ts";
import { PRODUCT_FORMS, type ProductName, productFits } from "../../../src/engine/gpu/forms/records.ts";
import { activation } from "../../../src/engine/gpu/kernels/activation.ts";
import { conv2d } from "../../../src/engine/gpu/kernels/conv.ts";
import { Following, linear } from "../../../src/engine/gpu/kernels/linear.ts";
import type { Activation } from "../../../src/engine/gpu/matmul/activation-code.ts";
import { packedLinear, unpacked } from "../../../src/engine/gpu/packed/linear.ts";
import { packMatrix } from "../../../src/engine/gpu/packed/matrix.ts";
import { backwardProgram, FEW_ROWS, forwardProgram } from "../../../src/engine/gpu/packed/programs.ts";
import { WEIGHT_STORAGES } from "../../../src/engine/gpu/packed/storage.ts";
import { setAdapterKind } from "../../../src/engine/gpu/runtime/custom-op.ts";
import { shaderSource } from "../../../src/engine/gpu/runtime/pipelines.ts";
import { setDispatchWork } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { forAny, scale, side, tensorSeed } from "../../support/any.ts";
import { useGpu } from "../../support/gpu.ts";
import { distance, expectLikeStock, packedOrPlain, randomTensor, valuesAndGradients } from "../../support/kernels.ts";
import { recordedGpu } from "../../support/naga.ts";
import { expectSameBits } from "../../support/same-bits.ts";

const naga = recordedGpu(/subgroup matrices/);
afterEach(() => {
  setFormTable(new Map());
  setDispatchWork();
});

const SPLIT = "tiles-64-128-16-8-8-vectors-split-4";
const MATRICES = ["tiles-32-32-32-16-16-matrices", "tiles-64-64-32-32-32-matrices"] as const;
const FORMS = (Object.keys(PRODUCT_FORMS) as ProductName[]).filter((name) => !name.endsWith("-matrices"));

const fourth = (size: number): number => 4 * Math.ceil(size / 4);

const PRODUCT = fc
  .record({
    /** Sizes that are read in vectors. */
    fours: fc.boolean(),
    batch: fc.oneof(fc.constant(1), fc.integer({ min: 2, max: 7 })),
    m: side(300),
    n: side(700),
    k: side(1300),
    transposeA: fc.boolean(),
    transposeB: fc.boolean(),
    shared: fc.constantFrom("none", "left", "right"),
    left: scale(-24, -10, 0, 10, 30),
    right: scale(-6, 0, 6),
    seed: tensorSeed,
    software: fc.boolean(),
    form: fc.option(fc.constantFrom(...FORMS), { nil: undefined }),
  })
  .map(({ fours, ...drawn }) =>
    fours ? { ...drawn, m: fourth(drawn.m), n: fourth(drawn.n), k: fourth(drawn.k) } : drawn,
  )
  .filter(({ batch, m, n, k }) => batch * m * n * k <= 1.5e6);

it("products of any shape in any layout equal double precision", async () => {
  await forAny(
    16,
    PRODUCT,
    async ({ batch, m, n, k, transposeA, transposeB, shared, left, right, seed, software, form }) => {
      setAdapterKind(software);
      setFormTable({ get: () => form });
      const [aBatch, bBatch] = [shared === "left" ? 1 : batch, shared === "right" ? 1 : batch];
      const a = randomTensor(transposeA ? [aBatch, k, m] : [aBatch, m, k], seed, left);
      const b = randomTensor(transposeB ? [bBatch, n, k] : [bBatch, k, n], seed + 1, right);
      const [y, again] = [0, 1].map(() => tf.matMul(a as tf.Tensor3D, b as tf.Tensor3D, transposeA, transposeB));
      expect(y?.shape).toEqual([batch, m, n]);
      const [p, q] = [await a.data(), await b.data()];
      const found = (await y?.data()) as Float32Array;
      expectSameBits((await again?.data()) as Float32Array, found);
      let worst = 0;
      for (let at = 0; at < found.length; at++) {
        const [z, i, j] = [Math.floor(at / (m * n)), Math.floor(at / n) % m, at % n];
        const [from, to] = [(z % aBatch) * m * k, (z % bBatch) * n * k];
        let [sum, size] = [0, 0];
        for (let l = 0; l < k; l++) {
          const x = p[from + (transposeA ? l * m + i : i * k + l)] as number;
          const term = x * (q[to + (transposeB ? j * k + l : l * n + j)] as number);
          sum += term;
          size += Math.abs(term);
        }
        const error = Math.abs((found[at] as number) - sum) / size;
        worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(worst, error);
      }
      expect(worst).toBeLessThan(1e-6);
      tf.dispose([a, b, y as Tensor, again as Tensor]);
    },
  );
});

/** The number of terms in an input's gradient: one per output, and with a branch one per rank as well. */
const slope = (rank: number, outSize: number): number => 0.1 * Math.sqrt(outSize) * (1 + 10 * Math.sqrt(rank));

const LAYER = fc
  .record({
    lead: fc.constantFrom<number[]>([], [1], [2], [3, 1]),
    rows: side(140),
    inSize: side(300),
    outSize: side(300),
    rank: fc.oneof(fc.constant(0), side(40)),
    bias: fc.boolean(),
    budget: fc.constantFrom(undefined, 20_000),
    x: scale(-8, 0, 8),
    seed: tensorSeed,
  })
  .filter(({ rows, inSize, outSize }) => rows * inSize * outSize <= 1e6);

it("linear layers of any shape, with and without bias and branch, have stock values and gradients", async () => {
  await forAny(4, LAYER, async ({ lead, rows, inSize, outSize, rank, bias, budget, x, seed }) => {
    setDispatchWork(budget);
    const inputs = [randomTensor([...lead, rows, inSize], seed, x), randomTensor([outSize, inSize], seed + 1, 0.3)];
    if (rank > 0) inputs.push(randomTensor([rank, inSize], seed + 3), randomTensor([outSize, rank], seed + 4));
    if (bias) inputs.push(randomTensor([outSize], seed + 2, x));
    const layer = (...[given, weight, ...rest]: Tensor[]): Tensor => {
      const shift = bias ? rest.pop() : undefined;
      const [a, b] = rest as [Tensor, Tensor];
      return linear(given as Tensor, weight as Tensor, shift, rank > 0 ? { a, b, scale: 1.7 } : undefined);
    };
    // Bounds for the value, then for the gradients: only those of x and the bias do not grow with x.
    await expectLikeStock(layer, inputs, 2e-5, [x, slope(rank, outSize), x, ...(rank > 0 ? [x, x] : []), 0.3]);
  });
});

const PACKED = fc
  .record({
    fours: fc.boolean(),
    storage: fc.constantFrom(...WEIGHT_STORAGES),
    rows: side(140),
    inSize: side(300),
    outSize: side(300),
    rank: fc.oneof(fc.constant(0), side(20)),
    bias: fc.boolean(),
    rowsOfBlock: fc.constantFrom(8, 16, 10_000),
    form: fc.option(fc.constantFrom(...FORMS.filter((name) => productFits(name, "packed", formLimits()))), {
      nil: undefined,
    }),
    x: scale(-8, 0, 8),
    seed: tensorSeed,
  })
  .map(({ fours, ...drawn }) => (fours ? { ...drawn, outSize: fourth(drawn.outSize) } : drawn))
  .filter(({ rows, inSize, outSize }) => rows * inSize * outSize <= 1e6);

it("packed matrices of any shape have the values and gradients of what they stand for", async () => {
  await forAny(4, PACKED, async ({ storage, rows, inSize, outSize, rank, bias, rowsOfBlock, form, x, seed }) => {
    setFormTable({ get: (bucket) => (bucket.includes(" packed ") ? form : undefined) });
    const weight = randomTensor([outSize, inSize], seed + 1, 0.1);
    const matrix = packMatrix(
      new Float32Array((await weight.data()) as Float32Array),
      [outSize, inSize],
      storage,
      rowsOfBlock * inSize,
    );
    const constants = [unpacked(matrix), ...(bias ? [randomTensor([outSize], seed + 2, x)] : [])];
    const inputs = [randomTensor([rows, inSize], seed, x)];
    if (rank > 0) inputs.push(randomTensor([rank, inSize], seed + 3), randomTensor([outSize, rank], seed + 4));
    const layer = (...given: Tensor[]): Tensor => {
      const shift = bias ? given.pop() : undefined;
      const [plain, whole] = [given.pop() as Tensor, given[0] as Tensor];
      const [a, b] = given.slice(1) as [Tensor, Tensor];
      return packedOrPlain(matrix, [whole, plain, shift], rank > 0 ? { a, b, scale: 1.7 } : undefined);
    };
    await expectLikeStock(layer, inputs, 2e-5, [0.1 * x, slope(rank, outSize), x, x], constants);
    tf.dispose([weight, ...constants]);
    matrix.dispose();
  });
});

const ACTIVATED = fc.record({
  kind: fc.constantFrom<Activation[]>("gelu", "relu", "gate", "residual"),
  storage: fc.constantFrom("none" as const, "f16" as const),
  rows: side(70),
  inSize: side(90).map(fourth),
  outSize: side(90),
  rank: fc.constantFrom(0, 3, 8),
  bias: fc.boolean(),
  budget: fc.constantFrom(undefined, 20_000),
  form: fc.constantFrom<ProductName[]>("registers", "tiles-32-32-16-4-4", "tiles-8-64-32-1-4-split-8", SPLIT),
  seed: tensorSeed,
});

it("a layer's product applies the activation or adds the residual that follows, as a separate program does", async () => {
  await forAny(5, ACTIVATED, async ({ kind, storage, rows, inSize, outSize, rank, bias, budget, form, seed }) => {
    setFormTable({ get: () => form });
    setDispatchWork(budget);
    const weight = randomTensor([outSize, inSize], seed + 1, 0.2);
    const packed =
      storage === "none"
        ? undefined
        : packMatrix(new Float32Array((await weight.data()) as Float32Array), [outSize, inSize], storage, 16 * inSize);
    const inputs = [randomTensor([rows, inSize], seed, 2), randomTensor([rows, outSize], seed + 2)];
    if (rank > 0) inputs.push(randomTensor([rank, inSize], seed + 3), randomTensor([outSize, rank], seed + 4));
    const constants = [weight, ...(bias ? [randomTensor([outSize], seed + 5)] : [])];
    const layer =
      (fused: boolean) =>
      (...given: Tensor[]): Tensor => {
        const [x, gate, a, b] = given as [Tensor, Tensor, Tensor, Tensor];
        const [matrix, shift] = given.slice(inputs.length) as [Tensor, Tensor | undefined];
        const branch = rank > 0 ? { a, b, scale: 1.7 } : undefined;
        const [own, takes] = kind === "gate" || kind === "residual" ? [gate, true] : [undefined, false];
        const following = fused ? new Following(kind, own) : undefined;
        const y =
          packed === undefined
            ? linear(x, matrix, shift, branch, following)
            : packedLinear(x, packed, shift, branch, "f32", following);
        const value = fused ? y : activation(kind, y, own);
        // Every input has a gradient.
        return takes ? value : value.add(gate);
      };
    const [one, other] = [
      await valuesAndGradients(layer(true), inputs, constants),
      await valuesAndGradients(layer(false), inputs, constants),
    ];
    // Exponentials of one number and of four at once differ in their last bits on some adapters.
    for (const [at, array] of one.entries()) {
      const separate = other[at] as Float32Array;
      if (kind === "relu" || kind === "residual") expectSameBits(array, separate);
      else expect(distance(array, separate)).toBeLessThan(1e-6);
    }
    tf.dispose([...inputs, ...constants]);
    packed?.dispose();
  });
});

const HALF = fc
  .record({
    storage: fc.constantFrom("f16", "q8", "q4"),
    rows: side(140).map((rows) => rows + FEW_ROWS),
    inSize: side(300),
    outSize: side(300),
    bias: fc.boolean(),
    rowsOfBlock: fc.constantFrom(8, 16, 10_000),
    budget: fc.constantFrom(undefined, 200_000),
    form: fc.constantFrom(...MATRICES),
    /** Twice as many subgroups as parts, as on an adapter that runs with fewer lanes than it may. */
    idle: fc.boolean(),
    x: scale(-12, 0, 8),
    seed: tensorSeed,
  })
  .filter(({ rows, inSize, outSize }) => rows * inSize * outSize <= 1e6);

it("packed matrices of any shape in subgroup matrices, where the adapter has them", async ({ skip }) => {
  const limits = formLimits();
  const { unit } = limits;
  skip(unit === undefined, "this adapter has no subgroup matrices of f16 with sums in f32");
  await forAny(6, HALF, async ({ storage, rows, inSize, outSize, bias, rowsOfBlock, budget, form, idle, x, seed }) => {
    setDispatchWork(budget);
    setAdapterClass("software", { ...limits, unit: unit && { ...unit, lanes: unit.lanes * (idle ? 2 : 1) } });
    expect(productFits(form, "half", formLimits())).toBe(true);
    const taken = new Set<string>();
    setFormTable({
      get: (bucket) => {
        if (!bucket.includes(" half ")) return undefined;
        taken.add(bucket);
        return form;
      },
    });
    const weight = randomTensor([outSize, inSize], seed + 1, 0.1);
    const values = new Float32Array((await weight.data()) as Float32Array);
    const matrix = packMatrix(values, [outSize, inSize], storage, rowsOfBlock * inSize);
    const constants = [unpacked(matrix), ...(bias ? [randomTensor([outSize], seed + 2, x)] : [])];
    const layer = (...[given, plain, shift]: Tensor[]): Tensor =>
      packedOrPlain(matrix, [given as Tensor, plain as Tensor, shift], undefined, "f16");
    await expectLikeStock(layer, [randomTensor([rows, inSize], seed, x)], 2e-3, [0.1 * x, 0.1], constants);
    expect(taken.size).toBe(2);
    setAdapterClass("software", limits);
    tf.dispose([weight, ...constants]);
    matrix.dispose();
  });
});

it("programs in subgroup matrices of any listed size are valid", async ({ skip }) => {
  skip(formLimits().unit === undefined, "this adapter has no subgroup matrices of f16 with sums in f32");
  const { device } = await useGpu();
  for (const [m, n, k] of [
    [16, 16, 16],
    [8, 16, 16],
    [16, 8, 16],
    [16, 8, 8],
    [8, 8, 8],
  ] as const) {
    for (const form of MATRICES) {
      const own = { tile: PRODUCT_FORMS[form], type: "f16", unit: { m, n, k, lanes: 32 } } as const;
      for (const program of [forwardProgram("q4", own, false), backwardProgram("f16", own, true)]) {
        const module = device.createShaderModule({ code: shaderSource(program) });
        expect((await module.getCompilationInfo()).messages.map(({ message }) => message)).toEqual([]);
      }
    }
  }
});

const WINDOWED = fc
  .record({
    batch: fc.integer({ min: 1, max: 3 }),
    height: side(33),
    width: side(33),
    channels: side(20),
    outputs: side(20),
    kernel: fc.tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 7 })),
    stride: fc.integer({ min: 1, max: 4 }),
    padding: fc.integer({ min: 0, max: 3 }),
    seed: tensorSeed,
  })
  .filter(({ height, width, kernel, padding }) => Math.min(height - kernel[0], width - kernel[1]) + 2 * padding >= 0)
  .filter(({ kernel, padding }) => padding < Math.min(...kernel))
  .filter(({ batch, height, width, channels, outputs, kernel }) => {
    return batch * height * width * channels * outputs * kernel[0] * kernel[1] <= 2e6;
  });

it("convolutions of any shape have stock values and gradients", async () => {
  await forAny(4, WINDOWED, async ({ batch, height, width, channels, outputs, kernel, stride, padding, seed }) => {
    const inputs = [
      randomTensor([batch, height, width, channels], seed),
      randomTensor([outputs, channels, ...kernel], seed + 1),
      randomTensor([outputs], seed + 2),
    ];
    const run = (...[x, w, b]: Tensor[]): Tensor => conv2d(x as Tensor, w as Tensor, b as Tensor, stride, padding);
    await expectLikeStock(run, inputs);
  });
});

it("naga computes the same values, and the same bits twice", naga);
