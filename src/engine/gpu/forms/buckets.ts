/** Shapes that share a measured form: sizes are rounded up to powers of two. */

import type { WeightStorage } from "../packed/storage.ts";

/** Which operands are transposed: A B, A Bᵀ, Aᵀ B, Aᵀ Bᵀ. */
export type ProductLayout = "nn" | "nt" | "tn" | "tt";
/**
 * plain: whole tensors, with at most a bias, an addend or a factor. low-rank: with a second, small product. part: with
 * parts of tensors, bounds, or sums into an existing result. packed: B is a packed matrix. half: the same in half
 * precision. The last three have no stock form.
 */
export type Epilogue = "plain" | "low-rank" | "part" | "packed" | "half";

export interface ProductSizes {
  readonly layout: ProductLayout;
  readonly epilogue: Epilogue;
  /** Storage of a packed matrix; f32 if absent. */
  readonly storage?: WeightStorage;
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

export interface AttentionSizes {
  /** Batch times query heads. */
  readonly heads: number;
  /** Query heads per key head. */
  readonly group: number;
  readonly queries: number;
  readonly keys: number;
  /** Elements of a key, and elements of a value. */
  readonly width: number;
  readonly valueWidth: number;
  readonly causal: boolean;
}

/** ⌈log₂⌉ of a whole number of at least 1. */
export function power(size: number): number {
  return 32 - Math.clz32(Math.max(1, size) - 1);
}

/** Name of a product's bucket, as in tables: `product nt plain f32 m8 n9 k6 b0`. */
export function productBucket({ layout, epilogue, storage = "f32", batch, m, n, k }: ProductSizes): string {
  return `product ${layout} ${epilogue} ${storage} m${power(m)} n${power(n)} k${power(k)} b${power(batch)}`;
}

/** Name of an attention's bucket: `attention causal f32 q10 k10 w6 h4 g1`. Width is that of keys. */
export function attentionBucket({ heads, group, queries, keys, width, causal }: AttentionSizes): string {
  const order = causal ? "causal" : "whole";
  return `attention ${order} f32 q${power(queries)} k${power(keys)} w${power(width)} h${power(heads)} g${power(group)}`;
}

const PRODUCT =
  /^product (nn|nt|tn|tt) (?:(?:plain|low-rank|part) f32|packed (?:f32|f16|q8|q4)|half (?:f16|q8|q4)) m\d{1,2} n\d{1,2} k\d{1,2} b\d{1,2}$/;
const ATTENTION = /^attention (causal|whole) f32 q\d{1,2} k\d{1,2} w\d{1,2} h\d{1,2} g\d{1,2}$/;

export type Family = "product" | "attention";

/** The family of a bucket's name; undefined if no bucket has that name. */
export function familyOf(bucket: string): Family | undefined {
  if (PRODUCT.test(bucket)) return "product";
  return ATTENTION.test(bucket) ? "attention" : undefined;
}
