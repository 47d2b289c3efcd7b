import { describe, expect, it } from "vitest";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";

const SPECIAL = ["<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "[SEG]", "<vp>", "</vp>"];
const WORDS = ["[UNK]", "a", "red", "circle", ",", "."];

function folder(change: Record<string, unknown> = {}) {
  const tokenizer = {
    model: { type: "WordLevel", vocab: Object.fromEntries(WORDS.map((word, at) => [word, at])), unk_token: "[UNK]" },
    added_tokens: SPECIAL.map((content, at) => ({ id: WORDS.length + at, content, special: true })),
    pre_tokenizer: { type: "Whitespace" },
    normalizer: { type: "Lowercase" },
    ...change,
  };
  return memoryFolder({
    "tokenizer.json": JSON.stringify(tokenizer),
    "tokenizer_config.json": JSON.stringify({ eos_token: "<|im_end|>", clean_up_tokenization_spaces: true }),
  });
}

describe("a word-level tokenizer", () => {
  it("splits words, marks and added tokens", async () => {
    const tokenizer = await openTokenizer(folder());
    const ids = tokenizer.encode("A red,\n[SEG]circle.<|im_end|>");
    expect(ids).toEqual([1, 2, 4, tokenizer.special.seg, 3, 5, tokenizer.special.eos]);
    expect(tokenizer.decode(ids)).toBe("a red, circle.");
    expect(tokenizer.decode(ids, { keepSpecial: true })).toBe("a red, [SEG] circle. <|im_end|>");
    expect(tokenizer.vocabSize).toBe(WORDS.length + SPECIAL.length);
    expect(tokenizer.special.pad).toBe(tokenizer.special.eos);
  });

  it("maps unknown words, or refuses them by name", async () => {
    expect((await openTokenizer(folder())).encode("a dog")).toEqual([1, 0]);
    const strict = await openTokenizer(folder({ model: { type: "WordLevel", vocab: { a: 0 } } }));
    expect(() => strict.encode("a dog")).toThrow(/"dog"/);
  });

  it.each(["Whitespace", "WhitespaceSplit"])("takes white space as Unicode has it (%s)", async (type) => {
    const tokenizer = await openTokenizer(folder({ pre_tokenizer: { type } }));
    expect(tokenizer.encode("a\u0085 red\u3000circle")).toEqual([1, 2, 3]);
    expect(tokenizer.encode("\ufeff")).toEqual([0]);
  });

  it("names a special token that is missing", async () => {
    const added = SPECIAL.filter((token) => token !== "[SEG]").map((content, id) => ({ id: 10 + id, content }));
    await expect(openTokenizer(folder({ added_tokens: added }))).rejects.toThrow(/\[SEG\]/);
    await expect(openTokenizer(folder({ pre_tokenizer: { type: "Digits" } }))).rejects.toThrow(/Digits/);
    await expect(openTokenizer(memoryFolder({}))).rejects.toThrow(/tokenizer.json/);
  });
});
