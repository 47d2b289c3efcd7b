/** Rows of expected ids and texts, and SentencePiece models trained by Python for the occasion. */
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { SentencePiece } from "../../src/plugins/sentencepiece/sentencepiece.ts";

export interface Row {
  readonly text?: string;
  readonly ids?: readonly number[];
  readonly keep?: string;
  readonly skip?: string;
  readonly pieces?: readonly number[];
  readonly piecesText?: string;
  readonly start?: readonly number[];
}

/** Compares every row that has pieces; how many there were. */
export function pieceRows(model: SentencePiece, rows: readonly Row[], name = ""): number {
  let count = 0;
  for (const { text, ids, pieces, piecesText } of rows) {
    if (piecesText === undefined) continue;
    const label = `${name} ${JSON.stringify(text ?? ids)}`;
    if (text !== undefined) expect(model.encode(text), label).toEqual(pieces);
    const named = (pieces ?? ids ?? []).map((id) => model.piece(id) as string);
    expect(model.decode(named), label).toBe(piecesText);
    count++;
  }
  return count;
}

/** A folder of models and rows made by tests/oracle/make_pieces.py; undefined, with a notice, without sentencepiece. */
export function makePieces(seed: number): string | undefined {
  const python = process.env.PYTHON || "python3";
  const folder = mkdtempSync(join(tmpdir(), "pieces-"));
  const script = fileURLToPath(new URL("../oracle/make_pieces.py", import.meta.url));
  const found = spawnSync(python, ["-c", "import sentencepiece, tokenizers"], { encoding: "utf8" });
  if (found.status !== 0) {
    console.warn(`Skipped: ${python} cannot import sentencepiece and tokenizers; set PYTHON to one that can`);
    return undefined;
  }
  const run = spawnSync(python, [script, "--seed", String(seed), "--out", folder], { encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr);
  return folder;
}
