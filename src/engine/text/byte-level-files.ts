/**
 * Converts `vocab.json` and `merges.txt` of a slow Qwen2 tokenizer to the equivalent tokenizer.json
 * (docs/spec/sa2va.md#61-special-tokens).
 */
import { badInput, quote } from "../errors.ts";
import { QWEN2_SPLIT } from "./pattern-checks.ts";

/**
 * @param vocab vocab.json: id by token
 * @param merges text of merges.txt, one pair per line after an optional version line
 * @throws LabError("bad-input") naming the line or token that is wrong
 */
export function byteLevelDefinition(vocab: Readonly<Record<string, unknown>>, merges: string): Record<string, unknown> {
  for (const [token, id] of Object.entries(vocab)) {
    if (typeof id !== "number" || !Number.isInteger(id) || id < 0) {
      throw badInput(`vocab.json gives the token "${token}" no valid id`, "vocab.json");
    }
  }
  const lines = merges.split("\n").map((line) => line.replace(/\r$/, ""));
  const pairs = lines
    .map((line, at) => [line, at] as const)
    .filter(([line, at]) => line !== "" && !(at === 0 && line.startsWith("#version")))
    .map(([line, at]) => pairOf(line, at, vocab));
  return {
    version: "1.0",
    normalizer: { type: "NFC" },
    pre_tokenizer: {
      type: "Sequence",
      pretokenizers: [
        { type: "Split", pattern: { Regex: QWEN2_SPLIT }, behavior: "Isolated", invert: false },
        { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
      ],
    },
    post_processor: null,
    decoder: { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false },
    model: {
      type: "BPE",
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: "",
      end_of_word_suffix: "",
      fuse_unk: false,
      byte_fallback: false,
      vocab,
      merges: pairs,
    },
  };
}

function pairOf(line: string, at: number, vocab: Readonly<Record<string, unknown>>): [string, string] {
  const [left, right, ...rest] = line.split(" ");
  if (left === undefined || right === undefined || rest.length > 0) {
    throw badInput(`merges.txt: line ${at + 1} is not a pair of tokens`, "merges.txt");
  }
  if (vocab[left + right] === undefined) {
    throw badInput(
      `merges.txt: line ${at + 1} makes ${quote(left + right)}, which vocab.json does not have`,
      "merges.txt",
    );
  }
  return [left, right];
}
