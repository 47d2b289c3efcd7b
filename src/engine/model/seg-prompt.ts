/** From the hidden state of [SEG] to SAM2's language prompt (docs/spec/sa2va.md#12-from-seg-to-the-language-prompt). */
import { type Tensor, tf } from "../gpu/tf.ts";
import { activatedLayer, linearLayer } from "./weights/linear-layer.ts";
import type { Weights } from "./weights/weights.ts";

/**
 * Linear, ReLU, linear. Differentiable in `hidden` and in `text_hidden_fcs.*`.
 * @param hidden final normed hidden states where [SEG] is the input, [n, D]
 * @returns [n, C], C = SAM2's hidden size (256 in published models)
 */
export function languagePrompt(w: Weights, hidden: Tensor): Tensor {
  return tf.tidy(() => {
    const inner = activatedLayer(w, "text_hidden_fcs.0", hidden, "relu");
    return linearLayer(w, "text_hidden_fcs.2", inner);
  });
}
