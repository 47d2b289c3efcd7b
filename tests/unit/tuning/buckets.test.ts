import { describe, expect, it } from "vitest";
import { BUILT_IN, classOf } from "../../../src/engine/gpu/forms/built-in.ts";
import {
  ATTENTION_FORMS,
  type AttentionName,
  attentionBucket,
  attentionFits,
  familyOf,
  heldRows,
  IN_PLACE_OF,
  matrixUnit,
  PRODUCT_FORMS,
  type ProductForm,
  type ProductName,
  type ProductSizes,
  power,
  productBucket,
  productFits,
  tileBytes,
  tileThreads,
} from "../../../src/engine/gpu/forms/records.ts";
import { productWorth } from "../../../src/plugins/tuner/tuner.ts";

const PRODUCT = { layout: "nt", epilogue: "plain", batch: 1, m: 200, n: 512, k: 65 } as const;
const ATTENTION = { heads: 12, group: 2, queries: 1025, keys: 1025, width: 64, valueWidth: 64, causal: true } as const;
const LEAST = {
  maxComputeWorkgroupStorageSize: 16_384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxStorageBuffersPerShaderStage: 8,
};
/** What tensor cores of today multiply at once, by the largest subgroups there are. */
const UNIT = { m: 16, n: 16, k: 16, lanes: 64 };
const USUAL = { ...LEAST, maxComputeWorkgroupStorageSize: 32_768, maxStorageBuffersPerShaderStage: 10 };

describe("buckets", () => {
  it("round sizes up to powers of two", () => {
    expect([1, 2, 3, 4, 5, 8, 9, 1024, 1025, 151_674].map(power)).toEqual([0, 1, 2, 2, 3, 3, 4, 10, 11, 18]);
    expect(productBucket(PRODUCT)).toBe("product nt plain f32 m8 n9 k7 b0");
    const packed = productBucket({ ...PRODUCT, epilogue: "packed", storage: "q4" });
    expect(packed).toBe("product nt packed q4 m8 n9 k7 b0");
    expect([
      familyOf(packed),
      familyOf(packed.replace("q4", "q5")),
      familyOf(packed.replace("packed", "plain")),
    ]).toEqual(["product", undefined, undefined]);
    expect(productBucket({ ...PRODUCT, m: 256 })).toBe(productBucket(PRODUCT));
    expect(productBucket({ ...PRODUCT, m: 257 })).not.toBe(productBucket(PRODUCT));
    expect(attentionBucket(ATTENTION)).toBe("attention causal f32 q11 k11 w6 h4 g1");
  });

  it("differ by layout, epilogue, order and group", () => {
    const names = [
      productBucket({ ...PRODUCT, layout: "tn" }),
      productBucket({ ...PRODUCT, epilogue: "low-rank" }),
      productBucket({ ...PRODUCT, batch: 2 }),
      attentionBucket({ ...ATTENTION, causal: false }),
      attentionBucket({ ...ATTENTION, group: 1 }),
      productBucket(PRODUCT),
      attentionBucket(ATTENTION),
    ];
    expect(new Set(names).size).toBe(names.length);
    expect(names.map(familyOf)).toEqual(names.map((name) => name.split(" ")[0]));
    for (const other of ["", "product", "product nt plain f32 m8 n9 k7", "product nt plain f16 m8 n9 k7 b0", "x"]) {
      expect(familyOf(other)).toBeUndefined();
    }
  });
});

