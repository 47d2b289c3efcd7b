/**
 * Points of the family of products with workgroup memory, for cards: a workgroup computes a tile of the result, every element of both operands
 * is loaded once per tile and passes through workgroup memory, and a thread keeps rows × columns of the result in
 * registers, in groups of four adjacent rows and columns, so that it reads workgroup memory four elements at a time.
 * Sums run over K in order without atomics, so every run gives the same bits.
 */
import { type MatrixUnit, type TileForm, tilePitch, tileThreads } from "../forms/records.ts";
import { type Arithmetic, K_RUN } from "../packed/half.ts";
import { bound, SUBGROUP_MATRICES, writtenOut } from "../runtime/pipelines.ts";
import { afterCode } from "./activation-code.ts";
import { type Epilogue, grid, lines, type Operand, type Parts, type Phase } from "./product-form.ts";

// Tiles of products in half precision by subgroup matrices, a WGSL extension that browsers still call experimental:
// each subgroup multiplies its part of a workgroup's tile, unit by unit, from the f16 operands in workgroup memory, and
// keeps the sums in f32. Results are written through workgroup memory, so edges, factors and a bias are handled as in
// any other tile.

/** How the results of a tile are kept and computed. */
interface TileParts {
  readonly enable: readonly string[];
  readonly subgroupSize?: number;
  readonly threads: number;
  /** Workgroup variables. */
  readonly header: string;
  /** Declares the results of a thread. */
  readonly begin: string;
  /** Adds all steps of both operands' tiles, in `left` and `right`. */
  readonly multiply: string;
  /** Passes every result to a statement of WGSL. */
  readonly end: (put: (row: string, col: string, sum: string) => string) => string;
}

/**
 * Subgroups without a part skip this code. All lanes of a subgroup skip it together, which the compiler cannot prove.
 */
const OWN = "@diagnostic(off, chromium.subgroup_matrix_uniformity) if (owns)";

/** The parts of a program that uses subgroup matrices. */
function matrixParts(tile: TileForm, unit: MatrixUnit): TileParts {
  const { m, n, rows, columns } = tile;
  const [parts, across] = [tileThreads(tile), n / columns];
  const [down, right] = [rows / unit.m, columns / unit.n];
  const size = unit.m * unit.n;
  const threads = tileThreads(tile, unit.lanes);
  // Lines lie along K, as the units read them.
  const pitch = tilePitch(tile.k, true);
  const matrix = (side: "left" | "right", line: string): string => {
    const [size, order] =
      side === "left" ? [`${unit.k}, ${unit.m}`, "row_major"] : [`${unit.n}, ${unit.k}`, "col_major"];
    const at = `(${line}) * ${pitch}u + k`;
    return `subgroupMatrixLoad<subgroup_matrix_${side}<f16, ${size}>, ${order}>(&${side}, ${at}, ${pitch}u)`;
  };
  const sum = (r: number, c: number): string => `c${r}_${c}`;
  return {
    enable: ["f16", "subgroups", SUBGROUP_MATRICES, ...(unit.fixed ? ["subgroup_size_control"] : [])],
    ...(unit.fixed ? { subgroupSize: unit.lanes } : {}),
    threads,
    header: `
      var<workgroup> left: array<f16, ${m * pitch}>;
      var<workgroup> right: array<f16, ${n * pitch}>;
      var<workgroup> sums: array<f32, ${parts * size}>;`,
    begin: `
      let owns = subgroup < ${parts}u;
      let top = subgroup / ${across}u * ${rows}u;
      let side = subgroup % ${across}u * ${columns}u;
      ${grid(down, right, (r, c) => `var ${sum(r, c)}: subgroup_matrix_result<f32, ${unit.n}, ${unit.m}>;`)}`,
    multiply: `
      workgroupBarrier();
      ${OWN} {
        for (var k = 0u; k < ${bound(tile.k, "m")}; k += ${unit.k}u) {
          ${lines(down, (r) => `let a${r} = ${matrix("left", `top + ${r * unit.m}u`)};`)}
          ${lines(
            right,
            (c) => `let b${c} = ${matrix("right", `side + ${c * unit.n}u`)};
            ${lines(down, (r) => `${sum(r, c)} = subgroupMatrixMultiplyAccumulate(a${r}, b${c}, ${sum(r, c)});`)}`,
          )}
        }
      }
      workgroupBarrier();`,
    end: (put) =>
      grid(
        down,
        right,
        (r, c) => `
      ${OWN} { subgroupMatrixStore<row_major>(&sums, subgroup * ${size}u, ${sum(r, c)}, ${unit.n}u); }
      workgroupBarrier();
      for (var i = local.x; i < ${parts * size}u; i += ${threads}u) {
        let part = i / ${size}u;
        let row = row0 + part / ${across}u * ${rows}u + ${r * unit.m}u + i % ${size}u / ${unit.n}u;
        let col = col0 + part % ${across}u * ${columns}u + ${c * unit.n}u + i % ${unit.n}u;
        ${put("row", "col", "sums[i]")}
      }
      workgroupBarrier();`,
      ),
  };
}

