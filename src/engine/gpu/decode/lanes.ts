/**
 * Programs in which every result is a sum over a long axis, in two forms. On a software adapter each result has one
 * thread, because barriers are expensive there. On a GPU a workgroup shares the result and sums in a fixed tree. Both
 * are repeatable bit for bit.
 */
import { lines } from "../matmul/product-form.ts";
import { bound, type GpuProgram, programOnce } from "../runtime/pipelines.ts";

/** Threads that share a result on a GPU. */
const SHARED_LANES = 64;
/** Threads that share a result where several results share inputs in workgroup memory. */
export const STAGED_LANES = 32;
/** Results per workgroup where each has one thread: the vector width of llvmpipe. */
const OWN_LANES = 8;
/**
 * Threads per workgroup, in both forms, where each thread computes one point without a sum. Points are numbered across
 * all slots, so that no workgroup is half empty: a software adapter pays for every workgroup.
 */
export const POINT_LANES = 64;
/** Code for the number of a thread's point in a grid from `flatGrid`. */
export const POINT = `(group.y * groups.x + group.x) * ${POINT_LANES}u + local.x`;

/**
 * Reductions over the lanes that a body may call: `sum4(v: vec4f, lane)` and so on. `mass` and `before` are 64-bit, low
 * word first.
 */
type Reduction = "sum4" | "sum" | "largest" | "least" | "count" | "mass" | "before";

interface Fold {
  readonly type: string;
  readonly fold: (a: string, b: string) => string;
}

const FOLDS: Readonly<Record<Exclude<Reduction, "before">, Fold>> = {
  sum4: { type: "vec4f", fold: (a, b) => `${a} + ${b}` },
  sum: { type: "f32", fold: (a, b) => `${a} + ${b}` },
  largest: { type: "f32", fold: (a, b) => `max(${a}, ${b})` },
  least: { type: "u32", fold: (a, b) => `min(${a}, ${b})` },
  count: { type: "u32", fold: (a, b) => `${a} + ${b}` },
  mass: { type: "vec2u", fold: (a, b) => `add64(${a}, ${b})` },
};

/**
 * The body may use `tile` (below `u.tiles`, the first uniform), `first` and `step` for its loop over the axis, `lane`
 * and `group`. It writes its result where `first == 0u`. Tiles are counted along x and y of the grid (`flatGrid`).
 */
export interface LaneProgram extends Omit<GpuProgram, "workgroup"> {
  readonly reductions: readonly Reduction[];
  /** Registers `c0`, `c1`, … of the body, vec4f, that are summed over the lanes together before `end`. */
  readonly sums?: number;
  readonly end?: string;
  /**
   * Lanes of a subgroup. On a software adapter the workgroup is then one subgroup whose threads exchange values, so
   * threads beyond the last tile keep running; `inside` is false for them. The GPU form does not use it.
   */
  readonly subgroup?: number;
  /**
   * The GPU form of a workgroup with this many tiles, each with `STAGED_LANES` threads. The body stages inputs in
   * `shared_sums`, of this many vectors; all threads run it, and `inside` is false beyond the last tile. Each sum is one of `sums`
   * registers' elements: `end` runs for every `sum` of register `r`, `element`.
   */
  readonly staged?: { readonly tiles: number; readonly vectors: number };
}

interface ReductionProgram {
  readonly program: GpuProgram;
  /** Workgroups needed for `tiles` results. */
  groups(tiles: number): number;
}

/** Builds the program in the form for software adapters or for GPUs. */
export function withReduction(source: LaneProgram, software: boolean): ReductionProgram {
  if (source.staged !== undefined) return stagedReduction(source, source.staged);
  const { reductions, subgroup, sums = 0, end = "", ...rest } = source;
  const lanes = subgroup ?? OWN_LANES;
  const name = `${source.name}-${software ? 1 : SHARED_LANES}${subgroup === undefined ? "" : `-${subgroup}`}`;
  const at = "group.y * groups.x + group.x";
  const make = (): GpuProgram => ({
    ...rest,
    name,
    ...(subgroup === undefined ? {} : { enable: ["subgroups"] }),
    workgroup: [software ? lanes : SHARED_LANES, 1],
    header: `${reductions.map((kind) => (software ? same(kind) : tree(kind))).join("\n")}
      ${software || sums === 0 ? "" : `var<workgroup> shared_sums: array<vec4f, ${sums * SHARED_LANES}>;`}
      ${source.header ?? ""}`,
    body: `
      ${
        software
          ? `let lane = 0u; let first = 0u; let step = 1u; let tile = (${at}) * ${lanes}u + local.x;`
          : `let lane = local.x; let first = local.x; let step = ${SHARED_LANES}u; let tile = ${at};`
      }
      ${subgroup === undefined ? "if (tile >= u.tiles) { return; } let inside = true;" : "let inside = tile < u.tiles;"}
      ${source.body}
      ${software ? "" : together(sums)}
      ${end}`,
  });
  return { program: programOnce(name, make), groups: (tiles) => (software ? Math.ceil(tiles / lanes) : tiles) };
}

