import { describe, expect, it } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node-files.ts";
import { memoryFolder } from "../../../src/engine/bytes/memory.ts";
import { sa2vaTextParity } from "../../../src/engine/parity/sa2va-text.ts";
import { buildPrompt, cleanPhrase, encodeAnswer, referringText, SEG_ANSWER } from "../../../src/engine/text/prompt.ts";
import { stopRule } from "../../../src/engine/text/template.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";

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

  it("cleans expressions and keeps replacement marks as they are", () => {
    expect(cleanPhrase(" The Red Dog. ")).toBe("the red dog");
    expect(referringText("a $& sign")).toBe("<image>\nPlease segment a $& sign in this image.");
  });

  it("finds [SEG] in the forced answer", async () => {
    const tokenizer = await openTokenizer(await nodeFolder(GOLDEN));
    const answer = encodeAnswer(tokenizer, "qwen_chat", SEG_ANSWER);
    expect(answer.segPositions.map((at) => answer.ids[at])).toEqual([tokenizer.special.seg]);
    expect(answer.ids.at(-1)).toBe(tokenizer.special.eos);
  });
});
