/** Vocabularies have more entries than a call takes arguments. */
import { describe, expect, it } from "vitest";
import { openWordLevel } from "../../../src/engine/text/word-level.ts";
import { pieceCutter } from "../../../src/plugins/sentencepiece/sentencepiece.ts";
import { PIECE, type SentencePieceModel } from "../../../src/plugins/sentencepiece/sentencepiece-model.ts";

const WORDS = Array.from({ length: 250_000 }, (_, at) => `w${at}`);

describe("a vocabulary of 250,000", () => {
  it("of words is opened", () => {
    const vocab = Object.fromEntries(WORDS.map((word, at) => [word, at]));
    const core = openWordLevel({ model: { vocab }, pre_tokenizer: { type: "Whitespace" } }, [], {});
    expect(core.vocabSize).toBe(WORDS.length);
    expect(core.encode("w7 w249999")).toEqual([7, 249_999]);
  });

  it("of unigram pieces cuts text", () => {
    const pieces = WORDS.map((text, at) => ({ text, kind: PIECE.normal, score: -at / 1000 }));
    const cut = pieceCutter({ algorithm: "unigram", pieces } as unknown as SentencePieceModel);
    expect(cut("w7w12")).toEqual(["w7", "w12"]);
  });
});
