/**
 * Linear layers and embedding of a decoding step with packed weights: like gpu/decode/products.ts, but they unpack
 * eight elements of a row at a time. One dispatch per block of rows. Oracle: gpu/packed/product.ts;
 * tests/gpu/decode-packed.test.ts.
 */
import { lines } from "../matmul/product-form.ts";
import { hasScales, type WeightStorage } from "../packed/storage.ts";
import {
  blockInputs,
  COUNTED,
  groupReader,
  LEAST,
  readCounted,
  readUnit,
  UNIT,
  UNITS_PER_SCALE,
  unpackHeader,
} from "../packed/unpack.ts";
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import { eachLayer, JOINED_HEADER, JOINED_PACKED_UNIFORMS, LAYERS } from "./joined.ts";
import { type LaneProgram, POINT, POINT_LANES, SLOT_HEADER } from "./lanes.ts";
import { addend, layerProgram } from "./products.ts";
import { addProducts, type SlotBlock, blockInputs as slotInputs } from "./slot-block.ts";
import { stagedSums, stagedVectors } from "./staged.ts";

/** Input sizes must be a multiple of this. */
export const PACKED_STEP = UNIT;

/**
 * result[slot, resultFirst + first + j] (+)= factor · x[slot] · w[j] + the low-rank addend (+ bias[first + j]) for the
 * rows j of a block. The grid's z counts blocks of slots.
 * @param joined whether the columns belong to several layers, each with one block
 */
export function packedLinearProgram(storage: WeightStorage, block: SlotBlock, joined = false): LaneProgram {
  const { slots } = block;
  const x = slotInputs(block, (slot) => `${slot} * 2u * u.units`);
  const [low, high] = [x.read("low", "2u * unit"), x.read("high", "2u * unit + 1u")];
  const four = [0, 1, 2, 3];
  const read = block.software ? readUnit : readCounted;
  const scales = (layer: string): string =>
    four.map((c) => `scale${layer}((q${c} + unit) / ${UNITS_PER_SCALE}u)`).join(", ");
  // Without scales, loads of weights take most of the time.
  const reader = hasScales(storage) && block.tiles > 1 ? groupReader(storage, "at") : undefined;
  const matrix = reader?.inputs ?? blockInputs(storage);
  const row = (c: number): string =>
    joined ? `(skipOf(part) + own + ${c}u)` : `(u.skip + min(column + ${c}u, u.n - 1u))`;
  const header = `${JOINED_HEADER}
      fn skipOf(part: u32) -> u32 { return select(select(u.skip, u.skip1, part == 1u), u.skip2, part == 2u); }
      fn factorOf(part: u32) -> f32 { return select(select(u.factor, u.factor1, part == 1u), u.factor2, part == 2u); }`;
  const branch = joined ? { first: "part * u.rank4", scale: "(u.upScale / factorOf(part))" } : {};
  return layerProgram(block, joined, {
    name: `packed-${storage}-${slots}`,
    matrix,
    uniforms: {
      tiles: "u32",
      tile0: "u32",
      /** Units of an input and of a stored row, which may be padded. */
      ...u32s("units rowUnits skip first n resultStride resultFirst"),
      /** The caller has divided `upScale` by it; for joined layers the program does. */
      factor: "f32",
    },
    joinedUniforms: JOINED_PACKED_UNIFORMS,
    ...(reader === undefined ? {} : { staged: { tiles: block.tiles, vectors: stagedVectors(block) } }),
    header: `${joined ? header : ""} ${unpackHeader(storage, joined ? LAYERS : undefined)} ${block.software || reader !== undefined ? "" : COUNTED}`,
    factor: joined ? "factorOf(partOf(column)) * " : "u.factor * ",
    first: "u.first + ",
    body: `
      ${lines(4, (c) => `let q${c} = ${row(c)} * ${reader === undefined ? "u.rowUnits" : `(u.rowUnits / ${UNITS_PER_SCALE}u)`};`)}
      ${reader === undefined ? x.addresses : ""}
      ${lines(slots, (r) => `var c${r} = vec4f(0);`)}
      ${
        reader === undefined
          ? eachLayer(
              joined,
              (layer) => `for (var unit = first; unit < u.units; unit += step) {
        ${lines(4, (c) => read(storage, `b${c}`, `q${c} + unit`, `w${layer}`))}
        ${hasScales(storage) ? `let s = vec4f(${scales(layer)});` : ""}
        ${low.load}
        ${high.load}
        ${addProducts(
          block,
          (r) => [low.value(r), high.value(r)],
          ["l", "h"].map((half) => four.map((c) => `b${c}${half}`)),
          hasScales(storage) ? { name: "s", least: LEAST[storage] } : undefined,
        )}
      }`,
            )
          : stagedSums(block, reader, joined)
      }
      ${addend(block, (column) => `u.first + ${column}`, branch)}
`,
  });
}

/**
 * x[slot] = embedding of the slot's token if this block holds it. The first block also writes the embedding a row
 * starts with. One thread per eight channels.
 */
export function packedEmbedProgram(storage: WeightStorage): GpuProgram {
  const scale = hasScales(storage) ? `u.factor * scale(q / ${UNITS_PER_SCALE}u)` : "u.factor";
  return {
    name: `lab-decode-packed-embed-${storage}`,
    inputs: { ...blockInputs(storage), given: "vec4<f32>", state: "u32" },
    outputs: { x: "vec4<f32>" },
    uniforms: { slots: "u32", units: "u32", rowUnits: "u32", skip: "u32", first: "u32", rows: "u32", factor: "f32" },
    workgroup: [POINT_LANES, 1],
    header: `${SLOT_HEADER}\n${unpackHeader(storage)}`,
    body: `
      let index = ${POINT};
      let slot = index / u.units;
      if (slot >= u.slots) { return; }
      let unit = index % u.units;
      let s = slot * SLOT_WORDS;
      let id = state[s + ID];
      let at = index * 2u;
      if (id == NO_TOKEN) {
        if (u.first != 0u) { return; }
        let start = (state[s + ROW] * u.units + unit) * 2u;
        x[at] = given[start];
        x[at + 1u] = given[start + 1u];
        return;
      }
      if (id < u.first || id >= u.first + u.rows) { return; }
      let q = (u.skip + id - u.first) * u.rowUnits + unit;
      ${readUnit(storage, "b", "q")}
      let f = ${scale};
      x[at] = f * bl;
      x[at + 1u] = f * bh;`,
  };
}
