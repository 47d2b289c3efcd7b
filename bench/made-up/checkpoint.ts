/**
 * Writes a checkpoint of random weights with the names and shapes a configuration calls for, tensor by tensor, in shards
 * with an index: real sizes without real weights.
 */
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";
import { parseSa2vaConfig, type Sa2vaConfig } from "../../src/engine/model/config.ts";
import { sam2Shapes } from "../../src/engine/model/sam2-shapes.ts";
import { expectedShapes, type NamedShape } from "../../src/engine/model/weights/tensor-shapes.ts";
import { SAM, videoShapes } from "../../src/plugins/clips/sam2/video-shapes.ts";

type Json = Record<string, unknown>;

/** Folder of the golden model, below the repository. */
export const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

/** Tokenizer files a made checkpoint borrows from the golden model. */
export const TOKENIZER_FILES = [
  "tokenizer.json",
  "tokenizer_config.json",
  "added_tokens.json",
  "special_tokens_map.json",
] as const;

/**
 * Writes the golden model's tokenizer to an existing directory.
 * @param renamed tokens, and their names in another family
 */
export function writeGoldenTokenizer(
  directory: string,
  renamed: readonly (readonly [name: string, own: string])[] = [],
): void {
  for (const file of TOKENIZER_FILES) {
    let text = readFileSync(join(root, GOLDEN, file), "utf8");
    for (const [name, own] of renamed) text = text.replaceAll(JSON.stringify(name), JSON.stringify(own));
    writeFileSync(join(directory, file), text);
  }
}

/** Sizes of a made checkpoint: those of the golden model, or of a published one. */
export type TrueSize = "small" | keyof typeof LANGUAGE;

/** Language models of the published checkpoints on InternVL2.5. */
const LANGUAGE = {
  "1B": {
    template: "qwen_chat",
    sizes: { hidden_size: 896, intermediate_size: 4864, num_hidden_layers: 24, num_attention_heads: 14 },
  },
  "4B": {
    template: "phi3_chat",
    sizes: { hidden_size: 2048, intermediate_size: 11008, num_hidden_layers: 36, num_attention_heads: 16 },
  },
} as const;

/** config.json of a checkpoint of this size. */
export function trueConfig(size: TrueSize): Record<string, unknown> {
  const golden = JSON.parse(readFileSync(join(root, GOLDEN, "config.json"), "utf8")) as Record<string, unknown>;
  if (size === "small") return golden;
  const { sam2_config: _, ...rest } = golden;
  const { template, sizes } = LANGUAGE[size];
  return {
    ...rest,
    template,
    force_image_size: 448,
    max_dynamic_patch: 12,
    hidden_size: sizes.hidden_size,
    vision_config: {
      ...(golden.vision_config as object),
      image_size: 448,
      hidden_size: 1024,
      num_attention_heads: 16,
      intermediate_size: 4096,
      num_hidden_layers: 24,
    },
    llm_config: {
      ...(golden.llm_config as object),
      ...sizes,
      vocab_size: 151679,
      num_key_value_heads: 2,
      max_position_embeddings: 32768,
      bos_token_id: 151643,
      eos_token_id: 151645,
      pad_token_id: 151643,
    },
  };
}

export interface Written {
  readonly bytes: number;
  readonly parameters: number;
  readonly shards: number;
}

/** Random numbers in ±1 that all tensors draw from, each at its own place. */
const POOL = 2 ** 20;

/** Some parts that only video uses: they must not be read. */
const VIDEO: readonly NamedShape[] = [
  [`${SAM}.maskmem_tpos_enc`, [7, 1, 1, 64]],
  [`${SAM}.no_obj_ptr`, [1, 256]],
  ...[0, 1, 2, 3].map((layer): NamedShape => [`${SAM}.memory_attention.layers.${layer}.linear1.weight`, [2048, 256]]),
];

/** Element types of language model, vision tower and the rest; which parts that only video uses are written. */
interface Types {
  readonly half: (name: string) => boolean;
  readonly video: (config: Sa2vaConfig) => readonly NamedShape[];
}
const TYPES = {
  F32: { half: (name) => /^(language_model|vision_model)\./.test(name), video: () => VIDEO },
  BF16: { half: () => true, video: () => VIDEO },
  published: {
    half: (name) => name.startsWith("vision_model."),
    video: ({ sam2 }) => [...videoShapes(sam2), [`${SAM}.no_mem_pos_enc`, [1, 1, sam2.hiddenDim]]],
  },
} as const satisfies Readonly<Record<string, Types>>;

