/**
 * Records attention by tiles in workgroup memory: one pass forward, three backward, each in as
 * many dispatches as the limit of work needs.
 */
import { ACROSS, ATTENTION_FORMS, type AttentionTiles, heldRows, PASSED } from "../../forms/records.ts";
import { addPieces } from "../../matmul/piece-sums.ts";
import { runRows } from "../../rows-program.ts";
import { bound, type GpuProgram, programOnce } from "../../runtime/pipelines.ts";
import { release } from "../../runtime/program.ts";
import type { tf } from "../../tf.ts";
import { each, GRADIENT_INPUTS, narrowUniforms, PLACE, PLACED, recordTiles, SEEN } from "./attention-narrow.ts";
import { DELTA } from "./attention-rows.ts";
import type { AttentionForm, Inputs, Sizes } from "./attention-runs.ts";

// WGSL of attention by tiles in workgroup memory, for cards. Layout as in attention-narrow.ts, d a multiple of 4.
//
// A workgroup holds the vectors of its rows and passes over tiles of the other side, which share one small array: scores
// take a few vectors of all its rows at a time, sums all vectors of a few of its rows. What a wave needs of workgroup
// memory decides how many run at once, so scores stay in registers and pass through memory 16 rows of the other side at
// a time. Threads are down × 16: a thread row has adjacent rows, and thread column tx has rows tx + 16 j of the other side,
// and vectors tx + 16 j of the sums. Forward: one thread per row finds its largest score, and sums are rescaled where it
// grows. Gradient: scores and weights are recomputed from the stored statistics, so that each gradient
// has one writer. Scores are logarithms to base 2, and so is the stored largest one: a card computes powers of 2. f32, in
// order of keys or queries, no atomics.

/** Sizes that all code of a program shares. */
interface Shape {
  /** Rows that a workgroup holds, and thread rows. */
  readonly held: number;
  readonly down: number;
  /** Rows of the other side that it passes over at once. */
  readonly passed: number;
  /** d / 4 */
  readonly vectors: number;
}

const threadsOf = ({ down }: Shape): number => down * ACROSS;
const rowsOf = ({ held, down }: Shape): number => held / down;
const columnsOf = ({ passed }: Shape): number => passed / ACROSS;
const groupsOf = ({ vectors }: Shape): number => Math.ceil(vectors / ACROSS);

/** Elements of `weights` for a thread's rows: an even number, so that several are read at once. */
const spanOf = (shape: Shape): number => rowsOf(shape) + (rowsOf(shape) % 2);
/** Elements of `weights` from a row of the other side to the next, so that threads access different banks. */
const pitchOf = (shape: Shape): number => spanOf(shape) * shape.down + 4;

/** Stores a value of each row of a thread, in its column. */
const store = (shape: Shape, value: (r: number) => string): string =>
  each(rowsOf(shape), (r) => `weights[tx * ${pitchOf(shape)}u + tw + ${r}u] = ${value(r)};`);

const thread = (shape: Shape): string => `
      let tx = local.x % ${ACROSS}u;
      let ty = local.x / ${ACROSS}u * ${rowsOf(shape)}u;
      let tw = local.x / ${ACROSS}u * ${spanOf(shape)}u;`;

/** Below every score that is read; powers of its distance to `LEAST`, the largest score so far, are 0. */
const HIDDEN = "-3.4e38";
const LEAST = "-3.0e38";

/** Which rows of the other side a row sees: the first one, and how many. */
const RANGES = {
  queries: `
    fn range(query: u32) -> vec2u {
      let end = select(u.keys, min(query + u.before + 1u, u.keys), u.causal != 0u);
      let begin = select(0u, max(end, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
      return vec2u(begin, end - begin);
    }`,
  keys: `
    fn range(key: u32) -> vec2u {
      let ends = u.causal != 0u && u.reach != 0u;
      let end = select(u.queries, min(max(key + u.reach, u.before) - u.before, u.queries), ends);
      let begin = select(0u, min(max(key, u.before) - u.before, end), u.causal != 0u);
      return vec2u(begin, end - begin);
    }`,
} as const;

