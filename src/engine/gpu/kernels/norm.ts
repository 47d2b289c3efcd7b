import { type Tensor, tf } from "../tf.ts";

/** x · rsqrt(mean(x²) + eps) · weight over the last axis; weight [D]. */
export function rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor {
  return tf.tidy(() => x.mul(x.square().mean(-1, true).add(eps).rsqrt()).mul(weight));
}

/** (x − mean) · rsqrt(var + eps) · weight + bias over the last axis, biased variance; weight, bias [D]. */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor, eps: number): Tensor {
  return tf.tidy(() => {
    const centred = x.sub(x.mean(-1, true));
    const scale = centred.square().mean(-1, true).add(eps).rsqrt();
    return centred.mul(scale).mul(weight).add(bias);
  });
}
