/**
 * Token sampler on the CPU, in double precision. Order of the steps (as in transformers, with our guard clip before the
 * temperature): repetition penalty → guard clip → temperature → top-k → top-p → min-p. Greedy decoding takes the
 * largest logit after the repetition penalty.
 */
import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";
import { type LaneProgram, withReduction } from "../../gpu/decode/lanes.ts";
import { SAMPLE, SAMPLE_DRAW, SAMPLE_MASSES, SAMPLE_TOPS, sampleChunks, samplesWide } from "../../gpu/decode/sample.ts";
import type { RandomKey } from "../../gpu/random.ts";
import { flatGrid } from "../../gpu/runtime/program.ts";
import type { Prepared } from "../../gpu/runtime/recording.ts";

export interface SamplerSettings {
  /** τ > 0. Greedy decoding is `greedyToken`, not a temperature of 0. */
  readonly temperature: number;
  /** Logits are clipped to ±guard before the temperature; Infinity for none. */
  readonly guard: number;
  /** Keep the k likeliest tokens and all ties with the last of them; 0 for all. */
  readonly topK: number;
  /** Keep the smallest set whose mass reaches topP; 1 for all. */
  readonly topP: number;
  /** Drop tokens below minP times the largest probability; 0 for none. */
  readonly minP: number;
  /** Divides positive and multiplies negative logits of ids already seen in prompt or output; 1 for none. */
  readonly repetitionPenalty: number;
}

/** The full, guarded distribution that training rollouts use. */
export const FULL_SAMPLING: SamplerSettings = {
  temperature: 1,
  guard: 30,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
};

/** The sampler settings of a run. */
export function samplerSettings(config: LabConfig): SamplerSettings {
  const { temperature, topK, topP, minP, repetitionPenalty } = config;
  return { temperature, topK, topP, minP, repetitionPenalty, guard: config.logitGuard };
}

interface SampledToken {
  /** -1 when every logit of the row is NaN. */
  readonly id: number;
  /** log-prob of `id` in the full guarded and tempered distribution, which the ratio uses; NaN when a logit is NaN. */
  readonly logpFull: number;
  /** log-prob of `id` in the distribution that it was drawn from. */
  readonly logpBehaviour: number;
  /** Entropy (nats) of the full guarded and tempered distribution. */
  readonly entropy: number;
  /** Number of logits that the guard clip changed. */
  readonly guardedCount: number;
}

/** A row after all steps. */
interface SamplingRow {
  /** Processed logits; -Infinity where removed. */
  readonly scores: Float64Array;
  /** Probabilities that the draw uses; 0 where removed. */
  readonly probabilities: Float64Array;
  readonly kept: Uint8Array;
}

/** Throws LabError("bad-config") naming the first setting that is out of range. */
export function checkSampler(settings: SamplerSettings): void {
  const wrong = (name: string, rule: string, value: number): never => {
    throw new LabError("bad-config", `Sampler setting ${name} must be ${rule}, it is ${value}; nothing was sampled.`, {
      subject: name,
    });
  };
  const { temperature, guard, topK, topP, minP, repetitionPenalty } = settings;
  if (!(temperature > 0 && Number.isFinite(temperature))) wrong("temperature", "above 0", temperature);
  if (!(guard > 0)) wrong("guard", "above 0", guard);
  if (!(Number.isInteger(topK) && topK >= 0)) wrong("topK", "a whole number of at least 0", topK);
  if (!(topP > 0 && topP <= 1)) wrong("topP", "in (0, 1]", topP);
  if (!(minP >= 0 && minP <= 1)) wrong("minP", "in [0, 1]", minP);
  if (!(repetitionPenalty > 0)) wrong("repetitionPenalty", "above 0", repetitionPenalty);
}

/** All steps on one row of logits [V]; `seen` may contain an id more than once. */
export function processRow(
  logits: ArrayLike<number>,
  settings: SamplerSettings,
  seen: Iterable<number> = [],
): SamplingRow {
  const scores = penalised(logits, settings, seen);
  for (let i = 0; i < scores.length; i++) {
    const z = clip(scores[i] as number, settings.guard) / settings.temperature;
    scores[i] = Number.isNaN(z) ? Number.NEGATIVE_INFINITY : z;
  }
  keepTopK(scores, settings.topK);
  keepTopP(scores, settings.topP);
  keepMinP(scores, settings.minP);

  const probabilities = softmax(scores);
  const kept = Uint8Array.from(scores, (score) => Number(score !== Number.NEGATIVE_INFINITY));
  return { scores, probabilities, kept };
}

