import { beforeAll, describe, expect, it } from "vitest";
import { defineOp, toTensor } from "../../src/engine/gpu/runtime/custom-op.ts";
import { gradientsOf } from "../../src/engine/gpu/runtime/tape.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { recomputing, type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { segmentPictures } from "../../src/engine/policy/partner.ts";
import { logpsOf } from "../support/caption-logps.ts";
import { useGpu } from "../support/gpu.ts";
import { type TinyGroup, tinyGroup } from "../support/tiny-group.ts";

let tiny: TinyGroup;
beforeAll(async () => {
  await useGpu();
  tiny = await tinyGroup();
});

type Gradients = (
  loss: () => Tensor,
  xs: readonly Tensor[],
) => { value: Tensor; grads: readonly (Tensor | undefined)[] };

const stock: Gradients = (loss, xs) => tf.engine().gradients(() => loss().asScalar(), [...xs], undefined, true);

/** Value and gradients on the host, and the most bytes of tensors at a time. */
async function computed(gradients: Gradients, loss: () => Tensor, xs: readonly Tensor[]) {
  const before = tf.memory();
  const profile = await tf.profile(() => {
    const { value, grads } = gradients(loss, xs);
    return Object.fromEntries([value, ...grads].flatMap((tensor, at) => (tensor == null ? [] : [[at, tensor]])));
  });
  const values = new Map<string, Float32Array>();
  for (const [at, tensor] of Object.entries(profile.result as Record<string, Tensor>)) {
    values.set(at, (await tensor.data()) as Float32Array);
    tensor.dispose();
  }
  const left = tf.memory().numTensors - before.numTensors;
  return { values, peak: profile.peakBytes - before.numBytes, left };
}

function losses(weights: Weights): Readonly<Record<string, () => Tensor>> {
  const { model, features, prompt, completions } = tiny;
  return {
    caption: () => logpsOf(model, weights, { features, prompt, completions }, FULL_SAMPLING).logps.sum(),
    mask: () =>
      segmentPictures(model, weights, [{ features, phrases: ["a red square", "sky"] }])
        .masks.square()
        .mean(),
  };
}

describe("a tape that frees as it goes", () => {
  it.each([
    ["caption", false, 0.7],
    ["mask", false, 0.8],
    ["caption", true, 0.9],
    ["mask", true, 0.9],
  ] as const)(
    "gives the gradients of the %s loss (recomputed: %s) bit for bit, from a lower peak",
    async (loss, again, share) => {
      const { model, set } = tiny;
      const plain = weightsView(model.frozen, set, 2);
      const own = losses(again ? recomputing(plain, set) : plain)[loss] as () => Tensor;
      const usual = await computed(stock, own, Object.values(set));
      const freed = await computed(gradientsOf, own, Object.values(set));
      expect(usual.values.size).toBeGreaterThan(10);
      expect([...freed.values.keys()]).toEqual([...usual.values.keys()]);
      for (const [at, values] of usual.values) expect(freed.values.get(at), at).toEqual(values);
      expect([usual.left, freed.left]).toEqual([0, 0]);
      expect(freed.peak, `${freed.peak} of ${usual.peak}`).toBeLessThan(share * usual.peak);
    },
  );

  it("keeps gradients that are passed on unchanged, that serve two inputs, or that belong to someone else", async () => {
    const [x, w] = [tf.tensor1d([1, 2, 3]), tf.tensor1d([4, 5, 6])];
    const sum = defineOp({
      name: "TestPassedOn",
      forward: ({ a, b }) => [tf.add(toTensor(a), toTensor(b))],
      gradient: ([dy]) => ({ a: () => dy as Tensor, b: () => dy as Tensor }),
    });
    const twice = defineOp({
      name: "TestOneForBoth",
      forward: ({ a, b }) => [tf.add(toTensor(a), toTensor(b))],
      gradient: ([dy]) => {
        const doubled = (dy as Tensor).mul(2);
        return { a: () => doubled, b: () => doubled };
      },
    });
    const foreign = defineOp({
      name: "TestForeign",
      forward: ({ a }) => [tf.mul(toTensor(a), 1)],
      gradient: () => ({ a: () => w }),
    });
    const loss = (): Tensor => {
      const [a] = sum({ a: x.square(), b: x }) as [Tensor];
      const [b] = twice({ a, b: a }) as [Tensor];
      const [c] = foreign({ a: b.mul(w) }) as [Tensor];
      return c.sum();
    };
    // dc = w, db = w², da = 4 w², dx = 4 w² (2 x + 1), dw = w · b with b = 2 (x² + x).
    const { value, grads } = gradientsOf(loss, [x, w]);
    const [dx, dw] = grads as [Tensor, Tensor];
    expect(await dx.array()).toEqual([4 * 16 * 3, 4 * 25 * 5, 4 * 36 * 7]);
    expect(await dw.array()).toEqual([4 * 4, 5 * 12, 6 * 24]);
    expect(await w.array()).toEqual([4, 5, 6]);
    tf.dispose([x, w, value, dx, dw]);
  });

  it("frees what was recorded when the loss throws, and refuses a gradient inside a recording", () => {
    const x = tf.tensor1d([1, 2]);
    const before = tf.memory().numTensors;
    const thrower = (): Tensor => {
      x.square();
      throw new Error("no loss");
    };
    expect(() => gradientsOf(thrower, [x])).toThrow("no loss");
    expect(() => gradientsOf(() => gradientsOf(() => x.square().sum(), [x]).value, [x])).toThrow("while another");
    expect(tf.memory().numTensors).toBe(before);
    x.dispose();
  });
});
