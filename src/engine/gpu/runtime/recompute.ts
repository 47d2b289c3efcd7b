/**
 * Activation recomputation (gradient checkpointing): a part of the forward pass keeps only its inputs and runs again
 * when its gradient is computed (Chen et al. 2016, arXiv 1604.06174). It trades about one more forward pass for the
 * memory of everything inside the part.
 *
 * Touches a private member of tfjs-core 4.22.0: the engine's `runKernelFunc` for several outputs
 * (docs/spec/webgpu.md#32-registering-overriding-differentiating). tests/gpu/recompute.test.ts guards it.
 */
import { type Tensor, tf } from "../tf.ts";
import { outputGradients } from "./tape.ts";

interface TapeEngine {
  readonly state: { readonly gradientDepth: number; readonly kernelDepth: number };
  runKernelFunc(call: {
    forwardFunc: (backend: unknown, save: (tensors: Tensor[]) => void) => Tensor[];
    backwardsFunc: (dy: Tensor | Tensor[], saved: Tensor[]) => Readonly<Record<string, () => Tensor>>;
    inputs: Readonly<Record<string, Tensor>>;
  }): Tensor[];
}

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
  const engine = tf.engine() as unknown as TapeEngine;
  const { inputs, parameters, constants } = part;
  if (engine.state.gradientDepth === 0 || engine.state.kernelDepth > 0) return part.run(inputs, constants);
  const watched = [...inputs, ...parameters];
  return engine.runKernelFunc({
    inputs: Object.fromEntries(watched.map((tensor, at) => [String(at), tensor])),
    forwardFunc: (_, save) => {
      save([...inputs, ...constants]);
      return part.run(inputs, constants);
    },
    backwardsFunc: (dy, saved) => {
      const dys = Array.isArray(dy) ? dy : [dy];
      const again = saved.slice(0, inputs.length);
      const run = () => part.run(again, saved.slice(inputs.length));
      const grads = outputGradients(run, [...again, ...parameters], dys);
      return Object.fromEntries(
        watched.map((tensor, at) => [String(at), () => grads[at] ?? tf.zerosLike(tensor)] as const),
      );
    },
  });
}
