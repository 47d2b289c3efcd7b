/**
 * Points of the family of products without workgroup memory: every thread reads both operands itself and keeps rows ×
 * groups of four columns of the result in registers. No barriers or atomics: a product repeats bit for bit. Sizes and
 * strides are uniforms, so one pipeline serves all shapes of a layout and form. Only the register tile is written out.
 *
 * On a software adapter loads are expensive: every load of a lane is a gather, whatever the addresses. A good form does
 * many multiplications per load; the best form loads the rows of A once per subgroup and broadcasts them. Limits:
 * M, N, K up to 2³² elements per operand; sums run over K in order, in f32.
 */
import { bound } from "../runtime/pipelines.ts";
import { afterCode } from "./activation-code.ts";
import { type Epilogue, grid, lines, type Operand, type Parts, type Phase, type ThreadTile } from "./product-form.ts";

const CELLS = [0, 1, 2, 3];

/** Registers of A: one per row, or one per block of rows that the lanes broadcast. */
function loadsOf({ rows, broadcast }: ThreadTile, load: (index: number) => string): string {
  return lines(broadcast > 0 ? Math.ceil(rows / broadcast) : rows, load);
}

/** A part of a row of A, in the lane that loaded it or in this one. */
function rowOf({ broadcast }: ThreadTile, row: number, part: string): string {
  return broadcast > 0
    ? `subgroupBroadcast(a${Math.floor(row / broadcast)}${part}, ${row % broadcast}u)`
    : `a${row}${part}`;
}

const times = (index: string, stride: string): string => (stride === "1u" ? index : `${index} * ${stride}`);
const over = (elements: string, run: number): string => (run === 1 ? elements : `(${elements}) / ${run}u`);

/** Sets `name` to the register of row `r`, a loop variable over every `step`-th row. */
function pickRow(name: string, rows: number, step: number, register: (row: number) => string): string {
  const later = Array.from({ length: rows / step - 1 }, (_, i) => step * (i + 1));
  return `var ${name} = ${register(0)};
          ${later.map((r) => `${name} = select(${name}, ${register(r)}, r == ${r}u);`).join(" ")}`;
}

/** First column of a thread's group. */
const columnOf = ({ apart, lanes }: ThreadTile, group: number): string =>
  `(col0 + ${(apart ? 4 * lanes : 4) * group}u)`;

/** Rows of A times rows of B, a run of K at a time. */
function alongK(tile: ThreadTile, a: Operand, b: Operand): string {
  const { rows, groups } = tile;
  const columns = 4 * groups;
  const parts = a.run === 8 ? ["l", "h"] : ["l"];
  const { shared } = b;
  const dot = (c: number): string => parts.map((part) => `dot(s${part}, b${c}${part})`).join(" + ");
  const step = (sum: string): string => `
          ${loadsOf(tile, (i) => a.read(`a${i}`, `pa${i} + ${times("k", a.perRun)}`, i))}
          ${lines(columns, (c) => b.read(`b${c}`, `pb${c} + ${times("k", b.perRun)}`, c))}
          ${lines(
            rows,
            (r) => `{ ${parts.map((part) => `let s${part} = ${rowOf(tile, r, part)};`).join(" ")}
          ${lines(groups, (g) => `${sum}${r}_${g} += vec4f(${CELLS.map((c) => dot(4 * g + c)).join(", ")});`)} }`,
          )}`;
  const loop =
    shared === undefined
      ? `for (var k = first; k < last; k++) { ${step("c")} }`
      : `for (var block = first; block < last; block += ${shared.runs}u) {
          ${grid(rows, groups, (r, g) => `var p${r}_${g} = vec4f(0);`)}
          let end = min(block + ${shared.runs}u, last);
          for (var k = block; k < end; k++) { ${step("p")} }
          ${lines(groups, (g) => `let f${g} = vec4f(${CELLS.map((c) => shared.factor(`pb${4 * g + c} + block`)).join(", ")});`)}
          ${grid(rows, groups, (r, g) => `c${r}_${g} += f${g} * p${r}_${g};`)}
        }`;
  return `
      ${lines(columns, (c) => `let pb${c} = bBase + min(col0 + ${c}u, u.n - 1u) * ${b.perNext};`)}
      ${loop}`;
}

