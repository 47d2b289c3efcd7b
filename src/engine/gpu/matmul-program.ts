/**
 * Matrix products for software adapters: every thread keeps R rows × 4 columns in registers, there is no workgroup
 * memory, no barrier and no atomic, so a product repeats bit for bit (measurements: docs/performance.md). Sizes and loop
 * bounds are uniforms: one pipeline serves all shapes of a layout, and nothing is unrolled but the register tile.
 *
 * out[b] = alpha · A[b] B[b] (+ bias per column) (+ add)
 */
import { flatGrid, type GpuProgram, runProgram } from "./program.ts";
import type { tf } from "./tf.ts";

/** How the operands lie in memory decides how they can be loaded. */
export type Layout =
  /** Both read along K, four at a time: A [M, K], B [N, K], K a multiple of 4. */
  | "along-k"
  /** The same with a second product of that kind added: a linear layer and its low-rank branch. */
  | "along-k-twice"
  /** B [K, N] read four columns at a time, N a multiple of 4; A read one by one at any stride. */
  | "rows"
  /** Everything one by one at any stride. */
  | "any";

/** Threads of a workgroup: the width of llvmpipe's vectors, twice that of SwiftShader's. */
const LANES = 8;

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join("\n");
}

/** The loop over K for R rows. */
function innerLoop(layout: Layout, rows: number): string {
  if (layout === "along-k") return alongK(rows, "a", "b", "u.k", "sam", "sbn");
  if (layout === "along-k-twice") {
    return `${alongK(rows, "a", "b", "u.k", "sam", "sbn")}
      ${lines(rows, (r) => `c${r} *= u.alpha;`)}
      ${alongK(rows, "down", "up", "u.k2", "k2", "k2", "u.alpha2 * ")}`;
  }
  const load =
    layout === "rows"
      ? "let bk = b[bBase + k * u.sbk + (col >> 2u)];"
      : `let pk = bBase + k * u.sbk;
         let bk = vec4f(b[pk + pb0], b[pk + pb1], b[pk + pb2], b[pk + pb3]);`;
  const columns = layout === "rows" ? "" : lines(4, (c) => `let pb${c} = min(col + ${c}u, u.n - 1u) * u.sbn;`);
  return `
      ${columns}
      ${lines(rows, (r) => `let pa${r} = aBase + min(row + ${r}u, u.m - 1u) * u.sam;`)}
      for (var k = 0u; k < u.k; k++) {
        ${load}
        let ka = k * u.sak;
        ${lines(rows, (r) => `c${r} += a[pa${r} + ka] * bk;`)}
      }`;
}

/** Rows of `a` times rows of `b`, four elements of K at a time. */
function alongK(
  rows: number,
  a: string,
  b: string,
  end: string,
  aStride: string,
  bStride: string,
  factor = "",
): string {
  const [pa, pb] = a === "a" ? ["aBase + ", "bBase + "] : ["", ""];
  return `{
      ${lines(rows, (r) => `let qa${r} = ${pa}min(row + ${r}u, u.m - 1u) * u.${aStride};`)}
      ${lines(4, (c) => `let qb${c} = ${pb}min(col + ${c}u, u.n - 1u) * u.${bStride};`)}
      for (var k = 0u; k < ${end}; k++) {
        ${lines(4, (c) => `let b${c} = ${b}[qb${c} + k];`)}
        ${lines(
          rows,
          (r) => `let a${r} = ${a}[qa${r} + k];
        c${r} += ${factor}vec4f(dot(a${r}, b0), dot(a${r}, b1), dot(a${r}, b2), dot(a${r}, b3));`,
        )}
      }
    }`;
}

