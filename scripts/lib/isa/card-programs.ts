/**
 * The programs that a card may run, by class: every form of a product or attention that fits, decoding, and sampling.
 * Compiled by `npm run isa` and read by tests of their sources. Call it with the adapter class of a card.
 */
import {
  HEAD_NORM,
  mixProgram,
  NORM,
  ROTATE,
  scoreLanes,
  scoresProgram,
} from "../../../src/engine/gpu/decode/attend.ts";
import { type LaneProgram, withReduction } from "../../../src/engine/gpu/decode/lanes.ts";
import { packedLinearProgram } from "../../../src/engine/gpu/decode/packed-products.ts";
import { FOLD, GATE, linearProgram } from "../../../src/engine/gpu/decode/products.ts";
import { SAMPLE, SAMPLE_DRAW, SAMPLE_MASSES, SAMPLE_TOPS } from "../../../src/engine/gpu/decode/sample.ts";
import { slotBlock } from "../../../src/engine/gpu/decode/slot-block.ts";
import {
  ATTENTION_FORMS,
  type AttentionForm,
  type AttentionName,
  attentionFits,
  type Epilogue,
  type FormLimits,
  PRODUCT_FORMS,
  type ProductForm,
  type ProductName,
  productFits,
  type TileForm,
  tileThreads,
} from "../../../src/engine/gpu/forms/records.ts";
import { SIDES, tiledBackward, tiledForward } from "../../../src/engine/gpu/kernels/attention/attention-tiles.ts";
import { plainProgram } from "../../../src/engine/gpu/matmul/plain-product.ts";
import type { Layout } from "../../../src/engine/gpu/matmul/product-form.ts";
import { formOf } from "../../../src/engine/gpu/matmul/register-forms.ts";
import { K_RUN } from "../../../src/engine/gpu/packed/half.ts";
import { backwardProgram, fewRowsForward, forwardProgram } from "../../../src/engine/gpu/packed/programs.ts";
import { WEIGHT_STORAGES } from "../../../src/engine/gpu/packed/storage.ts";
import type { GpuProgram } from "../../../src/engine/gpu/runtime/pipelines.ts";
import type { Trips } from "./assembly.ts";

/**
 * Huge tiles have 128 × 128 results and large ones 64 × 128, 8 × 8 a thread; middle ones 64 × 64, 8 × 4 a thread; small
 * ones fewer. With vectors: of four elements from global memory. Staged: with inputs that tiles share in workgroup memory.
 */
export type ProgramClass =
  | `product of ${Size} tiles`
  | `product of ${Exclude<Size, "small">} tiles with vectors`
  | "product in registers"
  | `packed ${"product" | "gradient"} of ${Size} tiles`
  | `packed ${"product" | "gradient"} of ${Size} tiles in f16`
  | "packed product of few rows"
  | "packed product in subgroup matrices"
  | "attention"
  | "attention gradient"
  | "decode product of eight rows"
  | "decode product of fewer rows"
  | "decode product of eight rows, staged"
  | "decode product of fewer rows, staged"
  | "other";

type Size = "huge" | "large" | "middle" | "small";

function size({ m, n }: TileForm): Size {
  if (m * n < 64 * 64) return "small";
  return m * n === 64 * 64 ? "middle" : m * n > 64 * 128 ? "huge" : "large";
}

export interface CardProgram {
  readonly kind: ProgramClass;
  readonly program: GpuProgram;
  readonly trips?: Trips;
}

/** Head widths of published models; programs with a mask are listed for the first. */
const WIDTHS = [64, 72, 80, 96, 128];

const tilesThatFit = (epilogue: Epilogue, limits: FormLimits): TileForm[] =>
  (Object.keys(PRODUCT_FORMS) as ProductName[]).flatMap((name) => {
    const form: ProductForm = PRODUCT_FORMS[name];
    const fits = form.kind === "tiles" && form.split === undefined && productFits(name, epilogue, limits);
    return fits && form.matrices === undefined ? [form] : [];
  });

/** @param elements of B that a thread loads at once */
const tripsOf = (tile: TileForm, elements: number): Trips => ({
  load: (tile.n * tile.k) / elements / tileThreads(tile),
  multiply: tile.k / K_RUN,
});

function products(limits: FormLimits): CardProgram[] {
  const tiled = tilesThatFit("plain", limits).flatMap((form) => {
    const { vectors, ...tile } = form;
    const loads = vectors ? 4 : 1;
    const along = { a: true, b: true };
    const plain = { tile, loads, along, bounded: false } as const;
    const base = { ...plain, twice: false, end: "extras", activates: false } as const;
    return [
      base,
      { ...base, along: { a: true, b: false } },
      { ...base, along: { a: false, b: false } },
      { ...base, bounded: true },
      ...(["alone", "adding", "scaled"] as const).map((end) => ({ ...base, end })),
      { ...base, twice: true },
      { ...base, activates: true },
    ].map(
      (own): CardProgram => ({
        kind: `product of ${size(form)} tiles${vectors ? " with vectors" : ""}` as ProgramClass,
        program: plainProgram(own),
        trips: tripsOf(tile, loads),
      }),
    );
  });
  const layouts: readonly Layout[] = ["along-k", "rows", "rows-along-k", "any"];
  const registers = layouts.flatMap((layout) =>
    (
      [
        [512, 16],
        [8, 512],
        [1, 512],
      ] as const
    ).map(([m, n]) => plainProgram({ ...formOf(layout, m, n, layout !== "any"), end: "extras", activates: false })),
  );
  return [...tiled, ...registers.map((program): CardProgram => ({ kind: "product in registers", program }))];
}