/**
 * @param shardBytes a new shard begins beyond this; a single one is `model.safetensors`, without an index
 * @param types BF16 for all; F32 but for language model and vision tower; or as published, F32 but for the vision tower,
 * with all parts for video
 * @param values random, or zeros in files with a hole, which take no disk
 */
export function writeSynthetic(
  directory: string,
  config: Json,
  shardBytes: number,
  types: keyof typeof TYPES = "F32",
  values: "random" | "zeros" = "random",
): Written {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "config.json"), JSON.stringify(config));
  const parsed = parseSa2vaConfig(config);
  const { half, video } = TYPES[types];
  const tensors = [...expectedShapes(parsed), ...sam2Shapes(parsed.sam2, parsed.decoderSizes), ...video(parsed)]
    .map(([name, shape]) => ({ name, shape, count: shape.reduce((product, side) => product * side, 1) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const width = (name: string): number => (half(name) ? 2 : 4);
  const shards: (typeof tensors)[] = [[]];
  let filled = 0;
  for (const tensor of tensors) {
    if (filled > shardBytes) {
      shards.push([]);
      filled = 0;
    }
    (shards.at(-1) as typeof tensors).push(tensor);
    filled += tensor.count * width(tensor.name);
  }
  const pool = randomPool();
  const weightMap: Record<string, string> = {};
  let bytes = 0;
  shards.forEach((shard, index) => {
    const number = (at: number): string => String(at).padStart(5, "0");
    const file =
      shards.length === 1 ? "model.safetensors" : `model-${number(index + 1)}-of-${number(shards.length)}.safetensors`;
    const header: Json = {};
    let at = 0;
    for (const { name, shape, count } of shard) {
      const end = at + count * width(name);
      header[name] = { dtype: width(name) === 2 ? "BF16" : "F32", shape, data_offsets: [at, end] };
      weightMap[name] = file;
      at = end;
    }
    bytes += at;
    const json = new TextEncoder().encode(
      JSON.stringify(header).padEnd(8 * Math.ceil(JSON.stringify(header).length / 8)),
    );
    const handle = openSync(join(directory, file), "w");
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(json.length), true);
    writeSync(handle, length);
    writeSync(handle, json);
    if (values === "zeros") ftruncateSync(handle, length.length + json.length + at);
    else for (const { name, shape, count } of shard) writeTensor(handle, name, shape, count, width(name), pool);
    closeSync(handle);
  });
  if (shards.length > 1) {
    writeFileSync(
      join(directory, "model.safetensors.index.json"),
      JSON.stringify({ metadata: { total_size: bytes }, weight_map: weightMap }),
    );
  }
  return { bytes, parameters: tensors.reduce((sum, { count }) => sum + count, 0), shards: shards.length };
}

function randomPool(): Float32Array {
  let state = 0x9e3779b9;
  return Float32Array.from({ length: POOL }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state / 2 ** 31;
  });
}

/** Scale and offset that keep activations of a deep random model in range. */
function spread(name: string, shape: readonly number[]): { readonly scale: number; readonly offset: number } {
  if (/norm[^.]*\.weight$|layernorm\.weight$|\.ln_q\.weight$|^mlp1\.0\.weight$|output_upscaling\.1\.weight$/.test(name))
    return { scale: 0.1, offset: 1 };
  if (/\.ls[12]$/.test(name)) return { scale: 0.05, offset: 0.1 };
  if (shape.length < 2) return { scale: 0.02, offset: 0 };
  const inner = shape.slice(1).reduce((product, side) => product * side, 1);
  return { scale: Math.sqrt(3 / inner), offset: 0 };
}

function writeTensor(
  handle: number,
  name: string,
  shape: readonly number[],
  count: number,
  width: number,
  pool: Float32Array,
): void {
  const { scale, offset } = spread(name, shape);
  let place = 0;
  for (const letter of name) place = (place * 31 + (letter.codePointAt(0) as number)) % POOL;
  const values = new Float32Array(Math.min(count, POOL));
  const bits = new Uint32Array(values.buffer);
  const halves = new Uint16Array(values.length);
  for (let start = 0; start < count; start += POOL) {
    const size = Math.min(POOL, count - start);
    const shift = place + 7919 * (start / POOL);
    for (let i = 0; i < size; i++) values[i] = (pool[(i + shift) & (POOL - 1)] as number) * scale + offset;
    if (width === 4) {
      writeSync(handle, new Uint8Array(values.buffer, 0, 4 * size));
    } else {
      for (let i = 0; i < size; i++) halves[i] = (bits[i] as number) >>> 16;
      writeSync(handle, new Uint8Array(halves.buffer, 0, 2 * size));
    }
  }
}
