/** Norms over the last axis, one dispatch forward. The row's mean and scale are stored for the gradient. */

import { builtInForms } from "../forms/active.ts";
import { lines } from "../matmul/product-form.ts";
import { GPU_THREADS, type RowProgram, runRows } from "../rows-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { columnSum } from "./repeat.ts";

/** x · rsqrt(mean(x²) + eps) · weight over the last axis; weight [D]. */
export function rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor {
  if (customKernels() && suits(x, weight)) return tf.tidy(() => customRmsNorm({ x, weight }, { eps })[0] as Tensor);
  return tf.tidy(() => x.mul(x.square().mean(-1, true).add(eps).rsqrt()).mul(weight));
}

/** (x − mean) · rsqrt(var + eps) · weight + bias over the last axis, biased variance; weight, bias [D]. */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor, eps: number): Tensor {
  if (customKernels() && suits(x, weight, bias)) {
    return tf.tidy(() => customLayerNorm({ x, weight, bias }, { eps })[0] as Tensor);
  }
  return tf.tidy(() => {
    const centred = x.sub(x.mean(-1, true));
    const scale = centred.square().mean(-1, true).add(eps).rsqrt();
    return centred.mul(scale).mul(weight).add(bias);
  });
}

const CELLS = [0, 1, 2, 3];
const HEADER = `
  fn within(i: u32, value: vec4f) -> vec4f {
    return select(vec4f(0), value, vec4u(i, i + 1u, i + 2u, i + 3u) < vec4u(u.width));
  }
  fn total(value: vec4f) -> f32 { return (value.x + value.y) + (value.z + value.w); }`;

/** How a thread passes over its elements of a row, four at a time from `i` on. */
interface Passes {
  readonly name: string;
  readonly type: "f32" | "vec4<f32>";
  /** Elements i … i+3 of a row from `base` on; indices beyond its end repeat the last one. */
  readonly four: (array: string, base?: string) => string;
  /** Four elements of a row, with 0 beyond its end. */
  readonly within: (value: string) => string;
  /** Writes four elements of the result; indices beyond the end write the last one again. */
  readonly put: (value: string) => string;
  /** Keeps values of every four elements, for all passes; `code` computes them. */
  readonly keep: (names: readonly string[], code: string) => string;
  /** Runs code for every four elements. It sees the kept values; `kept` computes them where they are not kept. */
  readonly each: (code: string, kept: string, names: readonly string[]) => string;
}

const LOOP = "for (var i = 4u * first; i < u.width; i += 4u * step)";

/** Rows of any width, whose elements are read again in every pass. */
const AGAIN: Passes = {
  name: "",
  type: "f32",
  four: (array, base = "") => `vec4f(${CELLS.map((c) => `${array}[${base}min(i + ${c}u, u.width - 1u)]`).join(", ")})`,
  within: (value) => `within(i, ${value})`,
  put: (value) => CELLS.map((c) => `result[base + min(i + ${c}u, u.width - 1u)] = ${value}[${c}];`).join(" "),
  keep: () => "",
  each: (code, kept) => `${LOOP} { ${kept} ${code} }`,
};

/**
 * Rows whose width is a multiple of 4, on a card: vectors, read once and kept in registers.
 * @param count vectors of a thread
 */
function inRegisters(count: number): Passes {
  const vector = (n: number, code: string): string =>
    `{ let i = 4u * (first + ${n}u * step); if (i < u.width) { ${code} } }`;
  return {
    name: `-registers-${count}`,
    type: "vec4<f32>",
    four: (array, base = "") => `${array}[(${base}i) / 4u]`,
    within: (value) => value,
    put: (value) => `result[(base + i) / 4u] = ${value};`,
    keep: (names, code) =>
      lines(count, (n) => {
        const declared = names.map((name) => `var ${name}${n} = vec4f(0);`).join(" ");
        return `${declared} ${vector(n, `${code} ${names.map((name) => `${name}${n} = ${name};`).join(" ")}`)}`;
      }),
    each: (code, _, names) =>
      lines(count, (n) => vector(n, `${names.map((name) => `let ${name} = ${name}${n};`).join(" ")} ${code}`)),
  };
}

/** Vectors of a thread that fit its registers beside the rest. */
const MOST_KEPT = 8;

const PASSES = [AGAIN, ...Array.from({ length: MOST_KEPT }, (_, n) => inRegisters(n + 1))];

/** Index in `PASSES` of those for rows of this width. */
function passesFor(width: number): number {
  const count = Math.ceil(width / 4 / GPU_THREADS);
  return builtInForms().rows === "workgroup" && width % 4 === 0 && count <= MOST_KEPT ? count : 0;
}

