/**
 * Cached decoding of a batch of completions. Rows may share a long prefix (the picture's tokens), which is computed once
 * at batch 1; what differs per row is a right-padded tail, whose padding is hidden from every later query.
 *
 * Sampling happens on the CPU in double precision from the logits of each position (policy/sampler.ts), with one
 * counter-based draw per (rollout, position), so that a rollout can be replayed alone.
 */
import { LabError } from "../errors.ts";
import { HIDDEN_SCORE } from "../gpu/kernels/attention.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { disposeCache, type KvCache, languageForward, languageLogits } from "../model/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Weights } from "../model/weights.ts";
import { embedIds } from "./embedding.ts";
import { greedyToken, type SamplerSettings, sampleToken } from "./sampler.ts";

/** Prompts of a batch as embeddings. */
export interface PromptBatch {
  /** [1, P, D], shared by all rows; P may be 0. */
  readonly prefix: Tensor;
  /** [B, L, D], right-padded; at least one position a row. */
  readonly tails: Tensor;
  /** Real length of each tail, 1 … L. */
  readonly tailLengths: readonly number[];
}

export interface Completion {
  /** Generated ids, the end token included when one was reached. */
  readonly ids: readonly number[];
  /** log π of each id in the full guarded, tempered distribution (nats). */
  readonly logps: readonly number[];
  readonly entropies: readonly number[];
  /** False when the length limit cut it off. */
  readonly ended: boolean;
}

export interface GenerateOptions {
  readonly maxNewTokens: number;
  readonly sampler: SamplerSettings;
  /** Takes the likeliest token instead of drawing one. */
  readonly greedy: boolean;
  /** Uniform in (0, 1) for a row and position; unused when greedy. */
  readonly uniform: (row: number, position: number) => number;
  /** True when the ids generated so far end the answer. */
  readonly stop: (ids: readonly number[]) => boolean;
  /** Ids the repetition penalty counts as seen, besides the generated ones. */
  readonly promptIds?: readonly number[];
  /** Thrown through when aborted, between positions. */
  readonly signal?: AbortSignal;
}

export interface Generated {
  readonly completions: readonly Completion[];
  /** NaN or infinite logits met; those rows were ended there. */
  readonly nonFinite: number;
}

/**
 * Completes every row of the batch.
 * @throws LabError("cancelled") when the signal fires
 */
export async function generate(
  model: Sa2vaModel,
  weights: Weights,
  batch: PromptBatch,
  options: GenerateOptions,
): Promise<Generated> {
  const rows = batch.tails.shape[0] as number;
  const prefixLength = batch.prefix.shape[1] as number;
  const tailLength = batch.tails.shape[1] as number;
  const language = model.config.language;
  const ids: number[][] = Array.from({ length: rows }, () => []);
  const logps: number[][] = Array.from({ length: rows }, () => []);
  const entropies: number[][] = Array.from({ length: rows }, () => []);
  const ended = new Array<boolean>(rows).fill(false);
  let nonFinite = 0;
  let cache: KvCache | undefined;

  const forward = (x: Tensor, positions: number[][], mask: Tensor | undefined, pick: readonly number[]): Tensor =>
    tf.tidy(() => {
      const past = cache;
      const out = languageForward(weights, language, x, {
        positions,
        ...(past === undefined ? {} : { past }),
        ...(mask === undefined ? {} : { mask }),
      });
      for (const layer of out.cache) {
        tf.keep(layer.k);
        tf.keep(layer.v);
      }
      cache = out.cache;
      if (past !== undefined) disposeCache(past);
      const [, length, width] = out.hidden.shape as [number, number, number];
      const places = out.hidden.reshape([-1, width]);
      if (length === 1) return languageLogits(weights, places);
      const chosen = pick.map((at, row) => row * length + at);
      return languageLogits(weights, tf.gather(places, tf.tensor1d(chosen, "int32")));
    });

  try {
    if (prefixLength > 0) {
      const positions = [Array.from({ length: prefixLength }, (_, i) => i)];
      tf.dispose(forward(batch.prefix, positions, undefined, [prefixLength - 1]));
    }
    const tailPositions = batch.tailLengths.map((length) =>
      Array.from({ length: tailLength }, (_, i) => prefixLength + Math.min(i, length - 1)),
    );
    let logits = forward(
      batch.tails,
      tailPositions,
      undefined,
      batch.tailLengths.map((length) => length - 1),
    );

    for (let position = 0; ; position++) {
      const values = await logits.data();
      tf.dispose(logits);
      if (options.signal?.aborted === true) throw new LabError("cancelled", "Generation was stopped");
      const width = values.length / rows;
      for (let row = 0; row < rows; row++) {
        if (ended[row] === true) continue;
        const own = ids[row] as number[];
        const scores = values.subarray(row * width, (row + 1) * width) as Float32Array;
        const seen = options.sampler.repetitionPenalty === 1 ? [] : [...(options.promptIds ?? []), ...own];
        const drawn = options.greedy
          ? greedyToken(scores, options.sampler, seen)
          : sampleToken(scores, options.sampler, seen, options.uniform(row, position));
        if (drawn.id < 0 || !Number.isFinite(drawn.logpFull)) {
          nonFinite++;
          ended[row] = true;
          continue;
        }
        own.push(drawn.id);
        (logps[row] as number[]).push(drawn.logpFull);
        (entropies[row] as number[]).push(drawn.entropy);
        if (options.stop(own)) ended[row] = true;
      }
      if (position + 1 >= options.maxNewTokens || ended.every(Boolean)) break;

      // Rows that have ended keep decoding their last token; nothing reads it.
      const next = ids.map((own) => own[own.length - 1] ?? 0);
      const positions = batch.tailLengths.map((length) => [prefixLength + length + position]);
      const total = prefixLength + tailLength + position + 1;
      const mask = hidePadding(batch.tailLengths, prefixLength, tailLength, total);
      const x = embedIds(
        model,
        weights,
        next.map((id) => [id]),
      );
      logits = forward(x, positions, mask, new Array<number>(rows).fill(0));
      tf.dispose(mask === undefined ? x : [x, mask]);
    }
  } finally {
    if (cache !== undefined) disposeCache(cache);
  }

  const completions = ids.map((own, row) => ({
    ids: own,
    logps: logps[row] as number[],
    entropies: entropies[row] as number[],
    ended: options.stop(own),
  }));
  return { completions, nonFinite };
}

/** Mask [B, 1, 1, total] that hides each row's tail padding, or undefined when no row is padded. */
function hidePadding(
  tailLengths: readonly number[],
  prefixLength: number,
  tailLength: number,
  total: number,
): Tensor | undefined {
  if (tailLengths.every((length) => length === tailLength)) return undefined;
  const values = new Float32Array(tailLengths.length * total);
  tailLengths.forEach((length, row) => {
    values.fill(HIDDEN_SCORE, row * total + prefixLength + length, row * total + prefixLength + tailLength);
  });
  return tf.tensor4d(values, [tailLengths.length, 1, 1, total]);
}
