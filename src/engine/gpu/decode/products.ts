/**
 * Linear layers of a decoding step: a few rows (slots) times a long matrix [out, in]. A thread or workgroup computes 1,
 * 4 or 8 slots × 4 outputs, so that each weight is loaded once for all of them, and adds the low-rank branch. One
 * program serves every layer, low-rank factor and the head, because compiling another takes a software adapter most of
 * a second. Sums run over the input in a fixed order whatever the batch, so a row's result does not depend on its
 * neighbours. Oracle:
 * gpu/kernels/linear.ts; tests/gpu/decode.test.ts.
 */
import { lines } from "../matmul/product-form.ts";
import { type BufferType, bound, type GpuProgram, u32s } from "../runtime/pipelines.ts";
import { eachLayer, JOINED_BIAS, JOINED_HEADER, JOINED_UNIFORMS, joinedInputs, OWN_PART } from "./joined.ts";
import { type LaneProgram, POINT, POINT_LANES } from "./lanes.ts";
import { addProducts, blockInputs, type SlotBlock } from "./slot-block.ts";

/**
 * Buffers and uniforms of a low-rank addend: the inner results of the slots, and the second factor. Uniforms count
 * groups of four.
 */
const ADDEND_INPUTS = { branch: "vec4<f32>", up: "vec4<f32>" } as const;
const ADDEND_UNIFORMS = { rank4: "u32", branchStride: "u32", branchFirst: "u32", upScale: "f32" } as const;

/**
 * Code that adds scale · branch[slot, branchFirst …] · up[row] to the four sums of each slot, with one row per column.
 * @param row code for the row of `up`, given the code for a column of the tile
 */
export function addend(
  block: SlotBlock,
  row: (column: string) => string,
  { first = "u.branchFirst", scale = "u.upScale" } = {},
): string {
  const inner = blockInputs(block, (slot) => `${slot} * u.branchStride + ${first}`, "branch");
  const branch = inner.read("l", "k");
  return `
      ${lines(4, (i) => `let v${i} = (${row(`min(column + ${i}u, u.n - 1u)`)}) * u.rank4;`)}
      ${inner.addresses}
      for (var k = first; k < u.rank4; k += step) {
        ${lines(4, (i) => `let up${i} = ${scale} * up[v${i} + k];`)}
        ${branch.load}
        ${addProducts(block, (r) => [branch.value(r)], [["up0", "up1", "up2", "up3"]])}
      }`;
}

/**
 * result[slot, resultFirst + j] (+)= x[slot] · w[j] + the low-rank addend (+ bias[j]) for the four columns j of a tile,
 * numbered from tile0. The grid's z counts blocks of slots.
 * @param joined whether the columns belong to several layers
 */
export function linearProgram(block: SlotBlock, joined = false): LaneProgram {
  const { slots } = block;
  const matrix = { w: "vec4<f32>" } as const;
  const inputs = blockInputs(block, (slot) => `${slot} * u.k4`);
  const x = inputs.read("a", "k");
  return layerProgram(block, joined, {
    name: `linear-${slots}`,
    matrix,
    uniforms: u32s("tiles tile0 k4 n resultStride resultFirst"),
    header: joined ? JOINED_HEADER : "",
    factor: "",
    first: "",
    body: `
      ${lines(4, (i) => `let q${i} = ${joined ? `(own + ${i}u)` : `min(column + ${i}u, u.n - 1u)`} * u.k4;`)}
      ${inputs.addresses}
      ${lines(slots, (r) => `var c${r} = vec4f(0);`)}
      ${eachLayer(
        joined,
        (layer) => `for (var k = first; k < u.k4; k += step) {
        ${lines(4, (i) => `let m${i} = w${layer}[q${i} + k];`)}
        ${x.load}
        ${addProducts(block, (r) => [x.value(r)], [["m0", "m1", "m2", "m3"]])}
      }`,
      )}
      ${addend(block, (column) => column, joined ? { first: "part * u.rank4" } : {})}
`,
  });
}

/** The parts of `layerProgram` that depend on how a matrix is stored. */
interface Layer extends Pick<LaneProgram, "name" | "uniforms" | "body"> {
  readonly header: string;
  readonly matrix: Readonly<Record<string, BufferType>>;
  /** Further uniforms of joined layers. */
  readonly joinedUniforms?: LaneProgram["uniforms"];
  /** If the body stages its inputs, the tiles that read them and the vectors of workgroup memory that they take. */
  readonly staged?: LaneProgram["staged"];
  /** Code before a sum, and before a column of the result. */
  readonly factor: string;
  readonly first: string;
}

