/** A case of the kernels suite: one function of normal inputs, written for everyone who takes part. */
import type { Tensor } from "../../src/engine/gpu/tf.ts";
import type { JaxFunction } from "../baselines/jax.ts";
import type { OrtFunction } from "../baselines/ort.ts";

export interface Case {
  readonly name: string;
  /** Shapes of normal float32 inputs. */
  readonly inputs: readonly (readonly number[])[];
  readonly run: (...inputs: Tensor[]) => Tensor | Tensor[];
  /** Also computes the gradients of all inputs for a drawn gradient of the result, as a layer of a training step has to. */
  readonly gradient?: boolean;
  /** Floating-point operations of a call, without those of the gradient. */
  readonly flops?: number;
  /** A measure of the adapter, without baselines. */
  readonly alone?: boolean;
  /** The same for jax-js. */
  readonly jax?: JaxFunction;
  /** The inputs as jax-js lays them out, where that is another way. */
  readonly jaxLayout?: (input: Tensor) => Tensor;
  /** The same for onnxruntime-web, which is measured forward only. */
  readonly ort?: OrtFunction;
}
