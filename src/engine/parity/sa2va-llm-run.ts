/** Running the language model on golden cases: embeddings, scored answers and greedy decoding. */
import { tokenScores } from "../gpu/kernels/logprob.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import { disposeCache, embedTokens, type KvCache, languageForward, languageLogits } from "../model/language.ts";
import { projectVisual } from "../model/projector.ts";
import { spliceVisual } from "../model/splice.ts";
import type { FrozenWeights, ParameterSet, Weights } from "../model/weights.ts";
import { contextRuns } from "../text/prompt.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
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

/** Embeddings [1, T, D] of ids whose visual places are filled by the projector on the golden vision tokens. */
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

/** log π of each id under the row of logits in front of it: logits [≥ n, V] → [n]. */
export function answerLogProbs(logits: Tensor, ids: readonly number[]): Tensor {
  return tf.tidy(() => {
    const rows = tf.slice(logits, [0, 0], [ids.length, logits.shape[1] as number]);
    return tokenScores(rows, tf.tensor1d([...ids], "int32"), 1, Number.POSITIVE_INFINITY).logp;
  });
}

export interface GreedyRun {
  readonly ids: number[];
  readonly logps: number[];
  /** Logits of all steps, one after another. */
  readonly logits: Float32Array;
}

/** Decodes with the cache until the stop rule or the limit. */
export async function decodeGreedy(
  golden: LanguageGolden,
  item: GoldenCase,
  limit: number,
  stop: (ids: readonly number[]) => boolean,
): Promise<GreedyRun> {
  const { base: weights, config } = golden;
  const { language } = config;
  const ids: number[] = [];
  const logps: number[] = [];
  const steps: Float32Array[] = [];
  let cache: KvCache | undefined;
  const advance = (x: Tensor): Tensor => {
    const past = cache;
    const out = languageForward(weights, language, x, past === undefined ? {} : { past });
    if (past !== undefined) disposeCache(past);
    cache = out.cache;
    const last = tf.tidy(() => {
      const row = tf.slice(out.hidden, [0, (x.shape[1] as number) - 1, 0], [1, 1, language.hiddenSize]);
      return languageLogits(weights, row.reshape([1, language.hiddenSize]));
    });
    tf.dispose([out.hidden, x]);
    return last;
  };
  try {
    let logits = advance(embedCase(golden, weights, item, item.promptIds));
    for (;;) {
      const values = (await logits.data()) as Float32Array;
      logits.dispose();
      steps.push(values);
      const id = values.reduce((best, value, at) => (value > (values[best] as number) ? at : best), 0);
      const most = values[id] as number;
      logps.push(-Math.log(values.reduce((sum, value) => sum + Math.exp(value - most), 0)));
      ids.push(id);
      if (stop(ids) || ids.length >= limit) break;
      logits = advance(tf.tidy(() => embedTokens(weights, language, tf.tensor2d([id], [1, 1], "int32"))));
    }
  } finally {
    if (cache !== undefined) disposeCache(cache);
  }
  const width = steps[0]?.length ?? 0;
  const all = new Float32Array(steps.length * width);
  for (const [at, values] of steps.entries()) all.set(values, at * width);
  return { ids, logps, logits: all };
}