/** The score of a scaled product to base 2, of row r and column c. @param other whose rows are columns */
const scoreCode = (masked: boolean, product: string, r: number, c: number, other: "Key" | "Row"): string =>
  masked ? `${product} + LOG2E * mask[above${r} + ${ACROSS * c}u * u.mask${other}]` : product;

const CONSTANTS = "const LOG2E = 1.4426950408889634;";
const FACTOR = "let factor = LOG2E * u.scale;";

/** Code for `count` vectors of each of `rows` rows, written out for those of a thread. */
function shared(shape: Shape, rows: number, count: number, code: (line: string, vector: string) => string): string {
  const threads = threadsOf(shape);
  const size = rows * count;
  return each(Math.ceil(size / threads), (n) => {
    const guard = (n + 1) * threads > size ? `if (local.x < ${size - n * threads}u) ` : "";
    const whole = threads % count === 0;
    const i = whole ? "local.x" : `(local.x + ${n * threads}u)`;
    const from = whole ? ` + ${(n * threads) / count}u` : "";
    return `${guard}{ let line = ${i} / ${count}u${from}; let vector = ${i} % ${count}u; ${code("line", "vector")} }`;
  });
}

/** Where the rows of a tile are: the tensor's first row, the first row of the tile, and the end of the rows. */
type Place = readonly [base: string, from: string, end: string];

/** Position of a line's vector; the last row stands for those beyond the end, which nothing reads. */
const placeOf = ({ vectors }: Shape, [base, from, end]: Place, line: string, vector: string): string =>
  `(${base} + min(${from} + ${line}, ${end} - 1u)) * ${vectors}u + ${vector}`;

/** Copies `count` vectors of `rows` rows, from the vector `first` on, vector by vector, times a factor. */
function loadVectors(
  shape: Shape,
  into: string,
  array: string,
  place: Place,
  rows: number,
  [first, count]: readonly [number, number],
  factor = "",
): string {
  const code = (line: string, vector: string): string =>
    `${into}[${vector} * ${rows}u + ${line}] = ${factor}${array}[${placeOf(shape, place, line, `${first}u + ${vector}`)}];`;
  return shared(shape, rows, count, code);
}

/** Adds the dot products of held rows with rows of the other side to `name`r_c; ends with a barrier. */
function dots(shape: Shape, name: string, own: string, array: string, place: Place): string {
  const { held, passed, vectors } = shape;
  const [rows, columns] = [rowsOf(shape), columnsOf(shape)];
  const size = PASSED / passed;
  // A product and a sum are one instruction; dot() would add its sum in another.
  const sum = (to: string, c: number): string =>
    [..."xyzw"].map((part) => `${to} += row.${part} * o${c}.${part};`).join(" ");
  const part = (at: number): string => {
    const count = Math.min(size, vectors - at);
    return `
        ${loadVectors(shape, "other", array, place, passed, [at, count])}
        workgroupBarrier();
        for (var i = 0u; i < ${bound(count, "heads")}; i++) {
          ${each(columns, (c) => `let o${c} = other[i * ${passed}u + tx + ${ACROSS * c}u];`)}
          ${each(rows, (r) => `{ let row = ${own}[(${at}u + i) * ${held}u + ty + ${r}u]; ${each(columns, (c) => sum(`${name}${r}_${c}`, c))} }`)}
        }
        workgroupBarrier();`;
  };
  return `
        ${each(rows, (r) => each(columns, (c) => `var ${name}${r}_${c} = 0.0;`))}
        ${each(Math.ceil(vectors / size), (n) => part(size * n))}`;
}

/**
 * Adds weight · row of the other side to the sums of held rows, vectors tx + 16 g.
 * @param weight code of the weight of a thread's row r and column c
 */
