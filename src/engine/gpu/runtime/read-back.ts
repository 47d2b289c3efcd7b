import { type Tensor, tf } from "../tf.ts";

/** The values of float32 tensors in one read-back. Separate ones would each submit and may each wait. */
export async function readTogether(tensors: readonly Tensor[]): Promise<Float32Array[]> {
  const all = tf.tidy(() => tf.concat(tensors.map((tensor) => tensor.reshape([-1]))));
  const values = (await all.data().finally(() => all.dispose())) as Float32Array;
  let from = 0;
  return tensors.map(({ size }) => {
    from += size;
    return values.slice(from - size, from);
  });
}
