/**
 * The forms of the kernel families that a tuner chooses from. A form is a small record; its name is its key in tables.
 * Stock TensorFlow.js is one form of products, attention with the scores in memory one of attention.
 */
import type { WeightStorage } from "../packed/storage.ts";

// Shapes that share a measured form: sizes are rounded up to powers of two.

/** Which operands are transposed: A B, A Bᵀ, Aᵀ B, Aᵀ Bᵀ. */
export type ProductLayout = "nn" | "nt" | "tn" | "tt";
/**
 * plain: whole tensors, with at most a bias, an addend or a factor. low-rank: with a second, small product. part: with
 * parts of tensors, bounds, or sums into an existing result. packed: B is a packed matrix. half: the same in half
 * precision. The last three have no stock form.
 */
export type Epilogue = "plain" | "low-rank" | "part" | "packed" | "half";

export interface ProductSizes {
  readonly layout: ProductLayout;
  readonly epilogue: Epilogue;
  /** Storage of a packed matrix; f32 if absent. */
  readonly storage?: WeightStorage;
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

export interface AttentionSizes {
  /** Batch times query heads. */
  readonly heads: number;
  /** Query heads per key head. */
  readonly group: number;
  readonly queries: number;
  readonly keys: number;
  /** Elements of a key, and elements of a value. */
  readonly width: number;
  readonly valueWidth: number;
  readonly causal: boolean;
}

/** ⌈log₂⌉ of a whole number of at least 1. */
export function power(size: number): number {
  return 32 - Math.clz32(Math.max(1, size) - 1);
}

/** Name of a product's bucket, as in tables: `product nt plain f32 m8 n9 k6 b0`. */
export function productBucket({ layout, epilogue, storage = "f32", batch, m, n, k }: ProductSizes): string {
  return `product ${layout} ${epilogue} ${storage} m${power(m)} n${power(n)} k${power(k)} b${power(batch)}`;
}

/** Name of an attention's bucket: `attention causal f32 q10 k10 w6 h4 g1`. Width is that of keys. */
export function attentionBucket({ heads, group, queries, keys, width, causal }: AttentionSizes): string {
  const order = causal ? "causal" : "whole";
  return `attention ${order} f32 q${power(queries)} k${power(keys)} w${power(width)} h${power(heads)} g${power(group)}`;
}

const PRODUCT =
  /^product (nn|nt|tn|tt) (?:(?:plain|low-rank|part) f32|packed (?:f32|f16|q8|q4)|half (?:f16|q8|q4)) m\d{1,2} n\d{1,2} k\d{1,2} b\d{1,2}$/;
const ATTENTION = /^attention (causal|whole) f32 q\d{1,2} k\d{1,2} w\d{1,2} h\d{1,2} g\d{1,2}$/;

type Family = "product" | "attention";

/** The family of a bucket's name; undefined if no bucket has that name. */
export function familyOf(bucket: string): Family | undefined {
  if (PRODUCT.test(bucket)) return "product";
  return ATTENTION.test(bucket) ? "attention" : undefined;
}

/** Products of threads that read their operands themselves (thread-product.ts). Without given sizes, the shape determines them. */
interface RegisterForm {
  readonly kind: "registers";
  /** Rows per thread. */
  readonly rows?: 1 | 8 | 16;
  /** Groups of four columns per thread. */
  readonly groups?: 1 | 2;
}

/**
 * Products whose operands pass through workgroup memory (tile-product.ts): results and steps of a workgroup's tile,
 * results of a thread.
 */
export interface TileForm {
  readonly kind: "tiles";
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly rows: number;
  /** A multiple of 4. */
  readonly columns: number;
  /** Loads four elements at a time from global memory where all sizes and strides are multiples of 4, else one. */
  readonly vectors?: true;
  /**
   * Number of pieces of a long K; each piece has separate workgroups, and their products are added in order. One if
   * absent.
   */
  readonly split?: number;
  /**
   * Whether rows × columns belong to a subgroup, which multiplies them as the device's subgroup matrices; only in half
   * precision.
   */
  readonly matrices?: true;
}

/** Matrices that a subgroup multiplies at once: [m, k] by [k, n] in f16 with sums in f32. */
export interface MatrixUnit {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Maximum threads of a subgroup; if it has fewer, some subgroups of a workgroup only load. */
  readonly lanes: number;
  /** Whether programs fix the threads of their subgroups at `lanes`, because the device can. */
  readonly fixed?: boolean;
}

export type ProductForm = { readonly kind: "stock" } | RegisterForm | TileForm;

const tiles = (m: number, n: number, k: number, rows: number, columns: number): TileForm => ({
  kind: "tiles",
  m,
  n,
  k,
  rows,
  columns,
});

export const PRODUCT_FORMS = {
  stock: { kind: "stock" },
  registers: { kind: "registers" },
  "registers-8-1": { kind: "registers", rows: 8, groups: 1 },
  "registers-8-2": { kind: "registers", rows: 8, groups: 2 },
  "registers-16-1": { kind: "registers", rows: 16, groups: 1 },
  "tiles-8-64-32-1-4": tiles(8, 64, 32, 1, 4),
  "tiles-8-64-32-1-4-split-8": { ...tiles(8, 64, 32, 1, 4), split: 8 },
  "tiles-32-32-16-4-4": tiles(32, 32, 16, 4, 4),
  "tiles-64-64-16-8-4": tiles(64, 64, 16, 8, 4),
  "tiles-64-64-16-8-4-vectors": { ...tiles(64, 64, 16, 8, 4), vectors: true },
  "tiles-64-128-16-8-8": tiles(64, 128, 16, 8, 8),
  "tiles-64-128-16-8-8-vectors": { ...tiles(64, 128, 16, 8, 8), vectors: true },
  "tiles-64-128-16-8-8-vectors-split-4": { ...tiles(64, 128, 16, 8, 8), vectors: true, split: 4 },
  "tiles-128-128-16-8-8": tiles(128, 128, 16, 8, 8),
  "tiles-128-128-16-8-8-vectors": { ...tiles(128, 128, 16, 8, 8), vectors: true },
  "tiles-32-32-32-16-16-matrices": { ...tiles(32, 32, 32, 16, 16), matrices: true },
  "tiles-64-64-32-32-32-matrices": { ...tiles(64, 64, 32, 32, 32), matrices: true },
} as const satisfies Readonly<Record<string, ProductForm>>;

export type ProductName = keyof typeof PRODUCT_FORMS;

/** Forms that fit every device, in place of those that need more than its 16 KB of workgroup memory. */
export const IN_PLACE_OF: Readonly<Partial<Record<ProductName, ProductName>>> = {
  "tiles-128-128-16-8-8": "tiles-64-128-16-8-8",
  "tiles-128-128-16-8-8-vectors": "tiles-64-128-16-8-8-vectors",
};

/** Names of forms of earlier versions, which tables of that time hold. */
export const FORMER_FORMS: ReadonlySet<string> = new Set([
  "tiles-128-64-16-8-4",
  "tiles-128-64-16-8-4-vectors",
  "tiles-64-64-16-4-4",
  "tiles-64-64-16-4-4-vectors",
  "tiles-16-16",
  "tiles-16-32",
  "tiles-32-16",
]);

/**
 * Online softmax on tiles of queries and keys in workgroup memory (attention-tiles.ts): multiples of 8 queries and
 * of 16 keys.
 */
export interface AttentionTiles {
  readonly kind: "tiles";
  readonly queries: number;
  readonly keys: number;
}

/** scores: in memory, by products. runs: blocks of queries. narrow: a query's vectors in registers. */
export type AttentionForm = { readonly kind: "scores" | "runs" | "narrow" } | AttentionTiles;

export const ATTENTION_FORMS = {
  scores: { kind: "scores" },
  runs: { kind: "runs" },
  narrow: { kind: "narrow" },
  "tiles-32-32": { kind: "tiles", queries: 32, keys: 32 },
  "tiles-32-64": { kind: "tiles", queries: 32, keys: 64 },
  "tiles-64-64": { kind: "tiles", queries: 64, keys: 64 },
} as const satisfies Readonly<Record<string, AttentionForm>>;

export type AttentionName = keyof typeof ATTENTION_FORMS;

/** The limits of a device on which forms depend. */
export interface FormLimits {
  readonly maxComputeWorkgroupStorageSize: number;
  readonly maxComputeInvocationsPerWorkgroup: number;
  readonly maxStorageBuffersPerShaderStage: number;
  /** Absent if the device has no subgroup matrices. */
  readonly unit?: MatrixUnit | undefined;
}

const F32 = Float32Array.BYTES_PER_ELEMENT;

/**
 * Elements from a step of a tile in workgroup memory to the next, or with matrices from a line: padded so that threads
 * access different banks, and still aligned for reads of four.
 */
export function tilePitch(count: number, matrices = false): number {
  return count + (matrices ? 8 : 4);
}

/** Bytes of workgroup memory. With matrices, both tiles are in f16, and every subgroup adds a matrix of results. */
export function tileBytes({ m, n, k, rows, columns }: TileForm, unit?: MatrixUnit): number {
  if (unit === undefined) return F32 * k * (tilePitch(m) + tilePitch(n));
  return (F32 / 2) * tilePitch(k, true) * (m + n) + F32 * (m / rows) * (n / columns) * unit.m * unit.n;
}

/** Tiles of a result. */
export function tilesOf({ m, n }: TileForm, rows: number, columns: number): number {
  return Math.ceil(rows / m) * Math.ceil(columns / n);
}

/** Threads of a workgroup. */
export function tileThreads({ m, n, rows, columns }: TileForm, lanes = 1): number {
  return (m / rows) * (n / columns) * lanes;
}

/** A unit as `GPUAdapterInfo.subgroupMatrixConfigs` lists it. */
export interface ListedUnit {
  readonly componentType: string;
  readonly resultComponentType: string;
  readonly M: number;
  readonly N: number;
  readonly K: number;
}

/**
 * The largest listed unit that multiplies f16 into f32 and whose sizes divide those of every form with matrices;
 * undefined if there is none.
 * @param lanes maximum threads of a subgroup
 * @param fixed whether a program can fix that number
 */
export function matrixUnit(listed: Iterable<ListedUnit>, lanes: number, fixed = false): MatrixUnit | undefined {
  const units = [...listed]
    .filter(({ componentType, resultComponentType }) => componentType === "f16" && resultComponentType === "f32")
    .map(({ M, N, K }) => ({ m: M, n: N, k: K, lanes, ...(fixed ? { fixed } : {}) }))
    .filter((unit) =>
      Object.values<ProductForm>(PRODUCT_FORMS).every(
        (form) => form.kind !== "tiles" || form.matrices !== true || divides(unit, form),
      ),
    );
  return units.sort((a, b) => b.m * b.n * b.k - a.m * a.n * a.k)[0];
}

function divides(unit: MatrixUnit, { rows, columns, k }: TileForm): boolean {
  return rows % unit.m === 0 && columns % unit.n === 0 && k % unit.k === 0;
}

/** Whether a device with these limits can run a form of products with this epilogue. */
export function productFits(name: ProductName, epilogue: Epilogue, limits: FormLimits): boolean {
  const form: ProductForm = PRODUCT_FORMS[name];
  const packed = epilogue === "packed" || epilogue === "half";
  if (form.kind === "stock") return epilogue !== "part" && !packed;
  // Products with packed matrices choose the rows and columns of their registers themselves.
  if (form.kind === "registers") return !packed || form.rows === undefined;
  // Up to eight rows of a packed matrix's product have a separate program.
  if (packed && form.m <= 8) return false;
  const unit = form.matrices ? limits.unit : undefined;
  if (form.matrices && (unit === undefined || epilogue !== "half")) return false;
  return (
    (form.split === undefined || epilogue === "plain" || packed) &&
    tileBytes(form, unit) <= limits.maxComputeWorkgroupStorageSize &&
    tileThreads(form, unit?.lanes) <= limits.maxComputeInvocationsPerWorkgroup
  );
}

export const LONG = 512;

/** Thread columns of tiled attention. */
export const ACROSS = 16;
/** Vectors of the other side that it holds in workgroup memory. */
export const PASSED = 256;
/** Widest head of tiled attention: its sums fill the registers. */
const WIDEST = 128;

/** Workgroup memory that every card has, in bytes. */
const CARD_BYTES = 32_768;

/** Bytes of workgroup memory that hold no vectors of held rows: those passed, and weights in twos of threads' rows. */
const passedBytes = (held: number): number => F32 * (ACROSS * (16 * Math.ceil(held / 16) + 4) + 4 * PASSED);
const forwardBytes = (queries: number, width: number): number => F32 * queries * (width + 2) + passedBytes(queries);
const backwardBytes = (rows: number, width: number): number => 2 * F32 * rows * width + passedBytes(rows);

/**
 * Queries that a workgroup of the forward program holds, and rows that one of the gradient holds: as many as fit
 * `CARD_BYTES`.
 */
export function heldRows(form: AttentionTiles, width: number): { readonly queries: number; readonly rows: number } {
  const fitting = (most: number, step: number, bytes: (held: number, width: number) => number): number => {
    let held = most;
    while (held > step && bytes(held, width) > CARD_BYTES) held -= step;
    return held;
  };
  const queries = fitting(form.queries, 8, forwardBytes);
  return { queries, rows: fitting(32, form.queries > 32 ? 8 : 16, backwardBytes) };
}

/** Bytes of workgroup memory of the forward program and of the gradient's, whichever needs more. */
function attentionBytes(form: AttentionTiles, width: number): number {
  const { queries, rows } = heldRows(form, width);
  return Math.max(forwardBytes(queries, width), backwardBytes(rows, width));
}

/** Widest head whose vectors stay in registers. */
export const NARROW = 32;
/** Storage buffers of narrow attention's gradient. */
const NARROW_BUFFERS = 10;

/**
 * Whether a device with these limits can run a form of attention of these sizes and keep at most `kept` bytes of
 * scores.
 */
export function attentionFits(name: AttentionName, sizes: AttentionSizes, limits: FormLimits, kept: number): boolean {
  const form: AttentionForm = ATTENTION_FORMS[name];
  const { width, valueWidth, heads, queries, keys } = sizes;
  const vectors = width === valueWidth && width % 4 === 0;
  switch (form.kind) {
    case "scores":
      return F32 * heads * queries * keys <= kept;
    case "runs":
      return true;
    case "narrow":
      return vectors && width <= NARROW && queries > 4 && limits.maxStorageBuffersPerShaderStage >= NARROW_BUFFERS;
    case "tiles":
      return (
        vectors &&
        width <= WIDEST &&
        attentionBytes(form, width) <= limits.maxComputeWorkgroupStorageSize &&
        // The gradient by keys reads seven buffers and writes two.
        limits.maxStorageBuffersPerShaderStage >= 9
      );
  }
}
