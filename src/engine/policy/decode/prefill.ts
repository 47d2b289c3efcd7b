/**
 * Prefill: keys and values of all prompts of a batch, computed once. The rows of a group share one prompt up to where
 * they differ; the rest of each row is a right-padded tail. The last prompt token of every row is left out, because
 * decoding starts with it.
 */
import { inBatches } from "../../bytes/collections.ts";
import { LabError } from "../../errors.ts";
import { HIDDEN_SCORE } from "../../gpu/kernels/attention/attention.ts";
import { pickRows, repeatRows, zerosBehind } from "../../gpu/kernels/repeat.ts";
import type { Place } from "../../gpu/kernels/rope.ts";
import { type Paced, tidied } from "../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { LanguageConfig } from "../../model/config.ts";
import { inOrder, nextTo } from "../../model/language/config-language.ts";
import { disposeCache, type KvCache, languagePass } from "../../model/language/language.ts";
import { rotatedAlike } from "../../model/language/rope-scaling.ts";
import type { Weights } from "../../model/weights/weights.ts";

/** Prompts of a group as embeddings. */
export interface PromptBatch {
  /** [1, P, D], shared by all rows; P may be 0. */
  readonly prefix: Tensor;
  /** [B, L, D], right-padded; at least one position per row. */
  readonly tails: Tensor;
  /** Real length of each tail, 1 … L. */
  readonly tailLengths: readonly number[];
  /** Places of each row's whole prompt, prefix included; absent where they are the tokens' indices. */
  readonly positions?: readonly (readonly Place[])[] | undefined;
  /** Ids that a repetition penalty counts as seen before the first generated one. */
  readonly promptIds?: readonly number[];
}

/**
 * Keys and values of the prompts: one prefix per group, one tail per row. Row b sees positions [0, head_b) of row
 * `pastRow_b` of `past`, then [0, tail_b) of its own row of `tails`; the rest is padding.
 */
export interface Prefilled {
  /** [R, Hkv, P, d] per layer, one row per group; undefined if no group has a prefix. */
  readonly past: KvCache | undefined;
  /** [B, Hkv, L, d] per layer; undefined if every tail is only the token that decoding starts with. */
  readonly tails: KvCache | undefined;
  readonly pastRow: readonly number[];
  readonly head: readonly number[];
  readonly tail: readonly number[];
  /** The position of each row's next token minus its index: 0 or, behind visual tokens with rows and columns, below. */
  readonly shift: readonly number[];
  /** P and L. */
  readonly prefixPlaces: number;
  readonly tailPlaces: number;
  /** Embedding of each row's last prompt token, [B, D]. */
  readonly first: Tensor;
}

/** What a pass computes. */
type Passed = Pick<Prefilled, "past" | "tails" | "first">;

export function disposePrefilled(prefilled: Passed): void {
  for (const cache of [prefilled.past, prefilled.tails]) if (cache !== undefined) disposeCache(cache);
  prefilled.first.dispose();
}

interface PrefillOptions {
  /** Sequence length for rotary scaling; by default that of the longest prompt. */
  readonly ropeLength?: number | undefined;
  /** Number of groups in one pass, 0 for all; the memory of a pass grows with it. */
  readonly groupsAtOnce?: number | undefined;
}

/** Runs the prompts of all groups, padded to the longest. The result belongs to the caller. */
export function* prefill(
  weights: Weights,
  language: LanguageConfig,
  groups: readonly PromptBatch[],
  { ropeLength, groupsAtOnce = 0 }: PrefillOptions = {},
): Paced<Prefilled> {
  const prompts = groups.map(({ prefix, tailLengths }) => (prefix.shape[1] as number) + Math.max(...tailLengths));
  const scaled = { ropeLength: ropeLength ?? Math.max(...prompts) };
  const places = {
    prefix: Math.max(...groups.map(({ prefix }) => prefix.shape[1] as number)),
    tail: Math.max(...groups.flatMap(({ tailLengths }) => tailLengths)) - 1,
  };
  const passes: Passed[] = [];
  let whole = false;
  try {
    for (const some of inBatches(groups, groupsAtOnce)) {
      passes.push(yield* prefillPass(weights, language, some, places, scaled));
    }
    whole = true;
  } finally {
    if (!whole) for (const pass of passes) disposePrefilled(pass);
  }
  const first = tf.tidy(() => concatenated(passes.map((pass) => pass.first)));
  const past = joined(passes.flatMap((pass) => (pass.past === undefined ? [] : [pass.past])));
  const tails = joined(passes.flatMap((pass) => (pass.tails === undefined ? [] : [pass.tails])));
  if (passes.length > 1) for (const pass of passes) pass.first.dispose();
  return {
    past,
    tails,
    first,
    pastRow: groups.flatMap(({ tailLengths }, group) => tailLengths.map(() => group)),
    head: groups.flatMap(({ prefix, tailLengths }) => tailLengths.map(() => prefix.shape[1] as number)),
    tail: groups.flatMap(({ tailLengths }) => tailLengths.map((length) => length - 1)),
    shift: groups.flatMap(({ positions, tailLengths }) =>
      tailLengths.map((_, row) => {
        const own = positions?.[row];
        return own === undefined ? 0 : nextTo(own.at(-1) as Place) - own.length;
      }),
    ),
    prefixPlaces: places.prefix,
    tailPlaces: places.tail,
  };
}

