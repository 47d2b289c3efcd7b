/** Files of the pocket model that do not depend on training: sizes, tokenizer and initial values. */

import type { TensorToWrite } from "../../../src/engine/formats/safetensors.ts";
import { normal, STREAM } from "../../../src/engine/gpu/random.ts";
import { parseSa2vaConfig } from "../../../src/engine/model/config.ts";
import { sam2Shapes } from "../../../src/engine/model/sam2-shapes.ts";
import { expectedShapes } from "../../../src/engine/model/weights/tensor-shapes.ts";
import { ADDED_WORDS, type AddedWords, SPECIAL_TOKENS, vocabulary } from "./vocabulary.ts";

const SIZES = { mlp: 64, iouHidden: 32, maskIn: 16 };

/** Visual tokens per side of the picture, of the published pocket model. */
export const GRID = 7;
/** Patches of a visual token per side, and pixels of a patch. */
export const PATCHES_PER_TOKEN = 2;
const PATCH = 8;
const TOKEN_PIXELS = PATCHES_PER_TOKEN * PATCH;

function configJson(grid: number, vocabSize: number, eos: number, pad: number) {
  return {
    architectures: ["Sa2VAChatModel"],
    model_type: "sa2va_chat",
    template: "qwen_chat",
    force_image_size: TOKEN_PIXELS * grid,
    downsample_ratio: 0.5,
    dynamic_image_size: true,
    min_dynamic_patch: 1,
    max_dynamic_patch: 1,
    use_thumbnail: true,
    ps_version: "v2",
    select_layer: -1,
    tie_word_embeddings: false,
    torch_dtype: "float32",
    hidden_size: 64,
    vision_config: {
      architectures: ["InternVisionModel"],
      hidden_size: 96,
      num_hidden_layers: 3,
      num_attention_heads: 4,
      intermediate_size: 192,
      image_size: TOKEN_PIXELS * grid,
      patch_size: PATCH,
      qkv_bias: true,
      qk_normalization: false,
      norm_type: "layer_norm",
      layer_norm_eps: 1e-6,
      hidden_act: "gelu",
    },
    llm_config: {
      architectures: ["Qwen2ForCausalLM"],
      model_type: "qwen2",
      vocab_size: vocabSize,
      hidden_size: 64,
      intermediate_size: 128,
      num_hidden_layers: 3,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      hidden_act: "silu",
      max_position_embeddings: 1024,
      rms_norm_eps: 1e-6,
      rope_theta: 10000,
      tie_word_embeddings: false,
      eos_token_id: eos,
      pad_token_id: pad,
    },
    sam2_config: {
      image_size: 128,
      embed_dim: 16,
      num_heads: 1,
      stages: [1, 1, 2, 1],
      global_att_blocks: [3],
      window_spec: [8, 4, 8, 4],
      window_pos_embed_bkg_spatial_size: [7, 7],
      hidden_dim: 64,
      decoder_depth: 2,
      decoder_num_heads: 4,
      decoder_mlp_dim: SIZES.mlp,
      iou_head_hidden_dim: SIZES.iouHidden,
      mask_in_chans: SIZES.maskIn,
    },
  };
}

/** Word-level tokenizer files; special tokens come after the words, and words that were added after these. */
function tokenizerFiles(words: readonly string[], later: readonly string[]): Record<string, unknown> {
  const vocab: Record<string, number> = Object.fromEntries([
    ...words.map((word, id) => [word, id]),
    ...later.map((word, i) => [word, words.length + SPECIAL_TOKENS.length + i]),
  ]);
  const added = SPECIAL_TOKENS.map((content, i) => ({
    id: words.length + i,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  }));
  return {
    "tokenizer.json": {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: { type: "Whitespace" },
      post_processor: null,
      decoder: null,
      model: { type: "WordLevel", vocab, unk_token: "<unk>" },
    },
    "added_tokens.json": Object.fromEntries(added.map((token) => [token.content, token.id])),
    "tokenizer_config.json": {
      tokenizer_class: "PreTrainedTokenizerFast",
      added_tokens_decoder: Object.fromEntries(added.map(({ id, ...token }) => [String(id), token])),
      eos_token: "<|im_end|>",
      pad_token: "<|endoftext|>",
      unk_token: "<unk>",
    },
    "special_tokens_map.json": { eos_token: "<|im_end|>", pad_token: "<|endoftext|>", unk_token: "<unk>" },
  };
}

