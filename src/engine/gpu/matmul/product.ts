/**
 * The generator of products: operands, which differ only in how a run of their elements is read, phases of sums over K,
 * and what becomes of the sums, for any tile: in workgroup memory (tile-product.ts) or of single threads
 * (thread-product.ts).
 */
import type { MatrixUnit, TileForm } from "../forms/records.ts";
import type { Arithmetic } from "../packed/half.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { flatGrid } from "../runtime/program.ts";
import { ACTIVATED, afterBeside } from "./activation-code.ts";
import type { Epilogue, Phase, ThreadTile } from "./product-form.ts";
import { threadParts } from "./thread-product.ts";
import { tileParts } from "./tile-product.ts";

interface Product extends Pick<GpuProgram, "name" | "inputs" | "uniforms"> {
  /** Functions that the operands and the epilogue call. */
  readonly header?: string;
  /** Whether the uniforms `triangle` and `reach` may leave out what is above a diagonal of the result. */
  readonly triangular?: boolean;
  readonly phases: readonly Phase[];
  readonly epilogue: Epilogue;
}

/**
 * The program of a product in a form. Its inputs are those given, then with a bias `bias`, `extra`, and with an activation
 * `others`; its code may use `batch`, the third index of the workgroup. Uniforms `m` and `n` are the sizes of the result.
 * @param type arithmetic of a tile in workgroup memory
 * @param unit unit of a form with subgroup matrices, whose type is f16
 */
export function productProgram(
  product: Product,
  tile: TileForm | ThreadTile,
  type: Arithmetic = "f32",
  unit?: MatrixUnit,
): GpuProgram {
  const { name, inputs, uniforms, header = "", triangular, phases, epilogue } = product;
  const { bias, extra, activates } = epilogue;
  const parts = "kind" in tile ? tileParts(type, tile, epilogue, unit) : threadParts(tile, epilogue);
  const { enable, subgroupSize, workgroup, written, tall, left, place, begin, phase, end } = parts;
  const beside = afterBeside(activates, written);
  return {
    name: name + (activates ? ACTIVATED : ""),
    ...(enable === undefined || enable.length === 0 ? {} : { enable }),
    ...(subgroupSize === undefined ? {} : { subgroupSize }),
    inputs: {
      ...inputs,
      ...(bias === undefined ? {} : { bias: written }),
      ...(extra ? { extra: written } : {}),
      ...beside.inputs,
    },
    outputs: { result: written, ...beside.outputs },
    uniforms: { ...uniforms, ...beside.uniforms },
    workgroup,
    header: `${header} ${parts.header}`,
    body: `
      let batch = group.z;
      ${place}
      ${triangular ? `if (u.triangle != 0u && ${left} > row0 + ${tall - 1}u + u.reach) { return; }` : ""}
      ${begin}
      ${phases.map(phase).join("\n")}
      ${end}`,
  };
}

/** Workgroups along the columns and rows of a result [m, n]. */
export function gridOf(tile: TileForm | Omit<ThreadTile, "apart">, m: number, n: number): readonly [number, number] {
  if ("kind" in tile) return [Math.ceil(n / tile.n), Math.ceil(m / tile.m)];
  const { rows, groups, wide, lanes } = tile;
  const across = 4 * groups;
  if (wide) return [Math.ceil(n / (across * lanes)), Math.ceil(m / rows)];
  const [x, y] = flatGrid(Math.ceil((Math.ceil(n / across) * Math.ceil(m / rows)) / lanes));
  return [x, y];
}