/** The prompts of some groups in one pass. */
function* prefillPass(
  weights: Weights,
  language: LanguageConfig,
  groups: readonly PromptBatch[],
  places: { readonly prefix: number; readonly tail: number },
  scaled: { readonly ropeLength: number },
): Paced<Passed> {
  const groupOf = groups.flatMap((group, g) => group.tailLengths.map(() => g));
  const tail = groups.flatMap((group) => group.tailLengths.map((length) => length - 1));
  const head = groupOf.map((g) => groups[g]?.prefix.shape[1] as number);
  return (yield* tidied(function* () {
    const ends = groups.map((group) => group.tails);
    const batch = padded(ends, places.tail + 1);
    const [rows, , width] = batch.shape as [number, number, number];
    const lasts = tail.map((length, row) => row * (places.tail + 1) + length);
    const rowsOfAll = tf.gather(batch.reshape([-1, width]), tf.tensor1d(lasts, "int32"));
    // A prompt ends with text, to which no layer adds anything.
    const first = width === language.hiddenSize ? rowsOfAll : tf.slice(rowsOfAll, [0, 0], [rows, language.hiddenSize]);
    let past: KvCache | undefined;
    if (places.prefix > 0) {
      // Causality hides the padding from real positions, and only these are read from this cache.
      const before = groups.map((group) => group.prefix);
      const prefixes = padded(before, places.prefix);
      const positions = prefixPositions(
        groups.map((group) => group.positions?.[0]),
        before,
        places.prefix,
      );
      past = (yield* languagePass(weights, language, prefixes, { ...scaled, ...positions })).cache;
    }
    if (places.tail === 0) return { first, ...named("past", past) };
    const own = groups.flatMap((group) => group.tailLengths.map((_, row) => group.positions?.[row]));
    const positions = tail.map((length, row) =>
      Array.from({ length: places.tail }, (_, i) => {
        const at = (head[row] as number) + Math.max(0, Math.min(i, length - 1));
        return own[row]?.[at] ?? at;
      }),
    );
    const hidden = hiddenPlaces(head, places.prefix, tail, places.prefix + places.tail);
    const { cache: tails } = yield* languagePass(
      weights,
      language,
      tf.slice(batch, [0, 0, 0], [rows, places.tail, width]),
      {
        ...scaled,
        positions,
        freshCache: true,
        ...(past === undefined ? {} : { past, pastRows: groupOf }),
        ...(hidden === undefined ? {} : { mask: hidden }),
      },
    );
    return { first, ...named("past", past), ...named("tails", tails) };
  })) as unknown as Passed;
}

/**
 * Positions of right-padded prefixes for a pass; none where all are the tokens' indices.
 * @param own places of each prefix, or of more; undefined for indices
 */
export function prefixPositions(
  own: readonly (readonly Place[] | undefined)[],
  prefixes: readonly Tensor[],
  length: number,
): { readonly positions?: readonly (readonly Place[])[] } {
  if (own.every((places) => places === undefined)) return {};
  const positions = prefixes.map((prefix, at): readonly Place[] => {
    const given = own[at]?.slice(0, prefix.shape[1] as number) ?? inOrder(0, prefix.shape[1] as number);
    return [...given, ...new Array<Place>(length - given.length).fill(0)];
  });
  return { positions };
}

/** The cache as a container that a tidy returns. */
function named(name: string, cache: KvCache | undefined): Record<string, { readonly k: Tensor; readonly v: Tensor }[]> {
  return cache === undefined ? {} : { [name]: cache.map(({ k, v }) => ({ k, v })) };
}

function concatenated(parts: readonly Tensor[]): Tensor {
  return parts.length === 1 ? (parts[0] as Tensor) : tf.concat([...parts], 0);
}

/** Concatenates and disposes the caches of several passes, one layer at a time. */
function joined(caches: readonly KvCache[]): KvCache | undefined {
  const [own] = caches;
  if (own === undefined || caches.length === 1) return own;
  return own.map((_, layer) => {
    const join = (part: "k" | "v"): Tensor => {
      const parts = caches.map((cache) => (cache[layer] as KvCache[number])[part]);
      const whole = tf.tidy(() => concatenated(parts));
      tf.dispose(parts);
      return whole;
    };
    return { k: join("k"), v: join("v") };
  });
}

