/** Supervised mask losses at sampled points (docs/spec/sa2va.md#18-supervised-training-recipe). */
import { readOnce } from "../../engine/gpu/runtime/read-back.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { crossEntropy, diceRows, flattened, type MaskLoss } from "../../engine/model/mask-loss.ts";

/** Added to the divisors of point-sampled means, as in the public recipe; keeps them finite. */
const COUNT_EPS = 1e-4;

/**
 * Both losses as in the public training recipe, on P points per mask: Σ cross-entropy / (N·P + 1e-4) and Σ Dice / (N +
 * 1e-4).
 * @param logits logits at the points [N, P]
 * @param truth targets at the points [N, P]
 */
export function pointMaskLoss(logits: Tensor, truth: Tensor): MaskLoss {
  const [bce, dice] = tf.tidy(() => {
    const [z, t] = flattened(logits, truth);
    const [masks, points] = z.shape as [number, number];
    return [
      crossEntropy(z, t)
        .sum()
        .div(masks * points + COUNT_EPS),
      diceRows(z, t)
        .sum()
        .div(masks + COUNT_EPS),
    ];
  }) as [Tensor, Tensor];
  return { bce, dice };
}

/**
 * Bilinear samples of maps at relative positions, zero outside; pixel = c · size − 0.5. Differentiable in the maps.
 * @param maps [N, h, w]
 * @param coords [N, P, 2] as (x, y) in 0..1
 * @returns [N, P]
 */
export function samplePoints(maps: Tensor, coords: Tensor): Tensor {
  return tf.tidy(() => {
    const [count, height, width] = maps.shape as [number, number, number];
    const points = coords.shape[1] as number;
    const axis = (index: number, size: number): Tensor =>
      coords.slice([0, 0, index], [count, points, 1]).reshape([count, points]).mul(size).sub(0.5);
    const [x, y] = [axis(0, width), axis(1, height)];
    const [left, top] = [x.floor(), y.floor()];
    const [right, bottom] = [x.sub(left), y.sub(top)];
    const rowStart = tf
      .range(0, count, 1, "int32")
      .mul(tf.scalar(height * width, "int32"))
      .reshape([count, 1]);
    const flat = maps.reshape([-1]);
    const tap = (dx: number, dy: number): Tensor => {
      const [px, py] = [left.add(dx), top.add(dy)];
      const inside = within(px, width).mul(within(py, height));
      const column = px.clipByValue(0, width - 1).toInt();
      const row = py.clipByValue(0, height - 1).toInt();
      const at = row.mul(tf.scalar(width, "int32")).add(column).add(rowStart);
      const weight = (dx === 0 ? tf.scalar(1).sub(right) : right).mul(dy === 0 ? tf.scalar(1).sub(bottom) : bottom);
      return flat
        .gather(at.reshape([-1]).toInt() as tf.Tensor1D)
        .reshape([count, points])
        .mul(weight.mul(inside));
    };
    return tap(0, 0).add(tap(1, 0)).add(tap(0, 1)).add(tap(1, 1));
  });
}

/** 1 where 0 ≤ position < size. */
function within(position: Tensor, size: number): Tensor {
  return position.greaterEqual(0).toFloat().mul(position.less(size).toFloat());
}

/**
 * Chooses the training points: the candidates whose logits are nearest to 0, then the uniform points. Reads the sampled
 * logits back once.
 * @param logits [N, h, w]
 * @param candidates uniform candidates [N, K, 2]
 * @param keep number of candidates kept per mask
 * @param uniform further points [N, U, 2]
 * @returns [N, keep + U, 2] owned by the caller; a constant
 */
export async function selectPoints(logits: Tensor, candidates: Tensor, keep: number, uniform: Tensor): Promise<Tensor> {
  const [count, total] = candidates.shape as [number, number];
  const distance = await readOnce(tf.tidy(() => samplePoints(logits, candidates).abs()));
  const chosen = new Int32Array(count * keep);
  for (let mask = 0; mask < count; mask++) {
    const order = Array.from({ length: total }, (_, i) => mask * total + i);
    order.sort((a, b) => (distance[a] as number) - (distance[b] as number) || a - b);
    chosen.set(order.slice(0, keep), mask * keep);
  }
  return tf.tidy(() => {
    const kept = candidates.reshape([-1, 2]).gather(tf.tensor1d(chosen, "int32")).reshape([count, keep, 2]);
    return tf.concat([kept, uniform], 1);
  });
}
