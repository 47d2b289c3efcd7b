/**
 * WGSL of matrix products whose operands pass through workgroup memory, for cards: a workgroup computes a tile of the
 * result, every element of both operands is loaded once per tile, and a thread keeps rows × columns of the result in
 * registers, interleaved with those of its neighbours. Operands are read at any stride, in the order of their memory,
 * so one program per `End` serves all layouts. f32; sums run over K in order without atomics, so every run gives the
 * same bits.
 */
import { type TileForm, tileThreads } from "../forms/records.ts";
import { bound, type GpuProgram } from "../runtime/pipelines.ts";
import { ACTIVATED, afterBeside, afterCode } from "./activation-code.ts";
import { type End, grid, lines, PRODUCT_UNIFORMS } from "./product-form.ts";

export interface TiledForm {
  /** Operands and result are addressed element by element. */
  readonly layout: "any";
  readonly vectors: false;
  readonly tile: TileForm;
  /** Elements that a thread loads at once; 4 needs `inFours`. */
  readonly loads: 1 | 4;
  /** Adds a second product A Bᵀ: the low-rank branch of a linear layer. */
  readonly twice: boolean;
  readonly end: End;
  readonly activates: boolean;
}

/** One product's operands: buffers, and WGSL of addresses and bounds in `row`, `col` and `k`. */
interface Phase {
  readonly a: string;
  readonly aAt: string;
  /** Condition: A is read along K. */
  readonly aAlong: string;
  readonly aSeen: string;
  readonly b: string;
  readonly bAt: string;
  readonly bAlong: string;
  readonly first: string;
  readonly last: string;
  readonly size: string;
  readonly factor: string;
}

/**
 * Loads a tile of `count` lines and k steps; adjacent threads load adjacent elements.
 * @param read code that sets `value` to the elements from `inside` and `k` on
 */
function loadTile(
  { tile: { k, ...tile }, loads }: TiledForm,
  into: string,
  count: number,
  along: string,
  read: string,
): string {
  const threads = tileThreads({ ...tile, k });
  const [acrossGroups, alongGroups] = [count / loads, k / loads];
  const store =
    loads === 1
      ? `${into}[place] = value;`
      : `let next = select(1u, ${count + 1}u, ${along});
          ${lines(loads, (i) => `${into}[place + ${i}u * next] = value[${i}];`)}`;
  return `
        for (var i = local.x; i < ${bound(k * acrossGroups, "m")}; i += ${threads}u) {
          let inside = select(i % ${acrossGroups}u * ${loads}u, i / ${alongGroups}u, ${along});
          let step = select(i / ${acrossGroups}u, i % ${alongGroups}u * ${loads}u, ${along});
          let k = at + step;
          var value = ${loads === 1 ? "0.0" : "vec4f(0)"};
          ${read}
          let place = step * ${count + 1}u + inside;
          ${store}
        }`;
}

function phaseCode(form: TiledForm, phase: Phase): string {
  const { tile, loads } = form;
  const { m, n, rows, columns } = tile;
  const [down, across] = [m / rows, n / columns];
  const groups = columns / 4;
  const read = (buffer: string, place: string, condition: string, factor = ""): string =>
    `if (${condition}) { value = ${factor}${buffer}[${loads === 1 ? place : `(${place}) / 4u`}]; }`;
  return `
      for (var at = ${phase.first}; at < ${phase.last}; at += ${tile.k}u) {
        ${loadTile(form, "left", m, phase.aAlong, `let row = row0 + inside; ${read(phase.a, phase.aAt, `row < u.m && k < ${phase.size}${phase.aSeen}`, phase.factor)}`)}
        ${loadTile(form, "right", n, phase.bAlong, `let col = col0 + inside; ${read(phase.b, phase.bAt, `col < u.n && k < ${phase.size}`)}`)}
        workgroupBarrier();
        for (var step = 0u; step < ${bound(tile.k, "m")}; step++) {
          let l = step * ${m + 1}u + ty;
          let r = step * ${n + 1}u + tx;
          ${lines(groups, (g) => `let b${g} = vec4f(${[0, 1, 2, 3].map((c) => `right[r + ${across * (4 * g + c)}u]`).join(", ")});`)}
          ${lines(rows, (y) => `{ let s = left[l + ${down * y}u]; ${lines(groups, (g) => `c${y}_${g} += s * b${g};`)} }`)}
        }
        workgroupBarrier();
      }`;
}

function putCode({ end, twice, activates }: TiledForm): string {
  const factor = end === "scaled" ? "factors[u.factorOffset + batch * u.factorBatch + row * u.factorRow] * " : "";
  return `
      fn put(row: u32, col: u32, batch: u32, sum: f32) {
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
  const { tile, loads, twice, end, activates } = form;
  const beside = afterBeside(activates, "f32" as const);
  const read = loads === 1 ? "f32" : "vec4<f32>";
  const { m, n, k, rows, columns } = tile;
  const [down, across, groups] = [m / rows, n / columns, columns / 4];
  const main: Phase = {
    a: "a",
    aAt: "aBase + rep * u.aRepeat + row * u.aRow + k * u.aInner",
    aAlong: "u.aInner == 1u",
    aSeen: " && (u.upTo == 0u || k < row + u.reach) && (u.onwards == 0u || k + u.reach >= row)",
    b: "b",
    bAt: "bBase + rep * u.bRepeat + k * u.bInner + col * u.bColumn",
    bAlong: "u.bInner == 1u",
    first: "first",
    last: "last",
    size: "u.k",
    factor: "",
  };
  const second: Phase = {
    ...main,
    a: "down",
    aAt: "row * u.k2 + k",
    aAlong: "true",
    aSeen: "",
    b: "up",
    bAt: "col * u.k2 + k",
    bAlong: "true",
    first: "0u",
    last: "u.k2",
    size: "u.k2",
    factor: "u.alpha2 * ",
  };
  return {
    name: `lab-matmul-tiles-${m}-${n}-${k}-${rows}-${columns}${loads === 4 ? "-vectors" : ""}${twice ? "-twice" : ""}${end === "extras" ? "" : `-${end}`}${activates ? ACTIVATED : ""}`,
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
    workgroup: [tileThreads(tile), 1],
    header: `
      var<workgroup> left: array<f32, ${k * (m + 1)}>;
      var<workgroup> right: array<f32, ${k * (n + 1)}>;
      ${afterCode(activates, "f32")}
      ${putCode(form)}`,
    body: `
      let tx = local.x % ${across}u;
      let ty = local.x / ${across}u;
      let row0 = group.y * ${m}u;
      let col0 = group.x * ${n}u;
      if (u.triangle != 0u && col0 > row0 + ${m - 1}u + u.reach) { return; }
      let batch = group.z;
      let aBase = u.aOffset + batch * u.aBatch;
      let bBase = u.bOffset + (batch / u.bShare) * u.bBatch;
      let first = select(0u, max(row0, u.reach) - u.reach, u.onwards != 0u);
      let last = select(u.k, min(u.k, row0 + ${m - 1}u + u.reach), u.upTo != 0u);
      ${grid(rows, groups, (r, g) => `var c${r}_${g} = vec4f(0);`)}
      for (var rep = 0u; rep < u.repeats; rep++) { ${phaseCode(form, main)} }
      ${twice ? phaseCode(form, second) : ""}
      for (var c = 0u; c < 4u; c++) {
        ${grid(rows, groups, (r, g) => `put(row0 + ty + ${down * r}u, col0 + tx + ${across}u * (c + ${4 * g}u), batch, c${r}_${g}[c]);`)}
      }`,
  };
}
