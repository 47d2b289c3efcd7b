/**
 * Writes the pocket model: a Sa2VA of the published layout, about half a million parameters, with a word-level tokenizer.
 *
 *   npx tsx scripts/build-pocket-model.ts [--seed N] [--out public/pocket/model]
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { normal, STREAM } from "../src/engine/gpu/random.ts";
import { parseSa2vaConfig } from "../src/engine/model/config.ts";
import { writeSafetensors } from "../src/engine/model/safetensors-write.ts";
import { expectedShapes } from "../src/engine/model/tensor-shapes.ts";
import { one, parseArguments, runTool, whole } from "./lib/arguments.ts";
import { root } from "./lib/ensure.mjs";
import { writeFileList } from "./lib/file-list.ts";
import { sam2Shapes } from "./pocket/sam2-shapes.ts";
import { SPECIAL_TOKENS, vocabulary } from "./pocket/vocabulary.ts";

const SIZES = { mlp: 64, iouHidden: 32, maskIn: 16 };

function configJson(vocabSize: number, eos: number, pad: number) {
  return {
    architectures: ["Sa2VAChatModel"],
    model_type: "sa2va_chat",
    template: "qwen_chat",
    force_image_size: 96,
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
      hidden_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 4,
      intermediate_size: 128,
      image_size: 96,
      patch_size: 8,
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
      intermediate_size: 176,
      num_hidden_layers: 2,
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
      hidden_dim: 32,
      decoder_depth: 2,
      decoder_num_heads: 8,
      decoder_mlp_dim: SIZES.mlp,
      iou_head_hidden_dim: SIZES.iouHidden,
      mask_in_chans: SIZES.maskIn,
    },
  };
}

/** Word-level tokenizer files; special tokens come after the words. */
function tokenizerFiles(words: readonly string[]): Record<string, unknown> {
  const vocab: Record<string, number> = Object.fromEntries(words.map((word, id) => [word, id]));
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

/** Initial values by role: norms 1, biases 0, embeddings and matrices normal with variance 1 / inputs. */
function initialValues(name: string, shape: readonly number[], tensor: number, seed: number): Float32Array {
  const count = shape.reduce((product, size) => product * size, 1);
  const values = new Float32Array(count);
  const isScale =
    /norm[^.]*\.weight$|mlp1\.0\.weight$|\.(1|4)\.weight$|layernorm\.weight$|\.ls[12]$/.test(name) &&
    shape.length === 1;
  if (isScale) return values.fill(1);
  if (name.endsWith(".bias")) return values;
  // The last layer of a residual branch starts small, so that the random towers pass their input on.
  const inputs = shape.length === 1 ? 1 : count / (shape[0] as number);
  const table = /embed|token|class_|pe_layer/.test(name);
  const spread = table ? (name.includes("pe_layer") ? 1 : 0.5) : Math.sqrt(1 / inputs);
  for (let i = 0; i < count; i++) {
    values[i] = spread * normal({ seed, step: 0, loop: 0, row: tensor, rollout: 0, position: i, stream: STREAM.init });
  }
  return values;
}

await runTool(async () => {
  const parsed = parseArguments(process.argv.slice(2), { seed: { takes: 1 }, out: { takes: 1 } });
  const seed = whole(parsed, "seed", 0, 2 ** 32 - 1, 7);
  const out = one(parsed, "out") ?? join(root, "public", "pocket", "model");
  mkdirSync(out, { recursive: true });

  const words = vocabulary();
  const id = (token: (typeof SPECIAL_TOKENS)[number]): number => words.length + SPECIAL_TOKENS.indexOf(token);
  const json = configJson(words.length + SPECIAL_TOKENS.length, id("<|im_end|>"), id("<|endoftext|>"));
  const config = parseSa2vaConfig(json);
  const shapes = [...expectedShapes(config), ...sam2Shapes(config.sam2, SIZES)];
  const seen = new Set<string>();
  const tensors = shapes
    .filter(([name]) => !seen.has(name) && seen.add(name))
    .map(([name, shape], index) => ({ name, shape, data: initialValues(name, shape, index, seed) }));
  const parameters = tensors.reduce((sum, tensor) => sum + tensor.data.length, 0);

  writeFileSync(join(out, "config.json"), `${JSON.stringify(json, null, 1)}\n`);
  for (const [name, value] of Object.entries(tokenizerFiles(words))) {
    writeFileSync(join(out, name), `${JSON.stringify(value, null, 1)}\n`);
  }
  writeFileSync(join(out, "model.safetensors"), writeSafetensors(tensors, { format: "pt" }));
  writeFileList(out);
  process.stdout.write(`${parameters} parameters in ${tensors.length} tensors, written to ${out}\n`);
  return 0;
});
