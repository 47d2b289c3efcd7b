/** Writing visual tokens into a prompt's embeddings (reference: sa2va.md §10). */
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Span } from "../text/prompt.ts";

/**
 * The visual tokens of a prompt in their order: all tiles, then for each region copies of the last tile's tokens that
 * its grid selects, row by row. Differentiable in `projected`.
 * @param projected [tiles, tokens, D]
 * @param regionGrids per region [tokens], 1 where a cell belongs to it
 * @returns [K, D]
 * @throws LabError("bad-input") for a grid of another size or without cells
 */
export function visualTokens(projected: Tensor, regionGrids: readonly Uint8Array[] = []): Tensor {
  return tf.tidy(() => {
    const [tiles, tokens, width] = projected.shape as [number, number, number];
    const all = projected.reshape([tiles * tokens, width]) as tf.Tensor2D;
    if (regionGrids.length === 0) return all;
    const last = tf.slice(all, [(tiles - 1) * tokens, 0], [tokens, width]);
    const cells = regionGrids.flatMap((grid, region) => selectedCells(grid, tokens, region));
    // A product with rows of the identity copies exactly and, unlike a gather, has a gradient without scatter.
    const pick = tf.oneHot(tf.tensor1d(cells, "int32"), tokens).toFloat() as tf.Tensor2D;
    return tf.concat([all, tf.matMul(pick, last)], 0);
  });
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

/**
 * Embeddings with the visual tokens written over the spans, in order. Differentiable in both.
 * @param embedded [1, T, D]
 * @param visual [K, D]; K must be the spans' total length
 * @param spans rising, not touching
 * @returns [1, T, D]
 * @throws LabError("bad-input") when the counts differ
 */
export function spliceVisual(embedded: Tensor, visual: Tensor, spans: readonly Span[]): Tensor {
  const [batch, length, width] = embedded.shape as [number, number, number];
  const [count] = visual.shape as [number, number];
  const places = spans.reduce((sum, { start, end }) => sum + end - start, 0);
  if (places !== count || batch !== 1) {
    throw new LabError("bad-input", `The prompt has ${places} places for ${count} visual tokens`, {
      subject: "prompt",
    });
  }
  return tf.tidy(() => {
    const rows = embedded.reshape([length, width]);
    const parts: Tensor[] = [];
    let text = 0;
    let used = 0;
    for (const { start, end } of spans) {
      if (start > text) parts.push(tf.slice(rows, [text, 0], [start - text, width]));
      parts.push(tf.slice(visual, [used, 0], [end - start, width]));
      used += end - start;
      text = end;
    }
    if (text < length) parts.push(tf.slice(rows, [text, 0], [length - text, width]));
    return (parts.length === 1 ? (parts[0] as Tensor) : tf.concat(parts, 0)).reshape([1, length, width]);
  });
}