/** The logits after the repetition penalty. */
function penalised(
  logits: ArrayLike<number>,
  { repetitionPenalty }: SamplerSettings,
  seen: Iterable<number>,
): Float64Array {
  const scores = Float64Array.from(logits);
  if (repetitionPenalty === 1) return scores;
  for (const id of new Set(seen)) {
    const z = scores[id];
    if (z === undefined) continue;
    scores[id] = z > 0 ? z / repetitionPenalty : z * repetitionPenalty;
  }
  return scores;
}

/**
 * First index, in vocabulary order, whose cumulative probability exceeds `u`; the last possible index if rounding
 * leaves the total below u. -1 when the total is 0.
 */
export function inverseCdf(probabilities: ArrayLike<number>, u: number): number {
  let sum = 0;
  let last = -1;
  for (let i = 0; i < probabilities.length; i++) {
    const p = probabilities[i] as number;
    if (!(p > 0)) continue;
    sum += p;
    last = i;
    if (sum > u) return i;
  }
  return last;
}

/**
 * Draws one token from a row of logits [V].
 * @param seen ids of prompt and output so far (only read when there is a repetition penalty)
 * @param u uniform in [0, 1)
 */
export function sampleToken(
  logits: ArrayLike<number>,
  settings: SamplerSettings,
  seen: Iterable<number>,
  u: number,
): SampledToken {
  const row = processRow(logits, settings, seen);
  const id = inverseCdf(row.probabilities, u);
  return describe(logits, settings, id, id < 0 ? Number.NaN : Math.log(row.probabilities[id] as number));
}

/**
 * The likeliest token (the first of equals), after the repetition penalty and before the guard, which would make all
 * logits above it equal. Its behaviour log-prob is 0.
 */
export function greedyToken(
  logits: ArrayLike<number>,
  settings: SamplerSettings,
  seen: Iterable<number> = [],
): SampledToken {
  const scores = penalised(logits, settings, seen);
  let id = -1;
  for (let i = 0; i < scores.length; i++) {
    if (Number.isNaN(scores[i])) continue;
    if (id < 0 || (scores[i] as number) > (scores[id] as number)) id = i;
  }
  return describe(logits, settings, id, id < 0 ? Number.NaN : 0);
}

function describe(
  logits: ArrayLike<number>,
  settings: SamplerSettings,
  id: number,
  logpBehaviour: number,
): SampledToken {
  let guardedCount = 0;
  let hasNaN = false;
  for (let i = 0; i < logits.length; i++) {
    const z = logits[i] as number;
    if (Number.isNaN(z)) hasNaN = true;
    if (Math.abs(z) > settings.guard) guardedCount++;
  }
  // H = log Σ e^z - Σ z e^z / Σ e^z with the maximum subtracted: one exponential per logit.
  const top = greatest(logits, settings);
  let [sum, weighted] = [0, 0];
  for (let i = 0; i < logits.length; i++) {
    const z = clip(logits[i] as number, settings.guard) / settings.temperature - top;
    if (!(z > Number.NEGATIVE_INFINITY)) continue;
    const weight = Math.exp(z);
    sum += weight;
    weighted += z * weight;
  }
  const own = clip(logits[id] ?? Number.NaN, settings.guard) / settings.temperature;
  return {
    id,
    logpFull: hasNaN || id < 0 ? Number.NaN : own - top - Math.log(sum),
    logpBehaviour,
    entropy: hasNaN ? Number.NaN : Math.log(sum) - weighted / sum,
    guardedCount,
  };
}

/** Largest guarded and tempered logit that is not NaN. */
export function greatest(logits: ArrayLike<number>, settings: SamplerSettings): number {
  let top = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < logits.length; i++) if ((logits[i] as number) > top) top = logits[i] as number;
  return clip(top, settings.guard) / settings.temperature;
}

export function clip(z: number, guard: number): number {
  return z > guard ? guard : Math.max(z, -guard);
}

function softmax(scores: Float64Array): Float64Array {
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < scores.length; i++) if ((scores[i] as number) > max) max = scores[i] as number;
  const probabilities = new Float64Array(scores.length);
  let sum = 0;
  for (let i = 0; i < scores.length; i++) {
    const z = scores[i] as number;
    if (z === Number.NEGATIVE_INFINITY) continue;
    const weight = Math.exp(z - max);
    probabilities[i] = weight;
    sum += weight;
  }
  for (let i = 0; i < scores.length; i++) probabilities[i] = (probabilities[i] as number) / sum;
  return probabilities;
}

function keepTopK(scores: Float64Array, k: number): void {
  if (k === 0 || k >= scores.length) return;
  const threshold = scores.slice().sort()[scores.length - k] as number;
  for (let i = 0; i < scores.length; i++) if ((scores[i] as number) < threshold) scores[i] = Number.NEGATIVE_INFINITY;
}

