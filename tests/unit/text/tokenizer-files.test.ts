/** Files of a tokenizer: where texts begin, which tokens exist, and the messages for a broken folder. */
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { type ByteFolder, memoryFolder } from "../../../src/engine/bytes/source.ts";
import { parseSa2vaConfig, type Sa2vaConfig } from "../../../src/engine/model/config.ts";
import { modelTokenizer } from "../../../src/engine/model/sa2va.ts";
import { splitAdded, WORD } from "../../../src/engine/text/added-tokens.ts";
import { buildPrompt } from "../../../src/engine/text/prompt.ts";
import { openTokenizer, sequenceStart } from "../../../src/engine/text/tokenizer.ts";

const QWEN = "tests/golden/sa2va-tiny-qwen2";
const INTERN = "tests/fixtures/text/internlm2-bpe";

async function files(folder: string): Promise<Record<string, Uint8Array<ArrayBuffer>>> {
  const source = await nodeFolder(folder);
  const entries = source.paths
    .filter((path) => /token|vocab|merges/.test(path))
    .map(async (path) => [path, new Uint8Array(await readFile(`${folder}/${path}`))] as const);
  return Object.fromEntries(await Promise.all(entries));
}

const text = (value: unknown): Uint8Array<ArrayBuffer> => new TextEncoder().encode(JSON.stringify(value));

async function changed(
  folder: string,
  change: (own: Record<string, Uint8Array<ArrayBuffer>>) => void,
): Promise<ByteFolder> {
  const own = await files(folder);
  change(own);
  return memoryFolder(own);
}

const json = (bytes: Uint8Array | undefined): Record<string, unknown> =>
  JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;

describe("where texts begin", () => {
  const template = { type: "TemplateProcessing", single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, {}] };
  it.each([
    [{ add_bos_token: true, bos_token: "<s>" }, undefined, { token: "<s>" }],
    [{ add_bos_token: false, bos_token: "<s>" }, null, "nothing"],
    [{ add_bos_token: false, bos_token: "<s>", tokenizer_class: "LlamaTokenizer" }, template, "nothing"],
    [{ add_bos_token: false, tokenizer_class: "PreTrainedTokenizerFast" }, template, { token: "<s>" }],
    [{ bos_token: { content: "<s>" }, tokenizer_class: "InternLM2Tokenizer" }, undefined, { token: "<s>" }],
    [{ bos_token: "<s>" }, { type: "Sequence", processors: [{ type: "ByteLevel" }, template] }, { token: "<s>" }],
    [{ bos_token: "<s>", tokenizer_class: "PreTrainedTokenizerFast" }, { type: "ByteLevel" }, "unsaid"],
  ])("%j with post-processor %j", (config, postProcessor, expected) => {
    expect(sequenceStart(config, postProcessor)).toEqual(expected);
  });

  it("names the field when a bos token is asked for and not named", () => {
    expect(() => sequenceStart({ add_bos_token: true, bos_token: null }, undefined)).toThrow(/names no bos_token/);
  });

  it("puts the id in front of the prompt, or the template's where the files are silent", async () => {
    const shape = { template: "internlm2_chat", tokensPerTile: 2 } as const;
    const request = { text: "<image>", tiles: 1 };
    const intern = await openTokenizer(await nodeFolder(INTERN));
    expect(buildPrompt(intern, shape, request).ids.slice(0, 2)).toEqual([1, intern.id("<|im_start|>")]);
    const silent = await openTokenizer(
      await changed(QWEN, (own) => {
        const { add_bos_token: _, ...config } = json(own["tokenizer_config.json"]);
        own["tokenizer_config.json"] = text({ ...config, bos_token: "<|endoftext|>" });
      }),
    );
    const bos = silent.id("<|endoftext|>");
    expect(buildPrompt(silent, shape, request).ids[0]).toBe(bos);
    expect(buildPrompt(silent, { ...shape, template: "qwen_chat" }, request).ids[0]).not.toBe(bos);
  });
});

