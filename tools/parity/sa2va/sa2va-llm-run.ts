/** Runs the language model on golden cases: embeddings, scored answers and greedy decoding. */
import { tokenScores } from "../../../src/engine/gpu/kernels/logprob.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import type { Sa2vaConfig } from "../../../src/engine/model/config.ts";
import { projectVisual } from "../../../src/engine/model/families/internvl/family.ts";
import { embedTokens, languageForward, languageLogits } from "../../../src/engine/model/language/language.ts";
import { spliceVisual } from "../../../src/engine/model/splice.ts";
import type { FrozenWeights, ParameterSet, Weights } from "../../../src/engine/model/weights/weights.ts";
import { generate } from "../../../src/engine/policy/decode/generate.ts";
import { FULL_SAMPLING } from "../../../src/engine/policy/decode/sampler.ts";
import { contextRuns } from "../../../src/engine/text/prompt.ts";
import type { Tokenizer } from "../../../src/engine/text/tokenizer.ts";
import type { GoldenCase, GoldenCases } from "./sa2va-cases.ts";

export interface LanguageGolden {
  readonly config: Sa2vaConfig;
  readonly cases: GoldenCases;
  readonly frozen: FrozenWeights;
  /** Golden output of the pixel shuffle, [tiles, tokens, 4H]. */
  readonly shuffled: Tensor;
  /** Region grids, one per region. */
  readonly grids: readonly Uint8Array[];
  readonly adapter: ParameterSet;
  /** alpha / r. */
  readonly scale: number;
  readonly base: Weights;
  /** With the adapter; the same as `base` when the folder has none. */
  readonly tuned: Weights;
  readonly tokenizer: Tokenizer;
}

/** Embeddings [1, T, D] of ids whose visual positions hold the projected golden vision tokens. */
export function embedCase(
  golden: LanguageGolden,
  weights: Weights,
  item: Pick<GoldenCase, "regionTokens">,
  ids: readonly number[],
): Tensor {
  const { language, tokensPerTile } = golden.config;
  return tf.tidy(() => {
    const embedded = embedTokens(weights, language, tf.tensor2d([...ids], [1, ids.length], "int32"));
    const visual = projectVisual(weights, golden.shuffled).reshape([-1, language.hiddenSize]);
    const [imageSpan, ...regionSpans] = contextRuns(ids, golden.tokenizer.special.imageContext);
    const places = { imageSpan: imageSpan ?? { start: 0, end: 0 }, regionSpans };
    const grids = golden.grids.slice(0, item.regionTokens.length);
    return spliceVisual(embedded, places, visual, grids, tokensPerTile);
  });
}

/** log π of each id under the preceding row of logits: logits [≥ n, V] → [n]. */
export function answerLogProbs(logits: Tensor, ids: readonly number[]): Tensor {
  return tf.tidy(() => {
    const rows = tf.slice(logits, [0, 0], [ids.length, logits.shape[1] as number]);
    return tokenScores(rows, tf.tensor1d([...ids], "int32"), 1, Number.POSITIVE_INFINITY).logp;
  });
}

export interface GreedyRun {
  readonly ids: readonly number[];
  readonly logps: readonly number[];
  /** Logits of all steps, one after another. */
  readonly logits: Float32Array;
}

/**
 * Decodes with the decoder that trains and evaluates. Its logits are those of a pass over the prompt and one over each token:
 * the rotary base of some families grows with the answer.
 */
export async function decodeGreedy(
  golden: LanguageGolden,
  item: GoldenCase,
  limit: number,
  stop: (ids: readonly number[]) => boolean,
): Promise<GreedyRun> {
  const { base: weights, config } = golden;
  const { language } = config;
  const prompt = embedCase(golden, weights, item, item.promptIds);
  const last = (prompt.shape[1] as number) - 1;
  const prefix = tf.slice(prompt, [0, 0, 0], [1, last, language.hiddenSize]);
  const tails = tf.slice(prompt, [0, last, 0], [1, 1, language.hiddenSize]);
  const sampler = { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY };
  const key = { seed: 0, step: 0, loop: 1, row: 0, rollout: 0, position: 0, stream: 0 };
  const options = { maxCompletionLength: limit, sampler, greedy: true, key: () => key, stop };
  const [made] = await generate(golden, weights, [{ prefix, tails, tailLengths: [1] }], options).finally(() =>
    tf.dispose([prompt, prefix, tails]),
  );
  const { ids, logps } = made?.completions[0] ?? { ids: [], logps: [] };
  const logits = tf.tidy(() => {
    const x = embedCase(golden, weights, item, [...item.promptIds, ...ids.slice(0, -1)]);
    const part = (at: number, length: number): Tensor => tf.slice(x, [0, at, 0], [1, length, language.hiddenSize]);
    let { hidden, cache } = languageForward(weights, language, part(0, last + 1));
    const rows = [tf.slice(hidden, [0, last, 0], [1, 1, language.hiddenSize])];
    for (let at = last + 1; rows.length < ids.length; at++) {
      ({ hidden, cache } = languageForward(weights, language, part(at, 1), { past: cache }));
      rows.push(hidden);
    }
    return languageLogits(weights, tf.concat(rows, 1).reshape([-1, language.hiddenSize]));
  });
  const all = (await logits.data()) as Float32Array;
  logits.dispose();
  return { ids, logps, logits: all };
}
