/**
 * Linear layers with the same input in one dispatch: queries, keys and values, or gate and up. Up to three matrices of
 * one storage are bound side by side, and each tile of four columns belongs to one of them. Their second low-rank
 * factors follow one another in one buffer, and their biases after them, so that every device has enough bindings for
 * f32 and f16 (7), and most devices for scaled forms (10). Used where a workgroup shares a sum; with one thread per sum
 * the choice of the layer would cost too much.
 */
import type { BufferType } from "../runtime/pipelines.ts";

/** Maximum layers in one dispatch. */
export const MOST_JOINED = 3;

/** Storage buffers of a joined product. @param each number of buffers of a matrix */
export function joinedBuffers(each: number): number {
  return 4 + MOST_JOINED * each;
}

/** First columns of the second and third layer, and the group of four values in which the biases begin. */
export const JOINED_UNIFORMS = { end0: "u32", end1: "u32", biasFirst: "u32" } as const;
/** Skipped rows and factors of the second and third packed layer. */
export const JOINED_PACKED_UNIFORMS = { skip1: "u32", skip2: "u32", factor1: "f32", factor2: "f32" } as const;

/** The buffers of one matrix, once for each layer. */
export function joinedInputs(own: Readonly<Record<string, BufferType>>): Record<string, BufferType> {
  const names = Object.entries(own);
  return Object.fromEntries(LAYERS.flatMap((layer) => names.map(([name, type]) => [`${name}${layer}`, type] as const)));
}

/** WGSL functions that find the layer of a column and the layer's first column. */
export const JOINED_HEADER = `
      fn partOf(column: u32) -> u32 { return u32(column >= u.end0) + u32(column >= u.end1); }
      fn firstOf(part: u32) -> u32 { return select(select(0u, u.end0, part == 1u), u.end1, part == 2u); }`;

/** Ends of the names of the layers' buffers. */
export const LAYERS = ["", "1", "2"] as const;

/**
 * Code that reads the matrix of this tile's layer. It is written once per layer, because a choice between buffers at
 * every element costs more branches than multiplications.
 * @param code given the end of the names of the layer's buffers
 */
export function eachLayer(joined: boolean, code: (layer: string) => string): string {
  if (!joined) return code("");
  return LAYERS.map((layer, part) => `if (part == ${part}u) { ${code(layer)} }`).join(" else ");
}

/** The layer of this tile, and the tile's first column in it. */
export const OWN_PART = `
      let part = partOf(column);
      let own = column - firstOf(part);`;

/** The bias of column \`column + i\`. */
export const JOINED_BIAS = "up[u.biasFirst + column / 4u][i]";