/** Reads a run of A along K and, step by step, the columns of B in runs. */
function byColumns(tile: ThreadTile, a: Operand, b: Operand): string {
  const { rows, groups, unroll, broadcast } = tile;
  const reads = (4 * groups) / b.run;
  /** Index of the run of columns of a read. */
  const runOf = (i: number): string => {
    const column = columnOf(tile, Math.floor((i * b.run) / 4));
    return b.run === 1 ? `min(${column} + ${i % 4}u, u.n - 1u)` : `min(${column} / ${b.run}u, (u.n - 1u) / ${b.run}u)`;
  };
  const vector = (j: number, g: number): string => {
    if (b.run === 1) return `vec4f(${CELLS.map((c) => `b${j}_${4 * g + c}l`).join(", ")})`;
    return b.run === 8 ? `b${j}_${g >> 1}${"lh"[g % 2]}` : `b${j}_${g}l`;
  };
  const together = rows === 1 && broadcast > 0 && unroll > 1;
  const first = together ? a.read("lanes", `pa0 + (k + local.x % ${unroll}u) * ${a.perRun}`, 0) : "";
  const product = (j: number, g: number): string => `${a.run === 1 ? "s" : `s[${j}]`} * v${j}_${g}`;
  const after = (index: string, offset: number): string => (offset === 0 ? index : `(${index} + ${offset}u)`);
  const step = (offset: number, lane?: number): string => `{
          ${lines(
            a.run,
            (j) => `let at${j} = ${after(a.run === 1 ? "k" : `${a.run}u * k`, offset + j)} * ${b.perNext};
          ${lines(reads, (i) => b.read(`b${j}_${i}`, `pb${i} + at${j}`, i))}
          ${lines(groups, (g) => `let v${j}_${g} = ${vector(j, g)};`)}`,
          )}
          ${
            lane === undefined
              ? loadsOf(tile, (i) => a.read(`a${i}`, `pa${i} + ${times(after("k", offset), a.perRun)}`, i))
              : `let a0l = subgroupBroadcast(lanesl, ${lane}u);`
          }
          ${lines(
            rows,
            (r) => `{ let s = ${rows === 1 ? "a0l" : rowOf(tile, r, "l")};
          ${lines(groups, (g) => `c${r}_${g} += ${lines(a.run, (j) => product(j, g)).replaceAll("\n", " + ")};`)} }`,
          )}
        }`;
  return `
      ${lines(reads, (i) => `let pb${i} = bBase + ${times(runOf(i), b.perRun)};`)}
      var k = first;
      ${unroll > 1 ? `for (; k + ${unroll - 1}u < last; k += ${unroll}u) { ${first} ${lines(unroll, (i) => step(i, together ? i : undefined))} }` : ""}
      for (; k < last; k++) ${step(0)}`;
}

/** Code that adds the products of a phase; runs of A are counted. */
function phaseCode({ a, b, first, last, each = "" }: Phase, tile: ThreadTile): string {
  const { rows, broadcast } = tile;
  const row = (i: number): string =>
    broadcast > 0 && rows > 1 ? `row0 + ${i * broadcast}u + local.x % ${broadcast}u` : `row0 + ${i}u`;
  return `${each} {
      let aBase = ${a.base};
      let bBase = ${b.base};
      let first = ${over(first, a.run)};
      let last = ${over(a.run === 1 ? last : `${last} + ${a.run - 1}u`, a.run)};
      ${loadsOf(tile, (i) => `let pa${i} = aBase + min(${row(i)}, u.m - 1u) * ${a.perNext};`)}
      ${b.along ? alongK(tile, a, b) : byColumns(tile, a, b)}
    }`;
}

/**
 * Functions that write the sums. A bias that starts the sums costs one load there; at the end it would cost one per row.
 * What else is added and the activation have a separate loop: next to the sums, which fill all registers, every condition
 * makes SwiftShader spill them (a quarter of the time of a product with 64 steps), and every written-out load adds ten
 * milliseconds of compiling on llvmpipe.
 */
