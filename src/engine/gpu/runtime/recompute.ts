/**
 * Activation recomputation (gradient checkpointing): a part of the forward pass keeps only its inputs and runs again
 * when its gradient is computed (Chen et al. 2016, arXiv 1604.06174). It trades about one more forward pass for the
 * memory of everything inside the part.
 */
import { type Tensor, tf } from "../tf.ts";
import { onTape, outputGradients, recordPart } from "./tape.ts";

interface RecomputedPart {
  /** Input activations that may need a gradient; kept until the backward pass. */
  readonly inputs: readonly Tensor[];
  /** Weights that may need a gradient; the caller keeps them alive, and `run` reads them itself. */
  readonly parameters: readonly Tensor[];
  /** Constants made in the forward pass, kept until the backward pass. */
  readonly constants: readonly Tensor[];
  /** A pure function of inputs, constants and weights; its outputs are new tensors. */
  run(inputs: readonly Tensor[], constants: readonly Tensor[]): Tensor[];
}

/** Outputs of `part.run`, differentiable in its inputs and parameters. Outside a gradient nothing is kept. */
export function recomputed(part: RecomputedPart): Tensor[] {
  const { inputs, parameters, constants } = part;
  if (!onTape()) return part.run(inputs, constants);
  const watched = [...inputs, ...parameters];
  return recordPart({
    name: "Recomputed",
    inputs: watched,
    saved: [...inputs, ...constants],
    run: () => part.run(inputs, constants),
    gradient(dys, saved) {
      const again = saved.slice(0, inputs.length);
      const run = () => part.run(again, saved.slice(inputs.length));
      const grads = outputGradients(run, [...again, ...parameters], dys);
      return watched.map((tensor, at) => grads[at] ?? tf.zerosLike(tensor));
    },
  });
}
