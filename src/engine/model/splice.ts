/** Writes visual tokens into the embeddings of prompts (docs/spec/sa2va.md#10-splicing-visual-tokens). */
import { badInput } from "../errors.ts";
import { placedRows } from "../gpu/kernels/placed-rows.ts";
import type { Tensor } from "../gpu/tf.ts";
import type { Prompt } from "../text/prompt.ts";

/** Positions of the visual tokens in a prompt. */
export type VisualPlaces = Pick<Prompt, "imageSpan" | "frameSpans" | "regionSpans">;

/** The visual tokens to write. */
export interface VisualTokens {
  /** Number of tokens of all tiles. */
  readonly count: number;
  readonly tokensPerTile: number;
  /** One grid per region, [tokensPerTile] or in a clip [count]; 1 where a cell belongs to the region. */
  readonly regionGrids: readonly Uint8Array[];
}

/**
 * The row at each position of a prompt: its text, the tokens of all tiles in order, and for each region the tokens of
 * the last tile that its grid selects, row by row.
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
  const { count } = tokens;
  const { frameSpans = [places.imageSpan] } = places;
  const cells = tokens.regionGrids.flatMap((grid, region) => selectedCells(grid, tokens, region));
  const spans = [...frameSpans, ...places.regionSpans];
  const wanted = spans.map(({ start, end }) => end - start);
  const offered = [...frameSpans.map(() => count / frameSpans.length), ...cells.map((run) => run.length)];
  if (String(wanted) !== String(offered)) {
    throw badInput(`The prompt has ${wanted.join(" + ")} places for ${offered.join(" + ")} visual tokens`, "prompt");
  }
  const order = Array.from({ length }, (_, at) => text + at);
  const rows = [Array.from({ length: count }, (_, at) => at), ...cells].flat();
  const positions = spans.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, at) => start + at));
  positions.forEach((position, at) => {
    order[position] = visual + (rows[at] as number);
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

/** Tokens that a region selects, one run per tile that has some: in the last tile, or in all frames of a clip. */
function selectedCells(
  grid: Uint8Array,
  { count, tokensPerTile }: Omit<VisualTokens, "regionGrids">,
  region: number,
): number[][] {
  const cells = Array.from(grid.keys()).filter((cell) => grid[cell] !== 0);
  if ((grid.length !== tokensPerTile && grid.length !== count) || cells.length === 0) {
    throw badInput(
      `Region ${region + 1} has ${cells.length} of ${grid.length} cells set, but a tile has ${tokensPerTile} tokens`,
      "region",
    );
  }
  const runs: number[][] = Array.from({ length: grid.length / tokensPerTile }, () => []);
  for (const cell of cells) runs[Math.floor(cell / tokensPerTile)]?.push(count - grid.length + cell);
  return runs.filter((run) => run.length > 0);
}
