/** Writes visual tokens into the embeddings of prompts (docs/spec/sa2va.md#10-splicing-visual-tokens). */
import { LabError } from "../errors.ts";
import { placedRows } from "../gpu/kernels/placed-rows.ts";
import type { Tensor } from "../gpu/tf.ts";
import type { Span } from "../text/prompt.ts";

/** Positions of the visual tokens in a prompt. */
export interface VisualPlaces {
  /** Tokens of all tiles. */
  readonly imageSpan: Span;
  /** Copies of the last tile's tokens, one run per region. */
  readonly regionSpans: readonly Span[];
}

/** The visual tokens to write. */
export interface VisualTokens {
  /** Tokens of all tiles. */
  readonly count: number;
  readonly tokensPerTile: number;
  /** Per region [tokensPerTile], 1 where a cell belongs to it. */
  readonly regionGrids: readonly Uint8Array[];
}

/**
 * The row at each position of a prompt: its own text, the tokens of all tiles in order, then for each region those of
 * the last tile's tokens that its grid selects, row by row.
 * @param length of the prompt
 * @param text index of the prompt's first text row among all rows
 * @param visual index of the first visual token among all rows
 * @returns [length] row indices, for `placedRows`
 * @throws LabError("bad-input") when places and tokens differ in number
 */
export function splicedOrder(
  length: number,
  places: VisualPlaces,
  tokens: VisualTokens,
  { text, visual }: { readonly text: number; readonly visual: number },
): number[] {
  const { count, tokensPerTile } = tokens;
  const cells = tokens.regionGrids.map((grid, region) => selectedCells(grid, tokensPerTile, region));
  const spans = [places.imageSpan, ...places.regionSpans];
  const wanted = spans.map(({ start, end }) => end - start);
  const offered = [count, ...cells.map((region) => region.length)];
  if (String(wanted) !== String(offered)) {
    throw new LabError(
      "bad-input",
      `The prompt has ${wanted.join(" + ")} places for ${offered.join(" + ")} visual tokens`,
      { subject: "prompt" },
    );
  }
  const order = Array.from({ length }, (_, at) => text + at);
  const last = visual + count - tokensPerTile;
  const rows = [
    Array.from({ length: count }, (_, at) => visual + at),
    ...cells.map((own) => own.map((at) => last + at)),
  ];
  spans.forEach(({ start }, span) => {
    rows[span]?.forEach((row, at) => {
      order[start + at] = row;
    });
  });
  return order;
}

/**
 * Embeddings with the visual tokens at their positions; see `splicedOrder`. Differentiable in both.
 * @param embedded [1, T, D]
 * @param visual [tiles · tokensPerTile, D]
 * @returns [1, T, D]
 * @throws LabError("bad-input") when places and tokens differ in number
 */
export function spliceVisual(
  embedded: Tensor,
  places: VisualPlaces,
  visual: Tensor,
  regionGrids: readonly Uint8Array[],
  tokensPerTile: number,
): Tensor {
  const [, length, width] = embedded.shape as [number, number, number];
  const tokens = { count: visual.shape[0] as number, tokensPerTile, regionGrids };
  const order = splicedOrder(length, places, tokens, { text: 0, visual: length });
  return placedRows(embedded.reshape([length, width]), visual, order).reshape([1, length, width]);
}

function selectedCells(grid: Uint8Array, tokens: number, region: number): number[] {
  const cells = Array.from(grid.keys()).filter((cell) => grid[cell] !== 0);
  if (grid.length !== tokens || cells.length === 0) {
    throw new LabError(
      "bad-input",
      `Region ${region + 1} has ${cells.length} of ${grid.length} cells set, a tile has ${tokens} tokens`,
      { subject: "region" },
    );
  }
  return cells;
}
