/**
 * Decoding with the model's own forward pass and the CPU sampler, in double precision: the oracle of the GPU decoder
 * (policy/decode/decode-gpu.ts), and the path for backends and models without GPU programs.
 */
import { LabError } from "../../errors.ts";
import { uniform } from "../../gpu/random.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { LanguageConfig } from "../../model/language/config-language.ts";
import {
  disposeCache,
  embedTokens,
  type KvCache,
  languageForward,
  languageLogits,
} from "../../model/language/language.ts";
import type { Weights } from "../../model/weights/weights.ts";
import { hiddenPlaces, type Prefilled, promptsByRow } from "./prefill.ts";
import { type GenerateOptions, greedyToken, type RowAddress, type RowResult, sampleToken } from "./sampler.ts";

/**
 * Completes every row. The cache grows by a copy per token and the logits of every position are read back.
 * @throws LabError("cancelled") when the signal aborts
 */
export async function decodeOnHost(
  language: LanguageConfig,
  weights: Weights,
  prompts: Prefilled,
  address: readonly RowAddress[],
  options: GenerateOptions,
  ropeLength?: number,
): Promise<RowResult[]> {
  const rows = address.length;
  const ids: number[][] = address.map(() => []);
  const logps: number[][] = address.map(() => []);
  const entropies: number[][] = address.map(() => []);
  const clips = address.map(() => 0);
  const ended = address.map(() => false);
  const broken = address.map(() => false);
  let cache: KvCache | undefined;

  const forward = (x: Tensor, position: number): Tensor =>
    tf.tidy(() => {
      const before = cache ?? promptsByRow(prompts);
      const { head, tail, shift, prefixPlaces, tailPlaces } = prompts;
      const places = prefixPlaces + tailPlaces;
      const mask = hiddenPlaces(head, prefixPlaces, tail, places, places + position + 1);
      const out = languageForward(weights, language, x, {
        positions: head.map((length, row) => [length + (tail[row] as number) + (shift[row] as number) + position]),
        ...(ropeLength === undefined ? {} : { ropeLength }),
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
    for (let position = 0; position < options.maxCompletionLength && !ended.every(Boolean); position++) {
      // Ended rows keep decoding their last token; nothing reads it.
      const x = tf.tidy(() =>
        position === 0 ? prompts.first.reshape([rows, 1, -1]) : embedTokens(weights, language, lastIds(ids)),
      );
      const logits = forward(x, position);
      const values = await logits.data();
      tf.dispose([logits, x]);
      if (options.signal?.aborted === true) throw new LabError("cancelled", "Generation was stopped");
      const width = values.length / rows;
      address.forEach(({ key, promptIds }, row) => {
        if (ended[row] === true) return;
        const own = ids[row] as number[];
        const scores = values.subarray(row * width, (row + 1) * width) as Float32Array;
        const seen = options.sampler.repetitionPenalty === 1 ? [] : [...promptIds, ...own];
        const drawn = options.greedy
          ? greedyToken(scores, options.sampler, seen)
          : sampleToken(scores, options.sampler, seen, uniform({ ...key, position: key.position + position }));
        if (drawn.id < 0 || !Number.isFinite(drawn.logpFull)) {
          broken[row] = true;
          ended[row] = true;
          return;
        }
        own.push(drawn.id);
        clips[row] = (clips[row] as number) + drawn.guardedCount;
        (logps[row] as number[]).push(drawn.logpFull);
        (entropies[row] as number[]).push(drawn.entropy);
        if (options.stop(own)) ended[row] = true;
      });
    }
  } finally {
    if (cache !== undefined) disposeCache(cache);
  }

  return address.map((_, row) => ({
    ids: ids[row] as number[],
    logps: logps[row] as number[],
    entropies: entropies[row] as number[],
    clips: clips[row] as number,
    broken: broken[row] as boolean,
  }));
}

/** The last id of every row, [rows, 1]; an arbitrary one for empty rows. */
function lastIds(ids: readonly (readonly number[])[]): Tensor {
  const last = ids.map((own) => own[own.length - 1] ?? 0);
  return tf.tensor2d(last, [last.length, 1], "int32");
}