/**
 * Keys and values of every row's whole prompt, [B, Hkv, P + L, d]; undefined if prompts are single tokens. Call it in a
 * tidy.
 */
export function promptsByRow({ past, tails, pastRow }: Prefilled): KvCache | undefined {
  if (past === undefined) return tails;
  return past.map((layer, at): KvCache[number] => {
    const join = (part: "k" | "v"): Tensor => {
      const prefix = pickRows(layer[part], pastRow);
      const own = tails?.[at]?.[part];
      return own === undefined ? prefix : tf.concat([prefix, own], 2);
    };
    return { k: join("k"), v: join("v") };
  });
}

/** Mask [B, 1, 1, total] that hides the padding of prefixes and tails; undefined if there is none. */
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

/** Concatenates batches [b, T, D] of different T, right-padded or cut to `length`. */
export function padded(parts: readonly Tensor[], length: number): Tensor {
  const fitted = parts.map((part) => {
    const [rows, own, width] = part.shape as [number, number, number];
    if (own > length) return tf.slice(part, [0, 0, 0], [rows, length, width]);
    return zerosBehind(part, [0, length - own, 0]);
  });
  return fitted.length === 1 ? (fitted[0] as Tensor) : tf.concat(fitted, 0);
}

// Prompts of several groups in one batch: each group's prompt runs once, padded to the longest, and its rows follow.
// Differentiable, so that partner, reference and loss can process the groups of a step together.

/**
 * Splits groups into batches of indices. Groups with equal rotation share a batch. If a model's attention window is
 * shorter than the longest sequence, every group is a separate batch, because the window would count padding.
 * @param lengths full length of each group's longest row
 */
export function batchesOf(language: LanguageConfig, lengths: readonly number[]): number[][] {
  const { window } = language;
  if (window !== undefined && Math.max(...lengths) > window.size) return lengths.map((_, group) => [group]);
  return rotatedAlike(language.rope, lengths);
}

interface BehindOptions {
  /** Places of each prefix or of more; absent or undefined where they are the tokens' indices. */
  readonly places?: readonly (readonly Place[] | undefined)[];
  /** Whether states are those after the final norm, by default. */
  readonly norm?: boolean;
}

/**
 * Final states of rows that continue their group's prompt, [G · N, L, D], one part of the recording per layer.
 * @param prefixes one per group, [1, P, D] of any P; of equal length where `batchesOf` requires it
 * @param tails [G · N, L, D], group after group, right-padded
 */
export function* statesBehind(
  weights: Weights,
  language: LanguageConfig,
  prefixes: readonly Tensor[],
  tails: Tensor,
  ropeLength: number,
  { places = [], norm }: BehindOptions = {},
): Paced<Tensor> {
  const [rows, length] = tails.shape as [number, number, number];
  const times = rows / prefixes.length;
  if (!Number.isInteger(times)) {
    throw new LabError("internal", `${rows} rows cannot follow ${prefixes.length} prompts`);
  }
  return yield* tidied(function* () {
    const heads = prefixes.map((prefix) => prefix.shape[1] as number);
    const longest = Math.max(...heads);
    const { cache } = yield* languagePass(weights, language, padded(prefixes, longest), {
      ropeLength,
      ...prefixPositions(places, prefixes, longest),
    });
    // A single prompt is shared by all rows without a copy.
    const past =
      prefixes.length === 1 ? cache : cache.map(({ k, v }) => ({ k: repeatRows(k, times), v: repeatRows(v, times) }));
    const head = heads.flatMap((own) => new Array<number>(times).fill(own));
    const mask = hiddenPlaces(head, longest, new Array<number>(rows).fill(length), longest + length);
    const shared = { past, ropeLength, keepCache: false, ...(norm === undefined ? {} : { norm }) };
    if (mask === undefined && places.every((own) => own === undefined)) {
      return (yield* languagePass(weights, language, tails, shared)).hidden;
    }
    const positions = head.map((own, row) => {
      const given = places[Math.floor(row / times)];
      return inOrder(given === undefined ? own : nextTo(given[own - 1] as Place), length);
    });
    const hidden = mask === undefined ? {} : { mask };
    return (yield* languagePass(weights, language, tails, { ...shared, positions, ...hidden })).hidden;
  });
}

/**
 * One position of every row: [B, T, D] → [B, D]. A product with rows of the identity copies exactly, and its gradient
 * needs no scatter.
 */
export function placesOf(hidden: Tensor, places: readonly number[]): Tensor {
  const [rows, length, width] = hidden.shape as [number, number, number];
  if (rows === 1) return tf.slice(hidden, [0, places[0] as number, 0], [1, 1, width]).reshape([1, width]);
  return tf.tidy(() => {
    const pick = new Float32Array(rows * length);
    places.forEach((at, row) => {
      pick[row * length + at] = 1;
    });
    return tf.matMul(tf.tensor3d(pick, [rows, 1, length]), hidden).reshape([rows, width]);
  });
}