function program(layout: Layout, rows: number): GpuProgram {
  const vectors = layout === "along-k" || layout === "along-k-twice";
  const twice = layout === "along-k-twice";
  return {
    name: `lab-matmul-${layout}-${rows}`,
    inputs: {
      a: vectors ? "vec4<f32>" : "f32",
      b: layout === "any" ? "f32" : "vec4<f32>",
      bias: "f32",
      extra: "f32",
      ...(twice ? { down: "vec4<f32>" as const, up: "vec4<f32>" as const } : {}),
    },
    outputs: { result: "f32" },
    // Strides and K count the elements of their buffer, i.e. groups of four where it holds vectors.
    uniforms: {
      m: "u32",
      n: "u32",
      k: "u32",
      sam: "u32",
      sak: "u32",
      sbk: "u32",
      sbn: "u32",
      aBatch: "u32",
      bBatch: "u32",
      hasBias: "u32",
      hasExtra: "u32",
      alpha: "f32",
      ...(twice ? { k2: "u32" as const, alpha2: "f32" as const } : {}),
    },
    workgroup: [LANES, 1],
    header: `
      fn put(row: u32, col: u32, batch: u32, sum: vec4f) {
        if (row >= u.m) { return; }
        for (var c = 0u; c < 4u; c++) {
          let j = col + c;
          if (j >= u.n) { return; }
          let at = (batch * u.m + row) * u.n + j;
          var value = ${twice ? "" : "u.alpha * "}sum[c];
          if (u.hasBias != 0u) { value += bias[j]; }
          if (u.hasExtra != 0u) { value += extra[at]; }
          result[at] = value;
        }
      }`,
    body: `
      // Neighbouring lanes work on neighbouring columns; where the result is narrow, a workgroup spans several row blocks.
      let tile = (group.y * groups.x + group.x) * ${LANES}u + local.x;
      let tiles = (u.n + 3u) / 4u;
      let row = (tile / tiles) * ${rows}u;
      let col = (tile % tiles) * 4u;
      let batch = group.z;
      if (row >= u.m) { return; }
      let aBase = batch * u.aBatch;
      let bBase = batch * u.bBatch;
      ${lines(rows, (r) => `var c${r} = vec4f(0);`)}
      ${innerLoop(layout, rows)}
      ${lines(rows, (r) => `put(row + ${r}u, col, batch, c${r});`)}`,
  };
}

const PROGRAMS = new Map<string, GpuProgram>();

function programOf(layout: Layout, rows: number): GpuProgram {
  const key = `${layout}-${rows}`;
  const made = PROGRAMS.get(key) ?? program(layout, rows);
  PROGRAMS.set(key, made);
  return made;
}

/** Sizes of a batch of products. A batch of one operand may be 1 and is then used for every product. */
export interface ProductShape {
  readonly batch: number;
  readonly aBatch: number;
  readonly bBatch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transposeA: boolean;
  readonly transposeB: boolean;
}

export interface ProductExtras {
  /** Factor of the product. */
  readonly alpha?: number;
  /** [N], added to every row. */
  readonly bias?: tf.TensorInfo | undefined;
  /** [batch, M, N], added. */
  readonly add?: tf.TensorInfo | undefined;
  /** Adds alpha · a bᵀ with a [M, r] and b [N, r]; only where `canAddProduct`. */
  readonly product?: { readonly a: tf.TensorInfo; readonly b: tf.TensorInfo; readonly alpha: number };
}

/** The largest batch one dispatch can hold. */
export const MAX_BATCH = 65_535;

/** True for single products A Bᵀ whose inner sizes are both read four at a time. */
export function canAddProduct(k: number, rank: number): boolean {
  return k % 4 === 0 && rank % 4 === 0;
}

function layoutOf({ n, k, transposeA, transposeB }: ProductShape): Layout {
  if (!transposeA && transposeB && k % 4 === 0) return "along-k";
  return !transposeB && n % 4 === 0 ? "rows" : "any";
}

/**
 * Records the product.
 * @param a [aBatch, M, K], or [aBatch, K, M] when transposed, float32
 * @param b [bBatch, K, N], or [bBatch, N, K] when transposed, float32
 * @param shape of the result in the caller's terms, batch · M · N elements
 */
export function runProduct(
  a: tf.TensorInfo,
  b: tf.TensorInfo,
  sizes: ProductShape,
  shape: readonly number[],
  extras: ProductExtras = {},
): tf.TensorInfo {
  const { batch, m, n, k, transposeA, transposeB } = sizes;
  const { product } = extras;
  const layout = product === undefined ? layoutOf(sizes) : "along-k-twice";
  const rows = m <= 2 ? 1 : 8;
  const aWidth = layout === "along-k" || layout === "along-k-twice" ? 4 : 1;
  const bWidth = layout === "any" ? 1 : 4;
  const uniforms = [
    m,
    n,
    k / aWidth,
    (transposeA ? 1 : k) / aWidth,
    transposeA ? m : 1,
    transposeB ? 1 : n / bWidth,
    transposeB ? k / aWidth : 1,
    sizes.aBatch === 1 ? 0 : (m * k) / aWidth,
    sizes.bBatch === 1 ? 0 : (n * k) / bWidth,
    extras.bias === undefined ? 0 : 1,
    extras.add === undefined ? 0 : 1,
    extras.alpha ?? 1,
    ...(product === undefined ? [] : [(product.a.shape[1] as number) / 4, product.alpha]),
  ];
  const groups = Math.ceil((Math.ceil(n / 4) * Math.ceil(m / rows)) / LANES);
  const [x, y] = flatGrid(groups);
  // A buffer that is not read still has to be bound; the operand itself will do.
  const inputs = [a, b, extras.bias ?? a, extras.add ?? a, ...(product === undefined ? [] : [product.a, product.b])];
  return runProgram(programOf(layout, rows), inputs, [{ shape }], uniforms, [x, y, batch])[0] as tf.TensorInfo;
}