describe("files of a tokenizer", () => {
  it("makes of vocab.json and merges.txt what tokenizer.json makes", async () => {
    const whole = await openTokenizer(await nodeFolder(QWEN));
    const slow = await openTokenizer(
      await changed(QWEN, (own) => {
        const model = json(own["tokenizer.json"]).model as { vocab: unknown; merges: (string | string[])[] };
        const lines = model.merges.map((pair) => (typeof pair === "string" ? pair : pair.join(" ")));
        delete own["tokenizer.json"];
        own["vocab.json"] = text(model.vocab);
        own["merges.txt"] = new TextEncoder().encode(["#version: 0.2", ...lines, ""].join("\r\n"));
      }),
    );
    for (const value of [
      "Please segment the red circle.",
      "It's 12 e\u0301 \n\n [SEG]<vp> 東京",
      "<|im_start|>user\n",
    ]) {
      expect(slow.encode(value)).toEqual(whole.encode(value));
      expect(slow.decode(slow.encode(value))).toBe(whole.decode(whole.encode(value)));
    }
    expect(slow.vocabSize).toBe(whole.vocabSize);
  });

  it("takes roles from special_tokens_map.json where tokenizer_config.json has none", async () => {
    const folder = await changed(QWEN, (own) => {
      const { eos_token: eos, ...config } = json(own["tokenizer_config.json"]);
      own["tokenizer_config.json"] = text(config);
      own["special_tokens_map.json"] = text({ eos_token: { content: eos } });
    });
    expect((await openTokenizer(folder)).special.eos).toBe(322);
  });

  it.each([
    ["no vocabulary at all", "tokenizer.json", undefined, /none of tokenizer\.json, tokenizer\.model, vocab\.json/],
    ["ids that differ", "added_tokens.json", { "[SEG]": 5 }, /added_tokens\.json gives the token "\[SEG\]" the id 5/],
  ])("refuses %s", async (_, path, value, message) => {
    const folder = await changed(QWEN, (own) => {
      if (value === undefined) delete own[path];
      else own[path] = text(value);
    });
    await expect(openTokenizer(folder)).rejects.toThrow(message);
  });

  it.each(["[SEG]", "<IMG_CONTEXT>", "</vp>"])("names the missing token %s", async (token) => {
    const folder = await changed(QWEN, (own) => {
      const definition = json(own["tokenizer.json"]) as { added_tokens: { content: string }[] };
      const config = json(own["tokenizer_config.json"]) as {
        added_tokens_decoder: Record<string, { content: string }>;
      };
      const kept = Object.entries(config.added_tokens_decoder).filter(([, entry]) => entry.content !== token);
      own["tokenizer.json"] = text({
        ...definition,
        added_tokens: definition.added_tokens.filter(({ content }) => content !== token),
      });
      own["tokenizer_config.json"] = text({ ...config, added_tokens_decoder: Object.fromEntries(kept) });
      delete own["added_tokens.json"];
    });
    await expect(openTokenizer(folder)).rejects.toThrow(`no token "${token}"`);
  });

  it("names a SentencePiece model that is cut off, a zip, or empty", async () => {
    const broken = (change: (model: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>) =>
      changed(INTERN, (own) => {
        own["tokenizer.model"] = change(own["tokenizer.model"] as Uint8Array<ArrayBuffer>);
      }).then(openTokenizer);
    await expect(broken((model) => model.slice(0, 3000))).rejects.toThrow(/^tokenizer\.model .*cut off/);
    await expect(broken(() => Uint8Array.of(0x50, 0x4b, 3, 4, 20, 0, 8, 0))).rejects.toThrow(/^tokenizer\.model/);
    await expect(broken(() => new Uint8Array(0))).rejects.toThrow(/tokenizer\.model .*no pieces/);
  });

  it("names the line of merges.txt that is wrong", async () => {
    const merges = (lines: string): Promise<ByteFolder> =>
      changed(QWEN, (own) => {
        own["vocab.json"] = text({ a: 0, b: 1, ab: 2 });
        own["merges.txt"] = new TextEncoder().encode(lines);
        delete own["tokenizer.json"];
      });
    await expect(merges("#version: 0.2\na b c\n").then(openTokenizer)).rejects.toThrow(/merges\.txt: line 2 is not/);
    await expect(merges("b a\n").then(openTokenizer)).rejects.toThrow(/line 1 makes "ba"/);
  });

  it("refuses a vocabulary of which a text could not come back", async () => {
    const vocabulary = (change: (vocab: Record<string, number>) => void): Promise<ByteFolder> =>
      changed(QWEN, (own) => {
        const definition = json(own["tokenizer.json"]) as { model: { vocab: Record<string, number> } };
        change(definition.model.vocab);
        own["tokenizer.json"] = text(definition);
      });
    const shared = vocabulary((vocab) => Object.assign(vocab, { b: vocab.a }));
    await expect(shared.then(openTokenizer)).rejects.toThrow(/^tokenizer\.json gives "a" and "b" the same id \d+$/);
    const lost = vocabulary((vocab) => Reflect.deleteProperty(vocab, "r"));
    await expect(lost.then(openTokenizer)).rejects.toThrow(/^tokenizer\.json gives "r" no id, which its merges need$/);
  });

  it("leaves out a character that no token has, where no token stands for unknown ones", async () => {
    const folder = await changed(QWEN, (own) => {
      const definition = json(own["tokenizer.json"]) as { model: { vocab: Record<string, number> } };
      // In no merge.
      Reflect.deleteProperty(definition.model.vocab, "Z");
      own["tokenizer.json"] = text(definition);
    });
    const { encode, decode } = await openTokenizer(folder);
    expect(decode(encode("a Zed"))).toBe("a ed");
  });

  it("refuses steps that would lengthen a text without end, or have nothing to look for", async () => {
    const steps = (pretokenizers: readonly unknown[]): Promise<ByteFolder> =>
      changed(QWEN, (own) => {
        const definition = json(own["tokenizer.json"]);
        own["tokenizer.json"] = text({ ...definition, pre_tokenizer: { type: "Sequence", pretokenizers } });
      });
    const bytes = { type: "ByteLevel", add_prefix_space: false, trim_offsets: false, use_regex: false };
    const nested = { type: "Sequence", pretokenizers: [bytes, bytes] };
    await expect(steps([nested, nested, bytes]).then(openTokenizer)).rejects.toThrow(/tokenizer\.json may make a text/);
    await expect(steps(Array(70).fill({ type: "Digits" })).then(openTokenizer)).rejects.toThrow(/has 71 steps/);
    // The library would leave such a step out, with a word in the console.
    for (const pattern of [undefined, null, {}, { Regex: 1 }, "a"]) {
      const split = { type: "Split", pattern, behavior: "Isolated", invert: false };
      await expect(steps([split, bytes]).then(openTokenizer)).rejects.toThrow(/a step Split without a Regex or String/);
    }
  });

  it("refuses a tokenizer that is not the embedding's", async () => {
    const config = parseSa2vaConfig(json(new Uint8Array(await readFile(`${QWEN}/config.json`))));
    const rows = (vocabSize: number): Sa2vaConfig => ({ ...config, language: { ...config.language, vocabSize } });
    const folder = await nodeFolder(QWEN);
    await expect(modelTokenizer(folder, rows(336))).rejects.toThrow(/ids up to 336, the embedding has only 336 rows/);
    await expect(modelTokenizer(folder, rows(151_679))).rejects.toThrow(/has 337 ids, the embedding has 151679 rows/);
    expect((await modelTokenizer(folder, rows(600))).vocabSize).toBe(337);
  });
});

/** Small definitions, with what the library tokenizers 0.23.3 makes of the texts. */
describe("a definition of the fast library", () => {
  const pieces = ["<unk>", "▁", "a", "b", "▁a", "▁b", "<", "p", ">", "."];
  const tokens = ["<p>", "<e>", "<img>", "</img>", "<IMG_CONTEXT>", "[SEG]", "<vp>", "</vp>"];
  const folder = (flags: Record<string, unknown>, blank: Record<string, unknown>): ByteFolder =>
    memoryFolder({
      "tokenizer_config.json": text({ eos_token: "<e>" }),
      "tokenizer.json": text({
        ...{ normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...blank },
        added_tokens: tokens.map((content, at) => ({
          ...{
            id: 20 + at,
            content,
            special: true,
            single_word: false,
            lstrip: false,
            rstrip: false,
            normalized: false,
          },
          ...(content === "<e>" ? flags : {}),
        })),
        model: {
          type: "BPE",
          unk_token: "<unk>",
          vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])),
          merges: [
            ["▁", "a"],
            ["▁", "b"],
          ],
        },
      }),
    });
  const first = { pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "first", split: false } };
  const encode = async (
    value: string,
    { flags = {}, blank = first as Record<string, unknown>, literal = [] as { start: number; end: number }[] } = {},
  ): Promise<number[]> => (await openTokenizer(folder(flags, blank))).encode(value, literal);

  it("puts a blank in front of the first part only, also when the data spell a token", async () => {
    expect(await encode("a<e>b")).toEqual([4, 21, 3]);
    expect(await encode("a<p><e>b", { literal: [{ start: 0, end: 4 }] })).toEqual([4, 6, 7, 8, 21, 3]);
  });
  it("takes white space as Unicode has it", async () => {
    expect(await encode("<e>\u0085 a", { flags: { rstrip: true } })).toEqual([21, 2]);
    expect(await encode("<e>\ufeffa", { flags: { rstrip: true } })).toEqual([21, 0, 2]);
    expect(await encode("a \u0085<e>", { flags: { lstrip: true } })).toEqual([4, 21]);
  });
  it("knows the words that a token must not touch by their letters", async () => {
    const flags = { single_word: true };
    expect(await encode("<e>.", { flags })).toEqual([21, 9]);
    expect(await encode("a <e>a", { flags })).toEqual([4, 1, 6, 0, 8, 2]);
  });
  it("looks for normalised tokens in the normalised text", async () => {
    const blank = { normalizer: { type: "Prepend", prepend: "▁" } };
    expect(await encode("a<p>b", { flags: { normalized: true }, blank })).toEqual([4, 20, 5]);
    expect(await encode("<e>a", { flags: { normalized: true }, blank })).toEqual([21, 2]);
    expect(await encode("a<e>", { flags: { normalized: true }, blank })).toEqual([4, 6, 0, 8]);
  });
});