/** Code of one step along K for the results of a thread, from the first elements `l` and `r` of its step. */
function step(type: Arithmetic, { m, n, rows, columns }: TileForm, sums: string): string {
  const [down, across, groups] = [m / rows, n / columns, columns / 4];
  const four = (side: string, at: string): string =>
    `vec4<${type}>(${[0, 1, 2, 3].map((i) => `${side}[${at} + ${i}u]`).join(", ")})`;
  const left =
    rows === 1 ? "let a0 = left[l];" : lines(rows / 4, (g) => `let a${g} = ${four("left", `l + ${4 * down * g}u`)};`);
  const a = (r: number): string => (rows === 1 ? "a0" : `a${Math.floor(r / 4)}[${r % 4}]`);
  return `
    ${left}
    ${lines(groups, (g) => `let b${g} = ${four("right", `r + ${4 * across * g}u`)};`)}
    ${grid(rows, groups, (r, g) => `${sums}${r}_${g} += ${a(r)} * b${g};`)}`;
}

/** Runs are counted in ones, because no compiler bounds an index that a loop raises by more. */
function steps(type: Arithmetic, tile: TileForm): string {
  const { k, m, n, rows, columns } = tile;
  const [half, groups] = [type === "f16", columns / 4];
  const length = half ? K_RUN : writtenOut(K_RUN);
  const first = (pitch: number, thread: string): string => `run * ${length * pitch}u + ${thread}`;
  return `for (var run = 0u; run < ${bound(k / length, "m")}; run++) {
    let lrun = ${first(tilePitch(m), `${Math.min(rows, 4)}u * ty`)};
    let rrun = ${first(tilePitch(n), "4u * tx")};
    ${half ? grid(rows, groups, (r, g) => `var h${r}_${g} = vec4<f16>(0);`) : ""}
    ${lines(
      length,
      (i) => `{
      let l = lrun + ${i * tilePitch(m)}u;
      let r = rrun + ${i * tilePitch(n)}u;
      ${step(type, tile, half ? "h" : "c")}
    }`,
    )}
    ${half ? grid(rows, groups, (r, g) => `c${r}_${g} += vec4f(h${r}_${g});`) : ""}
  }`;
}

/** The parts of a program whose threads keep their results in registers. */
function registerParts(type: Arithmetic, tile: TileForm): TileParts {
  const { m, n, rows, columns } = tile;
  const [down, across, groups] = [m / rows, n / columns, columns / 4];
  const block = Math.min(rows, 4);
  const row = (r: number): string => `row0 + ${block}u * ty + ${block * down * Math.floor(r / block) + (r % block)}u`;
  return {
    enable: type === "f16" ? ["f16"] : [],
    threads: tileThreads(tile),
    header: `
      var<workgroup> left: array<${type}, ${tile.k * tilePitch(m)}>;
      var<workgroup> right: array<${type}, ${tile.k * tilePitch(n)}>;`,
    begin: `
      let tx = local.x % ${across}u;
      let ty = local.x / ${across}u;
      ${grid(rows, groups, (r, g) => `var c${r}_${g} = vec4f(0);`)}`,
    multiply: `
        workgroupBarrier();
        ${steps(type, tile)}
        workgroupBarrier();`,
    end: (put) => `for (var c = 0u; c < ${bound(4, "m")}; c++) {
        ${grid(rows, groups, (r, g) => put(row(r), `col0 + 4u * tx + c + ${4 * across * g}u`, `c${r}_${g}[c]`))}
      }`,
  };
}

