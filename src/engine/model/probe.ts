import type { Tensor } from "../gpu/tf.ts";

/**
 * Receives named intermediate tensors during a forward pass (parity checks, teaching views). The tensor is freed with
 * the pass; clone it to keep it.
 */
export type Probe = (name: string, value: Tensor) => void;
