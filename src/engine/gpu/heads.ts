/** Cuts attention heads out of projected rows in one pass. */
import { builtInForms } from "./forms/active.ts";
import { customKernels } from "./runtime/custom-kernels.ts";
import { suits, toTensor } from "./runtime/custom-op.ts";
import { type Tensor, tf } from "./tf.ts";
import { stridedCopy } from "./tfjs/strided-copy.ts";

/**
 * Heads of one part (query, key or value) of projected rows. Not differentiable: for frozen towers.
 * @param x [N, …, parts · heads · d]; the axes between are flattened to T places
 * @param part index of the part, from 0
 * @returns [N, heads, T, d]
 */
export function headsOfPart(x: Tensor, heads: number, part = 0, parts = 1): Tensor {
  const [count] = x.shape as [number];
  const width = x.shape[x.rank - 1] as number;
  const places = x.size / (count * width);
  const depth = width / (parts * heads);
  const shape = [count, heads, places, depth];
  if (customKernels() && builtInForms().moves && suits(x)) {
    const axes = [
      { size: count, from: places * width, to: heads * places * depth },
      { size: heads, from: depth, to: places * depth },
      { size: places, from: width, to: depth },
      { size: depth, from: 1, to: 1 },
    ];
    const copied = stridedCopy(x, { shape }, { axes, fromAt: part * heads * depth, toAt: 0 });
    if (copied !== undefined) return toTensor(copied);
  }
  return tf.tidy(() => {
    const rows = x.reshape([count, places, width]);
    const own = parts === 1 ? rows : tf.slice(rows, [0, 0, part * heads * depth], [count, places, heads * depth]);
    return own.reshape([count, places, heads, depth]).transpose([0, 2, 1, 3]);
  });
}
