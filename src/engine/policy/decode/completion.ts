/** Options and results of generation, which two decoders implement (policy/decode/generate.ts). */
import type { RandomKey } from "../../gpu/random.ts";
import type { SamplerSettings } from "./sampler.ts";

export interface Completion {
  /** Generated ids, including the end token if it was reached. */
  readonly ids: readonly number[];
  /** log π of each id in the full guarded, tempered distribution (nats). */
  readonly logps: readonly number[];
  readonly entropies: readonly number[];
  /** False if the length limit cut it off. */
  readonly ended: boolean;
}

export interface GenerateOptions {
  readonly maxNewTokens: number;
  readonly sampler: SamplerSettings;
  /** Whether to take the likeliest token instead of sampling. */
  readonly greedy: boolean;
  /** Random key of a rollout; its position is that of the first draw. Unused when greedy. */
  readonly key: (group: number, rollout: number) => RandomKey;
  /**
   * Rotates every token as in a sequence of the maximum length, so that one pass over a finished completion gives the
   * same
   * log-probabilities. If false, the rotation of each token depends on the length so far, as in the published code. The
   * two
   * differ only if rotary scaling for long sequences starts during decoding.
   */
  readonly oneLength?: boolean;
  /** Number of groups whose prompts are computed in one pass; all by default and for 0. */
  readonly groupsAtOnce?: number;
  /** Whether the ids generated so far end the answer. */
  readonly stop: (ids: readonly number[]) => boolean;
  /** Checked between positions; generation throws when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface Generated {
  readonly completions: readonly Completion[];
  /** Number of rows that ended because a logit was NaN. */
  readonly nonFinite: number;
  /** Logits that the guard clipped, over the tokens of all rows. */
  readonly clips: number;
}

/** A row of the batch: the key of its draws, and the ids that a repetition penalty counts as seen. */
export interface RowAddress {
  readonly key: RandomKey;
  readonly promptIds: readonly number[];
}

/** The decoder's result for a row. */
export interface RowResult extends Omit<Completion, "ended"> {
  /** Logits that the guard clipped, over the row's tokens. */
  readonly clips: number;
  /** Whether the row ended because its logits were not finite. */
  readonly broken: boolean;
}
