import { type Tensor, tf } from "../tf.ts";

/** The values of a float32 tensor, which is disposed of even if the read-back fails. */
export async function readOnce(tensor: Tensor): Promise<Float32Array<ArrayBuffer>> {
  return (await tensor.data().finally(() => tensor.dispose())) as Float32Array<ArrayBuffer>;
}

/** The values of float32 tensors in one read-back. Separate read-backs would each submit and might each wait. */
export async function readTogether(tensors: readonly Tensor[]): Promise<Float32Array[]> {
  const values = await readOnce(tf.tidy(() => tf.concat(tensors.map((tensor) => tensor.reshape([-1])))));
  let from = 0;
  return tensors.map(({ size }) => {
    from += size;
    return values.slice(from - size, from);
  });
}