function addRows(
  shape: Shape,
  sum: string,
  weight: (r: number, c: number) => string,
  array: string,
  [base, from, end]: Place,
): string {
  const { vectors } = shape;
  const [rows, groups, pitch] = [rowsOf(shape), groupsOf(shape), pitchOf(shape)];
  // Rows of the other side whose vectors fit the shared array.
  const lines = Math.min(ACROSS, 2 ** Math.floor(Math.log2(PASSED / vectors)));
  const vector = (g: number): string =>
    vectors % ACROSS === 0 ? `tx + ${ACROSS * g}u` : `min(tx + ${ACROSS * g}u, ${vectors - 1}u)`;
  const part = (c: number, at: number): string => {
    const place = [base, `${from} + ${ACROSS * c + at}u`, end] as const;
    return `
        ${at > 0 ? "" : store(shape, (r) => weight(r, c))}
        ${shared(shape, lines, vectors, (line, vector) => `other[${line} * ${vectors}u + ${vector}] = ${array}[${placeOf(shape, place, line, vector)}];`)}
        workgroupBarrier();
        for (var i = 0u; i < ${bound(lines, "heads")}; i++) {
          ${each(groups, (g) => `let x${g} = other[i * ${vectors}u + ${vector(g)}];`)}
          ${each(rows, (r) => `{ let w = weights[(${at}u + i) * ${pitch}u + tw + ${r}u]; ${each(groups, (g) => `${sum}${r}_${g} += w * x${g};`)} }`)}
        }
        workgroupBarrier();`;
  };
  return each(columnsOf(shape), (c) => each(ACROSS / lines, (n) => part(c, lines * n)));
}

const arrays = (shape: Shape, own: readonly string[]): string => `
      ${own.map((name) => `var<workgroup> ${name}: array<vec4f, ${shape.held * shape.vectors}>;`).join("\n")}
      var<workgroup> other: array<vec4f, ${PASSED}>;
      var<workgroup> weights: array<f32, ${ACROSS * pitchOf(shape)}>;`;

/** Per row of a thread, what `sees` reads. */
const rangesOf = (shape: Shape): string =>
  each(
    rowsOf(shape),
    (r) => `
      let range${r} = range(start + ty + ${r}u);
      let from${r} = tx - range${r}.x;`,
  );
/** Whether row r of a thread sees the row of its column c; one comparison, because what lies before the range wraps. */
const sees = (r: number, c: number): string => `(at + ${ACROSS * c}u + from${r} < range${r}.y)`;

/** The loop over tiles that some row of the workgroup sees. @param masked whose rows are columns of a mask, if any */
const passes = (shape: Shape, masked: "Key" | "Row" | undefined, code: string): string => `
      let last = dot(range(start + ${shape.held - 1}u), vec2u(1u));
      for (var at = range(start).x; at < last; at += ${shape.passed}u) {
        ${code}
        ${masked === undefined ? "" : each(rowsOf(shape), (r) => `above${r} += ${shape.passed}u * u.mask${masked};`)}
      }`;

