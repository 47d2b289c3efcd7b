/**
 * When recorded commands are handed in. The backend does it every 15 dispatches, some 400 times a step, and each time
 * costs a message to the GPU process; one submit for a whole phase would leave the GPU waiting for the host. What is
 * disposed of is freed only with the submit, so that large tensors hand in earlier than many dispatches do, as does
 * much work (gpu/runtime/work-budget.ts) and every read-back.
 *
 * Touches private members of tfjs-backend-webgpu 4.22.0; tests/gpu/submits.test.ts guards them.
 */

import { tf } from "../tf.ts";
import { flushBackend } from "./program.ts";

/** Dispatches of one submit at most; what fewer and more cost: docs/performance.md. */
export const SUBMIT_DISPATCHES = 64;
/** Bytes of tensors that wait for the submit to be freed, at most and the last one more. */
const HELD_BYTES = 32 * 2 ** 20;

interface Disposing {
  readonly tensorMap: { get(id: object): { readonly resource: { readonly size?: number } | null } | undefined };
  readonly tensorDataPendingDisposal: readonly object[];
  disposeData(id: object, force?: boolean): boolean;
}

let most = HELD_BYTES;

/** Tests make it small. */
export function setHeldBytes(bytes: number = HELD_BYTES): void {
  most = bytes;
}

/** Changes when the current backend submits, which must be a new "webgpu" one. */
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
