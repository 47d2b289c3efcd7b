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
  q8: { flip: "0x80808080u", mask: "0x00ff00ffu" },
  q4: { flip: "0x88888888u", mask: "0x000f000fu" },
} as const;

/** How far the least value of an element lies below zero. */
export const LEAST = { q8: 128, q4: 8 } as const;

/** As `unpackHeader`, with what `readHalves` calls. */
export function halvesHeader(storage: WeightStorage): string {
  if (storage === "f16" || storage === "f32") return "";
  const { mask } = HALVES[storage];
  const scale = unpackHeader(storage).slice(HELPERS[storage].length);
  return `
    fn halves(v: u32, s: f32) -> vec2<f16> {
      return vec2<f16>(s * unpack2x16float((v & ${mask}) | 0x64006400u) - ${1024 + LEAST[storage]}.0 * s);
    }${scale}`;
}

/** Two elements of a unit at a time, and which of them make up its first and last four. */
const PAIRS = {
  f16: [["r.x", "r.y", "r.z", "r.w"], "p0, p1", "p2, p3"],
  q8: [["r.x", "r.x >> 8u", "r.y", "r.y >> 8u"], "p0.x, p1.x, p0.y, p1.y", "p2.x, p3.x, p2.y, p3.y"],
  q4: [["r", "r >> 4u", "r >> 8u", "r >> 12u"], "p0.x, p1.x, p2.x, p3.x", "p0.y, p1.y, p2.y, p3.y"],
} as const;

/**
 * Statements that read unit `index` into `<name>l` and `<name>h` in f16, times a factor and, if stored, a scale; zeros
 * where the condition `inside` is false. Undefined for elements in f32, which are not multiplied in half precision.
 * @param factor WGSL of a power of two, f32, from 2⁻²² to 2⁷
 */
