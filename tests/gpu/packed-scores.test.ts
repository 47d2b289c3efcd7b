/** Chosen log-probabilities in runs of places against all logits at once, over whole and split heads. */
import { beforeAll, describe, expect, it } from "vitest";
import { tokenScores } from "../../src/engine/gpu/kernels/logprob.ts";
import { unpacked } from "../../src/engine/gpu/packed/linear.ts";
import { type PackedMatrix, packMatrix } from "../../src/engine/gpu/packed/matrix.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { packedScores } from "../../src/engine/model/language/language.ts";
import { useGpu } from "../support/gpu.ts";
import { distance, randomTensor } from "../support/kernels.ts";

const [PLACES, VOCABULARY, WIDTH] = [23, 301, 40];

beforeAll(async () => {
  await useGpu();
});

/** Head as a tensor, and packed into blocks of some seventy rows. */
function heads(storage: "f32" | "f16" | "q8" | "q4"): PackedMatrix {
  const values = Float32Array.from({ length: VOCABULARY * WIDTH }, (_, i) => Math.sin(i * 12.9898) * 0.4);
  return packMatrix(values, [VOCABULARY, WIDTH], storage, 70 * WIDTH);
}

/** Values and gradient by hidden of Σ a·logp + b·entropy. */
async function scored(head: PackedMatrix, hidden: Tensor, ids: Tensor, logitBytes: number): Promise<Float32Array[]> {
  const found = tf.tidy(() => {
    const loss = (x: Tensor): Tensor => {
      const { logp, entropy } = packedScores(head, x, ids, 0.8, 30, logitBytes);
      const factors = tf.range(0, PLACES).mul(0.7).sin();
      return logp
        .mul(factors)
        .add(entropy.mul(factors.mul(0.3)))
        .sum();
    };
    const { logp, entropy } = packedScores(head, hidden, ids, 0.8, 30, logitBytes);
    return [logp, entropy, tf.grad(loss)(hidden)];
  });
  const arrays: Float32Array[] = [];
  for (const tensor of found) arrays.push((await tensor.data()) as Float32Array);
  tf.dispose(found);
  return arrays;
}

describe("chosen log-probabilities", () => {
  it.each(["f32", "f16", "q8", "q4"] as const)(
    "in runs over a head in %s equal those of all logits",
    async (storage) => {
      const before = tf.memory().numTensors;
      const matrix = heads(storage);
      expect(matrix.blocks.length).toBeGreaterThan(3);
      const whole = unpacked(matrix);
      const hidden = randomTensor([PLACES, WIDTH], 4);
      const ids = tf.tensor1d(
        Array.from({ length: PLACES }, (_, i) => (i * 97) % VOCABULARY),
        "int32",
      );
      const expected = await scored(matrix, hidden, ids, 2 ** 30);
      for (const logitBytes of [2 ** 30, 4 * VOCABULARY * 5, 1]) {
        const found = await scored(matrix, hidden, ids, logitBytes);
        found.forEach((array, i) => {
          expect(distance(array, expected[i] as Float32Array), `array ${i}, ${logitBytes} bytes`).toBeLessThan(2e-5);
        });
      }
      const logits = tf.matMul(hidden as tf.Tensor2D, whole as tf.Tensor2D, false, true);
      const direct = tokenScores(logits, ids, 0.8, 30);
      expect(distance(expected[0] as Float32Array, (await direct.logp.data()) as Float32Array)).toBeLessThan(1e-5);
      tf.dispose([whole, hidden, ids, logits, direct.logp, direct.entropy]);
      matrix.dispose();
      expect(tf.memory().numTensors).toBe(before);
    },
  );
});
