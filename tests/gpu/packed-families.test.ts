/** Packed weights on the models of all families: errors within the budgets of docs/precision.md, the same texts in f16. */
import { fileURLToPath } from "node:url";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Arithmetic } from "../../src/engine/gpu/packed/half.ts";
import type { WeightStorage } from "../../src/engine/gpu/packed/storage.ts";
import { halfPrograms, setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { loadDeps } from "../../tools/parity/deps.ts";
import { findGoldenSets } from "../../tools/parity/kinds.ts";
import type { ParityRow } from "../../tools/parity/row.ts";
import { BUDGETS, stageOf, withBudget } from "../../tools/parity/storage-budget.ts";
import { useGpu } from "../support/gpu.ts";

const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));
let check: () => void;
beforeAll(async () => {
  const device = await useGpu();
  check = () => device.check();
});

afterEach(() => {
  setAdapterKind(true);
});

/**
 * Rows of the parity table for one module, with this precision of weights and products. @param last name of the row
 * that ends it; later rows are not computed
 */
async function rowsOf(
  family: string,
  module: string,
  storage: WeightStorage,
  arithmetic: Arithmetic = "f32",
  last?: string,
): Promise<ParityRow[]> {
  const deps = { ...(await loadDeps()), storage: { language: storage, towers: storage }, arithmetic };
  const rows: ParityRow[] = [];
  for (const set of await findGoldenSets(`${GOLDEN}sa2va-tiny-${family}`)) {
    for (const part of set.kind.modules) {
      if (part.name !== module) continue;
      for await (const row of await part.open(set.folder, deps)) {
        rows.push(row);
        if (row.what === last) break;
      }
    }
  }
  check();
  return rows;
}

const missed = (rows: readonly ParityRow[], storage: WeightStorage): readonly ParityRow[] =>
  rows.filter((row) => !withBudget(row, storage).pass);

it("in f16 has masks within their budget, and leaves nothing", async () => {
  const before = memorySnapshot().gpuBytes;
  // Families differ in their language models only; the SAM2 of this set decides the budgets (storage-budget.ts).
  expect(missed(await rowsOf("phi3", "sa2va-sam2", "f16"), "f16")).toEqual([]);
  expect(memorySnapshot().gpuBytes).toBe(before);
});

it("with products in half precision says the same texts, with little more error than f16 itself", async () => {
  setAdapterKind(false);
  const errors = async (arithmetic: Arithmetic): Promise<number> => {
    const rows = await rowsOf("internlm2", "sa2va-llm", "f16", arithmetic, "ref_logprobs");
    expect(rows.filter((row) => stageOf(row) === "greedy text").map((row) => row.pass)).toContain(true);
    expect(rows.filter((row) => stageOf(row) === "greedy text" && !row.pass)).toEqual([]);
    const sized = rows.filter((row) => stageOf(row) === "language" && Number.isFinite(row.maxRel));
    return Math.max(...sized.map((row) => row.maxRel));
  };
  const [plain, half] = [await errors("f32"), await errors("f16")];
  expect(half).toBeLessThan(0.02);
  if (halfPrograms()) expect(half).toBeGreaterThan(1.2 * plain);
  else expect(half).toBe(plain);
});

describe.each(["qwen2", "internlm2", "phi3"])("sa2va-tiny-%s", (family) => {
  it("in f16 says the same texts, with language within its budget", async () => {
    const before = memorySnapshot().gpuBytes;
    const language = await rowsOf(family, "sa2va-llm", "f16");
    expect(missed(language, "f16")).toEqual([]);
    const texts = language.filter((row) => stageOf(row) === "greedy text");
    expect(texts.length).toBeGreaterThan(0);
    // The row's own tolerance, not a budget.
    expect(texts.filter((row) => !row.pass)).toEqual([]);
    expect(memorySnapshot().gpuBytes).toBe(before);
  });

  it.each(["q8", "q4"] as const)(
    "in %s keeps the language model within its budget, and not by far",
    async (storage) => {
      // Gradients have no budget in these.
      const rows = await rowsOf(family, "sa2va-llm", storage, "f32", "per_token_loss");
      expect(missed(rows, storage)).toEqual([]);
      const worst = Math.max(
        ...rows.filter((row) => stageOf(row) === "language" && Number.isFinite(row.maxRel)).map((row) => row.maxRel),
      );
      // Weights were packed at all, and the budget is not too wide.
      expect(worst).toBeGreaterThan((BUDGETS[storage].language as number) / 30);
    },
  );
});
