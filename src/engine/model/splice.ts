/** Writes visual tokens into the embeddings of prompts (docs/spec/sa2va.md#10-splicing-visual-tokens). */
import { badInput } from "../errors.ts";
import { placedRows } from "../gpu/kernels/placed-rows.ts";
import { zerosBehind } from "../gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Prompt } from "../text/prompt.ts";

/** Positions of the visual tokens in a prompt. */
type VisualPlaces = Pick<Prompt, "imageSpan" | "frameSpans" | "regionSpans">;

/** The visual tokens to write. */
interface VisualTokens {
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
 * @param copies index of the first of the same tokens as regions copy them; by default `visual`
 * @returns [length] row indices, for `placedRows`
 * @throws LabError("bad-input") when places and tokens differ in number
 */
export function splicedOrder(
  length: number,
  places: VisualPlaces,
  tokens: VisualTokens,
  { text, visual, copies = visual }: { readonly text: number; readonly visual: number; readonly copies?: number },
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
  const rows = [
    Array.from({ length: count }, (_, at) => visual + at),
    ...cells.map((run) => run.map((at) => copies + at)),
  ];
  const positions = spans.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, at) => start + at));
  const all = rows.flat();
  positions.forEach((position, at) => {
    order[position] = all[at] as number;
  });
  return order;
}

/**
 * Embeddings with the visual tokens at their positions; see `splicedOrder`. Differentiable in both.
 * @param embedded [1, T, D]
 * @param visual [tiles · tokensPerTile, W], W = D or a multiple with what the first layers add
 * @returns [1, T, W]
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
  const [count, wide] = visual.shape as [number, number];
  const { rows, copies } = regionGrids.length === 0 ? { rows: visual, copies: 0 } : copiedTokens(visual, width);
  const tokens = { count, tokensPerTile, regionGrids };
  const order = splicedOrder(length, places, tokens, { text: 0, visual: length, copies: length + copies });
  return placedRows(widened(embedded.reshape([length, width]), wide), rows, order).reshape([1, length, wide]);
}

/**
 * Visual tokens followed by the same tokens as regions copy them, to which no layer adds anything.
 * @param visual [n, W]
 * @param width D
 * @returns the rows and the index of the first copy among them
 */
export function copiedTokens(visual: Tensor, width: number): { readonly rows: Tensor; readonly copies: number } {
  const [count, wide] = visual.shape as [number, number];
  if (wide === width) return { rows: visual, copies: 0 };
  return { rows: tf.concat([visual, widened(tf.slice(visual, [0, 0], [count, width]), wide)]), copies: count };
}

/** Rows of text among wider ones of visual tokens: the layers add nothing to them. @param x [n, D] @returns [n, W] */
export function widened(x: Tensor, width: number): Tensor {
  return zerosBehind(x, [0, width - (x.shape[1] as number)]);
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