describe("forms", () => {
  it("of tiles divide their tile evenly, with loads that a shift addresses", () => {
    for (const [name, form] of Object.entries<ProductForm>(PRODUCT_FORMS)) {
      if (form.kind !== "tiles") continue;
      expect([form.m % form.rows, form.n % form.columns, form.columns % 4]).toEqual([0, 0, 0]);
      for (const side of [form.m, form.n, form.k]) expect(Math.log2(side) % 1).toBe(0);
      const unit = form.matrices ? UNIT : undefined;
      expect(tileThreads(form, unit?.lanes)).toBeLessThanOrEqual(256);
      const large = name in IN_PLACE_OF;
      expect(tileBytes(form, unit) > 16_384).toBe(large);
      expect(tileBytes(form, unit)).toBeLessThanOrEqual(32_768);
    }
  });

  it("that a device lacks memory or buffers for are no candidates", () => {
    const small = { ...LEAST, maxComputeWorkgroupStorageSize: 4096 };
    expect(productFits("tiles-64-64-16-8-4", "plain", LEAST)).toBe(true);
    expect(productFits("tiles-64-64-16-8-4", "plain", small)).toBe(false);
    expect(productFits("tiles-64-64-16-8-4", "plain", { ...LEAST, maxComputeInvocationsPerWorkgroup: 64 })).toBe(false);
    expect(productFits("stock", "part", LEAST)).toBe(false);
    expect(productFits("stock", "packed", LEAST)).toBe(false);
    expect(productFits("tiles-8-64-32-1-4-split-8", "low-rank", LEAST)).toBe(false);
    const worth = (sizes: Partial<ProductSizes>): boolean =>
      productWorth("tiles-8-64-32-1-4-split-8", { ...PRODUCT, batch: 1, m: 8, k: 4864, ...sizes });
    expect([worth({}), worth({ batch: 2 }), worth({ m: 100 }), worth({ k: 64 })]).toEqual([true, false, false, false]);
    const fours = (sizes: Partial<ProductSizes>): boolean =>
      productWorth("tiles-64-64-16-8-4-vectors", { ...PRODUCT, m: 70, n: 36, k: 64, ...sizes });
    expect([fours({ layout: "nt" }), fours({ layout: "nn" }), fours({ layout: "tn" })]).toEqual([true, true, false]);
    expect([fours({ layout: "nn", n: 37 }), fours({ layout: "nt", n: 37 }), fours({ k: 63 })]).toEqual([
      false,
      true,
      false,
    ]);
    const packed = { epilogue: "packed", storage: "q4" } as const;
    expect([fours({ ...packed, layout: "nn" }), fours({ ...packed, layout: "nt" })]).toEqual([true, false]);
    const half = productBucket({ ...PRODUCT, epilogue: "half", storage: "q8" });
    expect([half, familyOf(half), familyOf(half.replace("q8", "f32"))]).toEqual([
      "product nt half q8 m8 n9 k7 b0",
      "product",
      undefined,
    ]);
    expect(attentionFits("tiles-32-64", ATTENTION, USUAL, 0)).toBe(true);
    expect(attentionFits("tiles-32-64", ATTENTION, LEAST, 0)).toBe(false);
    expect(attentionFits("tiles-32-64", { ...ATTENTION, width: 63, valueWidth: 63 }, USUAL, 0)).toBe(false);
    expect(
      [80, 96, 128, 132].map((width) =>
        attentionFits("tiles-64-64", { ...ATTENTION, width, valueWidth: width }, USUAL, 0),
      ),
    ).toEqual([true, true, true, false]);
    const held = [64, 96, 128].map((width) => heldRows(ATTENTION_FORMS["tiles-64-64"], width));
    expect(held.map(({ queries, rows }) => [queries, rows])).toEqual([
      [64, 32],
      [56, 32],
      [48, 24],
    ]);
    expect(heldRows(ATTENTION_FORMS["tiles-32-64"], 128)).toEqual({ queries: 32, rows: 16 });
    expect(attentionFits("narrow", ATTENTION, USUAL, 0)).toBe(false);
    expect(attentionFits("scores", ATTENTION, USUAL, 4 * 12 * 1025 * 1025)).toBe(true);
    expect(attentionFits("scores", ATTENTION, USUAL, 4 * 12 * 1025 * 1025 - 1)).toBe(false);
  });
});

describe("subgroup matrices", () => {
  const name = "tiles-64-64-32-32-32-matrices";
  const listed = (M: number, N: number, K: number, of = "f16", into = "f32") => ({
    componentType: of,
    resultComponentType: into,
    M,
    N,
    K,
  });

  it("are candidates for half precision on devices that have them, and nowhere else", () => {
    const limits = { ...LEAST, unit: UNIT };
    expect(productFits(name, "half", limits)).toBe(true);
    expect(productFits(name, "half", LEAST)).toBe(false);
    for (const epilogue of ["plain", "low-rank", "part", "packed"] as const) {
      expect(productFits(name, epilogue, limits)).toBe(false);
    }
    expect(productFits(name, "half", { ...limits, unit: { ...UNIT, lanes: 128 } })).toBe(false);
    expect(productFits(name, "half", { ...limits, maxComputeWorkgroupStorageSize: 14_335 })).toBe(false);
    const built = Object.values(BUILT_IN).map(({ product }) => product({ ...PRODUCT, epilogue: "half" }));
    expect(built.filter((own) => own.endsWith("-matrices"))).toEqual([]);
  });

  it("have the largest unit of f16 into f32 that divides the tiles", () => {
    const all = [listed(8, 8, 8), listed(16, 16, 16), listed(8, 16, 16), listed(16, 16, 32, "u8", "u32")];
    expect(matrixUnit([...all, listed(32, 32, 8), listed(16, 16, 16, "f16", "f16")], 32)).toEqual({
      ...UNIT,
      lanes: 32,
    });
    expect(matrixUnit([listed(8, 8, 8, "f32"), listed(24, 8, 8)], 32)).toBeUndefined();
    expect(matrixUnit(all, 64, true)).toEqual({ ...matrixUnit(all, 64), fixed: true });
  });
});