/** Threads of a tile lie side by side along y, so that those of a wave read the same inputs. */
function stagedReduction(
  source: LaneProgram,
  { tiles, vectors }: Exclude<LaneProgram["staged"], undefined>,
): ReductionProgram {
  const { reductions: _, staged: __, sums = 0, end = "", ...rest } = source;
  const name = `${source.name}-${STAGED_LANES}-${tiles}`;
  const make = (): GpuProgram => ({
    ...rest,
    name,
    workgroup: [tiles, STAGED_LANES],
    header: `var<workgroup> shared_sums: array<vec4f, ${Math.max(vectors, sums * STAGED_LANES * tiles)}>;
      ${source.header ?? ""}`,
    body: `
      let tiles0 = (group.y * groups.x + group.x) * ${tiles}u;
      if (tiles0 >= u.tiles) { return; }
      let lane = local.y; let first = lane; let step = ${STAGED_LANES}u;
      let tile = tiles0 + local.x; let inside = tile < u.tiles;
      ${source.body}
      workgroupBarrier();
      ${lines(sums, (r) => `shared_sums[(lane * ${sums}u + ${r}u) * ${tiles}u + local.x] = c${r};`)}
      workgroupBarrier();
      if (inside && lane < ${4 * sums}u) {
        let r = lane / 4u; let element = lane % 4u;
        var sum = 0.0;
        for (var l = 0u; l < ${bound(STAGED_LANES, "tiles")}; l++) {
          sum += shared_sums[(l * ${sums}u + r) * ${tiles}u + local.x][element];
        }
        ${end}
      }`,
  });
  return { program: programOnce(name, make), groups: (count) => Math.ceil(count / tiles) };
}

function same(kind: Reduction): string {
  if (kind === "before") return "fn before(value: vec2u, lane: u32) -> vec2u { return vec2u(0); }";
  const { type } = FOLDS[kind];
  return `fn ${kind}(value: ${type}, lane: u32) -> ${type} { return value; }`;
}

/** The sums of all registers in one tree, as `sum4` has them. */
function together(sums: number): string {
  if (sums === 0) return "";
  return `
      ${lines(sums, (r) => `shared_sums[${r * SHARED_LANES}u + lane] = c${r};`)}
      workgroupBarrier();
      for (var span = ${bound(SHARED_LANES / 2, "tiles")}; span > 0u; span >>= 1u) {
        if (lane < span) {
          for (var r = 0u; r < ${sums * SHARED_LANES}u; r += ${SHARED_LANES}u) { shared_sums[r + lane] += shared_sums[r + lane + span]; }
        }
        workgroupBarrier();
      }
      ${lines(sums, (r) => `c${r} = shared_sums[${r * SHARED_LANES}u];`)}`;
}

function tree(kind: Reduction): string {
  if (kind === "before") return BEFORE;
  const { type, fold } = FOLDS[kind];
  return `
    var<workgroup> shared_${kind}: array<${type}, ${SHARED_LANES}>;
    fn ${kind}(value: ${type}, lane: u32) -> ${type} {
      workgroupBarrier();
      shared_${kind}[lane] = value;
      workgroupBarrier();
      for (var span = ${bound(SHARED_LANES / 2, "tiles")}; span > 0u; span >>= 1u) {
        if (lane < span) { shared_${kind}[lane] = ${fold(`shared_${kind}[lane]`, `shared_${kind}[lane + span]`)}; }
        workgroupBarrier();
      }
      return workgroupUniformLoad(&shared_${kind}[0]);
    }`;
}

/** Sum over the lanes before this one. */
const BEFORE = `
  var<workgroup> shared_before: array<vec2u, ${SHARED_LANES}>;
  fn before(value: vec2u, lane: u32) -> vec2u {
    workgroupBarrier();
    shared_before[lane] = value;
    workgroupBarrier();
    var sum = vec2u(0);
    for (var i = 0u; i < lane; i++) { sum = add64(sum, shared_before[i]); }
    return sum;
  }`;

// State of every slot of the batch, as words of one buffer. A slot is a position in the batch. It holds a row while
// that row generates tokens, so that ended rows cost nothing.

/** Words per slot. */
export const SLOT_WORDS = 13;

/** Id of a slot that starts with a given embedding instead of a token. */
export const NO_TOKEN = 0xffff_ffff;

export interface Slot {
  /** Row of the batch, to which cache, embedding and results belong. */
  readonly row: number;
  /** Row of the prefixes' cache, visible at [0, head); then follow `tail` positions of the row's own cache. */
  readonly pastRow: number;
  readonly head: number;
  readonly tail: number;
  /** What the position of a new token differs by from its index, at most 0. */
  readonly shift: number;
  /** New tokens whose keys are already stored. */
  readonly count: number;
  /** Token to continue from. */
  readonly id: number;
  /** Philox counter without its last word, and key (gpu/random.ts). */
  readonly counter: readonly [number, number, number];
  readonly key: readonly [number, number];
  /** Random position of the first new token. */
  readonly position: number;
}

/** Field names in WGSL: `state[slot * SLOT_WORDS + HEAD]`. */
export const SLOT_HEADER = `
  const ROW = 0u; const PAST_ROW = 1u; const HEAD = 2u; const TAIL = 3u; const COUNT = 4u; const ID = 5u;
  const DRAW = 6u; const KEY = 9u; const POSITION = 11u; const SHIFT = 12u;
  const SLOT_WORDS = ${SLOT_WORDS}u;
  const NO_TOKEN = ${NO_TOKEN}u;`;

export function slotWords(slots: readonly Slot[]): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(slots.length * SLOT_WORDS);
  slots.forEach((slot, at) => {
    const { row, pastRow, head, tail, shift, count, id, counter, key, position } = slot;
    // Two's complement; the sum with the index is not negative.
    words.set([row, pastRow, head, tail, count, id, ...counter, ...key, position, shift >>> 0], at * SLOT_WORDS);
  });
  return words;
}
