/**
 * Tiles of products in half precision by subgroup matrices, a WGSL extension that browsers still call experimental:
 * each subgroup multiplies its part of a workgroup's tile, unit by unit, from the f16 operands in workgroup memory, and
 * keeps the sums in f32. Results are written through workgroup memory, so edges, factors and a bias are handled as in
 * any other tile.
 */
import { type MatrixUnit, type TileForm, tilePitch, tileThreads } from "../forms/records.ts";
import { bound, SUBGROUP_MATRICES } from "../runtime/pipelines.ts";
import { grid, lines } from "./product-form.ts";

/** How the results of a tile are kept and computed. */
export interface TileParts {
  readonly enable: readonly string[];
  readonly subgroupSize?: number;
  readonly threads: number;
  /** Workgroup variables. */
  readonly header: string;
  /** Declares the results of a thread. */
  readonly begin: string;
  /** Adds all steps of both operands' tiles, in `left` and `right`. */
  readonly multiply: string;
  /** Passes every result to a statement of WGSL. */
  readonly end: (put: (row: string, col: string, sum: string) => string) => string;
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
  const size = unit.m * unit.n;
  const threads = tileThreads(tile, unit.lanes);
  // Lines lie along K, as the units read them.
  const pitch = tilePitch(tile.k, true);
  const matrix = (side: "left" | "right", line: string): string => {
    const [size, order] =
      side === "left" ? [`${unit.k}, ${unit.m}`, "row_major"] : [`${unit.n}, ${unit.k}`, "col_major"];
    const at = `(${line}) * ${pitch}u + k`;
    return `subgroupMatrixLoad<subgroup_matrix_${side}<f16, ${size}>, ${order}>(&${side}, ${at}, ${pitch}u)`;
  };
  const sum = (r: number, c: number): string => `c${r}_${c}`;
  return {
    enable: ["f16", "subgroups", SUBGROUP_MATRICES, ...(unit.fixed ? ["subgroup_size_control"] : [])],
    ...(unit.fixed ? { subgroupSize: unit.lanes } : {}),
    threads,
    header: `
      var<workgroup> left: array<f16, ${m * pitch}>;
      var<workgroup> right: array<f16, ${n * pitch}>;
      var<workgroup> sums: array<f32, ${parts * size}>;`,
    begin: `
      let owns = subgroup < ${parts}u;
      let top = subgroup / ${across}u * ${rows}u;
      let side = subgroup % ${across}u * ${columns}u;
      ${grid(down, right, (r, c) => `var ${sum(r, c)}: subgroup_matrix_result<f32, ${unit.n}, ${unit.m}>;`)}`,
    multiply: `
      workgroupBarrier();
      ${OWN} {
        for (var k = 0u; k < ${bound(tile.k, "m")}; k += ${unit.k}u) {
          ${lines(down, (r) => `let a${r} = ${matrix("left", `top + ${r * unit.m}u`)};`)}
          ${lines(
            right,
            (c) => `let b${c} = ${matrix("right", `side + ${c * unit.n}u`)};
            ${lines(down, (r) => `${sum(r, c)} = subgroupMatrixMultiplyAccumulate(a${r}, b${c}, ${sum(r, c)});`)}`,
          )}
        }
      }
      workgroupBarrier();`,
    end: (put) =>
      grid(
        down,
        right,
        (r, c) => `
      ${OWN} { subgroupMatrixStore<row_major>(&sums, subgroup * ${size}u, ${sum(r, c)}, ${unit.n}u); }
      workgroupBarrier();
      for (var i = local.x; i < ${parts * size}u; i += ${threads}u) {
        let part = i / ${size}u;
        let row = row0 + part / ${across}u * ${rows}u + ${r * unit.m}u + i % ${size}u / ${unit.n}u;
        let col = col0 + part % ${across}u * ${columns}u + ${c * unit.n}u + i % ${unit.n}u;
        ${put("row", "col", "sums[i]")}
      }
      workgroupBarrier();`,
      ),
  };
}