function packed(limits: FormLimits, inHalves: boolean): CardProgram[] {
  return WEIGHT_STORAGES.flatMap((storage) => [
    ...[1, 4, 8].map(
      (rows): CardProgram => ({ kind: "packed product of few rows", program: fewRowsForward(storage, rows, false) }),
    ),
    ...tilesThatFit("packed", limits).flatMap((form) =>
      (inHalves && storage !== "f32" ? (["f32", "f16"] as const) : (["f32"] as const)).flatMap(
        (type): CardProgram[] => {
          const { vectors, ...tile } = form;
          const half = type === "f16" ? (" in f16" as const) : ("" as const);
          const [forward, backward] = [
            forwardProgram(storage, { tile, type }, false),
            backwardProgram(storage, { tile: form, type }, false),
          ];
          const trips = tripsOf(tile, 8);
          return [
            ...(vectors
              ? []
              : [{ kind: `packed product of ${size(tile)} tiles${half}`, program: forward, trips } as const]),
            { kind: `packed gradient of ${size(tile)} tiles${half}`, program: backward, trips },
          ];
        },
      ),
    ),
  ]);
}

function inMatrices(limits: FormLimits): CardProgram[] {
  const { unit } = limits;
  if (unit === undefined) return [];
  return (Object.keys(PRODUCT_FORMS) as ProductName[]).flatMap((name) => {
    const form: ProductForm = PRODUCT_FORMS[name];
    if (form.kind !== "tiles" || form.matrices === undefined || !productFits(name, "half", limits)) return [];
    return (["f16", "q8", "q4"] as const)
      .flatMap((storage) =>
        [forwardProgram, backwardProgram].map((make) => make(storage, { tile: form, type: "f16", unit }, false)),
      )
      .map((program): CardProgram => ({ kind: "packed product in subgroup matrices", program }));
  });
}

function attentions(limits: FormLimits): CardProgram[] {
  return WIDTHS.flatMap((width) => {
    const sizes = { heads: 16, group: 1, queries: 512, keys: 512, width, valueWidth: width, causal: true };
    const fitting = (Object.keys(ATTENTION_FORMS) as AttentionName[]).flatMap((name) => {
      const form: AttentionForm = ATTENTION_FORMS[name];
      return form.kind === "tiles" && attentionFits(name, sizes, limits, Number.MAX_SAFE_INTEGER) ? [form] : [];
    });
    return fitting.flatMap((form) =>
      (width === WIDTHS[0] ? [false, true] : [false]).flatMap((masked): CardProgram[] => [
        { kind: "attention", program: tiledForward(form, width / 4, masked) },
        ...SIDES.map(
          (by): CardProgram => ({
            kind: "attention gradient",
            program: tiledBackward(form, by, width / 4, masked),
          }),
        ),
      ]),
    );
  });
}

function decoding(): CardProgram[] {
  const lanes = (kind: ProgramClass, source: LaneProgram): CardProgram => ({
    kind,
    program: withReduction(source, false).program,
  });
  const blocks = [...new Map([1, 4, 8, 16].map((slots) => [slotBlock(slots, false, 0).slots, slots])).values()];
  const linears = blocks
    .map((slots) => slotBlock(slots, false, 0))
    .flatMap((block) =>
      [false, true]
        .flatMap((joined) => [
          linearProgram(block, joined),
          ...WEIGHT_STORAGES.map((storage) => packedLinearProgram(storage, block, joined)),
        ])
        .map((source) =>
          lanes(block.slots < 8 ? "decode product of fewer rows" : "decode product of eight rows", source),
        ),
    );
  const staged = [4, 8]
    .flatMap((tiles) => blocks.map((slots) => slotBlock(slots, false, 0, tiles)))
    .flatMap((block) =>
      [false, true]
        .flatMap((joined) => (["q8", "q4"] as const).map((storage) => packedLinearProgram(storage, block, joined)))
        .map((source) =>
          lanes(
            block.slots < 8 ? "decode product of fewer rows, staged" : "decode product of eight rows, staged",
            source,
          ),
        ),
    );
  const others = [NORM, HEAD_NORM, mixProgram(1), SAMPLE, SAMPLE_TOPS, SAMPLE_MASSES, SAMPLE_DRAW];
  return [
    ...linears,
    ...staged,
    ...others.map((source) => lanes("other", source)),
    ...[scoresProgram(scoreLanes(false), 1), ROTATE, GATE, FOLD].map(
      (program): CardProgram => ({ kind: "other", program }),
    ),
  ];
}

/** @param half whether the card multiplies in f16 */
export function cardPrograms(limits: FormLimits, half: boolean): CardProgram[] {
  const all = [
    ...products(limits),
    ...packed(limits, half),
    ...inMatrices(limits),
    ...attentions(limits),
    ...decoding(),
  ];
  return [...new Map(all.map((one) => [one.program.name, one])).values()];
}
