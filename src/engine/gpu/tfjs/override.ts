import { tf } from "../tf.ts";

type Result = tf.TensorInfo | tf.TensorInfo[];
type Params = Parameters<tf.KernelFunc>[0];

/**
 * Puts a custom version in front of a kernel of the WebGPU backend, or of an earlier custom version. Does nothing if
 * the backend lacks the kernel. Call it once per realm and version.
 * @param own returns undefined to use the previous kernel, which it can also call itself
 */
export function overrideKernel(
  name: string,
  own: (params: Params, before: (params: Params) => Result) => Result | undefined,
): void {
  const stock = tf.getKernel(name, "webgpu");
  if (stock === undefined) return;
  const before = (params: Params): Result => stock.kernelFunc(params);
  tf.unregisterKernel(name, "webgpu");
  tf.registerKernel({ ...stock, kernelFunc: (params) => own(params, before) ?? before(params) });
}
