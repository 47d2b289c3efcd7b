/**
 * Cached decoding of a batch of completions: all groups of a loop at once, each group's prompt computed once
 * (policy/prefill.ts).
 *
 * Sampling happens on the CPU in double precision from the logits of each position (policy/sampler.ts), with one
 * counter-based draw per (group, rollout, position), so that a rollout can be replayed alone.
 */
import { LabError } from "../errors.ts";
import { type RandomKey, uniform } from "../gpu/random.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { disposeCache, type KvCache, languageForward, languageLogits } from "../model/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Weights } from "../model/weights.ts";
import { embedIds } from "./embedding.ts";
import { disposePrefilled, hiddenPlaces, type PromptBatch, prefill, rowsOf } from "./prefill.ts";
import { greedyToken, type SamplerSettings, sampleToken } from "./sampler.ts";

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
  /** Address of a rollout's draws; the position counts on from the key's. Unused when greedy. */
  readonly key: (group: number, rollout: number) => RandomKey;
  /** True when the ids generated so far end the answer. */
  readonly stop: (ids: readonly number[]) => boolean;
  /** Thrown through when aborted, between positions. */
  readonly signal?: AbortSignal;
}

export interface Generated {
  readonly completions: readonly Completion[];
  /** NaN logits met; those rows were ended there. */
  readonly nonFinite: number;
}

/**
 * Completes every row of every group; one result a group.
 * @throws LabError("cancelled") when the signal fires
 */
export async function generate(
  model: Sa2vaModel,
  weights: Weights,
  groups: readonly PromptBatch[],
  options: GenerateOptions,
): Promise<Generated[]> {
  const { language } = model.config;
  const address = groups.flatMap((batch, group) => batch.tailLengths.map((_, rollout) => ({ group, rollout })));
  const rows = address.length;
  const ids: number[][] = address.map(() => []);
  const logps: number[][] = address.map(() => []);
  const entropies: number[][] = address.map(() => []);
  const ended = address.map(() => false);
  const broken = address.map(() => false);
  const prefilled = prefill(weights, language, groups);
  let cache: KvCache | undefined;

  const forward = (x: Tensor, position: number): Tensor =>
    tf.tidy(() => {
      const before = cache ?? (prefilled.past === undefined ? undefined : rowsOf(prefilled.past, prefilled.pastRow));
      const { head, tail, tailStart, places } = prefilled;
      const mask = hiddenPlaces(head, tailStart, tail, places, places + position + 1);
      const out = languageForward(weights, language, x, {
        positions: head.map((length, row) => [length + (tail[row] as number) + position]),
        ...(before === undefined ? {} : { past: before }),
        ...(mask === undefined ? {} : { mask }),
      });
      for (const layer of out.cache) {
        tf.keep(layer.k);
        tf.keep(layer.v);
      }
      if (cache !== undefined) disposeCache(cache);
      cache = out.cache;
      return languageLogits(weights, out.hidden.reshape([rows, -1]));
    });

  try {
    for (let position = 0; position < options.maxNewTokens && !ended.every(Boolean); position++) {
      // Rows that have ended keep decoding their last token; nothing reads it.
      const x =
        position === 0
          ? prefilled.first.reshape([rows, 1, -1])
          : embedIds(
              model,
              weights,
              ids.map((own) => [own[own.length - 1] ?? 0]),
            );
      const logits = forward(x, position);
      const values = await logits.data();
      tf.dispose([logits, x]);
      if (options.signal?.aborted === true) throw new LabError("cancelled", "Generation was stopped");
      const width = values.length / rows;
      address.forEach(({ group, rollout }, row) => {
        if (ended[row] === true) return;
        const own = ids[row] as number[];
        const scores = values.subarray(row * width, (row + 1) * width) as Float32Array;
        const seen =
          options.sampler.repetitionPenalty === 1 ? [] : [...((groups[group] as PromptBatch).promptIds ?? []), ...own];
        const drawn = options.greedy
          ? greedyToken(scores, options.sampler, seen)
          : sampleToken(scores, options.sampler, seen, drawAt(options.key(group, rollout), position));
        if (drawn.id < 0 || !Number.isFinite(drawn.logpFull)) {
          broken[row] = true;
          ended[row] = true;
          return;
        }
        own.push(drawn.id);
        (logps[row] as number[]).push(drawn.logpFull);
        (entropies[row] as number[]).push(drawn.entropy);
        if (options.stop(own)) ended[row] = true;
      });
    }
  } finally {
    disposePrefilled(prefilled);
    if (cache !== undefined) disposeCache(cache);
  }

  return groups.map((_, group) => {
    const own = address.flatMap((place, row) => (place.group === group ? [row] : []));
    return {
      completions: own.map((row) => ({
        ids: ids[row] as number[],
        logps: logps[row] as number[],
        entropies: entropies[row] as number[],
        ended: options.stop(ids[row] as number[]),
      })),
      nonFinite: own.filter((row) => broken[row]).length,
    };
  });
}

function drawAt(key: RandomKey, position: number): number {
  return uniform({ ...key, position: key.position + position });
}
