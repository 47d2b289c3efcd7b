/**
 * Prompts of several groups in one batch: each group's prompt runs once, padded to the longest, and its rows follow.
 * Differentiable, so that partner, reference and loss can process the groups of a step together.
 */
import { LabError } from "../../errors.ts";
import { repeatRows } from "../../gpu/kernels/repeat.ts";
import type { Place } from "../../gpu/kernels/rope.ts";
import { type Paced, tidied } from "../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { LanguageConfig } from "../../model/config.ts";
import { languagePass } from "../../model/language/language.ts";
import { inOrder, nextTo } from "../../model/language/places.ts";
import { rotatedAlike } from "../../model/language/rope-scaling.ts";
import type { Weights } from "../../model/weights/weights.ts";
import { hiddenPlaces, padded, prefixPositions } from "./prefill.ts";

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

export interface BehindOptions {
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
    const shared = { past, ropeLength, ...(norm === undefined ? {} : { norm }) };
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