/** @param vectors d / 4 */
export function tiledForward(form: AttentionTiles, vectors: number, masked: boolean): GpuProgram {
  const { keys } = form;
  const { queries } = heldRows(form, 4 * vectors);
  const shape: Shape = { held: queries, down: 8, passed: keys, vectors };
  const [rows, columns, groups] = [rowsOf(shape), columnsOf(shape), groupsOf(shape)];
  const seenKeys = ["keyBase", "at", "last"] as const;
  /** What the threads of a row have stored, joined by its owner. */
  const joined = (by: (a: string, b: string) => string): string => {
    const stored = Array.from({ length: ACROSS }, (_, n) => `weights[${n * pitchOf(shape)}u + mine]`);
    const halves = (parts: readonly string[]): string =>
      parts.length === 1
        ? (parts[0] as string)
        : by(halves(parts.slice(parts.length / 2)), halves(parts.slice(0, parts.length / 2)));
    return halves(stored);
  };
  return {
    name: `lab-attention-tiles-${queries}-${keys}-${vectors}${masked ? "-masked" : ""}`,
    inputs: { q: "vec4<f32>", k: "vec4<f32>", v: "vec4<f32>", ...(masked ? { mask: "f32" as const } : {}) },
    outputs: { result: "vec4<f32>", stats: "f32" },
    uniforms: { ...SEEN, ...PLACED },
    workgroup: [threadsOf(shape), 1],
    header: `${CONSTANTS} ${RANGES.queries} ${arrays(shape, ["own"])}
      // The largest score of each row and the factor of its sums; in the end the inverse sum.
      var<workgroup> scales: array<vec2f, ${queries}>;`,
    body: `${thread(shape)}${PLACE}${FACTOR}
      let mine = ${spanOf(shape) === rows ? "local.x" : `local.x / ${rows}u * ${spanOf(shape)}u + local.x % ${rows}u`};
      let head = owner;
      let start = within * ${queries}u;
      let keyBase = (head / u.group) * u.keys;
      ${loadVectors(shape, "own", "q", ["head * u.queries", "start", "u.queries"], queries, [0, vectors], "factor * ")}
      ${rangesOf(shape)}
      ${masked ? maskPlaces(shape, "queries") : ""}
      var top = ${LEAST};
      ${each(rows, (r) => `var sum${r} = 0.0; ${each(groups, (g) => `var o${r}_${g} = vec4f(0);`)}`)}
      ${passes(
        shape,
        masked ? "Key" : undefined,
        `
        ${dots(shape, "s", "own", "k", seenKeys)}
        ${each(rows, (r) => each(columns, (c) => `s${r}_${c} = select(${HIDDEN}, ${scoreCode(masked, `s${r}_${c}`, r, c, "Key")}, ${sees(r, c)});`))}
        ${store(shape, (r) => Array.from({ length: columns }, (_, c) => `s${r}_${c}`).reduce((a, b) => `max(${a}, ${b})`))}
        workgroupBarrier();
        if (local.x < ${queries}u) {
          let next = max(top, ${joined((a, b) => `max(${a}, ${b})`)});
          scales[local.x] = vec2f(next, exp2(top - next));
          top = next;
        }
        workgroupBarrier();
        ${each(
          rows,
          (r) => `
        let scale${r} = scales[ty + ${r}u];
        sum${r} *= scale${r}.y;
        ${each(groups, (g) => `o${r}_${g} *= scale${r}.y;`)}
        ${each(columns, (c) => `s${r}_${c} = exp2(s${r}_${c} - scale${r}.x); sum${r} += s${r}_${c};`)}`,
        )}
        ${addRows(shape, "o", (r, c) => `s${r}_${c}`, "v", seenKeys)}`,
      )}
      ${store(shape, (r) => `sum${r}`)}
      workgroupBarrier();
      if (local.x < ${queries}u) {
        let inverse = 1.0 / ${joined((a, b) => `(${a} + ${b})`)};
        scales[local.x].x = inverse;
        if (start + local.x < u.queries) {
          let row = head * u.queries + start + local.x;
          stats[2u * row] = top;
          stats[2u * row + 1u] = inverse;
        }
      }
      workgroupBarrier();
      ${write(shape, "result", (r, g) => `o${r}_${g} * scales[ty + ${r}u].x`, "head * u.queries", "u.queries")}`,
  };
}

/** Positions of the mask of a thread's rows, and of its first column of a tile. */
const maskPlaces = (shape: Shape, own: "queries" | "keys"): string => {
  const [mine, other] = own === "queries" ? ["Row", "Key"] : ["Key", "Row"];
  const head = "(head / u.heads) * u.maskBatch + (head % u.heads) * u.maskHead";
  return each(
    rowsOf(shape),
    (r) => `var above${r} = ${head} + (start + ty + ${r}u) * u.mask${mine} + (range(start).x + tx) * u.mask${other};`,
  );
};

/** Sums of held rows to a result, from line `start` on. */
function write(shape: Shape, result: string, sum: (r: number, g: number) => string, base: string, end: string): string {
  const { vectors } = shape;
  return each(
    rowsOf(shape),
    (r) => `if (start + ty + ${r}u < ${end}) {
        let row = ${base} + start + ty + ${r}u;
        ${each(groupsOf(shape), (g) => `if (tx + ${ACROSS * g}u < ${vectors}u) { ${result}[row * ${vectors}u + tx + ${ACROSS * g}u] = ${sum(r, g)}; }`)}
      }`,
  );
}

