/**
 * Runs the tuner over the large products and attentions of a step of Sa2VA-1B: pictures of one tile and of thirteen,
 * frozen matrices in f16, made-up operands.
 */
import { holdShapes, type SeenShape } from "../../engine/gpu/forms/active.ts";
import {
  type AttentionSizes,
  attentionBucket,
  type ProductSizes,
  productBucket,
} from "../../engine/gpu/forms/records.ts";
import type { WeightStorage } from "../../engine/gpu/packed/storage.ts";
import type { EngineDevice } from "../../engine/gpu/runtime/device.ts";
import type { LanguageConfig } from "../../engine/model/language/config-language.ts";
import { languageLinears } from "../../engine/model/language/language-families.ts";
import { tuneShapes } from "../tuner/tuner.ts";
import type { CardRate } from "./card-line.ts";
import { TRUE_DECODER } from "./decode-rates.ts";

/** Tokens of a prompt with one tile (also of eight captions of 48 tokens), and of a prompt with thirteen tiles. */
const ROWS = [384, 3456] as const;
/** A tile in the vision tower: tokens, heads, and the sizes of its layers. */
const TILE = { tokens: 1025, width: 1024, heads: 16, mlp: 4096 } as const;

const product = (sizes: ProductSizes): SeenShape => ({
  family: "product",
  sizes,
  bucket: productBucket(sizes),
  times: 1,
});
const attention = (sizes: AttentionSizes): SeenShape => ({
  family: "attention",
  sizes,
  bucket: attentionBucket(sizes),
  times: 1,
});

/**
 * Products of a language model's layers with `rows` rows, forward and for the input's gradient, and attention over
 * them.
 */
export function languageSweep(config: LanguageConfig, rows: number, storage: WeightStorage): SeenShape[] {
  const { heads, kvHeads, headSize } = config;
  const epilogue = storage === "f32" ? "plain" : "packed";
  const layers = languageLinears({ ...config, layers: 1 }).flatMap(({ inSize, outSize }) => [
    product({ layout: "nt", epilogue, storage, batch: 1, m: rows, n: outSize, k: inSize }),
    product({ layout: "nn", epilogue, storage, batch: 1, m: rows, n: inSize, k: outSize }),
  ]);
  const sizes = { heads, group: heads / kvHeads, queries: rows, keys: rows, width: headSize, valueWidth: headSize };
  return distinct([...layers, attention({ ...sizes, causal: true })]);
}

/** Shapes of a step of Sa2VA-1B, one per bucket. */
export function trueSweep(): SeenShape[] {
  const { tokens, width, heads, mlp } = TILE;
  const layers: readonly (readonly [inSize: number, outSize: number])[] = [
    [width, 3 * width],
    [width, width],
    [width, mlp],
    [mlp, width],
  ];
  const head = { epilogue: "packed", storage: "f16", batch: 1, m: ROWS[0] } as const;
  const { hiddenSize, vocabSize } = TRUE_DECODER;
  const tile = { queries: tokens, keys: tokens, width: width / heads, valueWidth: width / heads };
  return distinct([
    ...ROWS.flatMap((rows) => languageSweep(TRUE_DECODER, rows, "f16")),
    product({ ...head, layout: "nt", n: vocabSize, k: hiddenSize }),
    product({ ...head, layout: "nn", n: hiddenSize, k: vocabSize }),
    ...layers.map(([k, n]) => product({ ...head, layout: "nt", m: tokens, n, k })),
    attention({ heads, group: 1, ...tile, causal: false }),
  ]);
}

function distinct(shapes: readonly SeenShape[]): SeenShape[] {
  return [...new Map(shapes.map((shape) => [shape.bucket, shape])).values()];
}

/**
 * The fastest form of every shape, and its time as a share of the built-in form's and of stock's.
 * @param now milliseconds @param known buckets to leave out
 */
export async function* sweepRates(
  device: EngineDevice,
  now: () => number,
  shapes: readonly SeenShape[],
  { known, signal }: { readonly known?: ReadonlySet<string> | undefined; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<CardRate> {
  const forget = holdShapes();
  try {
    const rest = shapes.filter(({ bucket }) => known?.has(bucket) !== true);
    const options = { now: () => now() / 1000, check: () => device.checkAll() };
    for await (const entry of tuneShapes(rest, signal === undefined ? options : { ...options, signal })) {
      const { bucket, rate, form, reference, ratio, stock } = entry;
      yield { case: bucket, value: rate, unit: "FLOP/s", form, reference, ratio, stock };
    }
  } finally {
    forget();
  }
}
