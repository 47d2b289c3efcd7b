/** TensorFlow.js code as a contender: with our kernels, or with the stock operations. */
import { switchOwnKernels } from "../../../src/engine/gpu/own-kernels.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import type { Calls } from "../turns.ts";

/** @param call owns nothing it returns; waits by itself only where the work needs a read-back */
export function tensorContender(own: boolean, call: () => Tensor[] | Promise<Tensor[]>): Calls {
  return async (calls) => {
    switchOwnKernels(own);
    let last: Tensor[] = [];
    try {
      for (let i = 0; i < calls; i++) {
        tf.dispose(last);
        last = await call();
      }
      // The queue works in order, so the first result's read-back may come before the last is done.
      await last.at(-1)?.data();
    } finally {
      tf.dispose(last);
      switchOwnKernels(true);
    }
  };
}