/** A program whose body computes the sums c0 … of `column` for all slots; they are then written with bias and addend. */
export function layerProgram({ slots, subgroup }: SlotBlock, joined: boolean, layer: Layer): LaneProgram {
  const { matrix, factor, first, staged } = layer;
  const store = (sum: string): string => `let at = slot * u.resultStride + u.resultFirst + ${first}column + i;
          var value = ${factor}${sum};
          if (u.hasBias != 0u) { value += ${joined ? JOINED_BIAS : `bias[${first}column + i]`}; }
          if (u.accumulate != 0u) { value += result[at]; }
          result[at] = value;`;
  return {
    name: `lab-decode-${layer.name}${joined ? "-joined" : ""}`,
    ...(subgroup === undefined ? {} : { subgroup }),
    inputs: {
      x: "vec4<f32>",
      ...(joined ? joinedInputs(matrix) : { ...matrix, bias: "f32" as const }),
      ...ADDEND_INPUTS,
    },
    outputs: { result: "f32" },
    uniforms: {
      ...layer.uniforms,
      ...ADDEND_UNIFORMS,
      hasBias: "u32",
      accumulate: "u32",
      ...(joined ? { ...JOINED_UNIFORMS, ...layer.joinedUniforms } : {}),
    },
    reductions: [],
    sums: slots,
    ...(staged === undefined ? {} : { staged }),
    header: `${layer.header}
      ${
        staged !== undefined
          ? `fn put(slot: u32, column: u32, i: u32, sum: f32) {
          if (i >= u.n - column) { return; }
          ${store("sum")}
      }`
          : `fn put(slot: u32, column: u32, sums: vec4f) {
        for (var i = 0u; i < min(4u, u.n - column); i++) {
          ${store("sums[i]")}
        }
      }`
      }`,
    body: `
      let slot0 = group.z * ${slots}u;
      let column = (tile + u.tile0) * 4u;
      ${joined ? OWN_PART : ""}${layer.body}`,
    end:
      staged !== undefined
        ? "put(slot0 + r, column, element, sum);"
        : `
      if (first == 0u && inside) {
        ${putAll(slots)}
      }`,
  };
}

/**
 * Passes the sums of all slots to `put` in a loop. Written out, each call would take as long to compile as the product.
 */
function putAll(slots: number): string {
  if (slots === 1) return "put(slot0, column, c0);";
  return `for (var r = 0u; r < ${bound(slots, "tiles")}; r++) {
          var sums = c0;
          ${lines(slots - 1, (r) => `sums = select(sums, c${r + 1}, r == ${r + 1}u);`)}
          put(slot0 + r, column, sums);
        }`;
}

/** result[row0 + n, k] = w[n, k] + scale · Σ_r b[n, r] a[r, k]: merges the low-rank branch into the matrix. */
export const FOLD: GpuProgram = {
  name: "lab-decode-fold",
  inputs: { w: "vec4<f32>", a: "vec4<f32>", b: "f32" },
  outputs: { result: "vec4<f32>" },
  uniforms: { k4: "u32", rows: "u32", row0: "u32", rank: "u32", scale: "f32" },
  workgroup: [POINT_LANES, 1],
  body: `
    let at = ${POINT};
    let row = at / u.k4;
    let k = at % u.k4;
    if (row >= u.rows) { return; }
    var value = w[at];
    for (var r = 0u; r < u.rank; r++) { value += u.scale * b[row * u.rank + r] * a[r * u.k4 + k]; }
    result[u.row0 * u.k4 + at] = value;`,
};

/** result = silu(gate) · up, both columns of the same rows. One thread per four channels. */
export const GATE: GpuProgram = {
  name: "lab-decode-gate",
  inputs: { pairs: "vec4<f32>" },
  outputs: { result: "vec4<f32>" },
  uniforms: { slots: "u32", width4: "u32" },
  workgroup: [POINT_LANES, 1],
  body: `
    let at = ${POINT};
    let slot = at / u.width4;
    if (slot >= u.slots) { return; }
    let base = 2u * slot * u.width4 + at % u.width4;
    let g = pairs[base];
    result[at] = g / (1.0 + exp(-max(g, vec4f(-80.0)))) * pairs[base + u.width4];`,
};
