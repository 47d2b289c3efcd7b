/** A run whose frozen layers multiply in half precision, and the same run in f32. */
import { beforeAll, describe, expect, it } from "vitest";
import { halfPrograms, setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { useGpu } from "../support/gpu.ts";
import { openTestLab, repeatable, type TestLab } from "../support/session.ts";

let engine: EngineDevice;
let lab: TestLab;
beforeAll(async () => {
  engine = await useGpu();
  lab = await openTestLab({ choice: { language: "f16", towers: "f16" } });
});

async function firstStep(halfProducts: boolean): Promise<StepMetrics> {
  // Products of eight rows or fewer stay in f32, so the captions of a group need more tokens.
  const [row] = await lab.train({ weightStorage: "f16", halfProducts, loops: "1", steps: 1, numGenerations: 4 });
  return row as StepMetrics;
}

describe("half-precision products in training", () => {
  it("change nothing on a software adapter", async () => {
    expect(halfPrograms()).toBe(false);
    expect(repeatable(await firstStep(true))).toEqual(repeatable(await firstStep(false)));
  });

  it("on a card that can give nearly the same update of the same texts", async () => {
    setAdapterKind(false);
    expect(halfPrograms()).toBe(engine.device.features.has("shader-f16"));
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
    // Tokens are decoded in f32: the two passes differ by the error of half precision, far below any effect on a ratio.
    const gap = half["loop1/logp_train_vs_sampling/max"] as number;
    expect(gap).toBeGreaterThan(10 * (plain["loop1/logp_train_vs_sampling/max"] as number));
    expect(gap).toBeLessThan(0.01);
  });
});
