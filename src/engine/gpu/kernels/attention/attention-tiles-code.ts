/**
 * WGSL of attention by tiles in workgroup memory, for cards. Layout as in attention-narrow-code.ts, d a multiple of 4.
 *
 * 8 × 8 threads share a tile of rows: query i of thread row ty is ty + 8 i, and thread column tx has keys tx + 8 j of
 * the scores and vectors tx + 8 j of the sums. Forward: a workgroup holds its queries and passes over tiles of keys
 * and values, which take turns in one array; sums are rescaled where a larger score appears. Gradient: a workgroup
 * holds one side, queries with dy or keys with values, passes over the other and recomputes scores and weights from
 * the stored statistics, so that each gradient has one writer. f32, in order of keys or queries, no atomics.
 */
import { type AttentionTiles, BACK_ROWS, SIDE } from "../../forms/records.ts";
import { bound, type GpuProgram } from "../../runtime/pipelines.ts";
import { each, GRADIENT_INPUTS, HEADER, PLACE, PLACED, SEEN } from "./attention-narrow-code.ts";

const THREADS = SIDE * SIDE;

const THREAD = `
      let tx = local.x % ${SIDE}u;
      let ty = local.x / ${SIDE}u;`;

/** Copies `rows` rows of `vectors` vec4 from `from` on; those beyond `end` become 0, so that they never hold NaN. */
function load(into: string, array: string, base: string, from: string, rows: number, end: string, vectors: number) {
  return `for (var i = local.x; i < ${bound(rows * vectors, "heads")}; i += ${THREADS}u) {
          let line = ${from} + i / ${vectors}u;
          var value = vec4f(0);
          if (line < ${end}) { value = ${array}[(${base} + line) * ${vectors}u + i % ${vectors}u]; }
          ${into}[i] = value;
        }`;
}

/** Dot products of rows ty + 8 r of `own` with rows tx + 8 c of `other`, as `name`r_c. */
function dots(name: string, own: string, other: string, rows: number, columns: number, vectors: number): string {
  return `
        ${each(rows, (r) => each(columns, (c) => `var ${name}${r}_${c} = 0.0;`))}
        for (var i = 0u; i < ${bound(vectors, "heads")}; i++) {
          ${each(columns, (c) => `let o${c} = ${other}[(tx + ${SIDE * c}u) * ${vectors}u + i];`)}
          ${each(rows, (r) => `{ let own = ${own}[(ty + ${SIDE * r}u) * ${vectors}u + i]; ${each(columns, (c) => `${name}${r}_${c} += dot(own, o${c});`)} }`)}
        }`;
}

/** Adds weights[row][line] · array[line] to the sums of rows ty + 8 r, vectors tx + 8 g. */
function addRows(sum: string, weights: string, array: string, lines: number, rows: number, vectors: number): string {
  const groups = Math.ceil(vectors / SIDE);
  return `
        for (var step = 0u; step < ${bound(lines, "heads")}; step++) {
          ${each(groups, (g) => `let x${g} = ${array}[step * ${vectors}u + min(tx + ${SIDE * g}u, ${vectors - 1}u)];`)}
          ${each(rows, (r) => `{ let w = ${weights}[(ty + ${SIDE * r}u) * ${lines}u + step]; ${each(groups, (g) => `${sum}${r}_${g} += w * x${g};`)} }`)}
        }`;
}