/** Initial values by role: norms 1, biases 0, position tables sines, matrices normal with variance 1 / inputs. */
function initialValues(name: string, shape: readonly number[], tensor: number, seed: number): Float32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  const values = new Float32Array(count);
  if (shape.length === 1 && !name.endsWith(".bias")) return values.fill(1);
  if (name.endsWith(".bias")) return values;
  if (name.endsWith(".position_embedding")) return sinePlaces(shape[1] as number, shape[2] as number);
  const draw = (i: number): number =>
    normal({ seed, step: 0, loop: 0, row: tensor, rollout: 0, position: i, stream: STREAM.init });
  const spread = spreadOf(name, count / (shape[0] as number));
  for (let i = 0; i < count; i++) values[i] = spread * draw(i);
  return values;
}

function spreadOf(name: string, inputs: number): number {
  if (name.includes("pe_layer")) return 1;
  if (/embed|token|class_/.test(name) && !/patch_embed/.test(name)) return 0.5;
  // The outputs that a block adds start small, so that the stream carries its input through the untrained towers.
  const residual = /(attn\.proj|fc2|mlp\.layers\.1|o_proj|down_proj)\.weight$/.test(name) ? 0.5 : 1;
  return residual * Math.sqrt(1 / inputs);
}

/**
 * Amplitude of the sines of places: as large as what bright, even backgrounds put on every patch; otherwise places have
 * no effect.
 */
const PLACE_HEIGHT = 1.75;

/** Places of a square grid as sines of both coordinates, the class token's first row zero. */
function sinePlaces(rows: number, width: number): Float32Array {
  const values = new Float32Array(rows * width);
  const side = Math.sqrt(rows - 1);
  const waves = width / 4;
  for (let row = 1; row < rows; row++) {
    const places = [((row - 1) % side) / side, Math.floor((row - 1) / side) / side];
    places.forEach((place, axis) => {
      for (let wave = 0; wave < waves; wave++) {
        const angle = place * Math.PI * 2 ** ((4 * wave) / waves);
        values[row * width + axis * 2 * waves + 2 * wave] = PLACE_HEIGHT * Math.sin(angle);
        values[row * width + axis * 2 * waves + 2 * wave + 1] = PLACE_HEIGHT * Math.cos(angle);
      }
    });
  }
  return values;
}

/** Words added after the special tokens. */
const laterWords = (added: AddedWords | null): string[] => (added === null ? [] : Object.keys(ADDED_WORDS[added]));

/** Text files of the model folder by name. @param grid visual tokens per side @param added world whose words it has as well */
export function pocketFiles(grid = GRID, added: AddedWords | null = null): Record<string, string> {
  const files = {
    "config.json": pocketConfigJson(grid, added),
    ...tokenizerFiles(vocabulary(), laterWords(added)),
  };
  return Object.fromEntries(
    Object.entries(files).map(([name, value]) => [name, `${JSON.stringify(value, null, 1)}\n`]),
  );
}

function pocketConfigJson(grid: number, added: AddedWords | null = null) {
  const words = vocabulary();
  const id = (token: (typeof SPECIAL_TOKENS)[number]): number => words.length + SPECIAL_TOKENS.indexOf(token);
  const size = words.length + SPECIAL_TOKENS.length + laterWords(added).length;
  return configJson(grid, size, id("<|im_end|>"), id("<|endoftext|>"));
}

/**
 * A table of the language model with rows for the added words, each the mean of the rows of its source words.
 * @param rows [V, width] row-major
 */
export function withAddedRows(rows: Float32Array, width: number, set: AddedWords): Float32Array {
  const words = vocabulary();
  const added = Object.values<readonly string[]>(ADDED_WORDS[set]).flatMap((from) =>
    Array.from({ length: width }, (_, at) => {
      const values = from.map((word) => rows[words.indexOf(word) * width + at] as number);
      return values.reduce((sum, value) => sum + value, 0) / values.length;
    }),
  );
  return Float32Array.from([...rows, ...added]);
}

/** Every tensor of the model with its initial values. @param grid visual tokens per side */
export function pocketTensors(seed: number, grid = GRID): TensorToWrite[] {
  const config = parseSa2vaConfig(pocketConfigJson(grid));
  const shapes = [...expectedShapes(config), ...sam2Shapes(config.sam2, SIZES)];
  const seen = new Set<string>();
  return shapes
    .filter(([name]) => !seen.has(name) && seen.add(name))
    .map(([name, shape], index, all) => {
      // Queries of the decoder's image attention start equal to its keys, so that similar cells attend to each other
      // before training.
      const twin = name.replace(/((?:cross|final)_attn_\w+)\.q_proj/, "$1.k_proj");
      const from = twin === name ? index : all.findIndex(([other]) => other === twin);
      return { name, shape, data: initialValues(name, shape, from, seed) };
    });
}
