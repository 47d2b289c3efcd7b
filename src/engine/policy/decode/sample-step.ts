/** The dispatches that draw the next token of every slot: one, or three for a large vocabulary. */
import { type LaneProgram, withReduction } from "../../gpu/decode/lanes.ts";
import { SAMPLE } from "../../gpu/decode/sample.ts";
import { SAMPLE_DRAW, SAMPLE_MASSES, SAMPLE_TOPS, sampleChunks, samplesWide } from "../../gpu/decode/sample-wide.ts";
import { flatGrid } from "../../gpu/runtime/program.ts";
import type { Prepared } from "../../gpu/runtime/recording.ts";
import type { SamplerSettings } from "./sampler.ts";

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

export interface SampleSizes {
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