/**
 * The gradient of one side.
 * @param by "queries" writes dq; "keys" writes dk and dv of every query head of a group, [group, heads, keys, d]
 * @param vectors d / 4
 */
export function tiledBackward(
  form: AttentionTiles,
  by: (typeof SIDES)[number],
  vectors: number,
  masked: boolean,
): GpuProgram {
  const { keys } = form;
  const { rows: held } = heldRows(form, 4 * vectors);
  // 16 rows have half the sums a thread and, so that loads ahead of time spill no registers, half the tile.
  const [down, passed] = [form.queries > 32 || held < 32 ? 8 : ACROSS, held < 24 ? keys / 2 : keys];
  const shape: Shape = { held, down, passed, vectors };
  const [rows, columns, groups] = [rowsOf(shape), columnsOf(shape), groupsOf(shape)];
  const queries = by === "queries";
  const other = queries ? "Key" : "Row";
  const [own, ownWith, passing, passingWith] = queries ? ["q", "dy", "k", "v"] : ["k", "v", "q", "dy"];
  const ownBase = queries ? "head * u.queries" : "head / u.group * u.keys";
  const heldPlace = [ownBase, "start", `u.${by}`] as const;
  const place = [queries ? "head / u.group * u.keys" : "head * u.queries", "at", "last"] as const;
  const sums = queries ? ["dq"] : ["dk", "dv"];
  const { mask: _, ...unmasked } = GRADIENT_INPUTS;
  /** The statistics of a query: those of a thread's rows, or of its columns. */
  const statistics = (query: string, i: number): string => `
      let row${i} = head * u.queries + ${query};
      let top${i} = stats[2u * row${i}]; let inverse${i} = stats[2u * row${i} + 1u]; let delta${i} = delta[row${i}];`;
  /** Weights instead of the scores of a thread's cells, and slopes, without the scale, instead of those of the values. */
  const cell = (r: number, c: number): string => {
    const [s, d, i] = [`s${r}_${c}`, `d${r}_${c}`, queries ? r : c];
    return `
        { let is = ${sees(r, c)};
          ${s} = select(0.0, exp2(${scoreCode(masked, `factor * ${s}`, r, c, other)} - top${i}) * inverse${i}, is);
          ${d} = select(0.0, ${s} * (${d} - delta${i}), is); }`;
  };
  const result = queries ? "head * u.queries" : "((head % u.group) * u.keyHeads + head / u.group) * u.keys";
  return {
    name: `lab-attention-tiles-grad-${by}-${held}-${passed}-${rows}-${vectors}${masked ? "-masked" : ""}`,
    inputs: masked ? GRADIENT_INPUTS : unmasked,
    outputs: { result: "vec4<f32>", ...(queries ? {} : { values: "vec4<f32>" as const }) },
    uniforms: { ...SEEN, ...(queries ? {} : { keyHeads: "u32" as const }), ...PLACED },
    workgroup: [threadsOf(shape), 1],
    header: `${CONSTANTS} ${RANGES[by]} ${arrays(shape, ["own", "ownWith"])}`,
    body: `${thread(shape)}${PLACE}${FACTOR}
      let start = within * ${held}u;
      let head = owner;
      ${loadVectors(shape, "own", own as string, heldPlace, held, [0, vectors])}
      ${loadVectors(shape, "ownWith", ownWith as string, heldPlace, held, [0, vectors])}
      ${rangesOf(shape)}
      ${masked ? maskPlaces(shape, by) : ""}
      ${queries ? each(rows, (r) => statistics(`start + ty + ${r}u`, r)) : ""}
      ${each(rows, (r) => sums.map((sum) => each(groups, (g) => `var ${sum}${r}_${g} = vec4f(0);`)).join("\n"))}
      ${passes(
        shape,
        masked ? other : undefined,
        `
        ${dots(shape, "s", "own", passing as string, place)}
        ${dots(shape, "d", "ownWith", passingWith as string, place)}
        ${queries ? "" : each(columns, (c) => statistics(`at + tx + ${ACROSS * c}u`, c))}
        ${each(rows, (r) => each(columns, (c) => cell(r, c)))}
        ${addRows(shape, queries ? "dq" : "dk", (r, c) => `d${r}_${c}`, passing as string, place)}
        ${queries ? "" : addRows(shape, "dv", (r, c) => `s${r}_${c}`, passingWith as string, place)}`,
      )}
      ${write(shape, "result", (r, g) => `u.scale * ${queries ? "dq" : "dk"}${r}_${g}`, result, `u.${by}`)}
      ${queries ? "" : write(shape, "values", (r, g) => `dv${r}_${g}`, result, "u.keys")}`,
  };
}

