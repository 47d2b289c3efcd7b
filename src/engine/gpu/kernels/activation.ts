import { type Tensor, tf } from "../tf.ts";

/** x · Φ(x) in the exact erf form. */
export function gelu(x: Tensor): Tensor {
  return tf.tidy(() => x.mul(x.mul(Math.SQRT1_2).erf().add(1)).mul(0.5));
}

/** x · sigmoid(x). */
export function silu(x: Tensor): Tensor {
  return tf.tidy(() => x.mul(x.sigmoid()));
}

/** silu(gate) · up. */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  return tf.tidy(() => silu(gate).mul(up));
}
