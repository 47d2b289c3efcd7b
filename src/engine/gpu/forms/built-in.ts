/**
 * The forms that run where nothing has been measured, by class of adapter. This is the only place that looks at the
 * kind of an adapter (tests/policy/forms.test.ts); a measured table replaces the forms (active.ts). The entries of
 * graphics cards are not measured: they follow from what AMD's compiler makes of the forms (docs/performance/isa.md).
 */
import { KEPT_SCORE_BYTES, RUN_BYTES } from "../memory-sizes.ts";
import {
  type AttentionName,
  type AttentionSizes,
  LONG,
  NARROW,
  PRODUCT_FORMS,
  type ProductName,
  type ProductSizes,
  tilesOf,
} from "./records.ts";

export type AdapterClass = "software" | "integrated" | "nvidia" | "amd" | "apple";

export interface BuiltIn {
  /** Whether a row of a row kernel belongs to one thread, without barriers, or to a workgroup. */
  readonly rows: "thread" | "workgroup";
  /** Threads per workgroup of programs without workgroup memory; fewer than a wave leave a card's lanes empty. */
  readonly lanes: 8 | 64;
  /** Whether a thread of an element-wise program computes several groups of four instead of one. */
  readonly runs: boolean;
  /** Whether our programs also move, join and combine large tensors, or only small ones. */
  readonly moves: boolean;
  /** Whether our programs reduce over axes. */
  readonly reductions: boolean;
  /** Whether convolutions are products of gathered windows with a matrix, or the stock program. */
  readonly convolutions: "products" | "stock";
  /** Whether reductions of decoding run in a thread or over a workgroup. */
  readonly decoding: "thread" | "workgroup";
  /**
   * Tiles of four columns of a decode product, with weights that have scales, that share inputs in workgroup memory; 1
   * where each loads its own.
   */
  readonly decodeTiles: (columns: number) => 1 | 4 | 8;
  /** Whether programs are precompiled while weights are read or when a run starts (precompile.ts). */
  readonly compiled: "load" | "run";
  /** Whether half-precision programs may run if the device has `shader-f16`. */
  readonly half: boolean;
  /**
   * How the bounds of loops over known extents are written (runtime/pipelines.ts): as literals, from which a card's
   * compiler bounds every index and unrolls, or through a uniform, because a software adapter takes seconds to unroll.
   */
  readonly bounds: "literal" | "uniform";
  /** Bytes of scores per run of queries, or logits per block. */
  readonly runBytes: number;
  readonly product: (sizes: ProductSizes) => ProductName;
  readonly attention: (sizes: AttentionSizes) => AttentionName;
}

/** Rows and columns of a result from which workgroup tiles are worth their barriers. */
const TILED = 32;

const LARGE = "tiles-64-128-16-8-8-vectors";
const MIDDLE = "tiles-64-64-16-8-4-vectors";
const HUGE = "tiles-128-128-16-8-8-vectors";

/** Columns of a decode product that fill a card with workgroups of 8 tiles; those of 4 are twice as many. */
const WIDE = 4096;

/** Multiply-adds per instruction of NVIDIA's cards in packed products, by docs/performance/isa.md. */
const SHARES = { [HUGE]: 0.85, [LARGE]: 0.82 } as const;

/**
 * Products on a card with room for `fill` workgroups of four waves. By share of multiply-adds (docs/performance/isa.md):
 * large tiles 0.9 and more on AMD's cards, stock 0.66 to 0.86, middle tiles less than large ones on NVIDIA's. Where the
 * large tiles of a result leave most of the card empty, a long K is split, which costs a pass over the sums; a short one
 * has middle tiles, which are twice as many. Results under 32 rows or columns waste most of a tile, so they stay stock.
 * @param huge whether tiles of twice as many rows are used where they take less time at their share, with the rows
 * beyond the result that they compute
 */
function cardProduct(fill: number, huge = false): BuiltIn["product"] {
  return ({ m, n, k, batch, epilogue }) => {
    const packed = epilogue === "packed" || epilogue === "half";
    if (!packed && (m < TILED || n < TILED)) return epilogue === "part" ? "registers" : "stock";
    const tiles = batch * tilesOf(PRODUCT_FORMS[LARGE], m, n);
    const pairs = batch * tilesOf(PRODUCT_FORMS[HUGE], m, n);
    if (huge && pairs >= fill / 2 && (2 * pairs) / SHARES[HUGE] < tiles / SHARES[LARGE]) return HUGE;
    if (tiles >= fill) return LARGE;
    const splits = (packed || epilogue === "plain") && batch === 1 && k >= LONG;
    return splits ? `${LARGE}-split-4` : MIDDLE;
  };
}

function cardAttention(tiles: (width: number) => AttentionName): BuiltIn["attention"] {
  return ({ heads, queries, keys, width }) => {
    if (Float32Array.BYTES_PER_ELEMENT * heads * queries * keys <= KEPT_SCORE_BYTES) return "scores";
    return queries >= TILED ? tiles(width) : "runs";
  };
}

const SOFTWARE: BuiltIn = {
  rows: "thread",
  lanes: 8,
  runs: true,
  moves: true,
  reductions: true,
  convolutions: "products",
  decoding: "thread",
  decodeTiles: () => 1,
  compiled: "run",
  half: false,
  bounds: "uniform",
  runBytes: RUN_BYTES.software,
  product: () => "registers",
  attention: ({ width, valueWidth, queries }) =>
    width === valueWidth && width % 4 === 0 && width <= NARROW && queries > 4 ? "narrow" : "runs",
};

const CARD: Omit<BuiltIn, "product"> = {
  rows: "workgroup",
  lanes: 64,
  runs: false,
  moves: false,
  reductions: false,
  convolutions: "stock",
  decoding: "workgroup",
  decodeTiles: () => 1,
  compiled: "load",
  half: true,
  bounds: "literal",
  runBytes: RUN_BYTES.card,
  attention: cardAttention(() => "tiles-32-64"),
};

export const BUILT_IN: Readonly<Record<AdapterClass, BuiltIn>> = {
  software: SOFTWARE,
  integrated: { ...CARD, product: cardProduct(48) },
  // NVIDIA's loads and addresses take the place of multiply-adds, so that a thread should do more with each load.
  nvidia: {
    ...CARD,
    decodeTiles: (columns) => (columns < WIDE ? 4 : 8),
    product: cardProduct(128, true),
    attention: cardAttention(() => "tiles-64-64"),
  },
  amd: { ...CARD, product: cardProduct(128) },
  // More keys would spill the registers of Apple's cards where heads are wider than 64.
  apple: {
    ...CARD,
    product: cardProduct(48),
    attention: cardAttention((width) => (width <= 64 ? "tiles-32-64" : "tiles-32-32")),
  },
};

/**
 * The class of an adapter by its description; an unknown one counts as an integrated GPU. Mesa's driver for Apple's
 * GPUs reports the architecture "software", so names come before that word.
 */
export function classOf(adapter: Readonly<Record<"vendor" | "architecture" | "description", string>>): AdapterClass {
  const told = `${adapter.vendor} ${adapter.architecture} ${adapter.description}`;
  if (/swiftshader|llvmpipe/i.test(told)) return "software";
  if (/nvidia|geforce/i.test(told)) return "nvidia";
  if (/\bamd\b|radeon|\brdna/i.test(told)) return "amd";
  if (/apple|metal|honeykrisp/i.test(told)) return "apple";
  return /software/i.test(told) ? "software" : "integrated";
}