export function readHalves(
  storage: WeightStorage,
  name: string,
  index: string,
  factor: string,
  inside: string,
): string | undefined {
  if (storage === "f32") return undefined;
  const [words, l, h] = PAIRS[storage];
  const own = (text: string): string => text.replaceAll(/\b[pr](?=\d?\b)/g, `${name}$&`);
  const [flip, scale, pair] =
    storage === "f16"
      ? // In two steps, because the factor may be too small for f16.
        [
          "",
          `f16(select(0.0, 256.0 * ${factor}, ${inside}))`,
          (word: string) => `bitcast<vec2<f16>>(${word}) * ${name}s * 0.00390625h`,
        ]
      : [
          ` ^ ${storage === "q8" ? `vec2u(${HALVES.q8.flip})` : HALVES.q4.flip}`,
          `select(0.0, ${factor} * scale((${index}) / ${UNITS_PER_SCALE}u), ${inside})`,
          (word: string) => `halves(${word}, ${name}s)`,
        ];
  return `let ${name}r = w[${index}]${flip}; let ${name}s = ${scale};
        ${words.map((word, at) => `let ${name}p${at} = ${pair(own(word))};`).join(" ")}
        let ${name}l = vec4<f16>(${own(l)}); let ${name}h = vec4<f16>(${own(h)});`;
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

/**
 * As `readUnit`, but elements of q8 and q4 count from their least value: cards convert each byte of a word without a sign
 * in one instruction. Needs `COUNTED`.
 */
export function readCounted(storage: WeightStorage, name: string, index: string, values = "w"): string {
  if (!hasScales(storage)) return readUnit(storage, name, index, values);
  const raw = `${name}r`;
  if (storage === "q8") {
    return `let ${raw} = ${values}[${index}] ^ vec2u(${HALVES.q8.flip});
        let ${name}l = counted(${raw}.x); let ${name}h = counted(${raw}.y);`;
  }
  return `let ${raw} = ${values}[${index}] ^ ${HALVES.q4.flip};
        let ${name}e = counted(${raw} & 0x0f0f0f0fu); let ${name}o = counted((${raw} >> 4u) & 0x0f0f0f0fu);
        let ${name}l = vec4f(${name}e.x, ${name}o.x, ${name}e.y, ${name}o.y); let ${name}h = vec4f(${name}e.z, ${name}o.z, ${name}e.w, ${name}o.w);`;
}

/** The function that `readCounted` calls. */
export const COUNTED = `
    fn counted(v: u32) -> vec4f { return vec4f((vec4u(v) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u)); }`;

/**
 * Bits of a word to which an element is moved, where they are the mantissa of a number that is `base` more than the element
 * counted from its least value. A mask and a sign then make a number of them in one instruction. Products with a scale, which
 * has 11 bits, are exact in f32.
 */
const MANTISSAS = {
  low: { shift: 12, exponent: 0x45000000, base: 2048 },
  high: { shift: 16, exponent: 0x43000000, base: 128 },
} as const;

type Mantissa = keyof typeof MANTISSAS;

/** For each element of the vectors of four in a word: the shift to the left (negative: to the right), and to which bits. */
const PLACES: Readonly<Record<"q8" | "q4", readonly (readonly (readonly [number, Mantissa])[])[]>> = {
  q8: [
    [
      [12, "low"],
      [4, "low"],
      [-4, "low"],
      [-12, "low"],
    ],
  ],
  q4: [
    [
      [12, "low"],
      [8, "low"],
      [8, "high"],
      [0, "low"],
    ],
    [
      [0, "high"],
      [-8, "low"],
      [-8, "high"],
      [-12, "high"],
    ],
  ],
};

const hex = (value: number): string => `0x${value.toString(16).padStart(8, "0")}u`;
const PARTS = ["x", "y", "z", "w"] as const;

/** How a thread reads the elements of a group of four rows, with as few instructions as NVIDIA's cards need. */
export interface GroupReader {
  /** Inputs of the program: vectors of four words, and scales. */
  readonly inputs: Record<string, BufferType>;
  /** Declares constants, where `lane` is a number of the thread. */
  readonly constants: string;
  /** Declares variables for a group. */
  readonly variables: string;
  /** Sets them to group q0 + at to q3 + at of a block. @param block end of the buffers' names */
  load(block: string): string;
  /** Code between a load and `terms`. */
  readonly bases: string;
  /** Declares vector n of four elements along the rows as `tx` to `tw`, each of the four rows. */
  terms(n: number): string;
}

/** Needs `unpackHeader`. @param at code for the number of a group in a row */
export function groupReader(storage: "q8" | "q4", at: string): GroupReader {
  const least = LEAST[storage];
  const vectors = storage === "q8" ? 2 : 1;
  const rows = [0, 1, 2, 3];
  const words = Array.from({ length: vectors }, (_, v) => rows.map((c) => `w${v}${c}`));
  const used = (Object.keys(MANTISSAS) as Mantissa[]).filter((name) =>
    PLACES[storage].flat().some(([, place]) => place === name),
  );
  const element = (c: string, shift: number, place: Mantissa): string => {
    const moved = shift === 0 ? c : `(${c} ${shift > 0 ? "<<" : ">>"} vec4u(${Math.abs(shift)}u))`;
    const { exponent, shift: to } = MANTISSAS[place];
    // The sign flips, so that elements count from their least value.
    return `bitcast<vec4f>((${moved} & vec4u(${place}Mask)) ^ vec4u(${hex(exponent + least * 2 ** to)}))`;
  };
  return {
    inputs: { w: "vec4<u32>", scales: "u32" },
    // Mesa would load a constant mask anew for every element.
    constants: used
      .map((name) => `let ${name}Mask = ${hex((2 * least - 1) * 2 ** MANTISSAS[name].shift)} * min(lane + 1u, 1u);`)
      .join(" "),
    variables: `${words.map((names) => names.map((name) => `var ${name}: vec4u;`).join(" ")).join(" ")} var s: vec4f;`,
    load: (block) =>
      [
        ...words.flatMap((names, v) =>
          names.map((name, c) => `${name} = w${block}[${vectors}u * (q${c} + ${at}) + ${v}u];`),
        ),
        `s = vec4f(${rows.map((c) => `scale${block}(q${c} + ${at})`).join(", ")});`,
      ].join(" "),
    bases: used.map((name) => `let ${name} = ${MANTISSAS[name].base + least}.0 * s;`).join(" "),
    terms: (n) => {
      const places = PLACES[storage];
      const word = Math.floor(n / places.length);
      const own = (words[word >> 2] as string[]).map((name) => `${name}.${PARTS[word & 3]}`);
      const elements = PARTS.map((part, i) => {
        const [shift, place] = (places[n % places.length] as (typeof places)[number])[i] as readonly [number, Mantissa];
        return `let t${part} = ${element("r", shift, place)} * s - ${place};`;
      });
      return `let r = vec4u(${own.join(", ")}); ${elements.join(" ")}`;
    },
  };
}