/** @param vectors d / 4 */
export function tiledForward({ queries, keys }: AttentionTiles, vectors: number): GpuProgram {
  const [rows, columns, groups] = [queries / SIDE, keys / SIDE, Math.ceil(vectors / SIDE)];
  return {
    name: `lab-attention-tiles-${queries}-${keys}-${vectors}`,
    inputs: { q: "vec4<f32>", k: "vec4<f32>", v: "vec4<f32>", mask: "f32" },
    outputs: { result: "vec4<f32>", stats: "f32" },
    uniforms: { ...SEEN, ...PLACED },
    workgroup: [THREADS, 1],
    header: `${HEADER}
      var<workgroup> own: array<vec4f, ${queries * vectors}>;
      var<workgroup> other: array<vec4f, ${keys * vectors}>;
      var<workgroup> weights: array<f32, ${queries * keys}>;
      var<workgroup> partial: array<f32, ${queries * SIDE}>;
      fn folded(row: u32, first: f32) -> f32 {
        var most = first;
        for (var i = 0u; i < ${bound(SIDE, "heads")}; i++) { most = max(most, partial[row * ${SIDE}u + i]); }
        return most;
      }
      fn total(row: u32) -> f32 {
        var sum = 0.0;
        for (var i = 0u; i < ${bound(SIDE, "heads")}; i++) { sum += partial[row * ${SIDE}u + i]; }
        return sum;
      }`,
    body: `${THREAD}${PLACE}
      let head = owner;
      let start = within * ${queries}u;
      let keyBase = (head / u.group) * u.keys;
      let last = select(u.keys, min(u.keys, start + ${queries}u + u.before), u.causal != 0u);
      let open = select(0u, max(start + u.before + 1u, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
      ${load("own", "q", "head * u.queries", "start", queries, "u.queries", vectors)}
      ${each(rows, (r) => `var top${r} = -3.0e38; var sum${r} = 0.0; ${each(groups, (g) => `var o${r}_${g} = vec4f(0);`)}`)}
      for (var at = open; at < last; at += ${keys}u) {
        ${load("other", "k", "keyBase", "at", keys, "last", vectors)}
        workgroupBarrier();
        ${dots("s", "own", "other", rows, columns, vectors)}
        ${each(
          rows,
          (r) => `
        let query${r} = start + ty + ${SIDE * r}u;
        let above${r} = maskOf(head) + min(query${r}, u.queries - 1u) * u.maskRow;
        ${each(columns, (c) => {
          const key = `at + tx + ${SIDE * c}u`;
          return `
        let key${r}_${c} = min(${key}, last - 1u);
        let is${r}_${c} = (${key} < last) && seen(query${r}, key${r}_${c});
        s${r}_${c} = score(s${r}_${c}, above${r} + key${r}_${c} * u.maskKey);`;
        })}
        partial[(ty + ${SIDE * r}u) * ${SIDE}u + tx] = ${Array.from({ length: columns }, (_, c) => `select(-3.0e38, s${r}_${c}, is${r}_${c})`).reduce((a, b) => `max(${a}, ${b})`)};`,
        )}
        workgroupBarrier();
        ${load("other", "v", "keyBase", "at", keys, "last", vectors)}
        ${each(
          rows,
          (r) => `
        let new${r} = folded(ty + ${SIDE * r}u, top${r});
        let fade${r} = exp(top${r} - new${r});
        top${r} = new${r};
        sum${r} *= fade${r};
        ${each(groups, (g) => `o${r}_${g} *= fade${r};`)}
        ${each(
          columns,
          (c) => `
        let e${r}_${c} = select(0.0, exp(min(s${r}_${c} - top${r}, 0.0)), is${r}_${c});
        sum${r} += e${r}_${c};
        weights[(ty + ${SIDE * r}u) * ${keys}u + tx + ${SIDE * c}u] = e${r}_${c};`,
        )}`,
        )}
        workgroupBarrier();
        ${addRows("o", "weights", "other", keys, rows, vectors)}
        workgroupBarrier();
      }
      ${each(rows, (r) => `partial[(ty + ${SIDE * r}u) * ${SIDE}u + tx] = sum${r};`)}
      workgroupBarrier();
      ${each(
        rows,
        (r) => `{
        let query = start + ty + ${SIDE * r}u;
        if (query < u.queries) {
          let row = head * u.queries + query;
          let inverse = 1.0 / total(ty + ${SIDE * r}u);
          ${each(groups, (g) => `if (tx + ${SIDE * g}u < ${vectors}u) { result[row * ${vectors}u + tx + ${SIDE * g}u] = o${r}_${g} * inverse; }`)}
          if (tx == 0u) { stats[2u * row] = top${r}; stats[2u * row + 1u] = inverse; }
        }
      }`,
      )}`,
  };
}

/** Sums of rows ty + 8 r to a result, from line `start` on. */
function write(result: string, sum: string, base: string, end: string, rows: number, vectors: number): string {
  return each(
    rows,
    (r) => `if (start + ty + ${SIDE * r}u < ${end}) {
        let row = ${base} + start + ty + ${SIDE * r}u;
        ${each(Math.ceil(vectors / SIDE), (g) => `if (tx + ${SIDE * g}u < ${vectors}u) { ${result}[row * ${vectors}u + tx + ${SIDE * g}u] = ${sum}${r}_${g}; }`)}
      }`,
  );
}

/**
 * The gradient of one side.
 * @param by "queries" writes dq; "keys" writes dk and dv, summed over a group's query heads
 * @param vectors d / 4
 */