describe("the built-in table", () => {
  it("tells classes of adapters by what they say", () => {
    const of = (description: string, vendor = ""): string => classOf({ vendor, architecture: "", description });
    expect(of("llvmpipe (LLVM 15.0.6)")).toBe("software");
    expect(of("", "google swiftshader")).toBe("software");
    expect(of("NVIDIA GeForce RTX 4070")).toBe("nvidia");
    expect(of("", "amd")).toBe("amd");
    expect(of("", "apple")).toBe("apple");
    expect(of("Intel Arc", "intel")).toBe("integrated");
    const mesa = (description: string): string => classOf({ vendor: "mesa", architecture: "software", description });
    expect(mesa("Honeykrisp: Mesa 25.3.1")).toBe("apple");
    expect(mesa("llvmpipe: Mesa 25.0.7 (LLVM 15.0.6)")).toBe("software");
    expect(mesa("")).toBe("software");
    expect(of("")).toBe("integrated");
  });

  it("names forms that exist, for every class and a grid of sizes", () => {
    for (const { product, attention } of Object.values(BUILT_IN)) {
      for (const size of [1, 7, 64, 5000]) {
        for (const epilogue of ["plain", "low-rank", "part", "packed", "half"] as const) {
          const name: ProductName = product({ ...PRODUCT, epilogue, m: size, n: size });
          expect(productFits(IN_PLACE_OF[name] ?? name, epilogue, LEAST)).toBe(true);
        }
        const name: AttentionName = attention({ ...ATTENTION, queries: size, keys: size });
        expect(ATTENTION_FORMS[name]).toBeDefined();
      }
    }
  });

  it("gives cards large tiles, pieces of a long K where they are few, and small tiles where K is short", () => {
    const of = (sizes: Partial<ProductSizes>, card: "nvidia" | "integrated" = "nvidia"): ProductName =>
      BUILT_IN[card].product({ ...PRODUCT, batch: 1, m: 299, n: 896, k: 896, ...sizes });
    const large = "tiles-64-128-16-8-8-vectors";
    expect(of({ m: 2048, n: 4864 }, "integrated")).toBe(large);
    expect([of({}), of({ epilogue: "packed", storage: "q4" })]).toEqual([`${large}-split-4`, `${large}-split-4`]);
    expect(of({ m: 512 }, "integrated")).toBe(large);
    expect([of({ k: 64 }), of({ epilogue: "low-rank" })]).toEqual(Array(2).fill("tiles-64-64-16-8-4-vectors"));
    expect([of({ n: 16 }), of({ n: 16, epilogue: "part" })]).toEqual(["stock", "registers"]);
    expect(BUILT_IN.software.product({ ...PRODUCT, m: 2048, n: 4864 })).toBe("registers");
  });

  it("gives NVIDIA's cards tiles of 128 rows where few of their rows lie beyond the result", () => {
    const of = (m: number): ProductName => BUILT_IN.nvidia.product({ ...PRODUCT, batch: 1, m, n: 4864, k: 896 });
    expect([512, 1000, 4096].map(of)).toEqual(Array(3).fill("tiles-128-128-16-8-8-vectors"));
    expect([448, 1025].map(of)).toEqual(Array(2).fill("tiles-64-128-16-8-8-vectors"));
  });

  it("gives cards tiles for long attention, and software adapters none", () => {
    expect(BUILT_IN.amd.attention(ATTENTION)).toBe("tiles-32-64");
    expect(BUILT_IN.nvidia.attention(ATTENTION)).toBe("tiles-64-64");
    expect(BUILT_IN.apple.attention({ ...ATTENTION, width: 72, valueWidth: 72 })).toBe("tiles-32-32");
    expect(BUILT_IN.nvidia.attention({ ...ATTENTION, width: 128, valueWidth: 128 })).toBe("tiles-64-64");
    expect(BUILT_IN.nvidia.attention({ ...ATTENTION, queries: 100, keys: 100 })).toBe("scores");
    expect(BUILT_IN.software.attention(ATTENTION)).toBe("runs");
  });
});
