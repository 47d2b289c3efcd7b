/**
 * The greedy answer to an embedded prompt, and the mask prompts of its [SEG] tokens
 * (docs/spec/sa2va.md#7-generation, docs/spec/sa2va.md#12-from-seg-to-the-language-prompt).
 */
import { badInput } from "../errors.ts";
import type { Place } from "../gpu/kernels/rope.ts";
import { STREAM } from "../gpu/random.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { languageForward } from "../model/language/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights/weights.ts";
import { prediction } from "../text/template.ts";
import { generate } from "./decode/generate.ts";
import { FULL_SAMPLING } from "./decode/sampler.ts";
import { answerRule } from "./prompts.ts";

export interface EmbeddedPrompt {
  readonly ids: readonly number[];
  /** Places of the first `length` tokens of prompt and answer; undefined where they are the tokens' indices. */
  places(length: number): readonly Place[] | undefined;
  /** Embeddings of the prompt's ids, or of a longer sequence that begins with them, [1, T, H]; owned by the caller. */
  embed(ids: readonly number[]): Tensor;
}

export interface AnswerOptions {
  readonly maxNewTokens: number;
  readonly signal: AbortSignal;
}

export interface GreedyAnswer {
  /** New ids, including the end token. */
  readonly ids: readonly number[];
  /** Special tokens kept, without the stop word. */
  readonly text: string;
  /** Positions of [SEG] in `ids`. A [SEG] at the length limit was never read, so it has no state and is left out. */
  readonly places: readonly number[];
  /** False if the length limit cut the answer off. */
  readonly ended: boolean;
}

/**
 * @throws LabError("cancelled") when the signal is aborted, LabError("bad-input") when the model's numbers are not
 * finite
 */
export async function greedyAnswer(
  model: Sa2vaModel,
  weights: Weights,
  prompt: EmbeddedPrompt,
  { maxNewTokens, signal }: AnswerOptions,
): Promise<GreedyAnswer> {
  const rule = answerRule(model);
  const [prefix, tails] = tf.tidy(() => {
    const whole = prompt.embed(prompt.ids);
    const [, length, width] = whole.shape as [number, number, number];
    return [tf.slice(whole, [0, 0, 0], [1, length - 1, width]), tf.slice(whole, [0, length - 1, 0], [1, 1, width])];
  }) as [Tensor, Tensor];
  const places = prompt.places(prompt.ids.length);
  const positions = places === undefined ? undefined : [places];
  const batch = { prefix, tails, tailLengths: [1], positions, promptIds: prompt.ids };
  const [answered] = await generate(model, weights, [batch], {
    maxNewTokens,
    sampler: { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY },
    greedy: true,
    key: () => ({ seed: 0, step: 0, loop: 0, row: 0, rollout: 0, position: 0, stream: STREAM.token }),
    stop: (ids) => rule.reached(ids),
    signal,
  }).finally(() => tf.dispose([prefix, tails]));
  if (answered === undefined || answered.nonFinite > 0) {
    throw badInput("The model's logits are not finite, so it has no answer; look at its weights");
  }
  const { ids = [], ended = false } = answered.completions[0] ?? {};
  const found = ids.flatMap((id, at) => (id === model.tokenizer.special.seg && at < ids.length - 1 ? [at] : []));
  const said = prediction(model.tokenizer, ids);
  const stop = rule.words.find((word) => said.endsWith(word)) ?? "";
  return { ids, text: said.slice(0, said.length - stop.length).trim(), places: found, ended };
}

/**
 * Prompts of the mask decoder from the states at `places` of an answer.
 * @param places at least one, ascending
 * @returns [places, C]; owned by the caller or its tidy
 */
export function segPrompts(
  model: Sa2vaModel,
  weights: Weights,
  prompt: EmbeddedPrompt,
  answer: readonly number[],
  places: readonly number[],
): Tensor {
  return tf.tidy(() => {
    const { language } = model.config;
    const ids = [...prompt.ids, ...answer.slice(0, (places.at(-1) as number) + 1)];
    const own = prompt.places(ids.length);
    const { hidden } = languageForward(weights, language, prompt.embed(ids), {
      norm: model.config.segAfterNorm,
      ...(own === undefined ? {} : { positions: [own] }),
    });
    const positions = places.map((at) => prompt.ids.length + at);
    const rows = tf.tensor1d(positions, "int32");
    return languagePrompt(weights, tf.gather(hidden.reshape([ids.length, language.hiddenSize]), rows));
  });
}
