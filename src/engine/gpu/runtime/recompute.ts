/**
 * Activation recomputation (gradient checkpointing): a part of the forward pass keeps only its inputs and runs again
 * when its gradient is computed (Chen et al. 2016, arXiv 1604.06174). It trades about one more forward pass for the
 * memory of everything inside the part.
 *
 * Touches private members of tfjs-core 4.22.0: the engine's `runKernelFunc` for several outputs, and
 * `state.activeTape`, which an inner gradient would clear
 * (docs/spec/webgpu.md#32-registering-overriding-differentiating). tests/gpu/recompute.test.ts guards them.
 */
import { type Tensor, tf } from "../tf.ts";

interface TapeEngine {
  readonly state: { activeTape: unknown; gradientDepth: number; kernelDepth: number };
  runKernelFunc(call: {
    forwardFunc: (backend: unknown, save: (tensors: Tensor[]) => void) => Tensor[];
    backwardsFunc: (dy: Tensor | Tensor[], saved: Tensor[]) => Readonly<Record<string, () => Tensor>>;
    inputs: Readonly<Record<string, Tensor>>;
  }): Tensor[];
}

/** Whether a gradient is being recorded, which may use any tensor again. */
export function onTape(): boolean {
  return (tf.engine() as unknown as TapeEngine).state.gradientDepth > 0;
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
      const gradients = gradientsAgain(engine, part, again, saved.slice(inputs.length), dys);
      return Object.fromEntries(
        watched.map((tensor, at) => [String(at), () => gradients[at] ?? tf.zerosLike(tensor)] as const),
      );
    },
  });
}

/** Σ ⟨output, dy⟩ differentiated in inputs and parameters; undefined for those that do not affect the outputs. */
function gradientsAgain(
  engine: TapeEngine,
  part: RecomputedPart,
  inputs: readonly Tensor[],
  constants: readonly Tensor[],
  dys: readonly Tensor[],
): readonly (Tensor | undefined)[] {
  const outerTape = engine.state.activeTape;
  try {
    const { value, grads } = tf.engine().gradients(
      () => {
        const outputs = part.run(inputs, constants);
        const sums = outputs.map((output, at) => output.mul(dys[at] as Tensor).sum());
        return sums.reduce((total, sum) => total.add(sum)).asScalar();
      },
      [...inputs, ...part.parameters],
      undefined,
      true,
    );
    value.dispose();
    return grads as (Tensor | undefined)[];
  } finally {
    engine.state.activeTape = outerTape;
  }
}
