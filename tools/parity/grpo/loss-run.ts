/** One pass logits → log-probs → loss → gradients through the training code, read back as arrays. */
import { tokenScores } from "../../../src/engine/gpu/kernels/logprob.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { detailedLoss, type LossData } from "../../../src/engine/rl/objective/loss.ts";
import type { LossSettings } from "../../../src/engine/rl/objective/loss-types.ts";
import type { Tolerance } from "../compare.ts";
import { flat, type Json, shapeOf } from "../golden-json.ts";

/** Float32: the golden README's 1e-5, and a rounding share for values far above 1. */
export const LOSS_TOLERANCE: Tolerance = { absolute: 1e-5, relative: 1e-6 };
export const LOGP_TOLERANCE: Tolerance = { absolute: 1e-4, relative: 1e-5 };
/** Numbers computed in double precision from float32 log-probs. */
export const METRIC_TOLERANCE: Tolerance = { absolute: 1e-5, relative: 1e-5 };
/** Numbers computed in double precision throughout. */
export const DOUBLE_TOLERANCE: Tolerance = { absolute: 1e-12, relative: 1e-12 };

/** Advantages of rewards that differ by 1e-6 lose digits when the mean is rounded, whatever the order of summation. */
export const ADVANTAGE_TOLERANCE: Tolerance = { absolute: 1e-9, relative: 1e-9 };

export interface LossCase {
  readonly rows: number;
  readonly tokens: number;
  readonly vocabulary: number;
  readonly logits: readonly number[];
  readonly ids: readonly number[];
  readonly mask: readonly number[];
  readonly old: readonly number[] | null;
  readonly ref: readonly number[] | null;
  readonly advantages: readonly number[];
  readonly temperature: number;
  /** Infinity for no clip. */
  readonly guard: number;
}

export interface LossRun {
  readonly loss: number;
  readonly policy: number;
  readonly klPenalty: number;
  readonly logps: Float32Array;
  readonly entropies: Float32Array;
  readonly perToken: Float32Array;
  readonly ratio: Float32Array;
  readonly kl: Float32Array;
  readonly gradLogps: Float32Array;
  readonly gradLogits: Float32Array;
}

/** The `inputs` of a golden case with given advantages. */
export function lossCase(inputs: Json, advantages: readonly number[], temperature = 1): LossCase {
  const [rows = 0, tokens = 0, vocabulary = 0] = shapeOf(inputs.policy_logits);
  const optional = (key: string): number[] | null => (Array.isArray(inputs[key]) ? flat(inputs[key]) : null);
  return {
    rows,
    tokens,
    vocabulary,
    logits: flat(inputs.policy_logits),
    ids: flat(inputs.completion_ids),
    mask: flat(inputs.completion_mask),
    old: optional("old_logps"),
    ref: optional("ref_logps"),
    advantages,
    temperature,
    guard: Number.POSITIVE_INFINITY,
  };
}

/** Rows [start, end) of a case. */
export function rowsOf(whole: LossCase, start: number, end: number): LossCase {
  const cut = (values: readonly number[], width: number): number[] => values.slice(start * width, end * width);
  const { tokens, vocabulary } = whole;
  return {
    ...whole,
    rows: end - start,
    logits: cut(whole.logits, tokens * vocabulary),
    ids: cut(whole.ids, tokens),
    mask: cut(whole.mask, tokens),
    old: whole.old && cut(whole.old, tokens),
    ref: whole.ref && cut(whole.ref, tokens),
    advantages: cut(whole.advantages, 1),
  };
}

export async function runLoss(input: LossCase, settings: LossSettings): Promise<LossRun> {
  const { rows, tokens, vocabulary } = input;
  const kept: Record<string, Tensor> = {};
  const grid = (values: readonly number[]): Tensor => tf.tensor(values as number[], [rows, tokens], "float32");
  const optional = (values: readonly number[] | null): Tensor | null => (values === null ? null : grid(values));
  const { value, grad } = tf.tidy(() =>
    tf.valueAndGrad((logits) => {
      const ids = tf.tensor1d(input.ids as number[], "int32");
      const scores = tokenScores(logits as Tensor, ids, input.temperature, input.guard);
      const logps = scores.logp.reshape([rows, tokens]);
      const entropies = scores.entropy.reshape([rows, tokens]);
      const inputs = {
        logps,
        entropies,
        oldLogps: optional(input.old),
        refLogps: optional(input.ref),
        mask: grid(input.mask),
        advantages: tf.tensor1d(input.advantages as number[]),
      };
      const { loss, ...parts } = detailedLoss(inputs, settings);
      for (const [name, tensor] of Object.entries({ ...parts, logps, entropies })) kept[name] = tf.keep(tensor.clone());
      return loss;
    })(tf.tensor2d(input.logits as number[], [rows * tokens, vocabulary])),
  );
  const read = async (tensor: Tensor | undefined): Promise<Float32Array> => {
    const data = (await (tensor as Tensor).data()) as Float32Array;
    (tensor as Tensor).dispose();
    return data;
  };
  const run = {
    loss: (await read(value))[0] as number,
    policy: (await read(kept.policy))[0] as number,
    klPenalty: (await read(kept.klPenalty))[0] as number,
    logps: await read(kept.logps),
    entropies: await read(kept.entropies),
    perToken: await read(kept.perToken),
    ratio: await read(kept.ratio),
    kl: await read(kept.kl),
    gradLogps: await read(kept.gradLogps),
    gradLogits: await read(grad),
  };
  return run;
}

/** The arrays the metrics are computed from. */
export function metricArrays(input: LossCase, run: LossRun): LossData {
  return {
    rows: input.rows,
    tokens: input.tokens,
    logps: run.logps,
    oldLogps: input.old,
    refLogps: input.ref,
    entropies: run.entropies,
    mask: input.mask,
    advantages: input.advantages,
  };
}

/** Values at the active positions of a case. */
export function active(input: LossCase, values: ArrayLike<number>): number[] {
  return input.mask.flatMap((m, i) => (m > 0.5 ? [values[i] as number] : []));
}
