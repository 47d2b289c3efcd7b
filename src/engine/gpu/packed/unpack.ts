/** WGSL that unpacks stored words into eight elements; it needs neither f16 arithmetic nor int32 tensors. */
import type { BufferType } from "../runtime/pipelines.ts";
import { GROUP, hasScales, type WeightStorage } from "./storage.ts";

/** Elements per unit of a row, which every program reads at once. */
export const UNIT = 8;

/** Units that share a scale. */
export const UNITS_PER_SCALE = GROUP / UNIT;

/** Element type of the values buffer; a unit is one element, in f32 two. */
const VALUE_TYPE: Readonly<Record<WeightStorage, BufferType>> = {
  f32: "vec4<f32>",
  f16: "vec4<u32>",
  q8: "vec2<u32>",
  q4: "u32",
};

/** Inputs of a program that reads a block: `w`, and `scales` if the form has them. */
export function blockInputs(storage: WeightStorage): Record<string, BufferType> {
  return hasScales(storage) ? { w: VALUE_TYPE[storage], scales: "u32" } : { w: VALUE_TYPE[storage] };
}

const HELPERS: Readonly<Record<WeightStorage, string>> = {
  f32: "",
  f16: "",
  q8: `
    fn bytes(v: u32) -> vec4f { return vec4f((vec4i(bitcast<i32>(v)) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u)); }`,
  q4: `
    fn nibbles(v: u32) -> vec4f { return vec4f((vec4i(bitcast<i32>(v)) << vec4u(28u, 24u, 20u, 16u)) >> vec4u(28u)); }`,
};

/**
 * Bits of a word that flip for its elements to count from their least value, and those of two elements that lie 16 apart.
 * They are the last bits of 1024 and more in f16, so that no element is converted, and products with a scale, which has
 * 11 bits, are exact in f32.
 */
const HALVES = {
  q8: { flip: "0x80808080u", mask: "0x00ff00ffu", least: 128 },
  q4: { flip: "0x88888888u", mask: "0x000f000fu", least: 8 },
} as const;

const inHalves = (storage: WeightStorage): storage is keyof typeof HALVES => storage in HALVES;

/** As `unpackHeader`, with what `readHalves` calls; undefined for storages without such bits. */
export function halvesHeader(storage: WeightStorage): string | undefined {
  if (!inHalves(storage)) return undefined;
  const { mask, least } = HALVES[storage];
  const scale = unpackHeader(storage).slice(HELPERS[storage].length);
  return `
    fn halves(v: u32, s: f32) -> vec2<f16> {
      return vec2<f16>(s * unpack2x16float((v & ${mask}) | 0x64006400u) - ${1024 + least}.0 * s);
    }${scale}`;
}

/**
 * Statements that read unit `index` into `<name>l` and `<name>h` in f16, times a scale.
 * @param scale WGSL of the scale, f32; 0 gives zeros
 */
export function readHalves(storage: WeightStorage, name: string, index: string, scale: string): string | undefined {
  if (!inHalves(storage)) return undefined;
  const { flip } = HALVES[storage];
  const pair = (at: number, word: string, shift: number): string =>
    `let ${name}p${at} = halves(${name}r${word}${shift === 0 ? "" : ` >> ${shift}u`}, ${name}s);`;
  const four = (parts: readonly string[]): string => `vec4<f16>(${parts.map((part) => name + part).join(", ")})`;
  const read = `let ${name}r = w[${index}] ^ ${storage === "q8" ? `vec2u(${flip})` : flip}; let ${name}s = ${scale};`;
  const [pairs, l, h] =
    storage === "q8"
      ? [
          [pair(0, ".x", 0), pair(1, ".x", 8), pair(2, ".y", 0), pair(3, ".y", 8)],
          ["p0.x", "p1.x", "p0.y", "p1.y"],
          ["p2.x", "p3.x", "p2.y", "p3.y"],
        ]
      : [
          [0, 1, 2, 3].map((at) => pair(at, "", 4 * at)),
          ["p0.x", "p1.x", "p2.x", "p3.x"],
          ["p0.y", "p1.y", "p2.y", "p3.y"],
        ];
  return `${read}
        ${pairs.join(" ")}
        let ${name}l = ${four(l)}; let ${name}h = ${four(h)};`;
}

/**
 * Functions that the snippets below call; `scale(i)` is the i-th scale of the block.
 * @param blocks ends of the names of the buffers, and of `scale`, of each bound block
 */
export function unpackHeader(storage: WeightStorage, blocks: readonly string[] = [""]): string {
  if (!hasScales(storage)) return HELPERS[storage];
  const scales = blocks.map(
    (block) => `
    fn scale${block}(i: u32) -> f32 {
      let pair = unpack2x16float(scales${block}[i >> 1u]);
      return select(pair.x, pair.y, (i & 1u) == 1u);
    }`,
  );
  return HELPERS[storage] + scales.join("");
}

/**
 * Statements that read unit `index` into \`<name>l\` and \`<name>h\`, the first and last four elements, before any
 * scale.
 * @param values name of the buffer
 */
export function readUnit(storage: WeightStorage, name: string, index: string, values = "w"): string {
  const raw = `${name}r`;
  const read = (at: string): string => `${values}[${at}]`;
  switch (storage) {
    case "f32":
      return `let ${name}l = ${read(`2u * (${index})`)}; let ${name}h = ${read(`2u * (${index}) + 1u`)};`;
    case "f16":
      return `let ${raw} = ${read(index)};
        let ${name}l = vec4f(unpack2x16float(${raw}.x), unpack2x16float(${raw}.y));
        let ${name}h = vec4f(unpack2x16float(${raw}.z), unpack2x16float(${raw}.w));`;
    case "q8":
      return `let ${raw} = ${read(index)}; let ${name}l = bytes(${raw}.x); let ${name}h = bytes(${raw}.y);`;
    case "q4":
      return `let ${raw} = ${read(index)}; let ${name}l = nibbles(${raw}); let ${name}h = nibbles(${raw} >> 16u);`;
  }
}
