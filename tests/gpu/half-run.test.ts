/** A run whose frozen layers multiply in half precision, and the same run in f32. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { halfPrograms, setAdapterKind } from "../../src/engine/gpu/runtime/custom-kernels.ts";
import type { StepMetrics } from "../../src/engine/runs/records.ts";
import { useGpu } from "../support/gpu.ts";
import { openTestLab, repeatable } from "../support/session.ts";

beforeAll(async () => {
  await useGpu();
});

afterEach(() => {
  setAdapterKind(true);
});

async function firstStep(halfProducts: boolean): Promise<StepMetrics> {
  const lab = await openTestLab({ choice: { language: "f16", towers: "f16" } });
  const [row] = await lab.train({ weightStorage: "f16", halfProducts, groupSize: 4, steps: 1 });
  lab.session.dispose();
  return row as StepMetrics;
}

describe("half-precision products in training", () => {
  it("change nothing on a software adapter", async () => {
    expect(repeatable(await firstStep(true))).toEqual(repeatable(await firstStep(false)));
  });

  it("on a card that can give nearly the same update of the same texts", async () => {
    setAdapterKind(false);
    const [half, plain] = [await firstStep(true), await firstStep(false)];
    if (!halfPrograms()) {
      expect(repeatable(half)).toEqual(repeatable(plain));
      return;
    }
    expect(half["loop1/reward"]).toBe(plain["loop1/reward"]);
    expect(half["loop1/completions/distinct_ratio"]).toBe(plain["loop1/completions/distinct_ratio"]);
    const [norm, plainNorm] = [half.grad_norm, plain.grad_norm] as [number, number];
    expect(norm).not.toBe(plainNorm);
    expect(Math.abs(norm / plainNorm - 1)).toBeLessThan(0.01);
    // Tokens are decoded in f32: the two passes differ by what half precision costs, far below what a ratio notices.
    const gap = half["loop1/logp_train_vs_sampling/max"] as number;
    expect(gap).toBeGreaterThan(10 * (plain["loop1/logp_train_vs_sampling/max"] as number));
    expect(gap).toBeLessThan(0.01);
  });
});