/** A term of a sum of addresses; empty if it is 0. */
const times = (count: number, stride: string): string => (count === 0 ? "" : ` + ${count}u * (${stride})`);

/** Code that loads an operand's part of the tile: declarations before the loop over K, the rest within it. */
interface Loading {
  readonly before: string;
  readonly reads: string;
  readonly stores: string;
  /** Stores zeros for what was read beyond the end of K. */
  readonly clears: string;
}

/** All threads of a workgroup have their last steps in the same tile, so that the others need not compare theirs. */
const atEnd = (tile: TileForm, clears: string): string =>
  clears === "" ? "" : `if (at + ${tile.k}u > end) { ${clears} }`;

function loading(side: "a" | "b", operand: Operand, type: Arithmetic, tile: TileForm, threads: number): Loading {
  const { run, along } = operand;
  const [into, line0, count] = side === "a" ? ["left", "row0", tile.m] : ["right", "col0", tile.n];
  /** Runs that lie side by side in memory. */
  const beside = (along ? tile.k : count) / run;
  const total = (count * tile.k) / run;
  const loads = Math.ceil(total / threads);
  // Threads without a load count from 0 again, because compilers clamp what only a condition around it bounds.
  const thread = total < threads ? `(local.x % ${total}u)` : "local.x";
  const [stepPitch, linePitch] = tile.matrices ? [1, tilePitch(tile.k, true)] : [tilePitch(count), 1];
  const [runPitch, nextPitch] = along ? [stepPitch, linePitch] : [linePitch, stepPitch];
  const [fast, slow] = [`${side}Run`, `${side}Next`];
  const places = Array.from({ length: loads }, (_, load) => {
    const first = load * threads;
    const [runs, nexts] = [first % beside, Math.floor(first / beside)];
    const [inRun, next] = [`${run}u * ${runs === 0 ? fast : `(${fast} + ${runs}u)`}`, `${slow} + ${nexts}u`];
    const name = `${side}${load}`;
    return {
      load,
      name,
      line: `${line0} + ${along ? next : inRun}`,
      step: along ? inRun : next,
      address: [times(runs, operand.perRun), times(nexts, operand.perNext)].join(""),
      to: runs * run * runPitch + nexts * nextPitch,
      /** Number of threads that have this load, if some have not. */
      partly: first + threads > total ? total - first : undefined,
    };
  });
  const element = (name: string, j: number): string =>
    run === 1 ? `${name}l` : `${name}${j < 4 ? "l" : "h"}[${j % 4}]`;
  const advance = along ? `at / ${run}u * (${operand.perRun})` : `at * (${operand.perNext})`;
  const zero = run === 1 ? "0.0" : "vec4f(0)";
  const parts = run === 8 ? ["l", "h"] : ["l"];
  const stored = run === 1 ? type : `vec4<${type}>`;
  type Load = (typeof places)[number];
  const read = ({ load, name, line, step: at, address }: Load): string => {
    const where = `
        let ${name}At = ${side}At + (${advance}${address});`;
    const ready = operand.readTo?.(name, `${name}At`, `(at + ${at} < end)`);
    if (ready !== undefined) return `${where} ${ready}`;
    const seen = operand.seen?.(line, `(at + ${at})`);
    const shown = (value: string): string => (seen === undefined ? value : `select(${zero}, ${value}, ${seen})`);
    return `${where}
        ${operand.read(`${name}r`, `${name}At`, load)}
        ${parts.map((part) => `let ${name}${part} = ${stored}(${shown(`${name}r${part}`)});`).join("\n")}`;
  };
  const put = ({ to }: Load, value: (j: number) => string): string =>
    lines(run, (j) => `${into}[${side}To + ${to + j * runPitch}u] = ${value(j)};`);
  const store = (load: Load): string => put(load, (j) => element(load.name, j));
  // Zeros take the place of stored elements, because compilers move elements that change before they store four at once.
  const clear = (load: Load): string => {
    if (operand.readTo?.(load.name, "", "") !== undefined) return "";
    const beyond = `at + ${load.step} >= end`;
    // Of one element a choice takes fewer instructions than a branch, of several more.
    return run === 1
      ? put(load, (j) => `select(${element(load.name, j)}, ${type}(0), ${beyond})`)
      : `if (${beyond}) { ${put(load, () => `${type}(0)`)} }`;
  };
  return {
    before: `
      let ${fast} = ${thread} % ${beside}u;
      let ${slow} = ${thread} / ${beside}u;
      let ${side}To = ${fast} * ${run * runPitch}u + ${slow} * ${nextPitch}u;
      let ${side}At = ${operand.base} + ${along ? `(${line0} + ${slow}) * (${operand.perNext}) + ${fast} * (${operand.perRun})` : `(${line0} / ${run}u + ${fast}) * (${operand.perRun}) + ${slow} * (${operand.perNext})`};
      ${operand.fixed === undefined ? "" : places.map(({ load, line }) => operand.fixed?.(load, line)).join("\n")}`,
    reads: places.flatMap((place) => (place.partly === undefined ? [read(place)] : [])).join("\n"),
    clears: places
      .flatMap((place) => (place.partly === undefined ? [clear(place)] : []))
      .join("\n")
      .trim(),
    stores: places
      .map((place) => {
        if (place.partly === undefined) return `{ ${store(place)} }`;
        // Waves without a load skip it.
        return `if (local.x < ${place.partly}u) { ${read(place)} ${store(place)} ${atEnd(tile, clear(place))} }`;
      })
      .join("\n"),
  };
}