/** The sides that have a program of the gradient each. */
export const SIDES = ["queries", "keys"] as const;

export function forwardTiled(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  tiles: AttentionTiles,
): [out: tf.TensorInfo, stats: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const masked = mask !== undefined;
  const key = `attention-${tiles.queries}-${tiles.keys}-${s.d}-${masked}`;
  const program = programOnce(key, () => tiledForward(tiles, s.d / 4, masked));
  const outputs = [{ shape: q.shape }, { shape: [...q.shape.slice(0, 3), 2] }];
  const { queries } = heldRows(tiles, s.d);
  const perTile = 2 * queries * s.keys * s.d;
  const work = { heads: s.heads, tiles: Math.ceil(s.queries / queries), perTile };
  const uniforms = narrowUniforms(s, inputs, form);
  return recordTiles(program, [q, k, v, ...(masked ? [mask] : [])], outputs, uniforms, work) as [
    tf.TensorInfo,
    tf.TensorInfo,
  ];
}

export function backwardTiled(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  tiles: AttentionTiles,
  dy: tf.TensorInfo,
  y: tf.TensorInfo,
  stats: tf.TensorInfo,
): [dq: tf.TensorInfo, dk: tf.TensorInfo, dv: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const rows = s.heads * s.queries;
  const [delta] = runRows(DELTA, [dy, y], [{ shape: [rows] }], rows, s.dv) as [tf.TensorInfo];
  const masked = mask !== undefined;
  const given = [q, k, v, dy, ...(masked ? [mask] : []), stats, delta];
  const { rows: held } = heldRows(tiles, s.d);
  const uniforms = narrowUniforms(s, inputs, form);
  const by = (side: "queries" | "keys"): GpuProgram =>
    programOnce(`attention-${side}-${tiles.queries}-${tiles.keys}-${s.d}-${masked}`, () =>
      tiledBackward(tiles, side, s.d / 4, masked),
    );
  const byQueries = recordTiles(by("queries"), given, [{ shape: q.shape }], uniforms, {
    heads: s.heads,
    tiles: Math.ceil(s.queries / held),
    perTile: 3 * held * s.keys * s.d,
  });
  // Every query head of a group has its own workgroups; what they found is added head by head.
  const group = s.heads / s.keyHeads;
  const size = s.keyHeads * s.keys;
  const outputs = [k.shape, v.shape].map((shape) => ({ shape: group === 1 ? shape : [group, size, s.d] }));
  const byKeys = recordTiles(by("keys"), given, outputs, [...uniforms, s.keyHeads], {
    heads: s.heads,
    tiles: Math.ceil(s.keys / held),
    perTile: 4 * held * s.queries * s.d,
  });
  const [dk, dv] = group === 1 ? byKeys : byKeys.map((parts) => summed(parts, k.shape));
  release(delta);
  return [...byQueries, dk, dv] as [tf.TensorInfo, tf.TensorInfo, tf.TensorInfo];
}

function summed(parts: tf.TensorInfo, shape: readonly number[]): tf.TensorInfo {
  const sum = addPieces(parts, { shape }, {});
  release(parts);
  return sum;
}

/** Programs of tiled attention with heads of 64, used to hash their sources. */
export function attentionPrograms(): GpuProgram[] {
  const tiles = ATTENTION_FORMS["tiles-32-64"];
  return [tiledForward(tiles, 16, false), ...SIDES.map((side) => tiledBackward(tiles, side, 16, false))];
}
