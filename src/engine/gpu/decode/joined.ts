/**
 * Linear layers with the same input in one dispatch: queries, keys and values, or gate and up. Up to three matrices of
 * one storage are bound side by side, and each tile of four columns belongs to one of them. Their second low-rank
 * factors follow one another in one buffer, and their biases after them, so that every device has enough bindings for
 * f32 and f16 (7), and most devices for scaled forms (10). Used where a workgroup shares a sum; with one thread per sum
 * the choice of the layer would cost too much.
 */
import { lines } from "../matmul/product-form.ts";
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
  return Object.fromEntries(
    ["", "1", "2"].flatMap((layer) => names.map(([name, type]) => [`${name}${layer}`, type] as const)),
  );
}

/** WGSL functions that find the layer of a column and read its buffers: `<name>Of(part, i)`. */
export function joinedHeader(own: Readonly<Record<string, BufferType>>): string {
  const names = Object.entries(own);
  return `
      fn partOf(column: u32) -> u32 { return u32(column >= u.end0) + u32(column >= u.end1); }
      fn firstOf(part: u32) -> u32 { return select(select(0u, u.end0, part == 1u), u.end1, part == 2u); }
      ${lines(names.length, (at) => {
        const [name, type] = names[at] as (typeof names)[number];
        return `fn ${name}Of(part: u32, i: u32) -> ${type} {
          if (part == 0u) { return ${name}[i]; }
          if (part == 1u) { return ${name}1[i]; }
          return ${name}2[i];
        }`;
      })}`;
}

/** The layer of this tile, and the tile's first column in it. */
export const OWN_PART = `
      let part = partOf(column);
      let own = column - firstOf(part);`;

/** The bias of column \`column + i\`. */
export const JOINED_BIAS = "up[u.biasFirst + column / 4u][i]";
