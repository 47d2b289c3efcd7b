/** Properties of random cases on a machine so slow that their time limit passes. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { forAny } from "../../support/any.ts";

/** Cases of `forAny` that begin and end, each longer than its limit. */
async function slow(fails: boolean): Promise<{ begun: number; ended: number; error: unknown }> {
  const counts = { begun: 0, ended: 0 };
  const holds = async (): Promise<void> => {
    counts.begun++;
    await new Promise((resolve) => setTimeout(resolve, 60));
    counts.ended++;
    if (fails) throw new Error("does not hold");
  };
  const error = await forAny(5, fc.integer(), holds, 30).catch((thrown: unknown) => thrown);
  return { ...counts, error };
}

it("a case that outlasts the limit counts, and nothing is left in progress", async () => {
  expect(await slow(false)).toEqual({ begun: 1, ended: 1, error: undefined });
  const failed = await slow(true);
  expect(failed).toMatchObject({ begun: 1, ended: 1, error: new Error("does not hold") });
});

it("a failure names the smallest case", async () => {
  const holds = async (value: number): Promise<void> => {
    expect(value).toBeLessThan(7);
  };
  await expect(forAny(50, fc.integer({ min: 0, max: 1000 }), holds)).rejects.toThrow(/Counterexample: \[7\]/);
});