export function tiledBackward(by: "queries" | "keys", vectors: number): GpuProgram {
  const size = BACK_ROWS;
  const part = size / SIDE;
  const queries = by === "queries";
  const [held, heldWith, passing, passingWith] = queries ? ["q", "dy", "k", "v"] : ["k", "v", "q", "dy"];
  const [end, passingEnd] = queries ? ["u.queries", "last"] : ["u.keys", "u.queries"];
  const groups = Math.ceil(vectors / SIDE);
  const sums = queries ? ["dq"] : ["dk", "dv"];
  /** Slopes, and for keys the weights, of the pair in a thread's cell. */
  const cell = (r: number, c: number): string => {
    const [own, other] = [`start + ty + ${SIDE * r}u`, `at + tx + ${SIDE * c}u`];
    const [query, key] = queries ? [own, other] : [other, own];
    const place = `(ty + ${SIDE * r}u) * ${size}u + tx + ${SIDE * c}u`;
    return `{
          let query = min(${query}, u.queries - 1u);
          let key = min(${key}, u.keys - 1u);
          let row = head * u.queries + query;
          let s = score(s${r}_${c}, maskOf(head) + query * u.maskRow + key * u.maskKey);
          let is = (${query} < u.queries) && (${key} < u.keys) && seen(query, key);
          let p = select(0.0, exp(min(s - stats[2u * row], 0.0)) * stats[2u * row + 1u], is);
          slopes[${place}] = select(0.0, u.scale * p * (d${r}_${c} - delta[row]), is);
          ${queries ? "" : `weights[${place}] = p;`}
        }`;
  };
  const pass = `
        ${load("first", passing as string, queries ? "keyBase" : "head * u.queries", "at", size, passingEnd as string, vectors)}
        ${load("second", passingWith as string, queries ? "keyBase" : "head * u.queries", "at", size, passingEnd as string, vectors)}
        workgroupBarrier();
        ${dots("s", "own", "first", part, part, vectors)}
        ${dots("d", "ownWith", "second", part, part, vectors)}
        ${each(part, (r) => each(part, (c) => cell(r, c)))}
        workgroupBarrier();
        ${addRows(queries ? "dq" : "dk", "slopes", "first", size, part, vectors)}
        ${queries ? "" : addRows("dv", "weights", "second", size, part, vectors)}
        workgroupBarrier();`;
  const loops = queries
    ? `
      let head = owner;
      let keyBase = (head / u.group) * u.keys;
      let last = select(u.keys, min(u.keys, start + ${size}u + u.before), u.causal != 0u);
      let open = select(0u, max(start + u.before + 1u, u.reach) - u.reach, u.causal != 0u && u.reach != 0u);
      for (var at = open; at < last; at += ${size}u) { ${pass} }
      ${write("result", "dq", "head * u.queries", "u.queries", part, vectors)}`
    : `
      // The first query that sees any of these keys.
      let open = select(0u, max(start, u.before) - u.before, u.causal != 0u);
      for (var rep = 0u; rep < u.group; rep++) {
        let head = owner * u.group + rep;
        for (var at = open; at < u.queries; at += ${size}u) { ${pass} }
      }
      ${write("result", "dk", "owner * u.keys", "u.keys", part, vectors)}
      ${write("values", "dv", "owner * u.keys", "u.keys", part, vectors)}`;
  return {
    name: `lab-attention-tiles-grad-${by}-${vectors}`,
    inputs: GRADIENT_INPUTS,
    outputs: { result: "vec4<f32>", ...(queries ? {} : { values: "vec4<f32>" as const }) },
    uniforms: { ...SEEN, ...PLACED },
    workgroup: [THREADS, 1],
    header: `${HEADER}
      var<workgroup> own: array<vec4f, ${size * vectors}>;
      var<workgroup> ownWith: array<vec4f, ${size * vectors}>;
      var<workgroup> first: array<vec4f, ${size * vectors}>;
      var<workgroup> second: array<vec4f, ${size * vectors}>;
      var<workgroup> slopes: array<f32, ${size * size}>;
      ${queries ? "" : `var<workgroup> weights: array<f32, ${size * size}>;`}`,
    body: `${THREAD}${PLACE}
      let start = within * ${size}u;
      let heldBase = owner * ${end};
      ${load("own", held as string, "heldBase", "start", size, end as string, vectors)}
      ${load("ownWith", heldWith as string, "heldBase", "start", size, end as string, vectors)}
      ${each(part, (r) => sums.map((sum) => each(groups, (g) => `var ${sum}${r}_${g} = vec4f(0);`)).join("\n"))}
      ${loops}`,
  };
}
