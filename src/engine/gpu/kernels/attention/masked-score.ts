/** How all our attention programs turn a product of query and key into a score: scale and mask. */
import { u32s } from "../../runtime/uniforms.ts";
import type { tf } from "../../tf.ts";

/** Uniforms after `masked`: element strides of the mask in [B, heads, Tq, Tk], 0 where it is shared, and the factor. */
export const MASK_FIELDS = {
  ...u32s("maskBatch maskHead maskRow maskKey"),
  scale: "f32",
} as const;

/** The scaled product, plus element `at` of the buffer `mask` where `u.masked` is set. */
export const SCORE = `
    fn score(product: f32, at: u32) -> f32 {
      var extra = 0.0;
      if (u.masked != 0u) { extra = mask[at]; }
      return u.scale * product + extra;
    }`;

/** `SCORE` of four adjacent keys. */
export const SCORES = `
    fn scores(products: vec4f, at: u32) -> vec4f {
      var extra = vec4f(0);
      if (u.masked != 0u) {
        extra = vec4f(mask[at], mask[at + u.maskKey], mask[at + 2u * u.maskKey], mask[at + 3u * u.maskKey]);
      }
      return u.scale * products + extra;
    }`;

/** Element strides of a mask in [B, heads, Tq, Tk], 0 where it is shared. */
export function maskStrides(mask: tf.TensorInfo): [number, number, number, number] {
  const shape = [1, 1, 1, 1, ...mask.shape].slice(-4);
  let stride = 1;
  const strides: [number, number, number, number] = [0, 0, 0, 0];
  for (let axis = 3; axis >= 0; axis--) {
    const size = shape[axis] as number;
    strides[axis] = size === 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}
