/**
 * The differences between the language families in the shared decoder: tensor names, fused projections and the layout
 * of their rows (docs/spec/sa2va.md#4-tensor-names-and-shapes, docs/spec/sa2va.md#11-language-models).
 */
import type { Tensor } from "../../gpu/tf.ts";
import type { Weights } from "../weights/weights.ts";
import type { LanguageConfig } from "./config-language.ts";

/** A linear layer of a transformer block, by its path below `language_model.`. */
export interface LinearShape {
  /** Without ".weight". */
  readonly path: string;
  readonly inSize: number;
  readonly outSize: number;
  readonly bias: boolean;
}

export interface BlockFamily {
  /** Token embedding [V, D]. */
  readonly embedding: string;
  /** Output head [V, D]; a model with a tied head does not store it. */
  readonly head: string;
  readonly finalNorm: string;
  /** Path of a block, e.g. "language_model.model.layers.0". */
  block(layer: number): string;
  /** Names of the two norms below the block's path. */
  readonly norms: readonly [attention: string, mlp: string];
  /**
   * Norms over the channels of each head of queries and keys before rotation, by their names below the block's path.
   */
  readonly headNorms?: readonly [query: string, key: string];
  /** The linear layers of the block at `path`, in the order of the forward pass. */
  linears(config: LanguageConfig, path: string): LinearShape[];
  /** Queries [B, Hq, T, d], keys and values [B, Hkv, T, d], before rotation. */
  project(w: Weights, config: LanguageConfig, path: string, x: Tensor): { q: Tensor; k: Tensor; v: Tensor };
  /** Output projection of the attention, [B, T, Hq·d] → [B, T, D], added to the stream [B, T, D]. */
  output(w: Weights, path: string, x: Tensor, stream: Tensor): Tensor;
  /** Adds the MLP of `x` to the stream, [B, T, D] each. */
  mlp(w: Weights, path: string, x: Tensor, stream: Tensor): Tensor;
}

/** [B, T, H·d] → [B, H, T, d]. */
export function separateHeads(x: Tensor, count: number): Tensor {
  const [batch, length, width] = x.shape as [number, number, number];
  return x.reshape([batch, length, count, width / count]).transpose([0, 2, 1, 3]);
}
