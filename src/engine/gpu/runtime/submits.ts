/**
 * When recorded commands are submitted. The backend submits every 15 dispatches, some 400 times a step, and each submit
 * costs a message to the GPU process. A single submit per phase would leave the GPU waiting for the host. Disposed
 * tensors are freed only with the submit, so large ones cause an earlier submit, as do much work
 * (gpu/runtime/work-budget.ts) and every read-back.
 *
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/submits.test.ts guards them.
 */

import { HELD_BYTES, SUBMIT_DISPATCHES } from "../memory-sizes.ts";
import { tf } from "../tf.ts";
import { flushBackend } from "./program.ts";

interface Disposing {
  readonly tensorMap: { get(id: object): { readonly resource: { readonly size?: number } | null } | undefined };
  readonly tensorDataPendingDisposal: readonly object[];
  disposeData(id: object, force?: boolean): boolean;
}

let most = HELD_BYTES;

/** For tests. */
export function setHeldBytes(bytes: number = HELD_BYTES): void {
  most = bytes;
}

/** Changes when the current backend submits; it must be a new "webgpu" one. */
export function installSubmits(): void {
  tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", SUBMIT_DISPATCHES);
  const backend = tf.backend() as unknown as Disposing;
  const stock = backend.disposeData.bind(backend);
  let held = 0;
  backend.disposeData = (id, force) => {
    const before = backend.tensorDataPendingDisposal.length;
    const bytes = backend.tensorMap.get(id)?.resource?.size ?? 0;
    const gone = stock(id, force);
    if (backend.tensorDataPendingDisposal.length > before) {
      held = (before === 0 ? 0 : held) + bytes;
      if (held > most) flushBackend();
    }
    return gone;
  };
}
