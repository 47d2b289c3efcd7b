/**
 * How the model accesses its parameters. A forward pass never owns weights: it gets tensors by their published names
 * from a `Weights` view. Policy, partner (EMA) and reference are the same code with different views, which share the
 * frozen tensors.
 */
import { badInput, LabError } from "../../errors.ts";
import type { Dropout } from "../../gpu/kernels/dropout.ts";
import type { LowRank } from "../../gpu/kernels/linear.ts";
import type { Arithmetic } from "../../gpu/packed/half.ts";
import { PackedMatrix } from "../../gpu/packed/matrix.ts";
import { drawAddress, type RandomKey } from "../../gpu/random.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";

/**
 * Trainable tensors by full path, e.g. `mlp1.1.weight` or
 * `language_model.model.layers.0.self_attn.q_proj.lora_A.weight`.
 */
export type ParameterSet = Readonly<Record<string, Tensor>>;

/** A matrix for products and gathers, as a tensor or packed. */
export type Matrix = Tensor | PackedMatrix;

/** Frozen weights by published name. */
export type FrozenWeights = ReadonlyMap<string, Matrix>;

export interface Weights {
  /**
   * The tensor of that published name; throws LabError("bad-input") if the checkpoint has no such tensor,
   * LabError("internal") if it is packed.
   */
  get(name: string): Tensor;
  find(name: string): Tensor | undefined;
  /** Weight of a linear layer or an embedding, [out, in], in any storage. */
  matrix(name: string): Matrix;
  findMatrix(name: string): Matrix | undefined;
  /** Low-rank branch of the linear layer `<path>` (without ".weight"); undefined if it has none. */
  lora(path: string): LowRank | undefined;
  /** Present if decoder blocks are recomputed in the backward pass instead of stored. */
  readonly recompute?: Recompute;
  /** Precision of products with packed matrices, where the card supports it. */
  readonly arithmetic: Arithmetic;
}

export interface Recompute {
  /** Trainable tensors whose path starts with `prefix`. */
  trained(prefix: string): readonly Tensor[];
}

/** The same weights, with decoder blocks recomputed in the backward pass. @param trainable the tensors of the view */
export function recomputing(weights: Weights, trainable: ParameterSet): Weights {
  const trained = (prefix: string): readonly Tensor[] =>
    Object.entries(trainable).flatMap(([path, tensor]) => (path.startsWith(prefix) ? [tensor] : []));
  return { ...weights, recompute: { trained } };
}

/**
 * Looks tensors up in the trainable set, then in the frozen one. Nothing is copied.
 * @param trainable a function for a set that updates replace during the life of the view
 * @param loraScale alpha / r
 * @param arithmetic of products with packed matrices, where the card supports it
 * @param dropout of the low-rank branches, for a training pass
 */
export function weightsView(
  frozen: Pick<FrozenWeights, "get">,
  trainable: ParameterSet | (() => ParameterSet),
  loraScale: number,
  arithmetic: Arithmetic = "f32",
  dropout?: AdapterDropout,
): Weights {
  const trained = (name: string): Tensor | undefined =>
    (typeof trainable === "function" ? trainable() : trainable)[name];
  const findMatrix = (name: string): Matrix | undefined => trained(name) ?? frozen.get(name);
  const find = (name: string): Tensor | undefined => {
    const found = findMatrix(name);
    if (found instanceof PackedMatrix) throw new LabError("internal", `"${name}" is packed and is not a tensor`);
    return found;
  };
  const present = <T>(name: string, found: T | undefined): T => {
    if (found === undefined) throw badInput(`The checkpoint has no tensor "${name}"`, name);
    return found;
  };
  return {
    arithmetic,
    find,
    findMatrix,
    get: (name) => present(name, find(name)),
    matrix: (name) => present(name, findMatrix(name)),
    lora(path) {
      const a = trained(`${path}.lora_A.weight`);
      const b = trained(`${path}.lora_B.weight`);
      if (a === undefined || b === undefined) return undefined;
      return { a, b, scale: loraScale, ...(dropout === undefined ? {} : { dropout: layerDropout(dropout, path) }) };
    },
  };
}

/** Dropout of all low-rank branches in one pass; every layer has separate draws. */
export interface AdapterDropout {
  readonly share: number;
  /** Address of the pass; row and position are set by layer and element. */
  readonly key: Omit<RandomKey, "row" | "position">;
}

function layerDropout({ share, key }: AdapterDropout, path: string): Dropout {
  // FNV-1a of the path, so that layers have different draws.
  let row = 0x811c9dc5;
  for (let at = 0; at < path.length; at++) row = Math.imul(row ^ path.charCodeAt(at), 0x01000193) >>> 0;
  const { counter, key: words } = drawAddress({ ...key, row, position: 0 });
  return { share, key: words, counter };
}

/** Frees frozen weights in any storage. */
export function disposeWeights(weights: Iterable<Matrix>): void {
  for (const weight of weights) {
    if (weight instanceof PackedMatrix) weight.dispose();
    else tf.dispose(weight);
  }
}

/**
 * The weights as tensors, for work that changes or stores all of them.
 * @throws LabError("unsupported") when one is packed
 */
export function tensorsOf(weights: FrozenWeights): Map<string, Tensor> {
  const tensors = new Map<string, Tensor>();
  for (const [name, weight] of weights) {
    if (weight instanceof PackedMatrix) {
      throw new LabError("unsupported", `"${name}" is held in ${weight.storage}; this needs all weights in f32`, {
        subject: name,
      });
    }
    tensors.set(name, weight);
  }
  return tensors;
}
