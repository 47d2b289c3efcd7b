/** What generation is asked for and what it gives; two decoders stand behind it (policy/decode/generate.ts). */
import type { RandomKey } from "../../gpu/random.ts";
import type { SamplerSettings } from "./sampler.ts";

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
  /**
   * Rotates every token as in a sequence of the greatest length it may reach, so that one pass over a finished completion
   * finds the same log-probabilities. Without it rotation follows the length token by token, as in the published code;
   * the two differ only where rotary scaling for long sequences sets in on the way.
   */
  readonly oneLength?: boolean;
  /** Groups whose prompts are computed in one pass; by default and for 0 all. */
  readonly groupsAtOnce?: number;
  /** True when the ids generated so far end the answer. */
  readonly stop: (ids: readonly number[]) => boolean;
  /** Thrown through when aborted, between positions. */
  readonly signal?: AbortSignal;
}

export interface Generated {
  readonly completions: readonly Completion[];
  /** NaN logits met; those rows were ended there. */
  readonly nonFinite: number;
  /** Logits that the guard clipped, over the tokens of all rows. */
  readonly clips: number;
}

/** A row of the batch: where its draws come from and what a repetition penalty counts as seen. */
export interface RowAddress {
  readonly key: RandomKey;
  readonly promptIds: readonly number[];
}

/** What a decoder made of a row. */
export interface RowResult {
  readonly ids: readonly number[];
  readonly logps: readonly number[];
  readonly entropies: readonly number[];
  /** Logits that the guard clipped, over the row's tokens. */
  readonly clips: number;
  /** Ended by logits that are no numbers. */
  readonly broken: boolean;
}
