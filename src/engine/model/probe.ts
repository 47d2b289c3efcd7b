import type { Tensor } from "../gpu/tf.ts";

/**
 * Sees named intermediate tensors while a forward pass runs (parity checks, teaching views). The tensor dies with the
 * pass: clone it to keep it.
 */
export type Probe = (name: string, value: Tensor) => void;