/** Code that adds the products of a phase to the results. */
function phaseCode(phase: Phase, type: Arithmetic, tile: TileForm, parts: TileParts): string {
  const a = loading("a", phase.a, type, tile, parts.threads);
  const b = loading("b", phase.b, type, tile, parts.threads);
  return `${phase.each ?? ""} {
      let end = ${phase.end};
      ${a.before}
      ${b.before}
      for (var at = ${phase.first}; at < ${phase.last}; at += ${tile.k}u) {
        ${a.reads}
        ${b.reads}
        ${a.stores}
        ${b.stores}
        ${atEnd(tile, a.clears + b.clears)}
        ${parts.multiply}
      }
    }`;
}

const putCode = ({ place, value, adds, bias, extra, activates }: Epilogue): string => `
      ${afterCode(activates, "f32")}
      fn put(row: u32, col: u32, batch: u32, sum: f32) {
        if (row >= u.m || col >= u.n) { return; }
        let at = ${place};
        var value = ${value("sum")};
        ${bias === undefined ? "" : `if (u.hasBias != 0u) { value += bias[${bias.at("col")}]; }`}
        ${extra ? "if (u.hasExtra != 0u) { value += extra[at]; }" : ""}
        result[at] = ${adds ? "result[at] + " : ""}value;
        ${activates ? "after(at);" : ""}
      }`;

/** The parts of a program of a form. @param unit unit of a form with subgroup matrices, whose type is f16 */
export function tileParts(type: Arithmetic, tile: TileForm, epilogue: Epilogue, unit?: MatrixUnit): Parts {
  const own = unit === undefined ? registerParts(type, tile) : matrixParts(tile, unit);
  const { enable, subgroupSize, threads, header, begin, end } = own;
  return {
    enable,
    ...(subgroupSize === undefined ? {} : { subgroupSize }),
    workgroup: [threads, 1],
    written: "f32",
    tall: tile.m,
    left: "col0",
    header: `${header} ${putCode(epilogue)}`,
    place: `
      let row0 = group.y * ${tile.m}u;
      let col0 = group.x * ${tile.n}u;`,
    begin,
    phase: (phase) => phaseCode(phase, type, tile, own),
    end: end((row, col, sum) => `put(${row}, ${col}, batch, ${sum});`),
  };
}
