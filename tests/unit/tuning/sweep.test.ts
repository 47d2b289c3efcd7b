import { expect, it } from "vitest";
import { familyOf } from "../../../src/engine/gpu/forms/records.ts";
import { trueSweep } from "../../../src/plugins/card/sweep.ts";

it("the sweep of a card has each bucket of 1B once: layers of both pictures, head, vision tower, attention", () => {
  const shapes = trueSweep();
  const buckets = shapes.map(({ bucket }) => bucket);
  expect(new Set(buckets).size).toBe(buckets.length);
  for (const { bucket, family } of shapes) expect(familyOf(bucket)).toBe(family);
  expect(buckets).toEqual(
    expect.arrayContaining([
      // Gate of the language model with one tile and with thirteen, and its gradient; key; head; MLP of the tower.
      "product nt packed f16 m9 n13 k10 b0",
      "product nt packed f16 m12 n13 k10 b0",
      "product nn packed f16 m12 n10 k13 b0",
      "product nt packed f16 m9 n7 k10 b0",
      "product nt packed f16 m9 n18 k10 b0",
      "product nt packed f16 m11 n12 k10 b0",
      "attention causal f32 q12 k12 w6 h4 g3",
      "attention whole f32 q11 k11 w6 h4 g0",
    ]),
  );
  // Four kinds of layers, both ways, at two lengths; two layers of the tower share a bucket.
  expect(buckets).toHaveLength(2 * (2 * 4 + 1) + 2 + 3 + 1);
});