function putCode({ vectors }: ThreadTile, { place, value, adds, bias, extra, activates }: Epilogue): string {
  const [step, four] = vectors ? [4, " / 4u"] : [1, ""];
  const store = (sum: string): string => `result[at] = ${adds ? "result[at] + " : ""}${value(sum)};`;
  const biasOf = (col: string): string => `bias[${bias?.at(col)}${four}]`;
  const start = vectors
    ? biasOf("min(col, u.n - 1u)")
    : `vec4f(${CELLS.map((c) => biasOf(`min(col + ${c}u, u.n - 1u)`)).join(", ")})`;
  const later = [
    ...(bias?.starts === false ? [`if (u.hasBias != 0u) { result[at] += ${biasOf("col")}; }`] : []),
    ...(extra ? ["if (u.hasExtra != 0u) { result[at] += extra[at]; }"] : []),
    ...(activates ? ["after(at);"] : []),
  ];
  return `
      fn place(row: u32, col: u32, batch: u32) -> u32 { return ${place}; }
      fn put(row: u32, col: u32, batch: u32, sum: vec4f) {
        if ((row < u.m) & (col < u.n)) {
          ${
            vectors
              ? `let at = place(row, col, batch) / 4u; ${store("sum")}`
              : `for (var c = 0u; c < min(4u, u.n - col); c++) { let at = place(row, col + c, batch); ${store("sum[c]")} }`
          }
        }
      }
      ${bias?.starts ? `fn start(col: u32) -> vec4f { return select(vec4f(0), ${start}, u.hasBias != 0u); }` : ""}
      ${
        bias === undefined
          ? ""
          : `fn finish(row: u32, first: u32, batch: u32, rows: u32) {
        for (var r = row; r < min(row + rows, u.m); r++) {
          for (var col = first; col < min(first + 4u, u.n); col += ${step}u) {
            let at = place(r, col, batch)${four};
            ${later.join("\n")}
          }
        }
      }`
      }
      ${afterCode(activates, vectors ? "vec4<f32>" : "f32")}`;
}

/** Rows that are written out one after another when a tile is stored; see `endCode`. */
const ROWS_AT_ONCE = 2;

/**
 * Passes the tile's registers to `put` in a loop. Written out for every row, the stores took llvmpipe longer to compile
 * than the product itself; with one row per iteration, narrow products took a tenth longer.
 */
function endCode(tile: ThreadTile, { bias, activates }: Epilogue): string {
  const { rows, groups } = tile;
  const together = rows === 1 ? 1 : ROWS_AT_ONCE;
  const chosen = (row: number, g: number): string => pickRow(`s${g}`, rows, together, (r) => `c${r + row}_${g}`);
  const sum = groups === 1 ? "s0" : "select(s0, s1, g == 1u)";
  const column = groups === 1 ? "col0" : `col0 + g * ${tile.apart ? 4 * tile.lanes : 4}u`;
  const each = (call: string): string =>
    groups === 1 ? call : `for (var g = 0u; g < ${bound(groups, "m")}; g++) { ${call} }`;
  const row = (offset: number): string => `{
          ${lines(groups, (g) => chosen(offset, g))}
          ${each(`put(row0 + r + ${offset}u, ${column}, batch, ${sum});`)}
        }`;
  const needed = activates ? "" : `if (${bias?.starts ? "u.hasExtra" : "u.hasBias"} != 0u)`;
  return `for (var r = 0u; r < ${bound(rows, "m")}; r += ${together}u) {
        ${lines(together, row)}
      }
      ${bias === undefined ? "" : `${needed} { ${each(`finish(row0, ${column}, batch, ${bound(rows, "m")});`)} }`}`;
}

/**
 * The parts of a program whose threads read their operands themselves. Threads beyond the result keep running in a wide
 * form, because the subgroup needs them.
 */
export function threadParts(tile: ThreadTile, epilogue: Epilogue): Parts {
  const { rows, groups, wide, lanes, broadcast, apart, vectors } = tile;
  const width = 4 * groups;
  const starts = epilogue.bias?.starts === true;
  const left = `group.x * ${width * lanes}u`;
  return {
    enable: broadcast > 0 ? ["subgroups"] : [],
    workgroup: [lanes, 1],
    written: vectors ? "vec4<f32>" : "f32",
    tall: rows,
    left: wide ? left : "col0",
    header: putCode(tile, epilogue),
    place: wide
      ? `let row0 = group.y * ${rows}u;
      let col0 = ${left} + ${apart ? 4 : width}u * local.x;`
      : `let tile = (group.y * groups.x + group.x) * ${lanes}u + local.x;
      let tiles = (u.n + ${width - 1}u) / ${width}u;
      let row0 = (tile / tiles) * ${rows}u;
      let col0 = (tile % tiles) * ${width}u;
      if (row0 >= u.m) { return; }`,
    begin: `
      ${lines(groups, (g) => `let start${g} = ${starts ? `start(${columnOf(tile, g)})` : "vec4f(0)"};`)}
      ${grid(rows, groups, (r, g) => `var c${r}_${g} = start${g};`)}`,
    phase: (phase) => phaseCode(phase, tile),
    end: endCode(tile, epilogue),
  };
}
