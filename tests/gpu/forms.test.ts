/**
 * Every form of products and attention equals its oracle on shapes that no tile divides, with and without subgroups; the
 * tuner fills an empty table; runs keep their table and resume with it.
 */

import { afterEach, beforeAll, expect, it } from "vitest";
import { LabError } from "../../src/engine/errors.ts";
import { forgetShapes, formLimits, formTable, seenShapes, setFormTable } from "../../src/engine/gpu/forms/active.ts";
import {
  ATTENTION_FORMS,
  type AttentionName,
  attentionFits,
  PRODUCT_FORMS,
  type ProductName,
} from "../../src/engine/gpu/forms/records.ts";
import { attention } from "../../src/engine/gpu/kernels/attention/attention.ts";
import { linear } from "../../src/engine/gpu/kernels/linear.ts";
import { setSubgroupSize, subgroupSize, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { keptTable, parseTable, type TuningTable, tableText } from "../../src/engine/tuning/table.ts";
import { languageSweep, sweepRates } from "../../src/plugins/card/sweep.ts";
import { TINY_DECODER } from "../../src/plugins/diagnostics/checks.ts";
import { tuneKernels } from "../../src/plugins/tuner/tuner.ts";
import { distance, FORM_TOLERANCE, onCpu, randomTensor, valuesAndGradients } from "../support/kernels.ts";
import { recordedGpu } from "../support/naga.ts";
import { expectSameBits } from "../support/same-bits.ts";
import { openTestLab, repeatable } from "../support/session.ts";

// Programs for wide heads are those of narrow ones with other numbers, and compile for minutes.
const naga = recordedGpu(/heads of \d+ in the largest tiles/);
let lanes = 0;
beforeAll(() => {
  lanes = subgroupSize();
});
afterEach(() => {
  setFormTable(new Map());
  setSubgroupSize(lanes);
});

/** Compares every form with stock on the CPU, and its second run with the first. Only register forms use subgroups. */
async function eachForm<Name extends ProductName | AttentionName>(
  forms: readonly (Name | "runs on tiles")[],
  f: (...inputs: Tensor[]) => Tensor,
  inputs: readonly Tensor[],
  constants: readonly Tensor[] = [],
): Promise<void> {
  const count = inputs.length;
  switchCustomKernels(false);
  const expected = await onCpu([...inputs, ...constants], (copies) =>
    valuesAndGradients(f, copies.slice(0, count), copies.slice(count)),
  );
  switchCustomKernels(true);
  for (const form of forms) {
    for (const subgroups of form === "registers-8-1" ? [0, lanes] : [lanes]) {
      setSubgroupSize(subgroups);
      const asked: string[] = [];
      setFormTable({
        get: (bucket) => {
          asked.push(bucket);
          if (form !== "runs on tiles") return form;
          return bucket.startsWith("product") ? "tiles-32-32-16-4-4" : "runs";
        },
      });
      const found = await valuesAndGradients(f, inputs, constants);
      const again = await valuesAndGradients(f, inputs, constants);
      expect(asked.length).toBeGreaterThan(0);
      found.forEach((array, i) => {
        const what = `${form}, ${subgroups} lanes, ${i === 0 ? "value" : `gradient ${i}`}`;
        expect(distance(array, expected[i] as Float32Array, 0.1), what).toBeLessThan(FORM_TOLERANCE);
        expectSameBits(again[i] as Float32Array, array, what);
      });
    }
  }
  tf.dispose([...inputs, ...constants]);
}

// Subgroup matrices multiply packed matrices in half precision only: tests/gpu/random/products.test.ts. Stock products are
// compared wherever kernels run in the form for cards.
const PRODUCTS = (Object.keys(PRODUCT_FORMS) as ProductName[]).filter((name) => !/^stock$|-matrices$/.test(name));

it("a layer with bias and branch, and its gradients", async () => {
  const inputs = [[70, 36], [67, 36], [4, 36], [67, 4], [67]].map((shape, i) => randomTensor(shape, i, 0.5));
  await eachForm(
    // Where a tile can also be loaded in vectors, its plain loads are tested by the batches below.
    PRODUCTS.filter((name) => !PRODUCTS.some((other) => other === `${name}-vectors`)),
    (...[x, w, a, b, bias]) => linear(x as Tensor, w as Tensor, bias, { a: a as Tensor, b: b as Tensor, scale: 0.7 }),
    inputs,
  );
});

it("batches of products in all orders", async () => {
  await eachForm(
    PRODUCTS,
    (...[a, b]) => {
      const [x, y] = [a as Tensor, b as Tensor];
      const [xt, yt] = [x.transpose([0, 2, 1]), y.transpose([0, 2, 1])];
      const all = [
        tf.matMul(x, y),
        tf.matMul(xt, y, true),
        tf.matMul(x, yt, false, true),
        tf.matMul(xt, yt, true, true),
      ];
      return tf.addN(all);
    },
    // Multiples of 4, so that all orders are loaded in vectors; the layer above has other sizes.
    [randomTensor([3, 36, 20], 1), randomTensor([3, 20, 44], 2)],
  );
});

it.each([
  [2, 1, 3, 37, 37, 36, undefined],
  [1, 2, 2, 41, 59, 36, {}],
  [1, 1, 2, 70, 90, 36, { reach: 19 }],
] as const)("attention of %i × %i × %i heads, %i queries, %i keys of %i, %j", async (...drawn) => {
  const [batch, keyHeads, group, queries, keys, width, causal] = drawn;
  const heads = batch * keyHeads * group;
  const sizes = { heads, group, queries, keys, width, valueWidth: width, causal: causal !== undefined };
  const inputs = [
    randomTensor([batch, keyHeads * group, queries, width], 1),
    randomTensor([batch, keyHeads, keys, width], 2),
    randomTensor([batch, keyHeads, keys, width], 3),
  ];
  // Programs with a mask and without one are compiled once each, because all heads have one width.
  const masked = causal === undefined || !("reach" in causal);
  const mask = masked ? [randomTensor([batch, 1, queries, keys], 4)] : [];
  const names = Object.keys(ATTENTION_FORMS) as AttentionName[];
  const fitting = names.filter((form) => attentionFits(form, sizes, formLimits(), 2 ** 30));
  // Narrow heads are tested in tests/gpu/kernels-attention.test.ts.
  expect(fitting).toEqual(names.filter((form) => form !== "narrow"));
  const run = (...[q, k, v, hidden]: Tensor[]): Tensor =>
    attention(q as Tensor, k as Tensor, v as Tensor, 0.3, hidden, causal);
  // The largest tile has the code of the others; without a mask, it compiles longest on a software adapter.
  const forms = masked ? fitting : fitting.filter((form) => form !== "tiles-64-64");
  await eachForm([...forms, "runs on tiles"], run, inputs, mask);
});

// Wide heads have fewer queries and rows in workgroup memory, and odd numbers of them a thread.
it.each([96, 128])("attention of heads of %i in the largest tiles", async (width) => {
  const inputs = [57, 70, 70].map((rows, seed) => randomTensor([1, 1, rows, width], seed + 1));
  const mask = randomTensor([1, 1, 57, 70], 4);
  const run = (...[q, k, v, hidden]: Tensor[]): Tensor =>
    attention(q as Tensor, k as Tensor, v as Tensor, 0.1, hidden, undefined);
  await eachForm(["tiles-64-64"], run, inputs, [mask]);
});

it("naga computes the same values, and the same bits twice", naga);

it("the tuner fills an empty table, stops when asked, and a run keeps its table and resumes with it", async () => {
  const lab = await openTestLab();
  const { forms } = lab.session;
  expect((await forms.table()).entries).toEqual([]);
  forgetShapes();
  const [x, w] = [randomTensor([40, 24], 1), randomTensor([28, 24], 2)];
  const q = randomTensor([1, 2, 20, 8], 3);
  tf.dispose([linear(x, w), attention(q, q, q, 0.5)]);
  tf.dispose([x, w, q]);
  const buckets = seenShapes().map(({ bucket }) => bucket);
  expect(buckets).toEqual(["product nt plain f32 m6 n5 k5 b0", "attention whole f32 q5 k5 w3 h1 g0"]);

  const tensors = tf.memory().numTensors;
  const stop = new AbortController();
  const onBucket = (): void => stop.abort();
  await expect(tuneKernels(lab.session, false, { onBucket, signal: stop.signal })).rejects.toThrow(LabError);
  expect((await forms.table()).entries).toEqual([]);
  // A clock for the test: every slice takes equally long, so nothing is faster than the reference.
  let time = 0;
  const told: string[] = [];
  const even = await tuneKernels(lab.session, false, {
    now: () => time++,
    stamps: false,
    onBucket: (...of) => told.push(of.join(" ")),
  });
  expect(told.map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(["0 2", "1 2"]);
  expect(even.entries.map(({ form, reference, ratio }) => [form, reference, ratio])).toEqual([
    ["registers", "registers", 1],
    ["narrow", "narrow", 1],
  ]);
  expect(even.peak).toBeGreaterThan(1e6);
  const measured = await tuneKernels(lab.session, true, { peak: async () => 1e12 });
  expect(measured.peak).toBe(1e12);
  expect(measured.entries.map(({ bucket }) => bucket)).toEqual(buckets);
  for (const { seconds, ratio, stock, rate } of measured.entries) {
    expect(Math.min(seconds, ratio, stock ?? 1, rate)).toBeGreaterThan(0);
    expect(ratio).toBeLessThanOrEqual(1);
  }
  // The sweep of the card battery, over a small model's layers.
  const held = seenShapes();
  const sweep = languageSweep({ ...TINY_DECODER, hiddenSize: 36, heads: 9, kvHeads: 9, headSize: 4 }, 40, "f32");
  const asked = new Set(sweep.slice(1, -1).map(({ bucket }) => bucket));
  const rates = [];
  const now = (): number => performance.now();
  for await (const rate of sweepRates(lab.session.device, now, sweep, { known: asked })) rates.push(rate);
  expect(rates.map((rate) => rate.case)).toEqual([sweep[0]?.bucket, sweep.at(-1)?.bucket]);
  for (const rate of rates) expect(rate.value).toBeGreaterThan(1e5);
  expect(seenShapes()).toEqual(held);
  expect(tf.memory().numTensors).toBe(tensors);

  // Every product of a run in another form than the built-in one: the numbers show which table was used.
  const run = await lab.start({ steps: 1, loops: "1" });
  await run.done;
  const shapes = seenShapes().map(({ bucket }) => bucket);
  const other: TuningTable = {
    ...measured,
    entries: shapes.map((bucket) => {
      const [form, reference] = bucket.startsWith("product") ? ["registers-8-1", "registers"] : ["runs", "narrow"];
      return { bucket, form, reference, seconds: 1, ratio: 1, stock: null, rate: 1 };
    }),
  };
  await forms.take(tableText(other), "other.json");
  const one = await lab.start({ steps: 2, loops: "1" });
  await one.done;
  const second = await lab.start({ steps: 2, loops: "1", saveSteps: 1 });
  lab.watch = (event, session) => {
    if (event.type === "step" && event.step === 1) session.trainer?.control.stop();
  };
  expect(await second.done).toBe("stopped");
  lab.watch = () => undefined;
  expect(await keptTable(lab.store, second.manifest.id)).toEqual(parseTable(tableText(other), "other.json"));
  // The session continues with another table; the run does not.
  await forms.take(tableText({ ...other, entries: [] }), "empty.json");
  const resumed = await lab.resume(second.manifest.id);
  expect(formTable().get(shapes[0] as string)).toBe(other.entries[0]?.form);
  await resumed.done;
  expect(formTable().get(shapes[0] as string)).toBeUndefined();
  const numbers = async (id: string) =>
    (await lab.metrics(id)).map((row) =>
      Object.fromEntries(Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/"))),
    );
  expect(await numbers(second.manifest.id)).toEqual(await numbers(one.manifest.id));
  lab.session.dispose();
});
