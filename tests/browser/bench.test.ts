/** The bench in a page: smallest cases, one round, all peers. The test checks that it measures, not its numbers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BenchRow } from "../../bench/row.ts";
import { chromiumPlace } from "../../bench/tool/chromium-place.ts";
import type { BenchPlace } from "../../bench/tool/place.ts";

describe("the bench in Chromium", () => {
  let place: BenchPlace;
  beforeAll(async () => {
    place = await chromiumPlace(undefined);
  });
  afterAll(() => place.close());

  it("yields a row with every peer, and says what did not take part", async () => {
    const rows: BenchRow[] = [];
    const leftOut: string[] = [];
    const options = {
      suite: "kernels",
      rounds: 1,
      budget: 100,
      jax: true,
      ort: true,
      card: false,
      disguised: null,
    } as const;
    const { rates } = await place.run(
      { ...options, only: "64 x 64 over 64", processorTime: false },
      { onRow: (row) => rows.push(row), onLeftOut: (what, why) => leftOut.push(`${what}: ${why}`) },
    );
    expect(leftOut).toEqual([]);
    expect(rates.f32).toBeGreaterThan(1e6);
    expect(rows.map((row) => row.case)).toEqual(["matmul A B, 64 x 64 over 64"]);
    const [row] = rows as [BenchRow];
    expect(row).toMatchObject({ suite: "kernels", where: "chromium", rounds: 1 });
    expect(row.adapter).toMatch(/\w/);
    expect(row.ort_error).toBeUndefined();
    for (const ratio of [row.ratio_stock, row.ratio_jaxjs, row.ratio_ort, row.peak_fraction]) {
      expect(ratio).toBeGreaterThan(0);
    }
  });

  it("refuses a driver that is not there instead of measuring another", async () => {
    const options = {
      suite: "kernels",
      rounds: 1,
      budget: 10,
      only: "64 x 64 over 64",
      jax: false,
      ort: false,
      card: false,
    } as const;
    const listener = { onRow: () => undefined, onLeftOut: () => undefined };
    const asked = place.run({ ...options, processorTime: false, disguised: "llvmpipe" }, listener);
    await expect(asked).rejects.toThrow(/runs on its own SwiftShader/);
  });
});
