/**
 * Tiles of products in half precision by subgroup matrices, a WGSL extension that browsers still call experimental:
 * each subgroup multiplies its part of a workgroup's tile, unit by unit, from the f16 operands in workgroup memory, and
 * keeps the sums in f32. Results are written through workgroup memory, so edges, factors and a bias are handled as in
 * any other tile.
 */
import { type MatrixUnit, type TileForm, tileThreads } from "../forms/records.ts";
import { grid, lines } from "../matmul/product-form.ts";
import { bound, SUBGROUP_MATRICES } from "../runtime/pipelines.ts";

/** Parts of a tiled program that store and multiply results. */
export interface TileParts {
  readonly enable: readonly string[];
  readonly subgroupSize?: number;
  readonly threads: number;
  /** Workgroup variables besides the operands. */
  readonly header: string;
  /** Declares the results of a thread. */
  readonly begin: string;
  /** Adds all steps of both operands' tiles, `left` by steps and rows, `right` by steps and columns. */
  readonly multiply: string;
  /** Passes the results to `put(row, col, sum)`. */
  readonly end: string;
}

/**
 * Subgroups without a part skip this code. All lanes of a subgroup skip it together, which the compiler cannot prove.
 */
const OWN = "@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns)";

/** The parts of a program that uses subgroup matrices. */
export function matrixParts(tile: TileForm, unit: MatrixUnit): TileParts {
  const { m, n, rows, columns } = tile;
  const [parts, across] = [tileThreads(tile), n / columns];
  const [down, right] = [rows / unit.m, columns / unit.n];
  const strip = unit.m * columns;
  const threads = tileThreads(tile, unit.lanes);
  const matrix = (side: "left" | "right", at: string): string => {
    const [size, lanes, order] =
      side === "left" ? [`${unit.k}, ${unit.m}`, m, "col_major"] : [`${unit.n}, ${unit.k}`, n, "row_major"];
    return `subgroupMatrixLoad<subgroup_matrix_${side}<f16, ${size}>, ${order}>(&${side}, ${at}, ${lanes}u)`;
  };
  const sum = (r: number, c: number): string => `c${r}_${c}`;
  return {
    enable: ["f16", "subgroups", SUBGROUP_MATRICES, ...(unit.fixed ? ["subgroup_size_control"] : [])],
    ...(unit.fixed ? { subgroupSize: unit.lanes } : {}),
    threads,
    header: `var<workgroup> sums: array<f32, ${parts * strip}>;`,
    begin: `
      let owns = subgroup < ${parts}u;
      let top = subgroup / ${across}u * ${rows}u;
      let side = subgroup % ${across}u * ${columns}u;
      ${grid(down, right, (r, c) => `var ${sum(r, c)}: subgroup_matrix_result<f32, ${unit.n}, ${unit.m}>;`)}`,
    multiply: `
      workgroupBarrier();
      ${OWN} {
        for (var k = 0u; k < ${bound(tile.k, "m")}; k += ${unit.k}u) {
          ${lines(down, (r) => `let a${r} = ${matrix("left", `k * ${m}u + top + ${r * unit.m}u`)};`)}
          ${lines(
            right,
            (c) => `let b${c} = ${matrix("right", `k * ${n}u + side + ${c * unit.n}u`)};
            ${lines(down, (r) => `${sum(r, c)} = subgroupMatrixMultiplyAccumulate(a${r}, b${c}, ${sum(r, c)});`)}`,
          )}
        }
      }
      workgroupBarrier();`,
    end: lines(
      down,
      (r) => `
      ${OWN} {
        ${lines(right, (c) => `subgroupMatrixStore<row_major>(&sums, subgroup * ${strip}u + ${c * unit.n}u, ${sum(r, c)}, ${columns}u);`)}
      }
      workgroupBarrier();
      for (var i = index; i < ${parts * strip}u; i += ${threads}u) {
        let part = i / ${strip}u;
        let line = part / ${across}u * ${rows}u + ${r * unit.m}u + i % ${strip}u / ${columns}u;
        put(row0 + line, col0 + part % ${across}u * ${columns}u + i % ${columns}u, sums[i]);
      }
      workgroupBarrier();`,
    ),
  };
}