/** @param layer subtracts the mean and adds the bias */
function forwardProgram(layer: boolean, { name, type, four, within, put, keep, each }: Passes): RowProgram {
  const load = `let x = ${four("x", "base + ")};`;
  const pass = (code: string): string => each(code, load, ["x"]);
  return {
    name: `${layer ? "lab-layer-norm" : "lab-rms-norm"}${name}`,
    inputs: { x: type, weight: type, bias: type },
    outputs: { result: type, stats: "f32" },
    uniforms: { rows: "u32", width: "u32", eps: "f32" },
    header: HEADER,
    body: `
      let base = row * u.width;
      ${keep(["x"], load)}
      var sums = vec4f(0);
      ${layer ? pass(`sums += ${within("x")};`) : ""}
      let mean = ${layer ? "sum(total(sums), lane) / f32(u.width)" : "0.0"};
      var squares = vec4f(0);
      ${pass(`let d = ${within("x - mean")}; squares += d * d;`)}
      let scale = inverseSqrt(sum(total(squares), lane) / f32(u.width) + u.eps);
      ${pass(`
        let y = (x - mean) * scale * ${four("weight")}${layer ? ` + ${four("bias")}` : ""};
        ${put("y")}`)}
      if (first == 0u) { stats[2u * row] = mean; stats[2u * row + 1u] = scale; }`,
  };
}

/** dx = scale · (g − mean(g)? − x̂ · mean(g x̂)) with g = dy · weight and x̂ the normed row. */
function backwardProgram(layer: boolean, { name, type, four, within, put, keep, each }: Passes): RowProgram {
  const load = `
        let g = ${four("dy", "base + ")} * ${four("weight")};
        let centred = ${four("x", "base + ")} - mean;`;
  const pass = (code: string): string => each(code, load, ["g", "centred"]);
  return {
    name: `${layer ? "lab-layer-norm-grad" : "lab-rms-norm-grad"}${name}`,
    inputs: { dy: type, x: type, weight: type, stats: "f32" },
    outputs: { result: type },
    uniforms: { rows: "u32", width: "u32" },
    header: HEADER,
    body: `
      let base = row * u.width;
      let mean = stats[2u * row];
      let scale = stats[2u * row + 1u];
      ${keep(["g", "centred"], load)}
      var alongs = vec4f(0);
      var levels = vec4f(0);
      ${pass(`let own = ${within("g")}; alongs += own * centred * scale; levels += own;`)}
      let along = sum(total(alongs), lane) / f32(u.width);
      let level = ${layer ? "sum(total(levels), lane) / f32(u.width)" : "0.0"};
      ${pass(`let dx = scale * (g - level - centred * scale * along); ${put("dx")}`)}`,
  };
}

function normOp(layer: boolean): ReturnType<typeof defineOp> {
  const programs = PASSES.map((passes) => ({
    forward: forwardProgram(layer, passes),
    backward: backwardProgram(layer, passes),
  }));
  return defineOp({
    name: layer ? "LabLayerNorm" : "LabRmsNorm",
    saved: ["x", "weight"],
    savedOutputs: [false, true],
    forward(inputs, { eps }) {
      const { x, weight, bias } = inputs as Record<"x" | "weight" | "bias", tf.TensorInfo>;
      const [rows, width] = rowsOf(x);
      const outputs = [{ shape: x.shape }, { shape: [rows, 2] }];
      const { forward } = programs[passesFor(width)] as (typeof programs)[number];
      return runRows(forward, [x, weight, layer ? bias : weight], outputs, rows, width, [eps as number]);
    },
    gradient([dy], [x, weight, stats]) {
      const given = { dy, x, weight, stats } as Record<"dy" | "x" | "weight" | "stats", Tensor>;
      const [rows, width] = rowsOf(given.x);
      const normed = { y: given.x, stats: given.stats };
      const back = [given.dy, given.x, given.weight, given.stats];
      return {
        x: () => {
          const { backward } = programs[passesFor(width)] as (typeof programs)[number];
          return toTensor(runRows(backward, back, [{ shape: given.x.shape }], rows, width)[0]);
        },
        weight: () => toTensor(columnSum(given.dy, rows, width, normed)),
        bias: () => toTensor(columnSum(given.dy, rows, width)),
      };
    },
  });
}

const customRmsNorm = normOp(false);
const customLayerNorm = normOp(true);

/** Rows and width of the last axis. */
export function rowsOf(x: { readonly shape: readonly number[] }): [number, number] {
  const width = x.shape[x.shape.length - 1] ?? 1;
  return [tf.util.sizeFromShape([...x.shape]) / width, width];
}
