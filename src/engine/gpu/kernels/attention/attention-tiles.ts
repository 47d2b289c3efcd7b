/**
 * Records attention by tiles in workgroup memory: one pass forward, three backward, each in as
 * many dispatches as the limit of work needs.
 */
import { ACROSS, type AttentionTiles, heldRows, PASSED, PASSED_ROWS } from "../../forms/records.ts";
import { addPieces } from "../../matmul/piece-sums.ts";
import { runRows } from "../../rows-program.ts";
import { bound, type GpuProgram, programOnce } from "../../runtime/pipelines.ts";
import { release } from "../../runtime/program.ts";
import type { tf } from "../../tf.ts";
import { each, GRADIENT_INPUTS, HEADER, narrowUniforms, PLACE, PLACED, recordTiles, SEEN } from "./attention-narrow.ts";
import { DELTA } from "./attention-rows.ts";
import type { AttentionForm, Inputs, Sizes } from "./attention-runs.ts";

// WGSL of attention by tiles in workgroup memory, for cards. Layout as in attention-narrow.ts, d a multiple of 4.
//
// A workgroup holds the vectors of its rows and passes over tiles of the other side, which share one small array: scores
// take a few vectors of all its rows at a time, sums all vectors of a few of its rows. What a wave needs of workgroup
// memory decides how many run at once. Threads are down × 16: row i of thread row ty is ty + down · i, and thread
// column tx has rows tx + 16 j of the other side, and vectors tx + 16 j of the sums. Forward: sums are rescaled where a
// larger score appears. Gradient: scores and weights are recomputed from the stored statistics, so that each gradient
// has one writer. f32, in order of keys or queries, no atomics.

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

const THREAD = `
      let tx = local.x % ${ACROSS}u;
      let ty = local.x / ${ACROSS}u;`;

/** Rows of the other side whose vectors fit the shared array. */
const linesOf = ({ passed, vectors }: Shape): number => Math.min(passed, 2 ** Math.floor(Math.log2(PASSED / vectors)));

/** Code for `count` elements, written out for those of a thread. */
function shared(shape: Shape, count: number, line: (at: string) => string): string {
  const threads = threadsOf(shape);
  return each(Math.ceil(count / threads), (n) => {
    const guard = (n + 1) * threads > count ? `if (local.x < ${count - n * threads}u) ` : "";
    return `${guard}{ let i = local.x + ${n * threads}u; ${line("i")} }`;
  });
}

/** Copies `rows` rows, vector by vector; those beyond `end` become 0, so that they never hold NaN. */
function loadVectors(
  shape: Shape,
  into: string,
  array: string,
  [base, from, end]: readonly [string, string, string],
  rows: number,
  [first, count]: readonly [number, number],
): string {
  return shared(
    shape,
    rows * count,
    (i) => `
          let line = ${from} + ${i} / ${count}u;
          let place = (${base} + min(line, ${end} - 1u)) * ${shape.vectors}u + ${first}u + ${i} % ${count}u;
          ${into}[${i} % ${count}u * ${rows}u + ${i} / ${count}u] = select(vec4f(0), ${array}[place], line < ${end});`,
  );
}

/** Copies `rows` rows, row by row. */
function loadRows(
  shape: Shape,
  array: string,
  [base, from, end]: readonly [string, string, string],
  rows: number,
): string {
  const { vectors } = shape;
  return shared(
    shape,
    rows * vectors,
    (i) => `
          let line = ${from} + ${i} / ${vectors}u;
          let place = (${base} + min(line, ${end} - 1u)) * ${vectors}u + ${i} % ${vectors}u;
          other[${i}] = select(vec4f(0), ${array}[place], line < ${end});`,
  );
}

