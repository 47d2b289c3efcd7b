/**
 * Measures the time per token of Sa2VA-1B's language model with made-up f16 weights and an adapter, by rows per batch.
 */

import { median } from "../../engine/bytes/collections.ts";
import { LabError } from "../../engine/errors.ts";
import { PackedMatrix, uploadBlock } from "../../engine/gpu/packed/matrix.ts";
import { packRows } from "../../engine/gpu/packed/quantise.ts";
import { rowsPerBlock } from "../../engine/gpu/packed/storage.ts";
import { STREAM } from "../../engine/gpu/random.ts";
import { atOnce } from "../../engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import type { LanguageConfig } from "../../engine/model/language/config-language.ts";
import { languageLinears, languageShapes } from "../../engine/model/language/language-families.ts";
import { disposeWeights, type Matrix, weightsView } from "../../engine/model/weights/weights.ts";
import { decodeOnGpu, freeDecodeBuffers } from "../../engine/policy/decode/decode-gpu.ts";
import { disposePrefilled, prefill } from "../../engine/policy/decode/prefill.ts";
import { FULL_SAMPLING, type GenerateOptions } from "../../engine/policy/decode/sampler.ts";
import { TINY_DECODER } from "../diagnostics/checks.ts";
import { drawn } from "../diagnostics/host-math.ts";
import type { CardRate, CardSizes } from "./card-line.ts";

/** The language model of Sa2VA-1B; its head shares the embedding to save memory, and is read as a whole either way. */
export const TRUE_DECODER: LanguageConfig = {
  ...TINY_DECODER,
  vocabSize: 151_679,
  hiddenSize: 896,
  layers: 24,
  heads: 14,
  kvHeads: 2,
  headSize: 64,
  mlpSize: 4864,
  rope: { theta: 1e6, scaling: { kind: "none" } },
  maxPositions: 32_768,
  tiedHead: true,
};
const SMALL_DECODER: LanguageConfig = { ...TINY_DECODER, mlpSize: 48, tiedHead: true };

export const DECODED_ROWS = [1, 4, 8, 16] as const;
const RANK = 16;
const RUNS = 3;

/**
 * Seconds per token for all rows together; the median of three runs after one that compiles.
 * @param now milliseconds
 */
export async function* decodeRates(
  now: () => number,
  sizes: CardSizes,
  signal?: AbortSignal,
): AsyncGenerator<CardRate> {
  const config = sizes === "1B" ? TRUE_DECODER : SMALL_DECODER;
  const [places, tokens] = sizes === "1B" ? [320, 16] : [9, 4];
  const frozen = madeWeights(config);
  const adapters = Object.fromEntries(
    languageLinears(config).flatMap(({ path, inSize, outSize }): [string, Tensor][] => [
      [`${path}.lora_A.weight`, tf.fill([RANK, inSize], 0.01)],
      [`${path}.lora_B.weight`, tf.fill([outSize, RANK], 0.01)],
    ]),
  );
  try {
    const weights = weightsView(frozen, adapters, 2);
    for (const rows of DECODED_ROWS) {
      const prefix = tf.tensor(drawn(places * config.hiddenSize, 1), [1, places, config.hiddenSize]);
      const tails = tf.tensor(drawn(rows * config.hiddenSize, 2), [rows, 1, config.hiddenSize]);
      const prompts = atOnce(
        prefill(weights, config, [{ prefix, tails, tailLengths: new Array<number>(rows).fill(1) }]),
      );
      const key = { seed: 1, step: 1, loop: 1, row: 0, position: 0, stream: STREAM.token };
      const address = Array.from({ length: rows }, (_, rollout) => ({ key: { ...key, rollout }, promptIds: [] }));
      const options: GenerateOptions = {
        maxCompletionLength: tokens,
        sampler: FULL_SAMPLING,
        greedy: false,
        key: (_, rollout) => ({ ...key, rollout }),
        stop: () => false,
        ...(signal === undefined ? {} : { signal }),
      };
      const times: number[] = [];
      try {
        for (let run = 0; run <= RUNS; run++) {
          const began = now();
          const found = await decodeOnGpu(config, weights, prompts, address, options);
          if (found.some(({ broken }) => broken)) throw new LabError("gpu", "A logit was NaN");
          if (run > 0) times.push((now() - began) / 1000 / tokens);
        }
      } finally {
        disposePrefilled(prompts);
        tf.dispose([prefix, tails]);
      }
      yield { case: `A token of ${rows} ${rows === 1 ? "row" : "rows"}`, value: median(times), unit: "s" };
    }
  } finally {
    disposeWeights([...frozen.values(), ...Object.values(adapters)]);
    freeDecodeBuffers();
  }
}

/** Matrices in f16, packed once per shape and uploaded once per matrix; the rest in f32. */
function madeWeights(config: LanguageConfig): Map<string, Matrix> {
  const packed = new Map<string, ReturnType<typeof packRows>>();
  const matrix = (rows: number, inSize: number): PackedMatrix => {
    const step = rowsPerBlock("f16", inSize);
    const count = Math.min(step, rows);
    const id = `${count} × ${inSize}`;
    const scale = Math.sqrt(3 / inSize);
    // Repeats after about a thousand numbers, a length that is no multiple of any width.
    const pool = drawn(1009, 3).map((value) => scale * value);
    const values =
      packed.get(id) ??
      packRows(
        "f16",
        Float32Array.from({ length: count * inSize }, (_, i) => pool[i % 1009] as number),
        count,
        inSize,
      );
    if (values === undefined) throw new LabError("internal", "A made-up weight is not finite");
    packed.set(id, values);
    const starts = Array.from({ length: Math.ceil(rows / step) }, (_, block) => block * step);
    return new PackedMatrix(
      [rows, inSize],
      "f16",
      starts.map((first) => uploadBlock(values, first, Math.min(step, rows - first), "made-up weights")),
    );
  };
  return new Map(
    languageShapes(config).map(([name, shape]): [string, Matrix] => {
      const [rows = 1, inSize] = shape;
      if (inSize !== undefined) return [name, matrix(rows, inSize)];
      return [name, tf.fill([rows], name.endsWith(".bias") ? 0 : 1)];
    }),
  );
}
