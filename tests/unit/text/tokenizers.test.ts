/** Ids and texts of whole tokenizers against rows that Hugging Face's and SentencePiece's own libraries made. */
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { nodeFolder } from "../../../scripts/lib/node/node-files.ts";
import { openTokenizer } from "../../../src/engine/text/tokenizer.ts";
import { openSentencePiece } from "../../../src/plugins/sentencepiece/sentencepiece.ts";
import { makePieces, pieceRows, type Row } from "../../support/pieces.ts";

const FIXTURES = fileURLToPath(new URL("../../fixtures/text/", import.meta.url));
const NAMES = ["internlm2-bpe", "internlm2-unigram", "llama-legacy", "llama-rstrip", "llama-fast"];

describe("a tokenizer folder", () => {
  test.each(NAMES)("%s gives the ids and texts of the original", async (name) => {
    const tokenizer = await openTokenizer(await nodeFolder(FIXTURES + name));
    const rows = JSON.parse(await readFile(`${FIXTURES}${name}/rows.json`, "utf8")) as Row[];
    expect(rows.length).toBeGreaterThan(100);
    for (const { text, ids, keep, skip, start } of rows) {
      if (start !== undefined) expect(tokenizer.start).toEqual(start);
      if (ids === undefined) continue;
      if (text !== undefined) expect(tokenizer.encode(text), text).toEqual(ids);
      expect(tokenizer.decode(ids, { keepSpecial: true }), text ?? String(ids)).toBe(keep);
      if (skip !== undefined) expect(tokenizer.decode(ids), text ?? String(ids)).toBe(skip);
    }
  });
});

describe("SentencePiece alone", () => {
  test.each(NAMES.slice(0, 4))("%s cuts and joins like the library", async (name) => {
    const model = openSentencePiece(await readFile(`${FIXTURES}${name}/tokenizer.model`), "tokenizer.model");
    const rows = JSON.parse(await readFile(`${FIXTURES}${name}/rows.json`, "utf8")) as Row[];
    expect(pieceRows(model, rows)).toBeGreaterThan(100);
  });

  const made = makePieces(17);
  test.skipIf(made === undefined)("models trained now cut and join like the library", async () => {
    const names = await readdir(made as string);
    for (const name of names) {
      const model = openSentencePiece(await readFile(`${made}/${name}/tokenizer.model`), name);
      const rows = JSON.parse(await readFile(`${made}/${name}/rows.json`, "utf8")) as Row[];
      expect(pieceRows(model, rows, name)).toBeGreaterThan(140);
    }
    expect(names.length).toBe(8);
  });
});
