/** Writing visual tokens into a prompt's embeddings (reference: sa2va.md §10). */
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Span } from "../text/prompt.ts";

/** Where a prompt wants its visual tokens. */
export interface VisualPlaces {
  /** Tokens of all tiles. */
  readonly imageSpan: Span;
  /** Copies of the last tile's tokens, one run a region. */
  readonly regionSpans: readonly Span[];
}

/**
 * Embeddings with the visual tokens written over their places: all tiles in order, then for each region copies of the
 * last tile's tokens that its grid selects, row by row. Differentiable in both.
 * @param embedded [1, T, D]
 * @param visual [tiles · tokensPerTile, D]
 * @param regionGrids per region [tokensPerTile], 1 where a cell belongs to it
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
  const [count] = visual.shape as [number, number];
  const cells = regionGrids.map((grid, region) => selectedCells(grid, tokensPerTile, region));
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
  return tf.tidy(() => {
    const rows = embedded.reshape([length, width]);
    const filling = [visual, ...cells.map((region) => copies(visual, count - tokensPerTile, tokensPerTile, region))];
    const parts: Tensor[] = [];
    let text = 0;
    spans.forEach(({ start, end }, at) => {
      if (start > text) parts.push(tf.slice(rows, [text, 0], [start - text, width]));
      parts.push(filling[at] as Tensor);
      text = end;
    });
    if (text < length) parts.push(tf.slice(rows, [text, 0], [length - text, width]));
    return (parts.length === 1 ? (parts[0] as Tensor) : tf.concat(parts, 0)).reshape([1, length, width]);
  });
}

/** Chosen rows of the last tile, [cells, D]. */
function copies(visual: Tensor, first: number, tokens: number, cells: readonly number[]): Tensor {
  const tile = tf.slice(visual, [first, 0], [tokens, visual.shape[1] as number]) as tf.Tensor2D;
  // A product with rows of the identity copies exactly and, unlike a gather, has a gradient without scatter.
  const pick = tf.oneHot(tf.tensor1d([...cells], "int32"), tokens).toFloat() as tf.Tensor2D;
  return tf.matMul(pick, tile);
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
