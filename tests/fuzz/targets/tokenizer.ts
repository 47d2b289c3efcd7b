/** Tokenizer files: ids that exist, and a text that comes back. */
import { memoryFolder } from "../../../src/engine/bytes/memory.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
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
const SAID = ["a red car <image> [SEG] ▁ü", "", "  x\n\u{1f600} <|im_end|>", "a".repeat(300)];

export const tokenizer: Target = {
  ...casesOf(inputs, (path) => (path.endsWith(".json") ? jsonDamage() : undefined)),
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
