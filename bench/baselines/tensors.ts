/** TensorFlow.js code as a baseline: with our kernels, or with the stock operations. */

import { SUBMIT_DISPATCHES } from "../../src/engine/gpu/memory-sizes.ts";
import { switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Calls } from "../turns.ts";

/** Dispatches after which TensorFlow.js submits on its own. */
const STOCK_DISPATCHES = 15;

/** Our kernels and submits, or the stock ones. */
export function switchBaseline(own: boolean): void {
  switchCustomKernels(own);
  tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", own ? SUBMIT_DISPATCHES : STOCK_DISPATCHES);
}

/** @param call does not own its results; waits only if the work needs a read-back */
export function tensorBaseline(own: boolean, call: () => Tensor[] | Promise<Tensor[]>): Calls {
  return async (calls) => {
    switchBaseline(own);
    let last: Tensor[] = [];
    try {
      for (let i = 0; i < calls; i++) {
        tf.dispose(last);
        last = await call();
      }
      // The queue works in order, so reading back the last result waits for all.
      await last.at(-1)?.data();
    } finally {
      tf.dispose(last);
      switchBaseline(true);
    }
  };
}
