/** Products of plain operands: f32, at any stride, one element or four at a time, along K or across it. */
import type { TileForm } from "../forms/records.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { productProgram } from "./product.ts";
import {
  byRows,
  type End,
  type Epilogue,
  type Form,
  type Operand,
  type Phase,
  PRODUCT_UNIFORMS,
} from "./product-form.ts";

export interface TiledForm {
  readonly tile: TileForm;
  /** Elements that a thread loads at once; 4 needs `inFours`. */
  readonly loads: 1 | 4;
  /** Whether A and B are read along K; otherwise across it. */
  readonly along: { readonly a: boolean; readonly b: boolean };
  /** Whether an operand or the result is triangular (`ProductSpec.bound`). */
  readonly bounded: boolean;
  /** Adds a second product A Bᵀ: the low-rank branch of a linear layer. */
  readonly twice: boolean;
  readonly end: End;
  readonly activates: boolean;
}

type Reads = Readonly<Record<"a" | "b", Pick<Operand, "run" | "along">>>;

/** How a form reads its operands. */
export function readsOf(form: Form | TiledForm): Reads {
  if ("tile" in form) {
    const { loads: run, along } = form;
    return { a: { run, along: along.a }, b: { run, along: along.b } };
  }
  const { layout } = form;
  return {
    a: { run: layout === "rows" || layout === "any" ? 1 : 4, along: true },
    b: { run: layout === "any" ? 1 : 4, along: !byRows(layout) && layout !== "any" },
  };
}

/** An operand in a buffer. @param line stride of its lines, and `step` of K, in elements of the buffer */
function operand(
  { run, along }: Reads["a"],
  buffer: string,
  base: string,
  line: string,
  step: string,
  factor = "",
): Operand {
  return {
    run,
    along,
    base,
    perRun: run > 1 ? "1u" : along ? step : line,
    perNext: along ? line : step,
    read: (name, address) => `let ${name}l = ${factor}${buffer}[${address}];`,
  };
}

/** Which k of a triangular A are not zero: k − row + shift in one comparison, because what lies before the range wraps. */
const RANGE = `
      let shift = select(0x40000000u, u.reach, u.onwards != 0u);
      let span = select(0x80000000u, 0x40000000u + u.reach, u.upTo != 0u);`;

function mainPhase(form: Form | TiledForm): Phase {
  const reads = readsOf(form);
  const tiled = "tile" in form;
  const repeats = tiled || reads.a.run === 1;
  const tall = tiled ? form.tile.m : form.rows;
  const bounded = !tiled || form.bounded;
  const a = operand(
    reads.a,
    "a",
    `u.aOffset + batch * u.aBatch${repeats ? " + rep * u.aRepeat" : ""}`,
    "u.aRow",
    "u.aInner",
  );
  const b = `u.bOffset + (batch / u.bShare) * u.bBatch${repeats ? " + rep * u.bRepeat" : ""}`;
  return {
    a: bounded ? { ...a, seen: (row, k) => `(${k} + shift - (${row}) < span)` } : a,
    b: operand(reads.b, "b", b, "u.bColumn", "u.bInner"),
    first: bounded ? "select(0u, max(row0, u.reach) - u.reach, u.onwards != 0u)" : "0u",
    last: bounded ? `select(u.k, min(u.k, row0 + ${tall - 1}u + u.reach), u.upTo != 0u)` : "u.k",
    end: "u.k",
    ...(repeats ? { each: `${bounded && tiled ? RANGE : ""} for (var rep = 0u; rep < u.repeats; rep++)` } : {}),
  };
}

function secondPhase(form: Form | TiledForm): Phase {
  const { run } = readsOf(form).a;
  const [reads, line] = [{ run, along: true }, run === 1 ? "u.k2" : "u.k2 / 4u"];
  return {
    a: operand(reads, "down", "0u", line, "1u", "u.alpha2 * "),
    b: operand(reads, "up", "0u", line, "1u"),
    first: "0u",
    last: "u.k2",
    end: "u.k2",
  };
}

function nameOf(form: Form | TiledForm): string {
  const end = form.end === "extras" ? "" : `-${form.end}`;
  if (!("tile" in form)) {
    const { layout, rows, groups, unroll, wide, broadcast, lanes, vectors } = form;
    const written = vectors && !byRows(layout) ? "-vectors" : "";
    return `lab-matmul-${layout}-${rows}-${groups}-${unroll}-${wide ? "wide" : "narrow"}-${broadcast}-${lanes}${written}${end}`;
  }
  const { tile, loads, along, bounded, twice } = form;
  const layout = `${along.a ? "n" : "t"}${along.b ? "t" : "n"}${bounded ? "-bounded" : ""}`;
  return `lab-matmul-tiles-${tile.m}-${tile.n}-${tile.k}-${tile.rows}-${tile.columns}-${layout}${loads === 4 ? "-vectors" : ""}${twice ? "-twice" : ""}${end}`;
}

/** The program of a form. */
export function plainProgram(form: Form | TiledForm): GpuProgram {
  const { end, activates } = form;
  const tiled = "tile" in form;
  const twice = tiled ? form.twice : form.layout === "along-k-twice";
  const { a, b } = readsOf(form);
  const [typeA, typeB] = [a, b].map(({ run }) => (run === 1 ? "f32" : "vec4<f32>")) as ["f32", "f32"];
  const factor = end === "scaled" ? "factors[u.factorOffset + batch * u.factorBatch + row * u.factorRow] * " : "";
  const epilogue: Epilogue = {
    place: "batch * u.outBatch + u.outOffset + row * u.outRow + col",
    value: (sum) => `${twice ? "" : "u.alpha * "}${factor}${sum}`,
    adds: end === "adding",
    ...(end === "extras" ? { bias: { at: (col) => col, starts: true }, extra: true } : {}),
    activates,
  };
  return productProgram(
    {
      name: nameOf(form),
      inputs: {
        a: typeA,
        b: typeB,
        ...(end === "scaled" ? { factors: "f32" } : {}),
        ...(twice ? { down: typeA, up: typeA } : {}),
      },
      uniforms: {
        ...PRODUCT_UNIFORMS,
        alpha: "f32",
        ...(twice ? { k2: "u32" as const, alpha2: "f32" as const } : {}),
        ...(end === "scaled"
          ? { factorRow: "u32" as const, factorBatch: "u32" as const, factorOffset: "u32" as const }
          : {}),
      },
      triangular: !tiled || form.bounded,
      phases: [mainPhase(form), ...(twice ? [secondPhase(form)] : [])],
      epilogue,
    },
    tiled ? form.tile : { ...form, apart: form.wide && byRows(form.layout) },
  );
}
