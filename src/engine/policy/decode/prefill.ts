/**
 * The part of generation before the first new token: keys and values of all prompts of a batch, computed once. A group
 * shares one prompt up to where its rows part; what differs per row is a right-padded tail. Of every row the last prompt
 * token is left out: decoding begins with it.
 */
import { HIDDEN_SCORE } from "../../gpu/kernels/attention/attention.ts";
import { repeatRows } from "../../gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { LanguageConfig } from "../../model/config.ts";
import { disposeCache, type KvCache, languageForward } from "../../model/language/language.ts";
import type { Weights } from "../../model/weights/weights.ts";

/** Prompts of a group as embeddings. */
export interface PromptBatch {
  /** [1, P, D], shared by all rows; P may be 0. */
  readonly prefix: Tensor;
  /** [B, L, D], right-padded; at least one position a row. */
  readonly tails: Tensor;
  /** Real length of each tail, 1 … L. */
  readonly tailLengths: readonly number[];
  /** Ids a repetition penalty counts as seen before the first generated one. */
  readonly promptIds?: readonly number[];
}

/**
 * Keys and values of the prompts. Row b sees the places [0, head_b) and [tailStart, tailStart + tail_b) of cache row
 * `pastRow_b`; everything else in that row is padding.
 */
export interface Prefilled {
  /** [R, Hkv, S, d] a layer, R prompts or rows; undefined when every prompt is a single token. */
  readonly past: KvCache | undefined;
  readonly pastRow: readonly number[];
  readonly head: readonly number[];
  readonly tailStart: number;
  readonly tail: readonly number[];
  /** S. */
  readonly places: number;
  /** Embedding of each row's last prompt token, [B, D]. */
  readonly first: Tensor;
}

export function disposePrefilled(prefilled: Prefilled): void {
  if (prefilled.past !== undefined) disposeCache(prefilled.past);
  prefilled.first.dispose();
}

/**
 * Runs the prompts of all groups together, padded to the longest. The result belongs to the caller.
 * @param ropeLength length that rotary scaling goes by; by default that of each pass
 */
export function prefill(
  weights: Weights,
  language: LanguageConfig,
  groups: readonly PromptBatch[],
  ropeLength?: number,
): Prefilled {
  const scaled = ropeLength === undefined ? {} : { ropeLength };
  const prefixLengths = groups.map((group) => group.prefix.shape[1] as number);
  const groupOf = groups.flatMap((group, g) => group.tailLengths.map(() => g));
  const tailLengths = groups.flatMap((group) => group.tailLengths);
  const head = groupOf.map((g) => prefixLengths[g] as number);
  const tail = tailLengths.map((length) => length - 1);
  const longest = Math.max(...prefixLengths);
  const tailPlaces = Math.max(...tail);
  const made = tf.tidy(() => {
    const tails = padded(
      groups.map((group) => group.tails),
      tailPlaces + 1,
    );
    const rows = tails.shape[0] as number;
    const width = tails.shape[2] as number;
    const lasts = tailLengths.map((length, row) => row * (tailPlaces + 1) + length - 1);
    const first = tf.gather(tails.reshape([-1, width]), tf.tensor1d(lasts, "int32"));
    let past: KvCache | undefined;
    if (longest > 0) {
      // Causality alone keeps padding out of the real places, and the real ones are all that is read of this cache.
      const prefixes = padded(
        groups.map((group) => group.prefix),
        longest,
      );
      past = languageForward(weights, language, prefixes, scaled).cache;
    }
    if (tailPlaces > 0) {
      const own = past === undefined ? undefined : rowsOf(past, groupOf);
      const positions = tail.map((length, row) =>
        Array.from({ length: tailPlaces }, (_, i) => (head[row] as number) + Math.max(0, Math.min(i, length - 1))),
      );
      const hidden = hiddenPlaces(head, longest, tail, longest + tailPlaces);
      past = languageForward(weights, language, tf.slice(tails, [0, 0, 0], [rows, tailPlaces, width]), {
        ...scaled,
        positions,
        ...(own === undefined ? {} : { past: own }),
        ...(hidden === undefined ? {} : { mask: hidden }),
      }).cache;
    }
    return { first, ...(past === undefined ? {} : { past: past.map(({ k, v }) => ({ k, v })) }) };
  });
  return {
    past: made.past,
    first: made.first,
    pastRow: tailPlaces > 0 ? groupOf.map((_, row) => row) : groupOf,
    head,
    tailStart: longest,
    tail,
    places: longest + tailPlaces,
  };
}

/** Cache rows by number; a single row that everybody shares stays single. */
export function rowsOf(cache: KvCache, rows: readonly number[]): KvCache {
  const [stored] = (cache[0] as KvCache[number]).k.shape as [number];
  if (stored === 1 || (stored === rows.length && rows.every((row, at) => row === at))) return cache;
  const times = rows.length / stored;
  if (Number.isInteger(times) && rows.every((row, at) => row === Math.floor(at / times))) {
    return cache.map(({ k, v }) => ({ k: repeatRows(k, times), v: repeatRows(v, times) }));
  }
  const index = tf.tensor1d([...rows], "int32");
  return cache.map(({ k, v }) => ({ k: tf.gather(k, index), v: tf.gather(v, index) }));
}

/** Mask [B, 1, 1, total] that hides the padding of prefixes and tails, or undefined when there is none. */
export function hiddenPlaces(
  head: readonly number[],
  tailStart: number,
  tail: readonly number[],
  places: number,
  total = places,
): Tensor | undefined {
  const full = head.every((length, row) => length === tailStart && tailStart + (tail[row] as number) === places);
  if (full) return undefined;
  const values = new Float32Array(head.length * total);
  head.forEach((length, row) => {
    values.fill(HIDDEN_SCORE, row * total + length, row * total + tailStart);
    values.fill(HIDDEN_SCORE, row * total + tailStart + (tail[row] as number), row * total + places);
  });
  return tf.tensor4d(values, [head.length, 1, 1, total]);
}

/** Batches [b, T, D] of different T one below the other, right-padded or cut to `length`. */
export function padded(parts: readonly Tensor[], length: number): Tensor {
  const fitted = parts.map((part) => {
    const [rows, own, width] = part.shape as [number, number, number];
    if (own > length) return tf.slice(part, [0, 0, 0], [rows, length, width]);
    return own === length
      ? part
      : tf.pad(part as tf.Tensor3D, [
          [0, 0],
          [0, length - own],
          [0, 0],
        ]);
  });
  return fitted.length === 1 ? (fitted[0] as Tensor) : tf.concat(fitted, 0);
}
