/**
 * Compares decoding by the prepared programs with the op layer and the host's sampler: different code for the same
 * tokens.
 */
import { STREAM } from "../gpu/random.ts";
import { atOnce } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { LanguageConfig } from "../model/language/config-language.ts";
import { languageShapes } from "../model/language/language-shapes.ts";
import { weightsView } from "../model/weights/weights.ts";
import type { GenerateOptions } from "../policy/decode/completion.ts";
import { decodeOnGpu, freeDecodeBuffers } from "../policy/decode/decode-gpu.ts";
import { decodeOnHost } from "../policy/decode/decode-host.ts";
import { disposePrefilled, prefill } from "../policy/decode/prefill.ts";
import { FULL_SAMPLING } from "../policy/decode/sampler.ts";
import { drawn } from "./host-math.ts";

/** A decoder with a few thousand weights and sizes that are not powers of two. */
export const TINY_DECODER: LanguageConfig = {
  family: "qwen2",
  vocabSize: 53,
  hiddenSize: 48,
  layers: 2,
  heads: 6,
  kvHeads: 2,
  headSize: 8,
  mlpSize: 44,
  attentionBias: true,
  outputBias: false,
  mlpBias: false,
  rmsNormEps: 1e-6,
  rope: { theta: 10_000, scaling: { kind: "none" } },
  window: undefined,
  maxPositions: 512,
  tiedHead: false,
};
const ROWS = 3;
const PROMPT = 9;
const TOKENS = 12;

export interface Decoded {
  /** Log-probabilities of all tokens, row by row. */
  readonly found: readonly number[];
  readonly expected: readonly number[];
  /** Number of tokens that differ. */
  readonly different: number;
}

/** Samples with both and frees everything, the workspace of decoding included. */
export async function decodeTwice(): Promise<Decoded> {
  const numbers = (shape: readonly number[], seed: number, scale: number, centre = 0): Tensor =>
    tf.tensor(
      drawn(tf.util.sizeFromShape([...shape]), seed).map((value) => centre + scale * value),
      [...shape],
    );
  // Logits a few nats apart, so that some tokens are likely and a wrong factor shows.
  const weightOf = (name: string, shape: readonly number[], seed: number): Tensor => {
    if (/norm[^.]*\.weight$/.test(name)) return numbers(shape, seed, 0.3, 1);
    return numbers(shape, seed, name.endsWith("lm_head.weight") ? 1 : 0.5);
  };
  const frozen = new Map(
    languageShapes(TINY_DECODER).map(([name, shape], at) => [name, weightOf(name, shape, at + 1)] as const),
  );
  const weights = weightsView(frozen, {}, 0);
  const prefix = numbers([1, PROMPT, TINY_DECODER.hiddenSize], 101, 1);
  const tails = numbers([ROWS, 1, TINY_DECODER.hiddenSize], 102, 1);
  const prompts = atOnce(
    prefill(weights, TINY_DECODER, [{ prefix, tails, tailLengths: new Array<number>(ROWS).fill(1) }]),
  );
  const key = { seed: 7, step: 1, loop: 1, row: 0, position: 0, stream: STREAM.token };
  const address = Array.from({ length: ROWS }, (_, rollout) => ({ key: { ...key, rollout }, promptIds: [] }));
  const options: GenerateOptions = {
    maxNewTokens: TOKENS,
    sampler: FULL_SAMPLING,
    greedy: false,
    key: (_, rollout) => ({ ...key, rollout }),
    stop: () => false,
  };
  try {
    const own = await decodeOnGpu(TINY_DECODER, weights, prompts, address, options);
    const other = await decodeOnHost(TINY_DECODER, weights, prompts, address, options);
    const [ids, otherIds] = [own, other].map((rows) => rows.flatMap((row) => row.ids)) as [number[], number[]];
    return {
      found: own.flatMap(({ logps }) => logps),
      expected: other.flatMap(({ logps }) => logps),
      different: ids.filter((id, at) => id !== otherIds[at]).length + Math.abs(ids.length - otherIds.length),
    };
  } finally {
    disposePrefilled(prompts);
    tf.dispose([prefix, tails, ...frozen.values()]);
    freeDecodeBuffers();
  }
}
