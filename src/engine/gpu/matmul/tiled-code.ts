/**
 * Tiled products of plain operands (tile-product.ts): f32, at any stride, one element or four at a time, along K or
 * across it.
 */
import type { TileForm } from "../forms/records.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { ACTIVATED, afterBeside, afterCode } from "./activation-code.ts";
import { type End, PRODUCT_UNIFORMS } from "./product-form.ts";
import { type Operand, type Phase, phaseCode, tileBegin, tileFields, tileParts } from "./tile-product.ts";

export interface TiledForm {
  /** Operands and result are addressed element by element. */
  readonly layout: "any";
  readonly vectors: false;
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

/** An operand in a buffer of elements or vectors. @param line stride of its lines, and `step` of K, in elements */
function operand(
  { loads }: TiledForm,
  along: boolean,
  buffer: string,
  base: string,
  line: string,
  step: string,
  factor = "",
): Operand {
  const stride = (of: string): string => (loads === 1 ? of : `${of} / 4u`);
  const [run, next] = along ? [step, line] : [line, step];
  return {
    run: loads,
    along,
    base: stride(`(${base})`),
    perRun: loads === 1 ? run : "1u",
    perNext: stride(next),
    read: (name, address) => `let ${name}l = ${factor}${buffer}[${address}];`,
  };
}

function mainPhase(form: TiledForm): Phase {
  const { along, bounded } = form;
  const a = operand(form, along.a, "a", "aBase + rep * u.aRepeat + row0 * u.aRow", "u.aRow", "u.aInner");
  return {
    a: bounded
      ? {
          ...a,
          seen: (row, k) =>
            `(u.upTo == 0u || ${k} < ${row} + u.reach) && (u.onwards == 0u || ${k} + u.reach >= ${row})`,
        }
      : a,
    b: operand(form, along.b, "b", "bBase + rep * u.bRepeat + col0 * u.bColumn", "u.bColumn", "u.bInner"),
    first: bounded ? "select(0u, max(row0, u.reach) - u.reach, u.onwards != 0u)" : "0u",
    last: bounded ? `select(u.k, min(u.k, row0 + ${form.tile.m - 1}u + u.reach), u.upTo != 0u)` : "u.k",
    end: "u.k",
  };
}

const secondPhase = (form: TiledForm): Phase => ({
  a: operand(form, true, "down", "row0 * u.k2", "u.k2", "1u", "u.alpha2 * "),
  b: operand(form, true, "up", "col0 * u.k2", "u.k2", "1u"),
  first: "0u",
  last: "u.k2",
  end: "u.k2",
});

function putCode({ end, twice, activates }: TiledForm): string {
  const factor = end === "scaled" ? "factors[u.factorOffset + batch * u.factorBatch + row * u.factorRow] * " : "";
  return `
      fn put(batch: u32, row: u32, col: u32, sum: f32) {
        if (row >= u.m || col >= u.n) { return; }
        let at = batch * u.outBatch + u.outOffset + row * u.outRow + col;
        var value = ${twice ? "" : "u.alpha * "}${factor}sum;
        ${end === "extras" ? "if (u.hasBias != 0u) { value += bias[col]; } if (u.hasExtra != 0u) { value += extra[at]; }" : ""}
        result[at] = ${end === "adding" ? "result[at] + " : ""}value;
        ${activates ? "after(at);" : ""}
      }`;
}

/** The program of a tiled form. */
export function tiledProgram(form: TiledForm): GpuProgram {
  const { tile, loads, along, bounded, twice, end, activates } = form;
  const beside = afterBeside(activates, "f32" as const);
  const read = loads === 1 ? "f32" : "vec4<f32>";
  const { m, n, k, rows, columns } = tile;
  const parts = tileParts("f32", tile);
  const main = phaseCode(mainPhase(form), "f32", tile, parts);
  const layout = `${along.a ? "n" : "t"}${along.b ? "t" : "n"}${bounded ? "-bounded" : ""}`;
  return {
    name: `lab-matmul-tiles-${m}-${n}-${k}-${rows}-${columns}-${layout}${loads === 4 ? "-vectors" : ""}${twice ? "-twice" : ""}${end === "extras" ? "" : `-${end}`}${activates ? ACTIVATED : ""}`,
    ...tileFields(parts),
    inputs: {
      a: read,
      b: read,
      ...(end === "extras" ? { bias: "f32", extra: "f32" } : {}),
      ...(end === "scaled" ? { factors: "f32" } : {}),
      ...(twice ? { down: read, up: read } : {}),
      ...beside.inputs,
    },
    outputs: { result: "f32", ...beside.outputs },
    uniforms: {
      ...PRODUCT_UNIFORMS,
      alpha: "f32",
      ...(twice ? { k2: "u32" as const, alpha2: "f32" as const } : {}),
      ...(end === "scaled"
        ? { factorRow: "u32" as const, factorBatch: "u32" as const, factorOffset: "u32" as const }
        : {}),
      ...beside.uniforms,
    },
    header: `${parts.header} ${afterCode(activates, "f32")} ${putCode(form)}`,
    body: `
      let batch = group.z;
      ${tileBegin(tile, parts)}
      ${bounded ? `if (u.triangle != 0u && col0 > row0 + ${m - 1}u + u.reach) { return; }` : ""}
      let aBase = u.aOffset + batch * u.aBatch;
      let bBase = u.bOffset + (batch / u.bShare) * u.bBatch;
      for (var rep = 0u; rep < u.repeats; rep++) ${main}
      ${twice ? phaseCode(secondPhase(form), "f32", tile, parts) : ""}
      ${parts.end((...at) => `put(batch, ${at.join(", ")});`)}`,
  };
}