function keepTopP(scores: Float64Array, topP: number): void {
  if (topP >= 1) return;
  const probabilities = softmax(scores);
  // Tokens this unlikely cannot reach 1 - topP even together: they are removed without sorting.
  const negligible = (1 - topP) / scores.length;
  const candidates: number[] = [];
  let sum = 0;
  for (let i = 0; i < scores.length; i++) {
    const p = probabilities[i] as number;
    if (p >= negligible) candidates.push(i);
    else {
      sum += p;
      scores[i] = Number.NEGATIVE_INFINITY;
    }
  }
  candidates.sort((a, b) => (scores[a] as number) - (scores[b] as number) || a - b);
  // The last token, which is the likeliest, is never removed.
  for (const index of candidates.slice(0, -1)) {
    sum += probabilities[index] as number;
    if (sum > 1 - topP) break;
    scores[index] = Number.NEGATIVE_INFINITY;
  }
}

function keepMinP(scores: Float64Array, minP: number): void {
  if (minP === 0) return;
  const probabilities = softmax(scores);
  let largest = 0;
  for (let i = 0; i < probabilities.length; i++) largest = Math.max(largest, probabilities[i] as number);
  const threshold = minP * largest;
  for (let i = 0; i < scores.length; i++) {
    if ((probabilities[i] as number) < threshold) scores[i] = Number.NEGATIVE_INFINITY;
  }
}

// The dispatches that draw the next token of every slot: one, or three for a large vocabulary.

const PHILOX_ROUNDS = 10;

export interface SampleBuffers {
  readonly logits: GPUBuffer;
  readonly state: GPUBuffer;
  readonly seen: GPUBuffer;
  /** Partial results of the chunks of a large vocabulary; see `samplePartWords`. */
  readonly parts: GPUBuffer;
  readonly drawn: GPUBuffer;
}

/** Slots in use. */
interface SampleLoad {
  readonly slots: number;
}

interface SampleSizes {
  readonly vocabSize: number;
  /** Slots allocated. */
  readonly slots: number;
  /** Rows of the batch; drawn tokens are stored in rows + 1 columns. */
  readonly rows: number;
}

/** @param wide whether many workgroups share a slot's logits; by default if that is faster and the settings allow it */
export function sampleStep(
  { logits, state, seen, parts, drawn }: SampleBuffers,
  { vocabSize, slots, rows }: SampleSizes,
  sampler: SamplerSettings,
  greedy: boolean,
  software: boolean,
  wide = samplesWide(vocabSize, sampler.topK, sampler.topP, greedy),
): Prepared<SampleLoad>[] {
  const { temperature, guard, topK, topP, minP, repetitionPenalty } = sampler;
  const dispatch = (source: LaneProgram, tiles: number, buffers: readonly GPUBuffer[]): Prepared<SampleLoad> => {
    const { program, groups } = withReduction(source, software);
    return {
      program,
      buffers,
      uniforms: [
        slots * tiles,
        vocabSize,
        rows + 1,
        Number(greedy),
        temperature,
        greedy ? 1 : temperature,
        Math.min(guard, 3.4e38),
        topK,
        Math.floor((1 - topP) * 2 ** 32),
        minP,
        repetitionPenalty,
        seenWords(vocabSize, sampler),
        PHILOX_ROUNDS,
      ],
      grid: (load) => flatGrid(groups(load.slots * tiles)),
    };
  };
  if (!wide) return [dispatch(SAMPLE, 1, [logits, state, seen, drawn])];
  const chunks = sampleChunks(vocabSize);
  return [
    dispatch(SAMPLE_TOPS, chunks, [logits, state, seen, parts]),
    dispatch(SAMPLE_MASSES, chunks, [logits, state, seen, parts]),
    dispatch(SAMPLE_DRAW, 1, [logits, parts, state, seen, drawn]),
  ];
}

/** Words per row in the set of seen ids; 0 without a repetition penalty. */
export function seenWords(vocabSize: number, sampler: SamplerSettings): number {
  return sampler.repetitionPenalty === 1 ? 0 : Math.ceil(vocabSize / 32);
}

// Options and results of generation, which two decoders implement (policy/decode/generate.ts).

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
  readonly maxCompletionLength: number;
  readonly sampler: SamplerSettings;
  /** Whether to take the likeliest token instead of sampling. */
  readonly greedy: boolean;
  /** Random key of a rollout; its position is that of the first draw. Unused when greedy. */
  readonly key: (group: number, rollout: number) => RandomKey;
  /**
   * Rotates every token as in a sequence of the maximum length, so that one pass over a finished completion gives the
   * same log-probabilities. If false, the rotation of each token depends on the length so far, as in the published
   * code. The two differ only if rotary scaling for long sequences starts during decoding.
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
