/**
 * Points at which the mask losses of large masks are computed, drawn as in the published recipe
 * (docs/spec/sa2va.md#18-supervised-training-recipe).
 */
import { type Tensor, tf } from "../gpu/tf.ts";
import { selectPoints } from "../model/mask-loss.ts";

/** Uniform candidates per point. */
const OVERSAMPLE = 3;
/** Share of the points taken from the least certain candidates; the rest are uniform. */
const UNCERTAIN = 0.75;

/**
 * Three quarters of the points are the candidates at which the masks are least certain; one quarter is uniform.
 * @param logits [R, h, w]
 * @param points P per mask
 * @param draw uniform number in (0, 1) for (mask, n-th number)
 * @returns [R, P, 2] as (x, y) in 0..1, owned by the caller
 */
export async function drawPoints(
  logits: Tensor,
  points: number,
  draw: (mask: number, n: number) => number,
): Promise<Tensor> {
  const masks = logits.shape[0] as number;
  const [candidates, certain] = [OVERSAMPLE * points, Math.round(UNCERTAIN * points)];
  const coordinates = (count: number, from: number): Tensor => {
    const values = new Float32Array(masks * count * 2);
    for (let mask = 0; mask < masks; mask++) {
      for (let n = 0; n < count * 2; n++) values[mask * count * 2 + n] = draw(mask, from + n);
    }
    return tf.tensor3d(values, [masks, count, 2]);
  };
  const spread = coordinates(candidates, 0);
  const anywhere = coordinates(points - certain, 2 * candidates);
  const chosen = await selectPoints(logits, spread, certain, anywhere);
  tf.dispose([spread, anywhere]);
  return chosen;
}
