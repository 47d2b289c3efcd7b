/**
 * How the model sees its parameters. A forward pass never owns weights: it asks a `Weights` view for tensors by their
 * published names, so that policy, partner (EMA) and reference are the same code over different views, and frozen
 * tensors are shared by all of them.
 */
import { LabError } from "../errors.ts";
import type { LowRank } from "../gpu/kernels/linear.ts";
import type { Tensor } from "../gpu/tf.ts";

/** Trainable tensors by full path, e.g. `mlp1.1.weight` or `language_model.model.layers.0.self_attn.q_proj.lora_A.weight`. */
export type ParameterSet = Readonly<Record<string, Tensor>>;

/** A matrix that products and gathers read. */
export type Matrix = Tensor;

export interface Weights {
  /** Tensor of that published name; throws LabError("bad-input") when the checkpoint has none. */
  get(name: string): Tensor;
  find(name: string): Tensor | undefined;
  /** Weight of a linear layer or an embedding, [out, in], in whatever form it is held. */
  matrix(name: string): Matrix;
  findMatrix(name: string): Matrix | undefined;
  /** Low-rank branch of the linear layer `<path>` (without ".weight"), or undefined when it has none. */
  lora(path: string): LowRank | undefined;
  /** Present when blocks of the decoder shall be recomputed in the backward pass instead of kept. */
  readonly recompute?: Recompute;
}

export interface Recompute {
  /** Trainable tensors whose path begins with `prefix`. */
  trained(prefix: string): readonly Tensor[];
}

/** The same weights, with decoder blocks recomputed in the backward pass. @param trainable those behind the view */
export function recomputing(weights: Weights, trainable: ParameterSet): Weights {
  const trained = (prefix: string): readonly Tensor[] =>
    Object.entries(trainable).flatMap(([path, tensor]) => (path.startsWith(prefix) ? [tensor] : []));
  return { ...weights, recompute: { trained } };
}

/**
 * Trainable tensors in front of frozen ones. Nothing is copied.
 * @param loraScale alpha / r
 */
export function weightsView(frozen: ReadonlyMap<string, Tensor>, trainable: ParameterSet, loraScale: number): Weights {
  const find = (name: string): Tensor | undefined => trainable[name] ?? frozen.get(name);
  const get = (name: string): Tensor => {
    const tensor = find(name);
    if (tensor === undefined)
      throw new LabError("bad-input", `The checkpoint has no tensor "${name}"`, { subject: name });
    return tensor;
  };
  return {
    find,
    get,
    matrix: get,
    findMatrix: find,
    lora(path) {
      const a = trainable[`${path}.lora_A.weight`];
      const b = trainable[`${path}.lora_B.weight`];
      return a === undefined || b === undefined ? undefined : { a, b, scale: loraScale };
    },
  };
}