/** Adds the dot products of held rows with rows of the other side to `name`r_c; ends with a barrier. */
function dots(
  shape: Shape,
  name: string,
  own: string,
  array: string,
  place: readonly [string, string, string],
): string {
  const { held, down, passed, vectors } = shape;
  const [rows, columns] = [rowsOf(shape), passed / ACROSS];
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
          ${each(rows, (r) => `{ let row = ${own}[(${at}u + i) * ${held}u + ty + ${down * r}u]; ${each(columns, (c) => sum(`${name}${r}_${c}`, c))} }`)}
        }
        workgroupBarrier();`;
  };
  return `
        ${each(rows, (r) => each(columns, (c) => `var ${name}${r}_${c} = 0.0;`))}
        ${each(Math.ceil(vectors / size), (n) => part(size * n))}`;
}

/** Adds weights[row][line] · array[line] to the sums of held rows, vectors tx + 16 g; the weights are ready. */
function addRows(
  shape: Shape,
  sum: string,
  weights: string,
  array: string,
  [base, from, end]: readonly [string, string, string],
): string {
  const { down, passed, vectors } = shape;
  const [rows, groups, lines] = [rowsOf(shape), Math.ceil(vectors / ACROSS), linesOf(shape)];
  const four = [0, 1, 2, 3];
  const part = (at: number): string => `
        ${loadRows(shape, array, [base, `${from} + ${at}u`, end], lines)}
        workgroupBarrier();
        for (var step = 0u; step < ${bound(lines / 4, "heads")}; step++) {
          ${each(rows, (r) => `let w${r} = vec4f(${four.map((j) => `${weights}[(ty + ${down * r}u) * ${passed}u + ${at}u + 4u * step + ${j}u]`).join(", ")});`)}
          ${each(4, (j) => `{ ${each(groups, (g) => `let x${g} = other[(4u * step + ${j}u) * ${vectors}u + min(tx + ${ACROSS * g}u, ${vectors - 1}u)];`)} ${each(rows, (r) => each(groups, (g) => `${sum}${r}_${g} += w${r}[${j}] * x${g};`))} }`)}
        }
        workgroupBarrier();`;
  return each(passed / lines, (n) => part(lines * n));
}

const arrays = ({ vectors }: Shape, rows: Readonly<Record<string, number>>): string => `
      ${Object.entries(rows)
        .map(([name, count]) => `var<workgroup> ${name}: array<vec4f, ${count * vectors}>;`)
        .join("\n")}
      var<workgroup> other: array<vec4f, ${PASSED}>;`;

/** @param vectors d / 4 */
export function tiledForward({ queries, keys }: AttentionTiles, vectors: number): GpuProgram {
  const shape: Shape = { held: queries, down: 8, passed: keys, vectors };
  const { down } = shape;
  const [rows, columns, groups] = [rowsOf(shape), keys / ACROSS, Math.ceil(vectors / ACROSS)];
  const row = (r: number): string => `(ty + ${down * r}u)`;
  const seenKeys = ["keyBase", "at", "last"] as const;
  const partials = (r: number, n: number): string =>
    `vec4f(${[0, 1, 2, 3].map((j) => `weights[${row(r)} * ${keys}u + ${4 * n + j}u]`).join(", ")})`;
  const folded = (r: number, by: (a: string, b: string) => string): string =>
    Array.from({ length: ACROSS / 4 }, (_, n) => partials(r, n)).reduce(by);
  return {
    name: `lab-attention-tiles-${queries}-${keys}-${vectors}`,
    inputs: { q: "vec4<f32>", k: "vec4<f32>", v: "vec4<f32>", mask: "f32" },
    outputs: { result: "vec4<f32>", stats: "f32" },
    uniforms: { ...SEEN, ...PLACED },
    workgroup: [threadsOf(shape), 1],
    // Before it holds weights, a line of `weights` holds what the threads of a row share.
    header: `${HEADER} ${arrays(shape, { own: queries })}
      var<workgroup> weights: array<f32, ${queries * keys}>;`,
    body: `${THREAD}${PLACE}
      let head = owner;
      let start = within * ${queries}u;
      let keyBase = (head / u.group) * u.keys;
      let last = select(u.keys, min(u.keys, start + ${queries}u + u.before), u.causal != 0u);
      let open = select(0u, max(start + u.before + 1u, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
      ${loadVectors(shape, "own", "q", ["head * u.queries", "start", "u.queries"], queries, [0, vectors])}
      ${each(rows, (r) => `var top${r} = -3.0e38; var sum${r} = 0.0; ${each(groups, (g) => `var o${r}_${g} = vec4f(0);`)}`)}
      for (var at = open; at < last; at += ${keys}u) {
        ${dots(shape, "s", "own", "k", seenKeys)}
        ${each(
          rows,
          (r) => `
        let query${r} = start + ty + ${down * r}u;
        let above${r} = maskOf(head) + min(query${r}, u.queries - 1u) * u.maskRow;
        ${each(columns, (c) => {
          const key = `at + tx + ${ACROSS * c}u`;
          return `
        let key${r}_${c} = min(${key}, last - 1u);
        let is${r}_${c} = (${key} < last) && seen(query${r}, key${r}_${c});
        s${r}_${c} = score(s${r}_${c}, above${r} + key${r}_${c} * u.maskKey);`;
        })}
        weights[${row(r)} * ${keys}u + tx] = ${Array.from({ length: columns }, (_, c) => `select(-3.0e38, s${r}_${c}, is${r}_${c})`).reduce((a, b) => `max(${a}, ${b})`)};`,
        )}
        workgroupBarrier();
        ${each(
          rows,
          (r) => `
        let most${r} = ${folded(r, (a, b) => `max(${a}, ${b})`)};
        let new${r} = max(top${r}, max(max(most${r}.x, most${r}.y), max(most${r}.z, most${r}.w)));
        let fade${r} = exp(top${r} - new${r});
        top${r} = new${r};
        sum${r} *= fade${r};
        ${each(groups, (g) => `o${r}_${g} *= fade${r};`)}`,
        )}
        workgroupBarrier();
        ${each(rows, (r) =>
          each(
            columns,
            (c) => `
        let e${r}_${c} = select(0.0, exp(min(s${r}_${c} - top${r}, 0.0)), is${r}_${c});
        sum${r} += e${r}_${c};
        weights[${row(r)} * ${keys}u + tx + ${ACROSS * c}u] = e${r}_${c};`,
          ),
        )}
        ${addRows(shape, "o", "weights", "v", seenKeys)}
      }
      ${each(rows, (r) => `weights[${row(r)} * ${keys}u + tx] = sum${r};`)}
      workgroupBarrier();
      ${each(
        rows,
        (r) => `{
        let query = start + ty + ${down * r}u;
        if (query < u.queries) {
          let row = head * u.queries + query;
          let all = ${folded(r, (a, b) => `${a} + ${b}`)};
          let inverse = 1.0 / ((all.x + all.y) + (all.z + all.w));
          ${each(groups, (g) => `if (tx + ${ACROSS * g}u < ${vectors}u) { result[row * ${vectors}u + tx + ${ACROSS * g}u] = o${r}_${g} * inverse; }`)}
          if (tx == 0u) { stats[2u * row] = top${r}; stats[2u * row + 1u] = inverse; }
        }
      }`,
      )}`,
  };
}

/** Sums of held rows to a result, from line `start` on. */
function write(shape: Shape, result: string, sum: string, base: string, end: string): string {
  const { down, vectors } = shape;
  return each(
    rowsOf(shape),
    (r) => `if (start + ty + ${down * r}u < ${end}) {
        let row = ${base} + start + ty + ${down * r}u;
        ${each(Math.ceil(vectors / ACROSS), (g) => `if (tx + ${ACROSS * g}u < ${vectors}u) { ${result}[row * ${vectors}u + tx + ${ACROSS * g}u] = ${sum}${r}_${g}; }`)}
      }`,
  );
}

/**
 * The gradient of one side.
 * @param by "queries" writes dq; "keys" writes dk and dv of every query head of a group, [group, heads, keys, d]
 * @param vectors d / 4
 */
export function tiledBackward(by: "queries" | "keys", vectors: number): GpuProgram {
  const held = heldRows(vectors);
  const shape: Shape = { held, down: held / 2, passed: PASSED_ROWS, vectors };
  const { down, passed } = shape;
  const [rows, columns] = [rowsOf(shape), passed / ACROSS];
  const queries = by === "queries";
  const [own, ownWith, passing, passingWith] = queries ? ["q", "dy", "k", "v"] : ["k", "v", "q", "dy"];
  const end = queries ? "u.queries" : "u.keys";
  const place = queries ? (["keyBase", "at", "last"] as const) : (["head * u.queries", "at", "u.queries"] as const);
  const groups = Math.ceil(vectors / ACROSS);
  const sums = queries ? ["dq"] : ["dk", "dv"];
  /** Slopes, and for keys the weights, of the pair in a thread's cell. */
  const cell = (r: number, c: number): string => {
    const [mine, other] = [`start + ty + ${down * r}u`, `at + tx + ${ACROSS * c}u`];
    const [query, key] = queries ? [mine, other] : [other, mine];
    const at = `(ty + ${down * r}u) * ${passed}u + tx + ${ACROSS * c}u`;
    return `{
          let query = min(${query}, u.queries - 1u);
          let key = min(${key}, u.keys - 1u);
          let row = head * u.queries + query;
          let s = score(s${r}_${c}, maskOf(head) + query * u.maskRow + key * u.maskKey);
          let is = (${query} < u.queries) && (${key} < u.keys) && seen(query, key);
          let p = select(0.0, exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u], is);
          slopes[${at}] = select(0.0, u.scale * p * (d${r}_${c} - delta[row]), is);
          ${queries ? "" : `weights[${at}] = p;`}
        }`;
  };
  const pass = `
        ${dots(shape, "s", "own", passing as string, place)}
        ${dots(shape, "d", "ownWith", passingWith as string, place)}
        ${each(rows, (r) => each(columns, (c) => cell(r, c)))}
        ${addRows(shape, queries ? "dq" : "dk", "slopes", passing as string, place)}
        ${queries ? "" : addRows(shape, "dv", "weights", passingWith as string, place)}`;
  const loops = queries
    ? `
      let keyBase = (head / u.group) * u.keys;
      let last = select(u.keys, min(u.keys, start + ${held}u + u.before), u.causal != 0u);
      let open = select(0u, max(start + u.before + 1u, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
      for (var at = open; at < last; at += ${passed}u) { ${pass} }
      ${write(shape, "result", "dq", "head * u.queries", "u.queries")}`
    : `
      // The first query that sees any of these keys.
      let open = select(0u, max(start, u.before) - u.before, u.causal != 0u);
      for (var at = open; at < u.queries; at += ${passed}u) { ${pass} }
      let place = ((head % u.group) * u.keyHeads + head / u.group) * u.keys;
      ${write(shape, "result", "dk", "place", "u.keys")}
      ${write(shape, "values", "dv", "place", "u.keys")}`;
  const heldPlace = [queries ? "head * u.queries" : "head / u.group * u.keys", "start", end] as const;
  return {
    name: `lab-attention-tiles-grad-${by}-${vectors}`,
    inputs: GRADIENT_INPUTS,
    outputs: { result: "vec4<f32>", ...(queries ? {} : { values: "vec4<f32>" as const }) },
    uniforms: { ...SEEN, ...(queries ? {} : { keyHeads: "u32" as const }), ...PLACED },
    workgroup: [threadsOf(shape), 1],
    header: `${HEADER} ${arrays(shape, { own: held, ownWith: held })}
      var<workgroup> slopes: array<f32, ${held * passed}>;
      ${queries ? "" : `var<workgroup> weights: array<f32, ${held * passed}>;`}`,
    body: `${THREAD}${PLACE}
      let start = within * ${held}u;
      let head = owner;
      ${loadVectors(shape, "own", own as string, heldPlace, held, [0, vectors])}
      ${loadVectors(shape, "ownWith", ownWith as string, heldPlace, held, [0, vectors])}
      ${each(rows, (r) => sums.map((sum) => each(groups, (g) => `var ${sum}${r}_${g} = vec4f(0);`)).join("\n"))}
      ${loops}`,
  };
}

export function forwardTiled(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  tiles: AttentionTiles,
): [out: tf.TensorInfo, stats: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const key = `attention-${tiles.queries}-${tiles.keys}-${s.d}`;
  const program = programOnce(key, () => tiledForward(tiles, s.d / 4));
  const outputs = [{ shape: q.shape }, { shape: [...q.shape.slice(0, 3), 2] }];
  const perTile = 2 * tiles.queries * s.keys * s.d;
  const work = { heads: s.heads, tiles: Math.ceil(s.queries / tiles.queries), perTile };
  const uniforms = narrowUniforms(s, inputs, form);
  return recordTiles(program, [q, k, v, mask ?? q], outputs, uniforms, work) as [tf.TensorInfo, tf.TensorInfo];
}

export function backwardTiled(
  inputs: Inputs,
  s: Sizes,
  form: AttentionForm,
  dy: tf.TensorInfo,
  y: tf.TensorInfo,
  stats: tf.TensorInfo,
): [dq: tf.TensorInfo, dk: tf.TensorInfo, dv: tf.TensorInfo] {
  const { q, k, v, mask } = inputs;
  const rows = s.heads * s.queries;
  const [delta] = runRows(DELTA, [dy, y], [{ shape: [rows] }], rows, s.dv) as [tf.TensorInfo];
  const given = [q, k, v, dy, mask ?? q, stats, delta];
  const held = heldRows(s.d / 4);
  const uniforms = narrowUniforms(s, inputs, form);
  const by = (side: "queries" | "keys"): GpuProgram =>
    programOnce(`attention-${side}-${s.d}`, () => tiledBackward(side, s.d / 4));
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
  return [
    tiledForward({ kind: "tiles", queries: 32, keys: 32 }, 16),
    tiledBackward("queries", 16),
    tiledBackward("keys", 16),
  ];
}
