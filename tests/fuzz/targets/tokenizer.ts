/** Tokenizer files: ids that exist, and a text that comes back. */
import fc from "fast-check";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
import type { Damage } from "../bytes.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage } from "../json.ts";
import { check, type Files, type Target } from "../target.ts";
import { folderFiles, stored } from "../valid.ts";

const SLOW = ["tokenizer.model", "tokenizer_config.json"];
const FAST = ["tokenizer.json", "tokenizer_config.json", "added_tokens.json", "special_tokens_map.json"];
const TEXT = "tests/fixtures/text";

const pocket = folderFiles("public/pocket/model", FAST);
const qwen = folderFiles("tests/golden/sa2va-tiny-qwen2", FAST);
const inputs: Readonly<Record<string, Files>> = {
  pocket,
  qwen,
  "llama-fast": folderFiles(`${TEXT}/llama-fast`, FAST),
  "internlm2-bpe": folderFiles(`${TEXT}/internlm2-bpe`, SLOW),
  "internlm2-unigram": folderFiles(`${TEXT}/internlm2-unigram`, SLOW),
  "llama-legacy": folderFiles(`${TEXT}/llama-legacy`, SLOW),
  phi3: {
    ...folderFiles("tests/golden/sa2va-tiny-phi3", SLOW),
    "added_tokens.json": stored("tests/golden/sa2va-tiny-phi3/added_tokens.json"),
  },
};
const SAID = ["a red car <image> [SEG] ▁ü", "", "  x\n\u{1f600} <|im_end|>", "a".repeat(300), "ab cd ".repeat(200)];

/** Parts of patterns; a pattern made of them may match a text in very many ways. */
const ATOMS = [
  "a",
  ".",
  "\\s",
  "\\p{L}",
  "[a-z ]",
  "[^\\r\\n]",
  "(a|a)",
  "(?:\\w| )",
  "(?=a)",
  "\\1",
  "(",
  ")",
  "|",
  "x",
];
const QUANTIFIERS = ["", "", "*", "+", "?", "+?", "{2,9}", "{0,200}", "{3,}"];
const pattern = fc
  .array(fc.tuple(fc.constantFrom(...ATOMS), fc.constantFrom(...QUANTIFIERS)), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.map((part) => part.join("")).join(""));

/** Splits texts by a pattern of these parts, as it is or repeated as a whole. */
const PATTERN_DAMAGE = fc.tuple(pattern, fc.constantFrom("", "*", "+")).map(([inner, repeat]): Damage => {
  const Regex = repeat === "" ? inner : `(${inner})${repeat}9`;
  return {
    what: `split by ${Regex}`,
    apply: (bytes) => {
      try {
        const definition = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
        const split = { type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false };
        return new TextEncoder().encode(JSON.stringify({ ...definition, pre_tokenizer: split }));
      } catch {
        // An earlier damage left no JSON.
        return bytes;
      }
    },
  };
});

export const tokenizer: Target = {
  ...casesOf(inputs, (path) => {
    if (path === "tokenizer.json") return fc.oneof({ arbitrary: jsonDamage(), weight: 2 }, PATTERN_DAMAGE);
    return path.endsWith(".json") ? jsonDamage() : undefined;
  }),
  async read(files) {
    const opened = await openTokenizer(memoryFolder(files));
    const known = (id: unknown): boolean => Number.isSafeInteger(id) && (id as number) >= 0 && (id as number) < size;
    const size = opened.vocabSize;
    check(Number.isSafeInteger(size) && size > 0, `a vocabulary of ${size}`);
    check(size < 2 ** 24, `a vocabulary of ${size} from a small file`);
    const { bos, ...special } = opened.special;
    for (const [role, id] of Object.entries(special)) check(known(id), `${role} is ${String(id)} of ${size}`);
    check(bos === undefined || known(bos), `bos is ${String(bos)} of ${size}`);
    check((opened.start ?? []).every(known), `a text starts with ${String(opened.start)}`);
    for (const text of SAID) {
      const ids = opened.encode(text);
      check(ids.every(known), `ids ${ids} of ${size}`);
      check(typeof opened.decode(ids) === "string", "ids decode to no text");
    }
  },
};
