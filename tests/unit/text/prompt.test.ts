import { describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/source.ts";
import {
  buildPrompt,
  cleanPhrase,
  encodeAnswer,
  encodeCaption,
  REFERRING_WORDING,
  SEG_ANSWER,
  withVisualTokens,
} from "../../../src/engine/text/prompt.ts";
import { stopRule } from "../../../src/engine/text/template.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
import { sa2vaTextParity } from "../../../tools/parity/sa2va/sa2va-text.ts";
import { arePluggedIn } from "../../support/plugins.ts";

const GOLDEN = "tests/golden/sa2va-tiny-qwen2";

describe("text of the golden model", () => {
  it("matches ids, prompts, labels and greedy texts", async () => {
    const rows = [];
    for await (const row of sa2vaTextParity(await nodeFolder(GOLDEN))) rows.push(row);
    expect(rows.length).toBeGreaterThan(12);
    expect(rows.filter((row) => !row.pass)).toEqual([]);
  });

  it("notices a tokenizer that encodes differently", async () => {
    const folder = await nodeFolder(GOLDEN);
    const source = folder.get("tokenizer.json")!;
    const json = JSON.parse(new TextDecoder().decode(await source.read(0, source.size)));
    json.model.merges = json.model.merges.slice(0, 3);
    const changed = memoryFolder({ "tokenizer.json": JSON.stringify(json) });
    const mixed = { paths: folder.paths, get: (path: string) => changed.get(path) ?? folder.get(path) };
    const rows = [];
    for await (const row of sa2vaTextParity(mixed)) rows.push(row);
    expect(rows.some((row) => !row.pass && row.what === "prompt ids")).toBe(true);
  });
});

describe("prompts", () => {
  const shape = { template: "qwen_chat", tokensPerTile: 4 } as const;

  it("places image and region tokens", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    const request = { text: "<image>Describe region1 and region2.", tiles: 2, regionTokenCounts: [3, 1] };
    const prompt = buildPrompt(tokenizer, shape, request);
    const context = tokenizer.special.imageContext;
    expect(prompt.imageSpan.end - prompt.imageSpan.start).toBe(8);
    expect(prompt.regionSpans.map(({ start, end }) => end - start)).toEqual([3, 1]);
    for (const span of [prompt.imageSpan, ...prompt.regionSpans]) {
      expect(prompt.ids.slice(span.start, span.end).every((id) => id === context)).toBe(true);
      expect(prompt.ids[span.end]).not.toBe(context);
    }
    expect(prompt.text).toContain("<img>8×</img>\nThere are 2 part regions");
    expect(prompt.text).toContain("region1<vp>3×</vp>, region2<vp>1×</vp>.\n");
  });

  it("writes visual tokens as their number and back", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    // A caption that reads like a collapsed picture or region stays what it is.
    const phrase = REFERRING_WORDING.replace("{phrase}", "a 3× zoom <img>3×</img>, region1<vp>2×</vp>");
    for (const [text, regions] of [
      ["<image>Describe region1 and region2.", [3, 1]],
      ["<image>\nWhat is this?", []],
      [REFERRING_WORDING, []],
    ] as const) {
      const prompt = buildPrompt(tokenizer, shape, { text, tiles: 2, regionTokenCounts: regions });
      expect(withVisualTokens(prompt.text)).toBe(prompt.full);
      expect(prompt.text).not.toContain("<IMG_CONTEXT>");
    }
    const collapsed = phrase.replace("<image>", "<img>8×</img>");
    expect(withVisualTokens(collapsed)).toBe(phrase.replace("<image>", `<img>${"<IMG_CONTEXT>".repeat(8)}</img>`));
  });

  it("refuses a prompt without picture and an empty region", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    expect(() => buildPrompt(tokenizer, shape, { text: "hello", tiles: 1 })).toThrow(/exactly one/);
    expect(() => buildPrompt(tokenizer, shape, { text: "<image>", tiles: 1, regionTokenCounts: [0] })).toThrow(
      /Region 1/,
    );
  });

  it("stops on a stop word spelt as ordinary text, across line breaks", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    const stop = stopRule(tokenizer, "phi3_chat");
    expect(stop.reached(tokenizer.encode("a mask <|end|>"))).toBe(true);
    expect(stop.reached(tokenizer.encode(`a mask <|en${"\n".repeat(60)}d|>\n`))).toBe(true);
    expect(stop.reached(tokenizer.encode("a mask <|end|"))).toBe(false);
    expect(stop.reached([tokenizer.special.eos])).toBe(true);
    expect(stop.reached([])).toBe(false);
    expect(stop.answer(tokenizer.encode(" a mask <|end|>"))).toBe("a mask");
  });

  it("cleans expressions and keeps replacement marks as they are", async () => {
    expect(cleanPhrase(" The Red Dog. ")).toBe("the red dog");
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    const prompt = buildPrompt(tokenizer, shape, { text: REFERRING_WORDING, phrase: "a $& {phrase}", tiles: 1 });
    expect(prompt.text).toContain("</img>\nPlease segment a $& {phrase} in this image.");
  });

  it("takes tokens that data spells for text, and its own for tokens", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    const { special } = tokenizer;
    const own = [special.seg, special.regionStart, special.imageStart, special.eos, tokenizer.id("<p>")];
    const count = (ids: readonly number[]) => own.map((one) => ids.filter((id) => id === one).length);
    const said = "[SEG] a <IMG_CONTEXT> <vp>car</vp> <p>x</p> <|im_end|> <image> <img>";
    const plain = buildPrompt(tokenizer, shape, { text: REFERRING_WORDING, phrase: "a car", tiles: 2 });
    const spelt = buildPrompt(tokenizer, shape, { text: REFERRING_WORDING, phrase: said, tiles: 2 });
    expect(count(spelt.ids)).toEqual(count(plain.ids));
    expect(spelt.imageSpan).toEqual(plain.imageSpan);
    expect(tokenizer.decode(spelt.ids, { keepSpecial: true })).toBe(spelt.full);
    const answer = encodeCaption(tokenizer, "qwen_chat", said);
    expect(count(answer.ids)).toEqual([0, 0, 0, 1, 0]);
    expect(tokenizer.decode(answer.ids, { keepSpecial: true })).toBe(`${said}<|im_end|>`);
    // A caption that spells no token has the ids it always had.
    expect(encodeCaption(tokenizer, "qwen_chat", "a red car")).toEqual(
      encodeAnswer(tokenizer, "qwen_chat", "a red car"),
    );
  });

  const pieces: readonly (readonly [string, boolean])[] = [
    ["tests/golden/sa2va-tiny-internlm2", true],
    ["tests/golden/sa2va-tiny-phi3", true],
    ["tests/fixtures/text/llama-legacy", true],
    // Has no piece for "<", like the pocket model.
    ["tests/fixtures/text/llama-rstrip", false],
  ];

  it.each<readonly [string, boolean]>([
    ["tests/golden/sa2va-tiny-qwen2", true],
    ["public/pocket/model", false],
    ...(arePluggedIn("sentencepiece") ? pieces : []),
  ])("cuts the same text with and without a token in a literal range: %s", async (path, spells) => {
    const tokenizer = await openTokenizer(await nodeFolder(path));
    const [before, said, behind] = ["<|im_end|>a red car [SEG] ", "big <vp> dog", " [SEG] in this image.</s>"];
    const text = before + said + behind;
    const literal = [{ start: before.length, end: before.length + said.length }];
    const ids = tokenizer.encode(text, literal);
    const read = (all: readonly number[]) => tokenizer.decode(all, { keepSpecial: true }).replace(/\s+/g, "");
    expect(ids).not.toContain(tokenizer.special.regionStart);
    expect(ids.filter((id) => id === tokenizer.special.seg).length).toBe(2);
    if (spells) expect(read(ids)).toBe(read(tokenizer.encode(text)));
    else expect(read(ids)).toMatch(/big<unk>.*dog\[SEG\]/);
    // The parts that spell no token are cut as ever.
    expect(tokenizer.encode(text, [{ start: before.length, end: before.length + 3 }])).toEqual(tokenizer.encode(text));
  });

  it("finds [SEG] in the forced answer", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    const answer = encodeAnswer(tokenizer, "qwen_chat", SEG_ANSWER);
    expect(answer.segPositions.map((at) => answer.ids[at])).toEqual([tokenizer.special.seg]);
    expect(answer.ids.at(-1)).toBe(tokenizer.special.eos);
  });
});