describe("added tokens in a text", () => {
  const token = (content: string, id: number, flags = {}) => ({
    ...{ id, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false },
    ...flags,
  });
  it("are cut out, the longest first, with the white space they take", () => {
    const added = [
      token("<a>", 1),
      token("<a>>", 2),
      token("<b>", 3, { rstrip: true }),
      token("<c>", 4, { lstrip: true }),
    ];
    expect(splitAdded("x <a>> <a>y", added)).toEqual(["x ", 2, " ", 1, "y"]);
    expect(splitAdded("<b> \n x <c><b>", added)).toEqual([3, "x", 4, 3]);
    expect(splitAdded("", added)).toEqual([]);
  });
  it("may hold any sign, and have at most a thousand", () => {
    expect(splitAdded("a - [b]", [token("-", 1), token("[b]", 2)])).toEqual(["a ", 1, " ", 2]);
    expect(() => splitAdded("a", [token("a".repeat(1001), 1)])).toThrow(/an added token of 1001 characters/);
  });
  it("stay in the text where they must be words of their own and are not", () => {
    const added = [token("cat", 1, { single_word: true })];
    expect(splitAdded("concat cat", added)).toEqual(["concat ", 1]);
    // What Hugging Face's tokenizers 0.23 find; another added token may end or begin a word as well.
    const beside = [token("foo", 1), token("bar", 2, { single_word: true }), token("<x>", 3)];
    const found = (text: string) => splitAdded(text, beside, [], WORD);
    expect(found("foobar")).toEqual([1, "bar"]);
    expect(found("barfoo")).toEqual(["bar", 1]);
    expect(found("barbar")).toEqual(["barbar"]);
    expect(found("<x>bar<x>")).toEqual([3, 2, 3]);
    expect(found("𝔸bar foo bar")).toEqual(["𝔸bar ", 1, " ", 2]);
  });
});
