/** A case of the kernels suite: one function of normal inputs, written for every participant. */
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { JaxFunction } from "../baselines/jax.ts";
import type { OrtFunction } from "../baselines/ort.ts";

export interface Case {
  readonly name: string;
  /** Shapes of normal float32 inputs. */
  readonly inputs: readonly (readonly number[])[];
  readonly run: (...inputs: Tensor[]) => Tensor | Tensor[];
  /**
   * Also computes the gradients of all inputs for a random gradient of the result, as a layer of a training step does.
   */
  readonly gradient?: boolean;
  /** Floating-point operations of a call, without those of the gradient. */
  readonly flops?: number;
  /** A measurement of the adapter, without baselines. */
  readonly alone?: boolean;
  /** The same for jax-js. */
  readonly jax?: JaxFunction;
  /** The inputs in the layout of jax-js, if that differs. */
  readonly jaxLayout?: (input: Tensor) => Tensor;
  /** The same for onnxruntime-web, which is measured only forward. */
  readonly ort?: OrtFunction;
}
