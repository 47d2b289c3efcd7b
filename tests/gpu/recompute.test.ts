import { beforeAll, describe, expect, it } from "vitest";
import { recomputed } from "../../src/engine/gpu/runtime/recompute.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { recomputing, type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { FULL_SAMPLING } from "../../src/engine/policy/decode/sampler.ts";
import { segmentPictures } from "../../src/engine/policy/partner.ts";
import { logpsOf } from "../support/caption-logps.ts";
import { useGpu } from "../support/gpu.ts";
import { gradientGap, type TinyGroup, tinyGroup } from "../support/tiny-group.ts";

let tiny: TinyGroup;

beforeAll(async () => {
  await useGpu();
  tiny = await tinyGroup();
});

/** Loss over sampled captions and over mask logits, as the two loops have them. */
function losses(weights: Weights): Readonly<Record<string, () => Tensor>> {
  const { model, features, prompt, completions } = tiny;
  return {
    caption: () => {
      const scored = logpsOf(model, weights, { features, prompt, completions }, FULL_SAMPLING);
      return scored.logps.sum().add(scored.entropies.sum());
    },
    mask: () =>
      segmentPictures(model, weights, [{ features, phrases: ["a red square", "sky"] }])
        .masks.square()
        .mean(),
  };
}

async function gradients(weights: Weights, loss: string) {
  const { set } = tiny;
  const names = Object.keys(set);
  const before = tf.memory().numTensors;
  const profile = await tf.profile(() => {
    const { value, grads } = tf.engine().gradients(
      () => (losses(weights)[loss] as () => Tensor)().asScalar(),
      names.map((name) => set[name] as Tensor),
      undefined,
      true,
    );
    return [value, ...grads.filter((grad) => grad !== undefined && grad !== null)];
  });
  const { value, grads } = tf.engine().gradients(
    () => (losses(weights)[loss] as () => Tensor)().asScalar(),
    names.map((name) => set[name] as Tensor),
    undefined,
    true,
  );
  const values = new Map<string, Float32Array>();
  for (const [at, name] of names.entries()) {
    const grad = grads[at] as Tensor | null | undefined;
    if (grad === null || grad === undefined) continue;
    values.set(name, (await grad.data()) as Float32Array);
  }
  tf.dispose([value, ...(profile.result as Tensor[])]);
  tf.dispose(grads.filter((grad) => grad !== undefined && grad !== null));
  return { values, peak: profile.peakBytes, left: tf.memory().numTensors - before };
}

describe("recomputed activations", () => {
  it.each(["caption", "mask"])("give the same gradients of the %s loss from a lower peak", async (loss) => {
    const { model, set } = tiny;
    const plain = weightsView(model.frozen, set, 2);
    const kept = await gradients(plain, loss);
    const again = await gradients(recomputing(plain, set), loss);
    expect([...again.values.keys()]).toEqual([...kept.values.keys()]);
    expect([...kept.values.keys()].some((name) => name.endsWith("layers.0.self_attn.q_proj.lora_A.weight"))).toBe(true);
    expect(gradientGap(kept.values, again.values)).toBeLessThan(1e-6);
    expect([kept.left, again.left]).toEqual([0, 0]);
    // Only two blocks, so the activations inside a block are a small part; the mask loss also keeps those of the mask
    // decoder.
    expect(again.peak).toBeLessThan((loss === "caption" ? 0.7 : 0.85) * kept.peak);
  });

  it("work with several outputs, unused ones, constants and nothing to differentiate", async () => {
    const [x, w, c] = [tf.tensor1d([1, 2, 3]), tf.tensor1d([2, 3, 4]), tf.tensor1d([1, 0, 1])];
    const part = () =>
      recomputed({
        inputs: [x],
        parameters: [w],
        constants: [c],
        run: ([input], [constant]) => {
          const product = (input as Tensor).mul(w);
          return [product.mul(constant as Tensor), product.square(), product.exp()];
        },
      });
    const grads = tf.grads(() => {
      const [first, second] = part() as [Tensor, Tensor];
      return first.sum().add(second.sum());
    })([x, w]);
    // d/dx (c x w + (x w)²) = c w + 2 x w², and the same with x and w exchanged.
    expect(Array.from(await (grads[0] as Tensor).data())).toEqual([2 + 8, 36, 4 + 96]);
    expect(Array.from(await (grads[1] as Tensor).data())).toEqual([1 + 4, 24, 3 + 72]);
    const plain = part();
    expect(plain).toHaveLength(3);
    tf.dispose([x, w, c, ...grads, ...plain]);
  });
});
